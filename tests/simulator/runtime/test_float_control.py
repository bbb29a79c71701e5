"""Launches restore the processor's handling of subnormal floats, however they end."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.simulator.runtime.test_signals import START

LARGE = 1 << 15
#: What a thread does, by the kind of the error that ends the launch.
ENDS = {
    "nothing": "",
    "trap": "if (is_it) __trap();",
    "assert": "assert(!is_it);",
    "out_of_bounds": "if (is_it) *(float*)8 = v;",
    "misaligned": "if (is_it) atomicAdd((int*)((char*)x + 2), 1);",
    "misuse": 'if (is_it) asm volatile("bar.sync 1, 50;");',
    "barrier_divergence": "if (is_it) __syncwarp(0);",
    "deadlock": "while (is_it && *(volatile int*)x != 5) {}",
}
CODE = """extern "C" __global__ void k_NAME(float* x, float large) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool is_it = blockIdx.x == 0 && threadIdx.x == 5;
  float v = fmaf(x[i], large, i);
  __syncthreads();
  v = fmaf(x[i], large, v + 1);
  __syncthreads();
  ENDS
  x[i] = fmaf(x[i], large, v - 1);
}
"""
MODULE = RawModule(
    code="".join(CODE.replace("NAME", kind).replace("ENDS", end) for kind, end in ENDS.items())
)
#: Floats are flushed unless PTX says otherwise, as CuPy's options demand.
TWICE = """extern "C" __global__ void k(TYPE* x) {
  x += blockIdx.x * blockDim.x + threadIdx.x;
  asm("ADD %0, %0, %0;" : "+KIND"(*x));
}"""
SUBNORMAL = {
    ("float", "add.f32", "f"): np.float32(1e-40),
    ("double", "add.f64", "d"): np.float64(1e-310),
}


def keeps_subnormal_floats(count=64) -> bool:
    """Return whether NumPy and kernels keep subnormal floats, on all threads that run blocks."""
    kept = []
    for words, least in SUBNORMAL.items():
        code = TWICE
        for place, word in zip(("TYPE", "ADD", "KIND"), words, strict=True):
            code = code.replace(place, word)
        x = np.full(count, least)
        kept.append(((x * x.dtype.type(2)).view(f"u{x.itemsize}") != 0).all())
        RawKernel(code, "k")((count // 32,), (32,), (x,))
        kept.append((x.view(f"u{x.itemsize}") == (2 * least).view(f"u{x.itemsize}")).all())
    return all(kept)


@each("count", [64, LARGE])
@each("kind", ENDS)
def test_every_end(count, kind):
    x, kernel = np.full(count, 1e-40, np.float32), MODULE.get_function(f"k_{kind}")
    for _ in range(2):
        x[:] = 1e-40
        try:
            kernel((count // 32,), (32,), (x, np.float32(1e30)))
            found = "nothing"
            np.testing.assert_array_equal(x, np.arange(count))
        except ck.SimulatorError as error:
            found = error.kind
        assert found == kind
        assert keeps_subnormal_floats(count)


def test_doubles_are_printed(capfd):
    code = 'extern "C" __global__ void k(float* x, double d) { *x *= 2; printf("%g\\n", d); }'
    x = np.full(1, 1e-40, np.float32)
    RawKernel(code, "k")((1,), (1,), (x, np.float64(1e-310)))
    assert x[0] == 0
    assert capfd.readouterr().out == "1e-310\n"


SIGNALS = r"""
from tests.simulator.runtime.test_float_control import LARGE, keeps_subnormal_floats

END = "f[blockIdx.x * blockDim.x + threadIdx.x] = f[1 << 19] * 1e30f;"
LOAD = 'asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(x + 40));'
STORE = 'asm volatile("st.global.s32 [%0], 7;" ::"l"(x + 41));'
LOOPS = {
    "loads": "for (int v = n; v == 0;) {" + LOAD + STORE + "}" + END,
    "polls": "while (n == 0 && ((volatile int*)x)[40] == 0) atomicAdd(x + 41, 1);" + END,
    "barriers": "for (int v = n; v == 0; __syncthreads()) {" + LOAD + STORE + "}" + END,
    "library": "float a = n; for (int v = n; v == 0; a = 2 + __sinf(a)) {" + LOAD + STORE + "}"
        + END + "if (a == 0.1f) x[42] = 1;",
}
rang = []

def ring(*_):
    rang.append(keeps_subnormal_floats())
    y = np.full(33, 1e-40, np.float32)
    ENDED((1,), (32,), (np.resize(y, (1 << 19) + 1), x, np.int32(1)))
    if raises:
        raise KeyboardInterrupt
    x[40] = 1

signal.signal(signal.SIGALRM, ring)
MODULE = RawModule(
    code="".join(
        'extern "C" __global__ void ' + name + "(float* f, int* x, int n) {" + body + "}\n"
        for name, body in {**LOOPS, "ended": END}.items()
    )
)
ENDED = MODULE.get_function("ended")
for name in LOOPS:
    for blocks, raises in (4, True), (LARGE // 32, False):
        x = np.zeros(1 << 19, np.int32)
        f = np.full((1 << 19) + 1, 1e-40, np.float32)
        loop = MODULE.get_function(name)
        loop((blocks,), (32,), (f, x, np.int32(1)))  # compiled
        f[:] = 1e-40
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        try:
            loop((blocks,), (32,), (f, x, np.int32(0)))
            assert not raises and (f[:32 * blocks].view(np.uint32) == 0).all()
        except KeyboardInterrupt:
            assert raises
        rang.append(keeps_subnormal_floats(LARGE))
        print(name, blocks, raises, *rang)
        rang.clear()
"""


def test_handlers_amid_launches():
    lines = printed(START + SIGNALS).splitlines()
    assert lines == [
        f"{name} {blocks} {raises} True True"
        for name in ("loads", "polls", "barriers", "library")
        for blocks, raises in ((4, True), (LARGE // 32, False))
    ]
