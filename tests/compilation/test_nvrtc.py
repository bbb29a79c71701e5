"""The one compiler of kernels for GPUs: its input, its output, its cache, what it says."""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from cuda.bindings import nvrtc as bindings

import cudakern as ck
from cudakern.compilation import nvrtc
from cudakern.compilation.cache import find_file
from cudakern.engines import kernel_files
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.operators.operator import specialisations
from cudakern.simulator.libraries import build, toolchain
from cudakern.simulator.libraries.toolchain import Toolchain
from cudakern.simulator.sources import cupy_options
from cudakern.simulator.sources import text_to_ptx as compiling
from cudakern.simulator.sources.text_to_ptx import Code, ptx_of_code
from perf.static import cubins
from tests.helpers.processes import printed
from tests.helpers.recorded_cupy import recorded
from tests.helpers.rows import each

SPECS = {spec.source: spec for spec in specialisations()}
(SPEC, *_) = SPECS.values()


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Return the folder that kernels are compiled into."""
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def handed(monkeypatch):
    """Note the text, the name and the options of all that NVRTC is handed."""
    # Before the first text of a process, NVRTC may be handed an empty one.
    nvrtc.compile(nvrtc.Program("first.cu", "", "sm_90", lines=False))
    noted, create, compile_program = [], bindings.nvrtcCreateProgram, bindings.nvrtcCompileProgram

    def creating(text, name, headers, *rest):
        assert headers == 0
        noted.append([text.decode(), name.decode()])
        return create(text, name, headers, *rest)

    def compiling(program, count, options):
        noted[-1].append(tuple(option.decode() for option in options))
        return compile_program(program, count, options)

    monkeypatch.setattr(bindings, "nvrtcCreateProgram", creating)
    monkeypatch.setattr(bindings, "nvrtcCompileProgram", compiling)
    return noted


@each("source", SPECS)
def test_what_is_launched_is_what_is_measured(monkeypatch, folder, handed, source):
    """The engine and perf.static hand the same to NVRTC, and the engine loads what that gives."""
    spec, loaded = SPECS[source], []

    def module(*, path):
        loaded.append(Path(path))
        return SimpleNamespace(get_function=lambda _name: SimpleNamespace(kernel=None))

    handed.clear()
    with recorded() as record, monkeypatch.context() as patch:
        patch.setattr(record.cupy, "RawModule", module)
        CudaEngine().kernel(spec, 0)
    (path,) = loaded
    assert path.parent == folder
    content = cubins.cubin_of(kernel_files.program_of(spec, "sm_90"))
    assert find_file(path.name).content == content
    engine, static = handed
    assert engine == static
    assert engine[1:] == [source, ("--gpu-architecture=sm_90", "-std=c++17")]
    cubins.compile_kernels([spec], "sm_90")
    text, *rest = handed[-1]
    assert engine[0] in text
    assert rest == engine[1:]


def test_macros_stand_in_front_of_the_source():
    lines = kernel_files.text_of(SPEC).splitlines()
    macros = [f"#define {name} {value}" for name, value in SPEC.macros]
    assert lines[: len(macros) + 1] == [*macros, f'#line 1 "kernels/{SPEC.source}"']
    assert f"#define CK_ENTRY {SPEC.entry}" in macros


def test_machine_code_and_ptx(folder):
    cubin, ptx = (
        kernel_files.cached_file(SPEC, "sm_90"),
        kernel_files.cached_file(SPEC, "compute_90"),
    )
    assert cubin.read_bytes()[:4] == b"\x7fELF"
    assert f".entry {SPEC.entry}(" in ptx.read_text()
    assert b"\0" not in ptx.read_bytes()
    assert {*folder.iterdir()} == {cubin, ptx}
    assert (cubin.suffix, ptx.suffix) == (".cubin", ".ptx")


ALL, OF_PTX, LIBRARIES = {"cubin", "ptx", "library", "runtime"}, {"ptx", "library"}, {"library"}
#: Files of the package, and the names that change with their texts.
EDITS = {
    "compilation/nvrtc.py": OF_PTX,
    "simulator/sources/text_to_ptx.py": OF_PTX,
    "simulator/ptx/translate.py": LIBRARIES,
    "simulator/runtime/abi_parser.py": LIBRARIES,
    "simulator/ptx/device/atomics.hpp": LIBRARIES,
    "simulator/runtime/watch.hpp": {"library", "runtime"},
    "simulator/libraries/toolchain.py": {"library", "runtime"},
}


def forget():
    """Have the files read again that names are made of."""
    for function in (toolchain._own_text, build._own_digest, build._read_headers):  # noqa: SLF001
        function.cache_clear()
    toolchain.runtime_parts.cache_clear()
    compiling._digest_own_text.cache_clear()  # noqa: SLF001


@pytest.fixture
def names(monkeypatch, tmp_path, folder):
    """Return a function that returns the names of files, and the folder of CuPy and headers."""
    assert folder.exists()
    packages = tmp_path / "packages"
    (packages / "cupy/_core/include").mkdir(parents=True)
    (packages / "cupy/__init__.py").touch()
    for file in ("cupy/_version.py", "cudart/cuda_runtime_api.h"):
        (packages / file).parent.mkdir(exist_ok=True)
        (packages / file).write_text("version 1")
        os.utime(packages / file, (0, 0))
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setattr(cupy_options, "find_headers", lambda part: packages / part)
    monkeypatch.setattr(Toolchain, "build", lambda _self, name, *_, **__: Path(name))

    def names(*options):
        forget()
        found = toolchain.find_toolchain()
        ptx, runtime = ptx_of_code(Code("k.cu", "__global__ void k() {}", options)), found.runtime()
        return {
            "cubin": kernel_files.cached_file(SPEC, "sm_90").name,
            "ptx": ptx.key,
            "library": build.build_library(ptx, ["_Z1kv"], found, runtime).name,
            "runtime": runtime.name,
        }

    yield names, packages
    forget()


def test_environments_of_different_versions_share_a_folder(monkeypatch, names):
    """Whatever makes a file is in its name: also where files have one size and one time."""
    names, packages = names
    before = names()
    read_text, read_bytes = Path.read_text, Path.read_bytes
    found = toolchain.find_toolchain()

    def changed(patch, *options):
        after = names(*options)
        patch.undo()
        return {kind for kind in before if after[kind] != before[kind]}

    with monkeypatch.context() as patch:
        for path, kinds in EDITS.items():
            file = Path(ck.__file__).parent / path
            patch.setattr(
                Path, "read_text", lambda p, f=file, **o: read_text(p, **o) + "\n" * (p == f)
            )
            patch.setattr(Path, "read_bytes", lambda p, f=file: read_bytes(p) + b"\n" * (p == f))
            assert changed(patch) == kinds, path
        assert changed(patch, "-DA") == OF_PTX
        patch.setattr(nvrtc, "version", lambda: "12.9.87")
        assert changed(patch) == ALL - {"runtime"}
        patch.setenv("CUDAKERN_LINEINFO", "1")
        assert changed(patch) == {"cubin"}
        patch.setenv("CUDAKERN_ARCH", "80")
        assert changed(patch) == OF_PTX
        another = replace(found, version="g++ 99")
        patch.setattr(toolchain, "_find", lambda *_: another)
        assert changed(patch) == {"library", "runtime"}
        patch.setattr(platform, "libc_ver", lambda: ("glibc", "2.99"))
        assert changed(patch) == {"library", "runtime"}
        for file in ("cupy/_version.py", "cudart/cuda_runtime_api.h"):
            (packages / file).write_text("version 2")
            os.utime(packages / file, (0, 0))
            assert changed(patch) == OF_PTX, file
            before = names()
    assert names() == before


def test_another_process_compiles_nothing(folder):
    path = kernel_files.cached_file(SPEC, "sm_90")
    script = (
        "import sys\n"
        "from cudakern.engines import kernel_files\n"
        "from cudakern.operators.operator import specialisations\n"
        "spec = next(s for s in specialisations() if s.entry == sys.argv[1])\n"
        "print(kernel_files.file_for_gpu(spec, 90), 'cuda.bindings.nvrtc' in sys.modules)\n"
    )
    said = printed(script, SPEC.entry, CUDAKERN_CACHE_DIR=str(folder))
    assert said == f"{path} False\n"


def test_threads_that_compile_the_same_leave_one_file(folder):
    with ThreadPoolExecutor(4) as pool:
        paths = {*pool.map(lambda _: kernel_files.cached_file(SPEC, "sm_90"), range(4))}
    assert paths == {*folder.iterdir()}
    assert len(paths) == 1


def test_a_gpu_newer_than_nvrtc_gets_ptx(folder):
    known = bindings.nvrtcGetSupportedArchs()[1]
    assert kernel_files.file_for_gpu(SPEC, 90).suffix == ".cubin"
    newer = kernel_files.file_for_gpu(SPEC, max(known) + 1)
    assert f"-compute_{max(known)}-" in newer.name
    assert newer.parent == folder


@each(
    ("known", "capability", "least", "advice"),
    [
        ([50, 61, 70, 90], 61, "7.0", ""),
        ([75, 80, 90], 61, "7.5", ""),
        ([75, 80, 90], 70, "7.5", "; install the extra cuda12 in a new environment"),
    ],
)
def test_an_older_gpu_is_refused_before_any_compilation(
    folder, monkeypatch, known, capability, least, advice
):
    success = bindings.nvrtcGetSupportedArchs()[0]
    monkeypatch.setattr(bindings, "nvrtcGetSupportedArchs", lambda: (success, known))
    monkeypatch.setattr(nvrtc, "compile", None)
    nvrtc.capabilities.cache_clear()
    try:
        with pytest.raises(ck.EngineUnavailableError) as error:
            kernel_files.file_for_gpu(SPEC, capability)
    finally:
        nvrtc.capabilities.cache_clear()
    assert str(error.value) == (
        f"cudakern: the GPU must have compute capability {least} or later with NVRTC "
        f"{nvrtc.version()}; got {capability / 10}{advice}"
    )
    assert not [*folder.iterdir()]


def test_errors_have_the_log_and_the_options():
    program = nvrtc.Program("x.cu", '#line 7 "kernels/x.cu"\nnonsense\n', "sm_90", lines=True)
    with pytest.raises(ck.KernelCompileError) as error:
        nvrtc.compile(program)
    assert "kernels/x.cu(7): error: " in error.value.log
    assert str(error.value).startswith("x.cu: the kernel must compile; kernels/x.cu(7): error: ")
    assert error.value.options == ("--gpu-architecture=sm_90", "-std=c++17", "-lineinfo")
    with pytest.raises(ck.KernelCompileError, match=r"x.cu: the kernel must compile; .*error"):
        nvrtc.compile(replace(program, text="", target="sm_1"))


def test_a_warning_is_told():
    text = 'extern "C" __global__ void ck_warns(int* out) { int unused; *out = 0; }\n'
    cubin, said = nvrtc.compile(nvrtc.Program("warns.cu", text, "sm_90", lines=False))
    assert cubin
    assert "never referenced" in said


def test_the_version_is_that_of_the_library(monkeypatch, tmp_path):
    major, minor = bindings.nvrtcVersion()[1:]
    package = "nvidia-cuda-nvrtc" if major > 12 else "nvidia-cuda-nvrtc-cu12"
    assert nvrtc.version() == metadata.version(package)
    assert nvrtc.version().startswith(f"{major}.{minor}.")
    assert f"libnvrtc.so.{major}" in nvrtc.library_path()

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    link, told = tmp_path / f"libnvrtc.so.{major}", []
    with monkeypatch.context() as patch:  # a toolkit's, which is in no package
        patch.setattr(metadata, "distribution", absent)
        patch.setattr(nvrtc, "library_path", lambda: str(link))
        for name in ("libnvrtc.so.old", f"libnvrtc.so.{major}.{minor}.99"):
            link.unlink(missing_ok=True)
            link.symlink_to(name)
            nvrtc.version.cache_clear()
            told.append(nvrtc.version())
    nvrtc.version.cache_clear()
    assert told == [f"{major}.{minor}", f"{major}.{minor}.99"]


def test_a_driver_of_the_same_or_a_later_major_version_serves():
    major = int(nvrtc.version().split(".")[0])
    nvrtc.require_driver(1000 * major)
    nvrtc.require_driver(1000 * (major + 1))
    with pytest.raises(ck.EngineUnavailableError, match=r"libnvrtc.so.*; update the driver, or in"):
        nvrtc.require_driver(1000 * major - 10)


def missing_library():
    message = "Failure finding libnvrtc.so"
    raise RuntimeError(message)


@each(
    ("module", "what"),
    [
        ("cuda.bindings", "cuda.bindings"),
        ("cuda.bindings.nvrtc", "cuda.bindings"),
        (None, "NVRTC"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, folder, module, what):
    nvrtc._nvrtc.cache_clear()  # noqa: SLF001
    with monkeypatch.context() as patch:
        if module is None:
            patch.setattr(bindings, "nvrtcVersion", missing_library)
        else:
            patch.setitem(sys.modules, module, None)
            patch.delattr(module, raising=False)
        with pytest.raises(ck.EngineUnavailableError, match=rf"{what} must be .*pip install"):
            kernel_files.cached_file(SPEC, "sm_90")
    assert not [*folder.iterdir()]


FORKS = r"""
import itertools, os, signal, threading
from cudakern.compilation import nvrtc
from cudakern.compilation.cache import find_file

def compile_one(i):
    text = f'extern "C" __global__ void k(int* x) {{ x[0] = {i}; }}'
    assert b"entry k" in nvrtc.compile(nvrtc.Program("k.cu", text, "compute_90", False))[0]

def compile_many(first):
    for i in itertools.count(first, 2):
        compile_one(i)
        if ended.is_set():
            return

ended = threading.Event()
compile_one(0)
threads = [threading.Thread(target=compile_many, args=(first,)) for first in (0, 1)]
for thread in threads:
    thread.start()
for i in range(2):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it
        compile_one(i)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
ended.set()
for thread in threads:
    thread.join()
"""


def test_a_process_forked_amid_compilation_can_compile():
    assert printed(FORKS, flags=["-W", "ignore"]) == "0\n" * 2
