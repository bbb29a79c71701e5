"""Copies of RawKernel and RawModule, here and in other processes, keep what CuPy's keep."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule
from tests.helpers.processes import printed
from tests.helpers.rows import each

CODE = """__device__ int counter = 5;
extern "C" __global__ void k(int* x) { x[threadIdx.x] = VALUE + atomicAdd(&counter, 1); }
template <typename T> __global__ void of(T* x) { x[threadIdx.x] = VALUE + sizeof(T); }
"""
GIVEN = {"options": ("-DVALUE=10",), "enable_cooperative_groups": True}
HOW = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda x, n=n: pickle.loads(pickle.dumps(x, n)) for n in range(6)},  # noqa: S301
}


def module(api=ck.simulator):
    return api.RawModule(code=CODE, name_expressions=["of<int>", "k"], **GIVEN)


def raw(api=ck.simulator):
    return api.RawKernel(CODE, "k", ("-DVALUE=10",), translate_cucomplex=False)


def launched(kernel, count=1, **launch):
    """Return what a kernel writes."""
    x = np.zeros(count, np.int32)
    kernel((1,), (count,), (x,), **launch)
    return x.tolist()


def sent(kernel):
    """Return what a kernel writes in another process, and its attributes there."""
    with ck.simulator.in_place_of_cupy() as cp:
        x = (np if type(kernel) is RawKernel else cp).zeros(1, np.int32)
    kernel((1,), (1,), (x,))
    most = kernel.max_dynamic_shared_size_bytes
    return x.tolist(), kernel.name, kernel.options, kernel.file_path, most


def shown(thing):
    """Return the attributes of a kernel or a module that CuPy has."""
    names = ("code", "file_path", "options", "backend", "enable_cooperative_groups")
    names += ("name", "__name__") if isinstance(thing, RawKernel) else ("name_expressions",)
    return {name: getattr(thing, name) for name in names}


@each("launches", [False, True])
@each("how", HOW)
def test_copies(how, launches):
    for make in (raw, lambda: module().get_function("k")):
        kernel, (count,) = make(), launched(make())
        if launches:
            count += 1
            assert launched(kernel) == [count]
        again = HOW[how](kernel)
        assert again is not kernel
        assert (type(again), shown(again)) == (RawKernel, shown(kernel))
        assert launched(again) == [count + 1]  # it uses the variables of this process
        with ck.simulator.checked():
            assert launched(again) == [count + 2]
    first = module()
    again = HOW[how](first)
    assert (type(again), shown(again)) == (RawModule, shown(first))
    assert launched(HOW[how](again.get_function("of<int>"))) == [14]
    again.get_global("counter").view(np.int32)[0] = 90
    assert launched(first.get_function("k")) == [100]
    kernel = HOW[how](first.get_function("of<int>"))
    assert kernel.name == "_Z2ofIiEvPT_"
    assert repr(kernel).startswith("<RawKernel of<int>(T* x) for compute_90")
    with pytest.raises(
        ck.BindingError, match=r"^of<int>: args must have 1 entry, for \(T\* x\); got 0$"
    ):
        kernel((1,), (1,), ())
    kernel.takes_strides = True
    assert HOW[how](kernel).takes_strides is True


PROGRAM = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import cudakern as ck
from cudakern.simulator import RawKernel, RawModule
from tests.simulator.launching.test_raw_copies import CODE, launched, module, raw, sent
folder = sys.argv[1]
of_ptx, of_file = RawModule(path=folder + "/k.ptx"), RawModule(path=folder + "/k.cu")
kernel = raw()
kernel.max_dynamic_shared_size_bytes = 70_000  # CUDA keeps it in one process
assert launched(kernel, 3) == [15, 16, 17]
with ck.simulator.in_place_of_cupy() as cp:
    pass
def check(kernel, wrote, name, options, path):
    got = pool.submit(sent, kernel).result(120)
    assert got == ([wrote], name, options, path, 49152), got
with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
    for number, api in enumerate((ck.simulator, cp)):
        check(raw(api), 15 + number, "k", ("-DVALUE=10",), None)
        check(module(api).get_function("k"), 15 + number, "k", ("-DVALUE=10",), None)
    check(module().get_function("of<int>"), 14, "_Z2ofIiEvPT_", ("-DVALUE=10",), None)
    check(of_ptx.get_function("f"), 6, "f", (), folder + "/k.ptx")
    check(of_file.get_function("plain"), 8, "_Z5plainPi", (), folder + "/k.cu")
print("done")
"""
PTX = """.version 7.0
.target sm_70
.address_size 64
.visible .entry f(.param .u64 f_param_0) {
  .reg .b64 %x;
  ld.param.u64 %x, [f_param_0];
  st.u32 [%x], 6;
  ret;
}
"""


def test_other_processes(tmp_path):
    (tmp_path / "k.ptx").write_text(PTX)
    (tmp_path / "k.cu").write_text("__global__ void plain(int* x) { *x = 8; } int main() {}")
    assert printed(PROGRAM, str(tmp_path)) == "done\n"
