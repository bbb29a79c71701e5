"""The one compiler of kernels for GPUs: its input, its output, its cache, what it says."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from cuda.bindings import nvrtc as bindings

import cudakern as ck
from cudakern.engines import nvrtc
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.operators.specialisations import specialisations
from perf.static import cubins
from tests.helpers.processes import printed
from tests.helpers.recorded_cupy import recorded

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
    nvrtc.compile_program(nvrtc.Program("first.cu", "", "sm_90", lines=False))
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


@pytest.mark.parametrize("source", SPECS)
def test_what_is_launched_is_what_is_measured(monkeypatch, folder, handed, source):
    """The engine and perf.static hand the same to NVRTC, and the engine loads what that gives."""
    spec, loaded = SPECS[source], []

    def module(*, path):
        loaded.append(Path(path).read_bytes())
        return SimpleNamespace(get_function=lambda _name: SimpleNamespace(kernel=None))

    with recorded() as record, monkeypatch.context() as patch:
        patch.setattr(record.cupy, "RawModule", module)
        CudaEngine().kernel(spec, 0)
    assert [path.read_bytes() for path in folder.iterdir()] == loaded
    assert nvrtc.found(next(folder.iterdir()).name).content == cubins.cubin_of(
        nvrtc.program_of(spec, "sm_90")
    )
    engine, static = handed
    assert engine == static
    assert engine[1:] == [source, ("--gpu-architecture=sm_90", "-std=c++17")]
    cubins.compile_kernels([spec], "sm_90")
    text, *rest = handed[-1]
    assert engine[0] in text
    assert rest == engine[1:]


def test_macros_stand_in_front_of_the_source():
    lines = nvrtc.text_of(SPEC).splitlines()
    macros = [f"#define {name} {value}" for name, value in SPEC.macros]
    assert lines[: len(macros) + 1] == [*macros, f'#line 1 "kernels/{SPEC.source}"']
    assert f"#define CK_ENTRY {SPEC.entry}" in macros


def test_machine_code_and_ptx(folder):
    cubin, ptx = nvrtc.compiled(SPEC, "sm_90"), nvrtc.compiled(SPEC, "compute_90")
    assert cubin.read_bytes()[:4] == b"\x7fELF"
    assert f".entry {SPEC.entry}(" in ptx.read_text()
    assert b"\0" not in ptx.read_bytes()
    assert {*folder.iterdir()} == {cubin, ptx}
    assert (cubin.suffix, ptx.suffix) == (".cubin", ".ptx")


def test_a_file_is_named_by_all_that_it_depends_on(monkeypatch, folder, handed):
    def path():
        return nvrtc.compiled(SPEC, "sm_80")

    first = path()
    assert first == path()
    assert len(handed) == 1
    with monkeypatch.context() as patch:
        patch.setenv("CUDAKERN_LINEINFO", "1")
        lines = path()
    with monkeypatch.context() as patch:
        longer = nvrtc.text_of(SPEC) + "\n"
        patch.setattr(nvrtc, "text_of", lambda _spec: longer)
        text = path()
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "version", lambda: "13.99")
        version = path()
    others = [nvrtc.compiled(SPEC, "sm_75"), nvrtc.compiled(SPEC, "compute_80")]
    assert len({first, lines, text, version, *others}) == 6 == len(handed)
    assert len([*folder.iterdir()]) == 6


def test_another_process_compiles_nothing(folder):
    path = nvrtc.compiled(SPEC, "sm_90")
    script = (
        "import sys\n"
        "from cudakern.engines import nvrtc\n"
        "from cudakern.operators.specialisations import specialisations\n"
        "spec = next(s for s in specialisations() if s.entry == sys.argv[1])\n"
        "print(nvrtc.compiled_for(spec, 90), 'cuda.bindings.nvrtc' in sys.modules)\n"
    )
    said = printed(script, SPEC.entry, CUDAKERN_CACHE_DIR=str(folder))
    assert said == f"{path} False\n"


def test_threads_that_compile_the_same_leave_one_file(folder):
    with ThreadPoolExecutor(4) as pool:
        paths = {*pool.map(lambda _: nvrtc.compiled(SPEC, "sm_90"), range(4))}
    assert paths == {*folder.iterdir()}
    assert len(paths) == 1


def test_a_gpu_newer_than_nvrtc_gets_ptx(folder):
    known = bindings.nvrtcGetSupportedArchs()[1]
    assert nvrtc.compiled_for(SPEC, 90).suffix == ".cubin"
    newer = nvrtc.compiled_for(SPEC, max(known) + 1)
    assert f"-compute_{max(known)}-" in newer.name
    assert newer.parent == folder


@pytest.mark.parametrize(
    ("known", "capability", "least", "advice"),
    [
        ([50, 61, 70, 90], 61, "7.0", ""),
        ([75, 80, 90], 61, "7.5", ""),
        (
            [75, 80, 90],
            70,
            "7.5",
            "; in a new environment, from a clone run: pip install '.[cuda12]'",
        ),
    ],
)
def test_an_older_gpu_is_refused_before_any_compilation(
    folder, monkeypatch, known, capability, least, advice
):
    success = bindings.nvrtcGetSupportedArchs()[0]
    monkeypatch.setattr(bindings, "nvrtcGetSupportedArchs", lambda: (success, known))
    monkeypatch.setattr(nvrtc, "compile_program", None)
    nvrtc.capabilities.cache_clear()
    try:
        with pytest.raises(ck.EngineUnavailableError) as error:
            nvrtc.compiled_for(SPEC, capability)
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
        nvrtc.compile_program(program)
    assert "kernels/x.cu(7): error: " in error.value.log
    assert str(error.value).startswith("x.cu: the kernel must compile; kernels/x.cu(7): error: ")
    assert error.value.options == ("--gpu-architecture=sm_90", "-std=c++17", "-lineinfo")
    with pytest.raises(ck.KernelCompileError, match=r"x.cu: the kernel must compile; .*error"):
        nvrtc.compile_program(replace(program, text="", target="sm_1"))


def test_a_warning_is_told():
    text = 'extern "C" __global__ void ck_warns(int* out) { int unused; *out = 0; }\n'
    cubin, said = nvrtc.compile_program(nvrtc.Program("warns.cu", text, "sm_90", lines=False))
    assert cubin
    assert "never referenced" in said


def test_the_version_is_that_of_the_library(monkeypatch):
    major, minor = bindings.nvrtcVersion()[1:]
    assert nvrtc.version().split(".")[:2] == [str(major), str(minor)]
    package = "nvidia-cuda-nvrtc" if major > 12 else "nvidia-cuda-nvrtc-cu12"
    assert nvrtc.version() == metadata.version(package)

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    nvrtc.version.cache_clear()
    with monkeypatch.context() as patch:  # a toolkit's, which no package tells of
        patch.setattr(metadata, "distribution", absent)
        assert nvrtc.version() == f"{major}.{minor}"
    nvrtc.version.cache_clear()


def test_the_library_is_of_the_version_that_it_says():
    assert f"libnvrtc.so.{nvrtc.version().split('.')[0]}" in nvrtc.library_path()


def test_a_driver_of_the_same_or_a_later_major_version_serves():
    major = int(nvrtc.version().split(".")[0])
    nvrtc.require_driver(1000 * major)
    nvrtc.require_driver(1000 * (major + 1))
    with pytest.raises(ck.EngineUnavailableError, match=r"libnvrtc.so.*; update the driver, or in"):
        nvrtc.require_driver(1000 * major - 10)


@pytest.mark.parametrize("module", ["cuda.bindings", "cuda.bindings.nvrtc"])
def test_what_is_missing_is_named(monkeypatch, folder, module):
    nvrtc._nvrtc.cache_clear()  # noqa: SLF001
    monkeypatch.setitem(sys.modules, module, None)
    if module == "cuda.bindings":
        monkeypatch.delattr("cuda.bindings", raising=False)
    else:
        monkeypatch.delattr("cuda.bindings.nvrtc")
    with pytest.raises(ck.EngineUnavailableError, match=r"cuda.bindings must be .*pip install"):
        nvrtc.compiled(SPEC, "sm_90")
    assert not [*folder.iterdir()]


def test_a_missing_library_is_named(monkeypatch, folder):
    def missing():
        message = "Failure finding libnvrtc.so"
        raise RuntimeError(message)

    nvrtc._nvrtc.cache_clear()  # noqa: SLF001
    monkeypatch.setattr(bindings, "nvrtcVersion", missing)
    with pytest.raises(ck.EngineUnavailableError, match=r"NVRTC must be installed .*pip install"):
        nvrtc.compiled(SPEC, "sm_90")
    assert not [*folder.iterdir()]


@pytest.mark.parametrize("target", ["sm_90", "compute_90"])
def test_a_damaged_file_is_compiled_again(folder, handed, target):
    path = nvrtc.compiled(SPEC, target)
    whole = path.read_bytes()
    for damaged in (whole[:1000], whole[: len(whole) // 2], b"", whole.replace(b"6", b"7", 1)):
        path.write_bytes(damaged)
        assert nvrtc.compiled_for(SPEC, 90) if target == "sm_90" else nvrtc.compiled(SPEC, target)
        assert path.read_bytes() == whole
    assert len(handed) == 5
    assert [*folder.iterdir()] == [path]


def test_no_option_flushes_subnormal_numbers():
    for target in ("sm_90", "compute_90"):
        for lines in (False, True):
            options = nvrtc.Program("x.cu", "", target, lines).options
            assert [option for option in options if "ftz" in option or "fast" in option] == []


FORKS = r"""
import itertools, os, signal, threading
from cudakern.engines import nvrtc

def compile_one(i):
    text = f'extern "C" __global__ void k(int* x) {{ x[0] = {i}; }}'
    assert b"entry k" in nvrtc.compile_program(nvrtc.Program("k.cu", text, "compute_90", False))[0]

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
for i in range(4):
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
    assert printed(FORKS, flags=["-W", "ignore"]) == "0\n" * 4
