"""The command warmup: what it compiles, for which engine, what it caches, what ends it."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest

from cudakern.__main__ import main
from cudakern._commands import warmup
from cudakern.compilation import cache, nvrtc
from cudakern.compilation.cache import cache_folder, find_file
from cudakern.engines import kernel_files
from cudakern.engines.simulator import SimulatorEngine
from cudakern.errors import CacheWarning, KernelCompileError
from cudakern.operators.operator import specialisations
from cudakern.simulator.libraries import build, toolchain
from tests.helpers.processes import is_alive, printed
from tests.helpers.readmes import ROOT, section
from tests.helpers.rows import each

REFERENCE = "cudakern/operators/reference.md"


@pytest.fixture
def few(monkeypatch):
    """Make warmup compile only a few kernels; return them."""
    specs = list(warmup.kernels(everything=False))[::70]
    monkeypatch.setattr(warmup, "kernels", lambda everything: [] if everything else specs)
    assert len(specs) > 2
    return specs


def test_warmup_of_what_is_cached_compiles_and_loads_nothing(few, capsys, monkeypatch):
    monkeypatch.setattr(warmup, "engine_for", lambda _place: SimulatorEngine())
    targets = (["--engine", "simulator"], ["--arch", "sm_90"])
    for target in targets:
        main(["warmup", *target])
    for owner, name in (
        (toolchain, "_execute"),
        (ctypes, "CDLL"),
        (build, "load"),
        (nvrtc, "_nvrtc"),
    ):
        monkeypatch.delattr(owner, name)
    for target in targets:
        assert main(["warmup", *target]) == 0
    assert capsys.readouterr().out.count(f"{len(few)} kernels are compiled and cached") == 4


def test_warmup_has_every_variant_of_every_operator():
    def variants(specs):
        names = [spec.entry for spec in specs if spec.source != "reduce.cu"]
        return {name.split("_w")[0].split("_r")[0] for name in names}

    everything = list(warmup.kernels(everything=True))
    common = list(warmup.kernels(everything=False))
    assert {spec.entry for spec in everything} == {spec.entry for spec in specialisations()}
    signed = {name for name in variants(everything) if not name.endswith(("_u32", "_u64"))}
    assert variants(common) == signed
    assert 20 < len(common) < 400
    assert all(spec.entry.endswith("_o32") for spec in common if spec.source == "reduce.cu")


@each(
    "wrong",
    ["90", "sm_55", "hopper", "compute_90", "", "sm_90a", "sm_999", "SM_90", "sm_80,sm_90", "a\nb"],
)
def test_an_architecture_that_no_gpu_has_is_refused_with_those_that_nvrtc_takes(wrong, capsys):
    assert main(["warmup", "--arch", "sm_90", wrong]) == 2
    out, said = capsys.readouterr()
    assert (out, said.count("\n")) == ("", 1)
    assert said.startswith("cudakern warmup: --arch must be a GPU's, one of sm_")
    names = {
        f"sm_{capability}" for capability in nvrtc.supported_capabilities() if capability >= 70
    }
    assert {*re.findall(r"\bsm_\d+\b", said.partition("; got ")[0])} == names
    assert said.endswith(f" with NVRTC {nvrtc.version()}; got {wrong!r}\n")


def test_an_architecture_is_none_of_the_simulator(capsys):
    assert main(["warmup", "--arch", "sm_90", "--engine", "simulator"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "sm_90" in said
    assert said.endswith("; got --engine simulator, whose architecture CUDAKERN_ARCH names\n")


@each("words", ["sm_80 sm_90", "sm_80 --arch sm_90", "sm_80 sm_90 sm_80 --engine cuda"])
def test_several_gpus(few, words, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(kernel_files, "cached_file", lambda *of: asked.append(of) or kept())
    assert main(["warmup", "--arch", *words.split(), "--jobs", "1"]) == 0
    assert asked == [(spec, arch) for arch in ("sm_80", "sm_90") for spec in few]
    assert capsys.readouterr().out == (
        "compiling 10 kernels for sm_80 and sm_90\n"
        "10 kernels are compiled and cached for sm_80 and sm_90\n"
    )


ADVICE = "; there is no GPU here; for one elsewhere: python -m cudakern warmup --arch sm_90"


@each(
    ("devices", "words", "line"),
    [
        (0, "", f"compiling 5 kernels for the simulator engine{ADVICE}"),
        (0, "--engine simulator", f"compiling 5 kernels for the simulator engine{ADVICE}"),
        (2, "--engine simulator", "compiling 5 kernels for the simulator engine"),
        (2, "", "compiling 5 kernels for the cuda engine"),
        (0, "--arch sm_90", "compiling 5 kernels for sm_90"),
    ],
)
@pytest.mark.usefixtures("few")
def test_the_first_line_names_the_engine(devices, words, line, capsys, monkeypatch):
    class Engine:
        def compile(self, _spec, place):
            assert place == (0 if "cuda engine" in line else warmup.HOST)
            return cache_folder() / "file"

    for module in (warmup, sys.modules["cudakern._commands.engines"]):
        monkeypatch.setattr(module, "device_count", lambda: devices)
    monkeypatch.setattr(warmup, "engine_for", lambda _place: Engine())
    monkeypatch.setattr(
        kernel_files, "cached_file", Engine().compile if "--arch" not in words else kept
    )
    assert main(["warmup", *words.split()]) == 0
    assert capsys.readouterr().out.splitlines()[0] == line


def kept(*_):
    """Stand for a compilation."""
    return cache_folder() / "file"


#: Runs a command of the package with a few kernels.
FEW = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # behind a shell's & it is ignored
from cudakern.__main__ import main
from cudakern._commands import warmup
few = [*warmup.kernels(everything=False)][::STEP][:11]
warmup.kernels = lambda everything: few
sys.exit(main(sys.argv[1:]))
"""
#: How many these are, for a step of 25: with more operators, too.
COUNT = 11


@pytest.fixture
def stopped(tmp_path):
    """Return a function that runs warmup until a signal; it returns status, error, cache folder."""
    folder, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()

    def stopped(words, number, has_begun, **variables):
        folders = {"CUDAKERN_CACHE_DIR": str(folder), "TMPDIR": str(temporary)}
        program = FEW.replace("STEP", "25")
        with subprocess.Popen(
            [sys.executable, "-c", program, "warmup", *words.split()],
            env={**os.environ, **folders, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process:
            assert process.stdout.readline().startswith(f"compiling {COUNT} kernels for ")
            while not has_begun(folder):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(number)
            try:
                out, said = process.communicate(timeout=60)
            finally:
                process.kill()
        assert out == ""
        assert not [*temporary.iterdir()]
        assert not [*folder.glob("build-*")]
        return process.returncode, said.splitlines()[-1], folder

    return stopped


def stop(done):
    """Return the message about the kernels that are done."""
    after = f"stopped after {done} of {COUNT} kernels"
    return f"cudakern warmup: {after}; the next run goes on from there"


def has_files(number, folder):
    """Return whether a folder has at least ``number`` files for GPUs."""
    return len([*folder.glob("*.cubin")]) >= number


def test_a_signal_ends_compilation_for_a_gpu(stopped, monkeypatch):
    words = "--arch sm_90 --jobs 2"
    returned, said, folder = stopped(words, signal.SIGTERM, partial(has_files, 2))
    files = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert 1 < len(files) < COUNT
    assert (returned, said) == (143, stop(len(files)))
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(folder))
    assert all(find_file(path.name) for path in files)
    out = printed(FEW.replace("STEP", "25"), "warmup", "--arch", "sm_90")
    assert out.endswith(f"{COUNT} kernels are compiled and cached for sm_90\n")
    assert has_files(COUNT, folder)
    assert files == {path: path.stat().st_mtime_ns for path in files}  # the run continued from them


#: A compiler that does not end, and has started a process and made a file.
COMPILER = """#!/bin/sh
[ "$1" = --version ] && echo c++ 1.0 && exit
: > "$TMPDIR/cc1.s"
sleep 200 & echo $! >> {}
wait
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_compilers_of_the_simulator(stopped, number, status, tmp_path):
    compiler, started = tmp_path / "c++", tmp_path / "started"
    compiler.write_text(COMPILER.format(started), encoding="utf-8")
    compiler.chmod(0o755)

    def has_begun(folder):  # also NVRTC, which runs at the same time, has ended
        text = started.read_text(encoding="utf-8") if started.exists() else ""
        return text.endswith("\n") and [*folder.glob("*.ptx")]

    words = "--engine simulator --jobs 8"
    returned, said, _ = stopped(words, number, has_begun, CUDAKERN_CXX=str(compiler))
    assert (returned, said) == (status, stop(0))
    (pid,) = started.read_text(encoding="utf-8").split()  # no thread started another one
    assert not is_alive(pid)


@pytest.mark.usefixtures("few")
@each(("handler", "status"), [(signal.default_int_handler, 130), (signal.SIG_IGN, 0)])
def test_a_signal_that_is_ignored_ends_nothing(handler, status, monkeypatch, capsys):
    def interrupted(*_):
        os.kill(os.getpid(), signal.SIGINT)
        return kept()

    monkeypatch.setattr(kernel_files, "cached_file", interrupted)
    before = signal.signal(signal.SIGINT, handler)
    try:
        assert main(["warmup", "--arch", "sm_90"]) == status
        assert signal.getsignal(signal.SIGINT) == handler
        compiled = []
        monkeypatch.setattr(kernel_files, "cached_file", lambda *of: compiled.append(of) or kept())
        assert main(["warmup", "--arch", "sm_90"]) == 0
        assert len(compiled) == 5  # an earlier stop does not stop later runs
    finally:
        signal.signal(signal.SIGINT, before)
    assert ("stopped after" in capsys.readouterr().err) is bool(status)


def test_the_first_error_is_the_end(capsys, monkeypatch):
    begun = []

    def failing(spec, _arch):
        begun.append(spec)
        time.sleep(0.02 * (len(begun) > 1))
        raise KernelCompileError(spec.source, (), "error: none")

    monkeypatch.setattr(kernel_files, "cached_file", failing)
    assert main(["warmup", "--arch", "sm_90", "--jobs", "1"]) == 1
    assert capsys.readouterr().err == "gather.cu: the kernel must compile; error: none\n"
    assert len(begun) < len([*warmup.kernels(everything=False)])


@each("fault", ["is a file", "others may write"])
def test_a_folder_that_keeps_nothing_is_an_error(fault, capsys, monkeypatch, tmp_path):
    folder = tmp_path / fault
    if fault == "is a file":
        folder.touch()
    else:
        folder.mkdir()
        folder.chmod(0o777)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(folder))
    monkeypatch.setattr(kernel_files, "cached_file", None)
    assert main(["warmup", "--arch", "sm_90"]) == 1
    out, said = capsys.readouterr()
    assert (out, said.count("\n")) == ("", 1)
    assert said.startswith("cudakern: the cache folder must be ")
    assert str(folder) in said


def test_a_read_only_folder_must_have_all_kernels(few, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path))
    files = [kernel_files.cached_file(spec, "sm_90") for spec in few]
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path and access(path, mode))
    monkeypatch.setattr(cache, "_process_folders", [])
    assert main(["warmup", "--arch", "sm_90"]) == 0
    files[0].unlink()
    with pytest.warns(CacheWarning, match="the cache folder must be writable"):
        assert main(["warmup", "--arch", "sm_90"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("cudakern: the cache folder must be writable to keep kernels ")
    assert said.count("\n") == 1


#: Becomes another user if it may, and looks for kernels.
ANOTHER_USER = """
import os, sys
from cudakern._commands import warmup
from cudakern.compilation import nvrtc
from cudakern.engines import kernel_files
few = [*warmup.kernels(everything=False)][::70]
for spec in few:
    nvrtc.file_name(spec.entry, kernel_files.program_of(spec, "sm_90"))  # what it reads once
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(4242)
    os.setuid(4242)
nvrtc.compile = None
for capability in map(int, sys.argv[1:]):
    for spec in few:
        print(kernel_files.file_for_gpu(spec, capability))
"""


def test_the_recipe_for_images_serves_another_user():
    part = section(REFERENCE, "### The cache folder")
    (recipe,) = re.findall(r"^```dockerfile\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)
    user, variable, command = recipe.splitlines()
    name, folder = variable.removeprefix("ENV ").split("=")
    assert (user, name) == ("USER root", "CUDAKERN_CACHE_DIR")
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        Path(above, "few.py").write_text(FEW.replace("STEP", "70"), encoding="utf-8")
        script = command.removeprefix("RUN ").replace(folder, f"{above}/kernels")
        script = script.replace("python -m cudakern", f"{sys.executable} {above}/few.py")
        environment = {**os.environ, name: f"{above}/kernels"}
        words = ["/bin/sh", "-c", f"umask 077; {script}"]
        subprocess.run(words, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        made = printed(ANOTHER_USER, "80", "90", CUDAKERN_CACHE_DIR=f"{above}/kernels").split()
        assert sorted(made) == sorted(map(str, Path(above, "kernels").iterdir()))
    assert len(made) == 10
