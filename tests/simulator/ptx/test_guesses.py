"""The first read of a loop around a compare and exchange only guesses, so it is no race."""

from __future__ import annotations

import re

import numpy as np

from cudakern.simulator import RawModule, checked
from tests.helpers.rows import each

#: Kernels whose reads only guess; v is 1.
GUESSED = r"""
KERNEL(words, int, int old = *p, seen;
  do { seen = old; old = atomicCAS(p, seen, max(seen * 3, v)); } while (seen != old);)
KERNEL(doubles, double, auto* q = (unsigned long long*)p; unsigned long long old = *q, seen; do {
  seen = old;
  old = atomicCAS(q, seen, __double_as_longlong(v * __longlong_as_double(seen)));
} while (seen != old);)
KERNEL(floats, float, float old = *p, seen; do {
  seen = old;
  old = __int_as_float(atomicCAS((int*)p, __float_as_int(seen), __float_as_int(seen * v)));
} while (__float_as_int(seen) != __float_as_int(old));)
KERNEL(halves, short, auto* q = (unsigned short*)p; unsigned short old = *q, seen;
  do { seen = old; old = atomicCAS(q, seen, (unsigned short)(seen * v)); } while (seen != old);)
KERNEL(shared, int, __shared__ int s[2]; s[threadIdx.x] = v; __syncthreads();
  int* q = s + v; int old = *q, seen;
  do { seen = old; old = atomicCAS(q, seen, max(seen * 3, v)); } while (seen != old);
  __syncthreads(); b[2 * blockIdx.x] = s[0];)
KERNEL(offset, int, int old = a[5], seen;
  do { seen = old; old = atomicCAS(a + 5, seen, seen * v); } while (seen != old);)
KERNEL(again, int, int seen; do { seen = *p; } while (atomicCAS(p, seen, seen * v) != seen);)
"""
#: Kernels whose reads do more than guess; in "array", b is a.
USED = r"""
KERNEL(array, int, int old = *b, seen;
  do { seen = old; old = atomicCAS(p, seen, seen * v); } while (seen != old);)
KERNEL(element, int, int old = a[4], seen;
  do { seen = old; old = atomicCAS(a + 5, seen, seen * v); } while (seen != old);
  atomicAdd(a + 4, 1);)
KERNEL(value, int, atomicCAS(p, v, *p);)
KERNEL(compare, int, b[2 * blockIdx.x + threadIdx.x] = *p; atomicCAS(p, v, 5);)
KERNEL(sum, int, atomicCAS(p, *p + 1, v); atomicAdd(p, 1);)
"""
MACRO = (
    "#define KERNEL(NAME, T, ...) \\\n"
    '  extern "C" __global__ void NAME(T* a, T* b, T v) { T* const p = a; __VA_ARGS__ }'
)
ROWS = [
    (kind, *kernel) for kind in (GUESSED, USED) for kernel in re.findall(r"L\((\w+), (\w+)", kind)
]
DTYPES = {"int": np.int32, "short": np.int16, "float": np.float32, "double": np.float64}


@each(("kind", "name", "element"), ROWS, ids=lambda row: row[1])
def test_reads_before_a_compare_and_exchange(kind, name, element):
    a = np.ones(8, DTYPES[element])
    b = a if name == "array" else np.ones_like(a)
    kernel = RawModule(code=MACRO + GUESSED + USED).get_function(name)
    with checked() as report:
        kernel((2,), (2,), (a, b, a.dtype.type(1)))
        findings, report.findings = report.findings, []
    assert {finding.kind for finding in findings} == ({"race"} if kind == USED else set())
