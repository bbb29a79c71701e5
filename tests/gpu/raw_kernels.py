"""What CuPy's RawKernel and RawModule take and refuse. ``python -m tests.gpu.raw_kernels``.

On a GPU with CuPy's own classes; with ``--engine simulator`` with the simulator's, which must take
and refuse the same. Each expression is a line.
"""

from __future__ import annotations

import argparse
import copy  # noqa: F401
import pickle
import sys
import tempfile
from ctypes import c_int  # noqa: F401  the expressions name it
from decimal import Decimal  # noqa: F401
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

import cudakern as ck
from cudakern.engines.cuda.library import import_cupy


class Two(NamedTuple):
    """A tuple of a class of its own."""

    x: int
    y: int


class Number(IntEnum):
    """An integer of a class of its own."""

    SEVEN = 7


C = 'extern "C" __global__ void f(int* x, int n) { x[0] = n; }'
CPP = "__global__ void f(int* x, int n) { x[0] = n; }"
SPACED = f"namespace a {{ {CPP} __device__ int v = 5; }} __device__ int w = 6;"
TEMPLATE = "template <class T> __global__ void g(T* x, T n) { x[0] = n; }"
PTX = """.version 7.0
.target sm_70
.address_size 64
.visible .entry f(.param .u64 f_param_0, .param .u32 f_param_1) {
  .reg .b64 %x;
  .reg .b32 %n;
  ld.param.u64 %x, [f_param_0];
  ld.param.u32 %n, [f_param_1];
  cvta.to.global.u64 %x, %x;
  st.global.u32 [%x], %n;
  ret;
}
"""

#: By what becomes of them: None is taken, and is neither False nor, if it launches, without effect.
CONSTRUCTED = {
    None: """
    RawKernel(C, "f") | RawKernel(C, "f", ("-w",), "nvcc") | RawKernel(code=C, name="f")
    RawKernel(C, "f", translate_cucomplex=1, jitify=None).options == ()
    RawKernel(C, "f", enable_cooperative_groups="x").enable_cooperative_groups is True
    RawModule(code=C, options=("-w",)).options == ("-w",) | raw.name == raw.__name__ == "f"
    RawModule(code=C, name_expressions=["a", "b"]).name_expressions == ("a", "b")
    RawModule(code=C).name_expressions is None | RawModule(code=C).file_path is None
    raw.code == C | raw.backend == "nvrtc" | raw.file_path is None | hash(raw) == hash(raw)
    raw == raw | raw != copy.copy(raw) | raw.options == ("-w",)
    copy.copy(raw).options == ("-w",) | copy.deepcopy(raw).code == C
    pickle.loads(pickle.dumps(raw)).name == "f" | pickle.loads(pickle.dumps(raw, 2)).code == C
    pickle.loads(pickle.dumps(module, 0)).name_expressions == ("f",)
    copy.copy(module).code == C | copy.deepcopy(module).backend == "nvrtc"
    """,
    TypeError: """
    RawKernel(C.encode(), "f") | RawKernel(C, b"f") | RawKernel(np.str_(C), "f") | RawKernel(C)
    RawKernel(C, "f", ["-w"]) | RawKernel(C, "f", "-w") | RawKernel(C, "f", Two(1, 2))
    RawKernel(C, "f", (), "nvrtc", False) | RawKernel(C, "f", file_path="x")
    RawModule(C) | RawModule() | RawModule(code=C, path="x") | RawModule(code=C, options=["-w"])
    RawModule(code=C.encode()) | RawModule(path=b"x") | RawModule(path=Path("x"))
    RawModule(code=C, name_expressions=5) | RawModule(code=C, name="f")
    raw() | raw((1,), (1,)) | raw((1,), (1,), (x, 7), 0)
    """,
    ValueError: """
    RawModule(code=C, name_expressions=["f"], backend="nvcc")
    RawModule(code=C, jitify=True, backend="nvcc") | RawModule(path=ptx, name_expressions=["f"])
    RawModule(path=ptx, jitify=True) | RawKernel(C, "f", enable_cooperative_groups=np.zeros(2))
    """,
    AttributeError: """
    setattr(raw, "name", "g") | setattr(raw, "code", C) | setattr(raw, "options", ())
    setattr(raw, "backend", "nvcc") | setattr(raw, "enable_cooperative_groups", True)
    setattr(raw, "file_path", "x") | setattr(raw, "__name__", "g") | setattr(raw, "other", 1)
    setattr(raw, "attributes", {}) | setattr(raw, "max_threads_per_block", 1) | raw.other
    setattr(module, "code", C) | setattr(module, "name_expressions", ()) | raw.name_expressions
    """,
}
LAUNCHED = {
    None: """
    kernel((1,), (1,), (x, 7)) | kernel((1, 1, 1), (1, 1, 1), (x, 7)) | kernel((1,), (1,), [x, 7])
    kernel((np.int64(1),), (np.uint8(1), np.int32(1)), (x, 7)) | kernel((0,), (-1, 0), (x, 7))
    kernel((1,), (1,), (x, np.int32(7))) | kernel((1,), (1,), (x, np.array([7], np.int32)[0]))
    kernel((1,), (1,), (x, 7), shared_mem=np.int32(4)) | kernel((1,), (1,), (x, 7), stream=None)
    kernel((1,), (1,), (x, 7), stream=stream)
    """,
    TypeError: """
    kernel(1, (1,), (x, 7)) | kernel((1,), 1, (x, 7)) | kernel([1], (1,), (x, 7))
    kernel((1,), [1], (x, 7)) | kernel(np.array([1]), (1,), (x, 7)) | kernel(None, (1,), (x, 7))
    kernel((1,), None, (x, 7)) | kernel(Two(1, 1), (1,), (x, 7))
    kernel((2.0,), (1,), (x, 7)) | kernel((1,), (1.5,), (x, 7)) | kernel(("1",), (1,), (x, 7))
    kernel((None,), (1,), (x, 7)) | kernel((np.float32(2),), (1,), (x, 7))
    kernel((1,), (1,), None) | kernel((1,), (1,), 5) | kernel((1,), (1,), (a for a in (x, 7)))
    kernel((1,), (1,), (x, "7")) | kernel((1,), (1,), (x, b"7")) | kernel((1,), (1,), (x, [7]))
    kernel((1,), (1,), (x, (7,))) | kernel((1,), (1,), (x, Number.SEVEN))
    kernel((1,), (1,), (x, Decimal(7))) | kernel((1,), (1,), (x, c_int(7)))
    kernel((1,), (1,), (x, 7), shared_mem=None) | kernel((1,), (1,), (x, 7), shared_mem="4")
    kernel((1,), (1,), (x, 7), foo=1)
    """,
    Exception: """
    kernel((), (1,), (x, 7)) | kernel((1,), (), (x, 7)) | kernel((1,), (1,), (x, 2**64))
    kernel((1,), (1,), (x, np.str_("7"))) | kernel((1,), (1,), (x, 7), stream=5)
    kernel((1,), (1,), (x, 7), shared_mem=-1)
    """,
}
#: What CuPy passes on, and the simulator calls a mistake.
ONLY_HERE_REFUSED = """
    kernel((1, 1, 1, 5), (1,), (x, 7)) | kernel((True,), (1,), (x, 7))
    kernel((1.0,), (1,), (x, 7))
    kernel((1,), (1,), (x, 7), shared_mem=True) | kernel((1,), (1,), (x, 7), shared_mem=1.5)
    kernel((1,), (1,), (x, np.int64(7)))
"""
#: Results that only a driver gives.
COMPILED = {
    None: """
    RawKernel(C, "f")((1,), (1,), (x, 7)) | RawKernel(CPP, "_Z1fPii")((1,), (1,), (x, 7))
    pickle.loads(pickle.dumps(RawKernel(C, "f")))((1,), (1,), (x, 7))
    RawModule(code=C).get_function("f")((1,), (1,), (x, 7))
    RawModule(code=CPP).get_function("_Z1fPii")((1,), (1,), (x, 7))
    RawModule(code=CPP, name_expressions=["f"]).get_function("f")((1,), (1,), (x, 7))
    RawModule(code=CPP, name_expressions=["f"]).get_function("f").name == "_Z1fPii"
    RawModule(code=SPACED, name_expressions=["a::f"]).get_function("a::f")((1,), (1,), (x, 7))
    RawModule(code=SPACED).get_function("_ZN1a1fEPii")((1,), (1,), (x, 7))
    RawModule(code=TEMPLATE, name_expressions=["g<int>"]).get_function("g<int>")((1,), (1,), (x, 7))
    again(RawModule(code=TEMPLATE, name_expressions=["g<int>"]).get_function("g<int>"))((1,), (1,), (x, 7))
    again(RawModule(code=CPP, name_expressions=["f"])).get_function("f")((1,), (1,), (x, 7))
    again(RawModule(path=ptx).get_function("f"))((1,), (1,), (x, 7))
    copy.deepcopy(raw)((1,), (1,), (x, 7)) | RawModule(code=C).compile(log_stream=None) is None
    RawModule(path=ptx).get_function("f")((1,), (1,), (x, 7)) | RawModule(path=ptx).code is None
    RawModule(path=ptx, options=("-w",)).options == () | RawModule(path=ptx).backend == "nvcc"
    RawModule(code=SPACED).get_global("w") is not None
    RawModule(code=SPACED).get_global("_ZN1a1vE") is not None
    raw.attributes["max_threads_per_block"] == raw.max_threads_per_block == 1024
    raw.shared_size_bytes == 0 | raw.max_dynamic_shared_size_bytes == 48 * 1024
    raw.preferred_shared_memory_carveout == -1
    setattr(asked, "preferred_shared_memory_carveout", 50) is None
    setattr(asked, "max_dynamic_shared_size_bytes", 60000) is None
    copy.copy(asked).max_dynamic_shared_size_bytes == again(asked).max_dynamic_shared_size_bytes == 60000
    """,  # noqa: E501
    Exception: """
    RawKernel(CPP, "f").compile() | RawKernel(CPP, "f")((1,), (1,), (x, 7))
    RawKernel(C, "g").compile() | RawKernel(C, "").compile() | RawKernel(C, None).compile()
    RawKernel(C, "f", None).compile() | RawKernel(C, "f", (1,)).compile()
    RawKernel(C, "f", ("--nonsense",)).compile() | RawKernel(C, "f", (), "hip").compile()
    RawKernel(TEMPLATE, "g<int>").compile() | RawModule(code=TEMPLATE).get_function("g<int>")
    RawKernel(SPACED, "a::f").compile() | RawKernel(SPACED, "f").compile()
    RawModule(code=CPP).get_function("f") | RawModule(code=SPACED).get_function("a::f")
    RawModule(code=TEMPLATE, name_expressions=["g<int>"]).get_function("g<short>")
    RawModule(code=TEMPLATE, name_expressions=["g<missing>"]).compile()
    RawModule(code=C).get_function(b"f") | RawModule(code=C).get_function(None)
    RawModule(code=SPACED).get_global("v") | RawModule(code=SPACED).get_global("a::v")
    RawModule(code=SPACED, name_expressions=["&a::v"]).get_global("&a::v")
    RawModule(path="/nowhere/x.ptx").get_function("f")
    raw((1,), (1025,), (x, 7)) | raw((1, 65536), (1,), (x, 7)) | raw((1,), (1, 1, 65), (x, 7))
    raw((1,), (1,), (x, 7), shared_mem=49153) | setattr(raw, "max_dynamic_shared_size_bytes", 2**20)
    """,
}


def expressions(table):
    """Return the expressions of a text."""
    return [text.strip() for line in table.strip().split("\n") for text in line.split(" | ")]


def cases(*tables):
    """Return expressions and what becomes of them."""
    return [
        (text, expected)
        for table in tables
        for expected, texts in table.items()
        for text in expressions(texts)
    ]


def again(thing):
    """Return what another process would get."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301  our own


def names(api, x, folder):
    """Return what the expressions name: classes of CuPy, or of what stands for it, and an array."""
    ptx = Path(folder) / "f.ptx"
    ptx.write_text(PTX, encoding="utf-8")
    raw = api.RawKernel(C, "f", ("-w",))
    return globals() | {
        "RawKernel": api.RawKernel,
        "RawModule": api.RawModule,
        "x": x,
        "ptx": str(ptx),
        "raw": raw,
        "kernel": raw,
        "asked": api.RawKernel(f"{C} // asked", "f"),
        "module": api.RawModule(code=C, name_expressions=["f"]),
        "stream": SimpleNamespace(ptr=0),
    }


def wrong(text, expected, given):
    """Return what is wrong with what becomes of an expression; nothing if it is as expected."""
    launches = "(x, " in text and given["x"] is not None
    if launches:
        given["x"][...] = 0
    try:
        value = eval(text, given)  # noqa: S307
    except Exception as error:  # noqa: BLE001  whatever it is
        if expected is None or not isinstance(error, expected):
            return f"{type(error).__name__}: {error}"
        return ""
    if expected is not None:
        return "it is taken"
    return "it is False" if value is False or (launches and int(given["x"][0]) != 7) else ""


def main(words=None):
    """Evaluate all expressions; return 1 unless each is taken or refused as it must be."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.gpu.raw_kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    on_gpu = parser.parse_args(words).engine == "cuda"
    api, arrays = (import_cupy(),) * 2 if on_gpu else (ck.simulator, np)
    only_here = {None if on_gpu else Exception: ONLY_HERE_REFUSED}
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        given = names(api, arrays.zeros(1, np.int32), folder)
        for text, expected in cases(CONSTRUCTED, LAUNCHED, COMPILED, only_here):
            found = wrong(text, expected, given)
            failures += bool(found)
            wanted = "is taken" if expected is None else f"raises {expected.__name__}"
            sys.stdout.write(f"{text} {wanted}: {f'FAILED, {found}' if found else 'ok'}\n")
    sys.stdout.write(f"{failures} failed\n")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
