"""Users' kernels reach NVRTC as the installed CuPy would pass them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cudakern.simulator import cupy_stand_in
from cudakern.simulator.sources import cupy_options
from cudakern.simulator.sources import text_to_ptx as compiling
from cudakern.simulator.sources.text_to_ptx import Code
from tests.helpers.rows import each

pytest.importorskip("cupy", reason="CuPy is not installed")

from cupy._core import core
from cupy.cuda import compiler

COMPLEX = """#include <cuComplex.h>
  # include < cuComplex.h > // twice
#include "cuComplex.h"
extern "C" __global__ void k(cuDoubleComplex* x) { *x = cuCmul(*x, *x); }"""
PLAIN = 'extern "C" __global__ void k(int* x) { *x = 1; }\n'


class HandedError(Exception):
    """Holds what would have been passed to NVRTC."""


@pytest.fixture
def cupy_hands(monkeypatch, tmp_path):
    """Return a function that returns the text, name, options and expressions of CuPy's call."""

    class Program:
        def __init__(self, source, name="", headers=(), include_names=(), **more):
            assert headers == include_names == ()
            self.handed = source, name, more.get("name_expressions")

        def compile(self, options=(), log_stream=None):
            assert log_stream is None
            if self.handed[0] == "":  # CuPy asks for the compiler's version
                return b"", None
            raise HandedError(*self.handed, options)

    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiler, "_NVRTCProgram", Program)
    # CuPy would need a GPU to know the architecture. We choose it, and execute PTX.
    arch = ("-arch=compute_90", "ptx")
    monkeypatch.setattr(compiler, "_get_arch_for_options_for_nvrtc", lambda _: arch)

    def hands(text, options=(), **more):
        more = {"name_expressions": None, "translate_cucomplex": False} | more
        with pytest.raises(HandedError) as handed:
            core.compile_with_cache(text, options, "90", prepend_cupy_headers=False, **more)
        return handed.value.args

    return hands


@each(
    "options",
    [
        (),
        ("-std=c++14",),
        ("--std=c++20", "-DA=1"),
        ("-I.", "--use_fast_math", "-ftz=false"),
        ("-arch=sm_80", "-G", "--std", "c++20"),
    ],
)
@each("expressions", [(), ("k", "scale<float, 2>")])
@each("code", [PLAIN, COMPLEX])
@each("translate", [False, True])
def test_the_same_reaches_nvrtc(cupy_hands, options, expressions, code, translate):
    text, name, names, options_of_cupy = cupy_hands(
        code, options, name_expressions=expressions or None, translate_cucomplex=translate
    )
    ours = compiling.program_of(Code("k.cu", code, options, expressions, None, translate))
    assert ours.text.replace('#line 1 "k.cu"\n', "", 1) == text
    assert ours.options == (*options_of_cupy, "-lineinfo")
    assert ours.expressions == (names or ())
    # Neither text has files beside it.
    assert not Path(name).exists()
    assert not Path(ours.name).parent.exists()


def test_cupy_is_not_imported(monkeypatch):
    first = cupy_options.make_options((), "compute_90")
    for name in [module for module in sys.modules if module.split(".")[0] == "cupy"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert cupy_options.make_options((), "compute_90") == first
    assert f"-I{core._get_header_dir_path()}" in first  # noqa: SLF001


def test_without_cupy(monkeypatch, tmp_path):
    """The CUDA toolkit's CCCL takes the place of CuPy's."""
    cuda, cccl = tmp_path / "cuda", tmp_path / "cccl"
    monkeypatch.setattr(cupy_options, "_find_cupy", lambda: None)
    monkeypatch.setattr(cupy_options, "find_headers", {"cudart": cuda, "cccl": cccl}.get)
    last = ("-ftz=true", "-arch=compute_80", "--device-as-default-execution-space")
    own = f"-I{Path(cupy_stand_in.__file__).with_name('include')}"
    assert cupy_options.make_options(("-DA",), "compute_80") == (
        *(f"-I{cccl}", "-DA", "--std=c++17", own, f"-I{cuda}"),
        *last,
    )
    monkeypatch.setattr(cupy_options, "find_headers", lambda _: None)
    assert cupy_options.make_options((), "compute_80") == ("--std=c++17", own, *last)
