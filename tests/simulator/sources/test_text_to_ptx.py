"""PTX from NVRTC: its options and texts, the keys of the cache, the names of files in it."""

from __future__ import annotations

import re
import sys
from importlib import metadata

import pytest

import cudakern as ck
from cudakern.compilation import nvrtc
from cudakern.engines import kernel_files
from cudakern.engines.simulator import ptx_of
from cudakern.operators.operator import specialisations
from cudakern.simulator.sources import cupy_options
from cudakern.simulator.sources import text_to_ptx as compiling
from cudakern.simulator.sources.text_to_ptx import Code, find_target, is_ptx, ptx_of_code
from tests.helpers.rows import each

SPECS = {spec.source: spec for spec in specialisations()}
(SPEC, *_) = SPECS.values()
ONE = 'extern "C" __global__ void k(int* x) { *x = 1; }'
VALUE = '#include "value.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }'


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Return the folder where PTX is cached."""
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(ptx):
    """Return the names of files in PTX."""
    return re.findall(r'^\s*\.file\s+\d+\s+"(.*)"$', ptx, re.MULTILINE)


@each("name", ["80", "sm_80", "compute_80"])
def test_architectures(monkeypatch, name):
    monkeypatch.delenv("CUDAKERN_ARCH", raising=False)
    assert find_target() == "compute_90"
    monkeypatch.setenv("CUDAKERN_ARCH", name)
    assert find_target() == "compute_80"
    assert ".target sm_80" in ptx_of_code(Code("k.cu", ONE)).text()
    monkeypatch.setenv("CUDAKERN_ARCH", "90a")
    assert ".target sm_90a" in ptx_of(SPEC).text()


@each("name", ["hopper", "sm_", "9.0", "sm90", " 90"])
def test_what_is_no_architecture(monkeypatch, name):
    monkeypatch.setenv("CUDAKERN_ARCH", name)
    with pytest.raises(ck.EngineUnavailableError) as caught:
        ptx_of(SPEC)
    assert str(caught.value) == (
        "cudakern: CUDAKERN_ARCH must be an architecture such as 90, sm_90 or compute_90, at "
        f"least 70 for cudakern's own kernels; got {name!r}"
    )


#: Of these, NVRTC before 13 knows 60. No version knows 80a.
@each("name", ["20", "60", "sm_65", "compute_999", "80a", "0"])
def test_an_architecture_that_nvrtc_does_not_know(monkeypatch, name):
    monkeypatch.setenv("CUDAKERN_ARCH", name)
    known = nvrtc.supported_capabilities()
    for make, legal, whose in [
        (lambda: ptx_of_code(Code("k.cu", ONE)), known, ""),
        (lambda: ptx_of(SPEC), [n for n in known if n >= 70], " for cudakern's own kernels"),
    ]:
        number = name.rpartition("_")[2]
        if number.isdigit() and int(number) in legal:
            assert f".target sm_{number}" in make().text()
            continue
        with pytest.raises(ck.EngineUnavailableError) as caught:
            make().text()
        assert str(caught.value) == (
            f"cudakern: CUDAKERN_ARCH must be at least {min(legal)}{whose}, one of "
            f"{', '.join(map(str, legal))} with NVRTC {nvrtc.version()}; got {number}"
        )


@each("source", SPECS)
def test_the_package_s_kernels_are_compiled_as_for_a_gpu(monkeypatch, folder, source):
    """Text and options are those for machine code, except the architecture and line information."""
    handed = []

    def compiled(program):
        handed.append(program)
        return b".version", ""

    monkeypatch.setattr(nvrtc, "compile", compiled)
    kernel_files.cached_file(SPECS[source], "sm_90")
    ptx_of(SPECS[source]).text()
    cubin, ptx = handed
    assert (ptx.name, ptx.text) == (cubin.name, cubin.text)
    assert cubin.options == ("--gpu-architecture=sm_90", "-std=c++17")
    assert ptx.options == ("--gpu-architecture=compute_90", "-std=c++17", "-lineinfo")
    assert folder.exists()


def test_files_are_named_as_in_the_text(monkeypatch, folder, tmp_path):
    """NVRTC would put the process's current folder in front."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "half.h").write_text("__device__ int half_of(int a) { return a / 2; }")
    text = """#include "half.h"
    extern "C" __global__ void k(int* x) { *x = half_of(*x); }
    #line 7 "mine/other.cu"
    extern "C" __global__ void other(int* x) { *x = half_of(half_of(*x)); }"""
    code = Code("k.cu", text, (f"-I{tmp_path}/inner",))
    results = []
    for place in (tmp_path, tmp_path / "inner", "/"):
        monkeypatch.chdir(place)
        for file in folder.iterdir() if folder.exists() else ():
            file.unlink()
        results.append((ptx_of(SPEC).text(), ptx_of_code(code).text(), ptx_of_code(code).key))
    assert results[0] == results[1] == results[2]
    assert f"kernels/{SPEC.source}" in files(results[0][0])
    assert all(name.startswith("kernels/") for name in files(results[0][0]))
    assert files(results[0][1]) == ["k.cu", f"{tmp_path}/inner/half.h", "mine/other.cu"]


def test_a_folder_that_is_gone(monkeypatch, folder, tmp_path):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert ".entry k(" in ptx_of_code(Code("k.cu", ONE)).text()
    assert folder.exists()


def test_a_key_tells_all_that_the_result_depends_on(monkeypatch):
    def key(*arguments, **more):
        return ptx_of_code(Code(*arguments, **more)).key

    keys = [
        key("k.cu", ONE),
        key("other.cu", ONE),
        key("k.cu", f"{ONE}\n"),
        key("k.cu", ONE, ("-DA",)),
        key("k.cu", ONE, (), ("k",)),
        key("k.cu", ONE, translate_cucomplex=True),
        ptx_of(SPEC).key,
    ]
    with monkeypatch.context() as patch:
        patch.setenv("CUDAKERN_ARCH", "80")
        keys.append(key("k.cu", ONE))
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "version", lambda: "13.99")
        keys.append(key("k.cu", ONE))
    with monkeypatch.context() as patch:
        patch.setattr(cupy_options, "describe_headers", lambda: ["another CuPy"])
        keys.append(key("k.cu", ONE))
    assert len({*keys}) == len(keys)
    assert keys[0] == key("k.cu", ONE)


@pytest.mark.parametrize("cupy", ["cupy/_core/include", None])
def test_a_stamp_changes_with_the_headers(monkeypatch, tmp_path, cupy):
    monkeypatch.setattr(cupy_options, "_find_cupy", lambda: cupy and tmp_path / cupy)
    monkeypatch.setattr(cupy_options, "find_headers", lambda name: tmp_path / name)
    first = "cupy/_version.py" if cupy else "cccl/cuda/std/version"
    marks = (first, "cudart/cuda_runtime_api.h")
    stamps = {tuple(cupy_options.describe_headers())}
    for mark in marks:
        (tmp_path / mark).parent.mkdir(parents=True)
        (tmp_path / mark).write_text("1")
        stamps.add(tuple(cupy_options.describe_headers()))
        (tmp_path / mark).write_text("2, and more")
        stamps.add(tuple(cupy_options.describe_headers()))
    assert len(stamps) == 1 + 2 * len(marks)


@each(
    "options",
    [
        ("-I{}",),
        ("-I", "{}"),
        ("-I={}",),
        ("--include-path={}",),
        ("--include-path", "{}"),
        ("-DA=1", "-I{}/absent", "-Ibelow"),
    ],
)
def test_an_edited_header_makes_another_kernel(folder, monkeypatch, tmp_path, options):
    """It may be at any depth, and its folder may be given in any way."""
    monkeypatch.chdir(tmp_path)
    below = tmp_path / "below"
    (below / "inner").mkdir(parents=True, exist_ok=True)
    (below / "value.h").write_text("  #  include <inner/more.h>\n")
    (below / "inner" / "more.h").write_text('#include "../last.h"\n')
    options = tuple(option.format(below) for option in options)
    before = len([*folder.glob("*.ptx")])
    for number in (21, 22, 22):
        (below / "last.h").write_text(f"#define VALUE {number}\n")
        assert f" {number};" in ptx_of_code(Code("k.cu", VALUE, options)).text()
    assert len([*folder.glob("*.ptx")]) == before + 2


@each("option", ["-include=value.h", "--pre-include=value.h", "-include"])
def test_a_header_that_an_option_includes(folder, tmp_path, option):
    more = ("value.h",) if option == "-include" else ()
    code = Code("k.cu", VALUE.split("\n")[1], (f"-I{tmp_path}", option, *more))
    for number in (21, 22):
        (tmp_path / "value.h").write_text(f"#define VALUE {number}\n")
        assert f" {number};" in ptx_of_code(code).text()
    assert folder.exists()


@each("marks", ['""', "<>"])
def test_a_header_by_its_whole_path(folder, tmp_path, marks):
    name = marks[0] + str(tmp_path / "value.h") + marks[1]
    for number in (21, 22):
        (tmp_path / "value.h").write_text(f"#define VALUE {number}\n")
        text = f"#include {name}\n{VALUE.partition(chr(10))[2]}"
        assert f" {number};" in ptx_of_code(Code("k.cu", text, ())).text()
    assert folder.exists()


def test_headers_that_include_each_other(folder, tmp_path):
    (tmp_path / "value.h").write_text('#pragma once\n#include "b.h"\n#define VALUE 7\n')
    (tmp_path / "b.h").write_text('#pragma once\n#include "value.h"\n')
    assert " 7;" in ptx_of_code(Code("k.cu", VALUE, (f"-I{tmp_path}",))).text()
    assert folder.exists()


def test_the_current_folder_is_none_of_a_text(monkeypatch, tmp_path):
    """CuPy's texts have a folder of their own, so there are no files beside them."""
    (tmp_path / "value.h").write_text("#define VALUE 5\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ck.KernelCompileError, match=r'cannot open source file "value\.h"$'):
        ptx_of_code(Code("k.cu", VALUE)).text()


@each(
    ("text", "expected"),
    [
        (".version 9.0\n.target sm_90", True),
        ("//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version 8.4", True),
        ("/* .entry\n */ // one\n  .version\t7.0", True),
        (ONE, False),
        ("// .version 9.0\n", False),
        ("", False),
        ("int a = b.version;", False),
        (".versions", False),
        (200 * "/* */ ", False),
    ],
)
def test_what_is_ptx(text, expected):
    assert is_ptx(text) is expected


def test_ptx_of_somebody_else():
    ptx = compiling.ptx_of_text(".version 9.0\n\0\0", "triton.ptx")
    assert (ptx.text(), ptx.source) == (".version 9.0\n", "triton.ptx")
    assert ptx.key == compiling.ptx_of_text(".version 9.0\n", "triton.ptx").key
    assert ptx.key != compiling.ptx_of_text(".version 9.1\n", "triton.ptx").key
    # Reports name the file.
    assert ptx.key != compiling.ptx_of_text(".version 9.0\n", "other.ptx").key


@each("code", [SPEC, Code("k.cu", ONE)], ids=["own", "anybody's"])
def test_a_missing_nvrtc_is_named(monkeypatch, folder, code):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    nvrtc._nvrtc.cache_clear()  # noqa: SLF001
    nvrtc.version.cache_clear()
    monkeypatch.setattr(metadata, "distribution", absent)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    monkeypatch.delattr("cuda.bindings.nvrtc", raising=False)
    with pytest.raises(ck.EngineUnavailableError) as caught:
        ptx_of_code(code) if isinstance(code, Code) else ptx_of(code)
    assert str(caught.value) == (
        "cudakern: cuda.bindings must be installed to compile kernels; without a GPU, "
        "run: pip install 'cudakern[simulator]'; with one, run: "
        "pip install 'cudakern[cuda12]' (CUDA 12) or 'cudakern[cuda13]' (CUDA 13)"
    )
    assert not folder.exists()
    nvrtc.version.cache_clear()


@each(
    ("header", "advice"),
    [
        ("cupy/no_such.cuh", "it comes with CuPy"),
        ("curand_no_such.h", "run: pip install 'cuda-toolkit[curand]'"),
        ("crt/no_such.h", "it comes with the extra simulator where CUDA is 13"),
        ("cub/no_such.cuh", "run: pip install 'cudakern[simulator]'"),
        ("no_such.h", ""),
    ],
)
def test_where_a_missing_header_comes_from(header, advice):
    with pytest.raises(ck.KernelCompileError) as caught:
        ptx_of_code(Code("k.cu", f"#include <{header}>")).text()
    first = f'k.cu(1): catastrophic error: cannot open source file "{header}"'
    assert str(caught.value) == "; ".join(
        filter(None, ("k.cu: the kernel must compile", first, advice))
    )
