"""Options of raw kernels, and the messages of the compiler."""

from __future__ import annotations

import os
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, checked
from tests.helpers.rows import each

NOTHING = 'extern "C" __global__ void k() {}'
SHOW = 'extern "C" __global__ void k(long long* x) { x[0] = VALUE; }'


def shown(*options, value="VALUE", before=""):
    """Return the value of an expression in a kernel compiled with options."""
    x = np.zeros(1, np.int64)
    RawKernel(f"{before}\n{SHOW.replace('VALUE', value)}", "k", options)((1,), (1,), (x,))
    return x[0]


@each(
    "options, value",
    [
        (("-DVALUE=3", "--use_fast_math"), 3),
        (("-D", "VALUE=3"), 3),
        (("-D VALUE=3",), 3),
        (("--define-macro", "VALUE=5"), 5),
        (("-DVALUE=f(4)", "-Df(x)=x*x"), 16),
        (("-use_fast_math", "-lineinfo", "-DVALUE=4"), 4),
        (("-arch", "sm_80", "-DVALUE=4"), 4),
        # Not --restrict and -G, which NVRTC keeps for later compilations.
        (("--maxrregcount=32", "-default-device", "--fmad=false", "-DVALUE=4"), 4),
        (("-Xptxas", "-v", "--diag-suppress=177", "-rdc=true", "-DVALUE=4"), 4),
    ],
)
def test_options_of_nvrtc(options, value):
    assert shown(*options) == value
    if options[0] in {"-D", "-DVALUE=3"}:
        with checked():
            assert shown(*options) == value


@each("option", ["-I{}", "-I", "--include-path={}", "--include-path"])
def test_folders(tmp_path, option):
    (tmp_path / "inner").mkdir(exist_ok=True)
    (tmp_path / "outer.h").write_text('#pragma once\n#include "inner/value.h"\n')
    (tmp_path / "inner" / "value.h").write_text('#include "other.h"\n')
    (tmp_path / "inner" / "other.h").write_text("#define VALUE 6\n")
    options = (option.format(tmp_path),) if "{" in option else (option, str(tmp_path))
    for quotes in ('"outer.h"', "<outer.h>"):
        assert shown(*options, before=f"#include {quotes}") == 6
    (tmp_path / "inner" / "other.h").write_text("#define VALUE 8\n")
    assert shown(*options, before="#include <outer.h>") == 8  # not the earlier kernel


def test_folders_count_from_the_working_one(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "value.h").write_text("#define VALUE 6\n")
    monkeypatch.chdir(tmp_path)
    before = "#include <value.h>"
    assert shown("-Ibelow", before=before) == 6
    monkeypatch.chdir(tmp_path / "below")
    assert shown(f"-I..{os.sep}below", before=before) == 6


@each("options, value", [((), 2017), (("-std=c++14",), 2014), (("--std=c++20",), 2020)])
def test_standards(options, value):
    assert shown(*options, value="__cplusplus / 100") == value


def test_the_architecture(monkeypatch):
    """As in CuPy, it is the GPU's, whatever the options say."""
    assert shown("-arch=sm_80", value="__CUDA_ARCH__") == 900
    monkeypatch.setenv("CUDAKERN_ARCH", "sm_80")
    assert shown(value="__CUDA_ARCH__") == 800


def test_numbers_are_flushed_as_with_cupy():
    x = np.array([1e-40, 0], np.float32)
    code = 'extern "C" __global__ void k(float* x) { x[1] = x[0] * 1.5f; }'
    for options in ((), ("-ftz=false",)):
        for mode in (nullcontext, checked):
            x[1] = 1
            with mode():
                RawKernel(code, "k", options)((1,), (1,), (x,))
            assert x[1] == 0


@each(
    "option, said",
    [
        ("--fast", "nvrtc: error: unrecognized option --fast found"),
        ("-lcuda", "nvrtc: error: unrecognized option -lcuda found"),
        ("VALUE=3", "nvrtc: error: unrecognized option VALUE=3 found"),
        ("-std=c++12", "nvrtc: error: "),
        ("", "nvrtc: error: unrecognized option "),
        ("-D", "Command-line error: invalid macro definition: "),
        ("-dlto", "error: the options must let NVRTC make PTX; it made none"),
    ],
)
def test_options_that_nvrtc_refuses(option, said):
    owners = (RawKernel(NOTHING, "k", (option,)), RawModule(code=NOTHING, options=(option,)))
    for owner, mode in zip(owners, (checked, nullcontext), strict=True):
        with pytest.raises(ck.KernelCompileError) as caught, mode():
            owner.compile()
        assert f": the kernel must compile; {said}" in str(caught.value)
        assert option in caught.value.options
        assert "\n" not in str(caught.value)


@each(
    "line, said",
    [
        ("x[0] = no_such_function(3);", 'error: identifier "no_such_function" is undefined'),
        ("#include <no_such.h>", 'catastrophic error: cannot open source file "no_such.h"'),
        ("goto nowhere;", 'error: label "nowhere" was referenced but not defined'),
    ],
)
def test_errors_are_quoted(line, said):
    code = f'extern "C" __global__ void k(float* x) {{\n  int a = 0;\n{line}\n}}'
    for owner, name in ((RawKernel(code, "k"), "k.cu"), (RawModule(code=code), "module.cu")):
        with pytest.raises(ck.KernelCompileError) as caught:
            owner.compile()
        assert str(caught.value) == f"{name}: the kernel must compile; {name}(3): {said}"
        assert "detected in the compilation of" in caught.value.log
        assert "/.cudakern" not in caught.value.log
        assert caught.value.source == name


def test_a_kernel_of_another_name_has_its_lines():
    code = '#line 7 "mine/other.cu"\nextern "C" __global__ void k(float* x) { *x = missing; }'
    with pytest.raises(ck.KernelCompileError, match=r"^k.cu: .*; mine/other.cu\(7\): error: "):
        RawKernel(code, "k").compile()
