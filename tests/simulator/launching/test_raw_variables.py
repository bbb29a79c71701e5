"""Variables of raw modules: read and written by the host, kept between launches."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked

VARIABLES = r"""
__constant__ float factors[4];
static __constant__ float hidden[4] = {1, 1, 1, 1};
__device__ int table[8] = {0, 10, 20, 30, 40, 50, 60, 70};
static __device__ int settings[2];
__device__ static __align__(16) double pair[2] = {1.5, 2.5};
namespace { __device__ int inside = 5; }
namespace a { __device__ int same = 1; }
namespace b { __device__ int same = 2; }
const __constant__ int fixed[3] = {1, 2, 3};
struct Limits { int low, high; };
__device__ Limits limits{3, 4};
__device__ int counter;
__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
typedef int (*Operation)(int, int);
__device__ Operation operations[2] = {add, sub};
__device__ int* const where = &counter;

extern "C" __global__ void show(double* x, int i) {
  x[0] = factors[3], x[1] = hidden[1], x[2] = table[i], x[3] = settings[1], x[4] = pair[1];
  x[5] = inside, x[6] = a::same + 10 * b::same, x[7] = fixed[i], x[8] = limits.high;
  x[9] = operations[1](9, 2);
}
extern "C" __global__ void count(int by) { atomicAdd(&counter, by); }
extern "C" __global__ void count_down(int by) {
  static __device__ int calls;
  calls += 1;
  atomicSub(where, by + 100 * calls);
}
"""
BEFORE = [0, 1, 10, 0, 2.5, 5, 21, 2, 4, 7]
MODES = pytest.mark.parametrize("mode", [nullcontext, checked], ids=["plain", "checked"])


@pytest.fixture
def module():
    """Return a module with a new text, since modules with the same text share a library."""
    module.number = getattr(module, "number", 0) + 1
    return RawModule(code=f"{VARIABLES}\n// {module.number}\n")


def shown(module, mode):
    x = np.zeros(10)
    with mode():
        module.get_function("show")((1,), (1,), (x, 1))
    return x.tolist()


@MODES
def test_what_the_host_writes_is_read(module, mode):
    """Kernels first read the initial values, then what the host wrote."""
    assert shown(module, mode) == BEFORE
    assert module.get_global("table").view(np.int32).tolist() == [*range(0, 80, 10)]
    assert module.get_global("factors").dtype == np.uint8
    module.get_global("factors").view(np.float32)[:] = [1, 2, 3, 4]
    module.get_global("hidden").view(np.float32)[1] = 6
    module.get_global("table").view(np.int32)[1] = 7
    module.get_global("settings").view(np.int32)[1] = 8
    module.get_global("pair").view(np.float64)[1] = 9
    module.get_global("_ZN1a4sameE").view(np.int32)[0] = 3
    module.get_global("_ZN1b4sameE").view(np.int32)[0] = 4
    module.get_global("limits").view(np.int32)[1] = 12
    module.get_global("fixed").view(np.int32)[1] = 20  # const in C++, but memory, as on a GPU
    assert shown(module, mode) == [4, 6, 7, 8, 9, 5, 43, 20, 12, 7]


def test_names_of_variables(module, tmp_path):
    """Variables have their symbols; those in files also have names, with or without namespaces."""
    path = tmp_path / "variables.cu"
    path.write_text(module.code)
    of_file = RawModule(path=str(path))
    wanted, by_symbol = of_file.get_global("a::same"), of_file.get_global("_ZN1a4sameE")
    wanted.view(np.int32)[0] = 77
    assert by_symbol.view(np.int32) == of_file.get_global("a::same").view(np.int32) == 77
    assert of_file.get_global("count_down::calls").nbytes == 4
    assert of_file.get_global("inside").view(np.int32) == 5
    with pytest.raises(ck.BindingError, match=r"'same', which may be _ZN1a4sameE, _ZN1b4sameE$"):
        of_file.get_global("same")


def test_unknown_variables(module):
    """CuPy does not find variables by name expressions either."""
    other = RawModule(code=module.code, name_expressions=["&a::same"])
    for named, name in ((module, "missing"), (module, "a::same"), (other, "&a::same")):
        with pytest.raises(ck.BindingError) as caught:
            named.get_global(name)
        message = str(caught.value)
        assert message.startswith("RawModule: name must be one of the module's variables (")
        hint = ", which may be _ZN1a4sameE" if name == "a::same" else ""
        assert message.endswith(f"; got {name!r}{hint}")
        assert "table" in message
        assert "\n" not in message


@MODES
def test_counters_are_kept_between_launches(module, mode):
    count, down = module.get_function("count"), module.get_function("count_down")
    counter = module.get_global("counter").view(np.int32)
    with mode():
        count((2,), (32,), (3,))
        assert counter == 192
        down((1,), (1,), (2,))
        assert counter == 90
        down((1,), (1,), (0,))
        assert counter == -110
        counter[0] = 5
        count((1,), (1,), (1,))
    assert counter == 6


@pytest.mark.parametrize("modes", [(nullcontext, checked) * 2, (checked, nullcontext) * 2])
def test_plain_and_checked_launches_share_them(module, modes):
    count, down = module.get_function("count"), module.get_function("count_down")
    for mode in modes:
        with mode():
            count((1,), (1,), (1000,))
            down((1,), (1,), (0,))
    assert module.get_global("counter").view(np.int32) == 4000 - 100 - 200 - 300 - 400
