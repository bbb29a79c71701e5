"""The words after the test image's name choose what it runs; without a GPU it says why."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from cudakern.compilation.cache import cache_folder
from tests.container import entrypoint
from tests.helpers.rows import each

ROOT = Path(__file__).parents[2]


class Driver:
    """Stands in for libcuda.so.1."""

    def __init__(self, version, status=0):
        self.version = version
        self.cuInit = lambda _flags: status

    def cuDriverGetVersion(self, found):  # noqa: N802  the driver's name
        found._obj.value = self.version  # noqa: SLF001
        return 0


@pytest.fixture
def become(monkeypatch, tmp_path):
    """Return a function that returns the command that the entry point becomes, and its folder."""
    become = []
    monkeypatch.setattr(entrypoint.os, "execvp", lambda _, words: become.append(words))
    monkeypatch.setattr(entrypoint, "RESULTS", tmp_path)
    monkeypatch.setattr(entrypoint, "CACHES", ())
    monkeypatch.chdir(tmp_path)
    for name in ("CUDAKERN_REQUIRE_GPU", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "as before")

    def run(*words):
        entrypoint.main(list(words))
        return become.pop(), Path.cwd()

    return run


@each(
    ("driver", "cuda_major", "expected"),
    [
        (None, "12", "NVIDIA_DRIVER_CAPABILITIES must have 'compute' and is 'utility'"),
        (Driver(11080), "12", "The host's driver is for CUDA 11.8, this image for CUDA 12: update"),
        (Driver(12090), "13", "The host's driver is for CUDA 12.9, this image for CUDA 13: update"),
        (Driver(13000, 999), "12", "(cuInit returns 999). If it did before, the container"),
        (Driver(13010), "12", "There is a GPU with a driver, but a kernel does not run on it"),
    ],
)
def test_the_reason_for_no_gpu_is_told(tmp_path, monkeypatch, driver, cuda_major, expected):
    assert entrypoint.no_gpu(tmp_path / "none", "12") == "The container was started without a GPU."
    (tmp_path / "nvidia0").touch()
    load = mock.Mock(side_effect=[driver or OSError("no such library")])
    monkeypatch.setattr(entrypoint.ctypes, "CDLL", load)
    monkeypatch.setenv("NVIDIA_DRIVER_CAPABILITIES", "utility")
    assert expected in entrypoint.no_gpu(tmp_path, cuda_major)


@each(
    ("word", "options", "required", "visible"),
    [("gpu", entrypoint.GPU_TESTS, "1", "as before"), ("cpu", ("--dist=worksteal",), "0", "")],
)
def test_a_suite_has_its_options_and_variables(
    become, monkeypatch, tmp_path, word, options, required, visible
):
    there = SimpleNamespace(returncode=0)
    monkeypatch.setattr(entrypoint.subprocess, "run", lambda *_, **__: there)
    command, folder = become(word, "-k", "gather")
    assert command[1:4] == ["-m", "pytest", "-n"]
    assert int(command[4]) >= 1
    assert command[5:] == [f"--junit-xml={tmp_path}/{word}.xml", *options, "-k", "gather"]
    assert os.environ["CUDAKERN_REQUIRE_GPU"] == required
    assert os.environ["CUDA_VISIBLE_DEVICES"] == visible
    assert folder == ROOT


@each(("gib", "cpus", "cpu", "gpu"), [(1, 16, 1, 12), (7, 4, 2, 4)])
def test_memory_limits_the_workers_of_the_simulator_alone(monkeypatch, gib, cpus, cpu, gpu):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": gib << 18}
    monkeypatch.setattr(entrypoint.os, "sysconf", pages.get)
    monkeypatch.setattr(entrypoint.os, "sched_getaffinity", lambda _pid: range(cpus))
    assert (entrypoint.workers("cpu"), entrypoint.workers("gpu")) == (cpu, gpu)


@pytest.fixture
def volume(tmp_path, monkeypatch):
    """Return a folder for caches; make another one for temporary files."""
    folder, temporary = tmp_path / "cache", tmp_path / "tmp"
    for path in (folder, temporary):
        path.mkdir()
        path.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(entrypoint, "CACHE", folder)
    monkeypatch.setattr(entrypoint, "CACHES", ("CUPY_CACHE_DIR", "CUDAKERN_CACHE_DIR"))
    monkeypatch.setenv("CUPY_CACHE_DIR", f"{folder}/cupy")
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", f"{folder}/cudakern")
    return folder


def placed():
    """Return where the entry point puts the present user's cache of compiled kernels."""
    entrypoint.place_caches(os.getuid())
    return Path(os.environ["CUDAKERN_CACHE_DIR"])


def assert_replaced(reason, capsys):
    """Check that caches are in a temporary folder, and that the package uses its own there."""
    reason = reason.format(own=entrypoint.CACHE / str(ME), volume=entrypoint.CACHE)
    folder = placed()
    assert folder.parents[1] == Path(tempfile.gettempdir())
    assert folder == cache_folder()
    assert os.environ["CUPY_CACHE_DIR"] == f"{folder.parent}/cupy"
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{reason}: compiled kernels are in {folder.parent} instead")


ME, SOMEBODY = os.getuid(), 77


@pytest.mark.parametrize(
    ("mode", "variables"),
    [(0o700, {}), (0o755, {}), (0o1777, {}), (0o770, {"CUDAKERN_CACHE_SHARED": "group"})],
)
def test_caches_are_in_the_volume_if_the_package_trusts_it(
    volume, monkeypatch, capsys, mode, variables
):
    volume.chmod(mode)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    own = volume / str(ME)
    assert placed() == own / "cudakern" == cache_folder()
    assert os.environ["CUPY_CACHE_DIR"] == f"{own}/cupy"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert placed() == own / "cudakern"  # another start
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", "/elsewhere")
    assert placed() == Path("/elsewhere")
    assert capsys.readouterr().err == ""


def writable(own):
    own.mkdir()
    own.chmod(0o777)


def linked(own):
    (own.parent / "elsewhere").mkdir()
    own.symlink_to("elsewhere")
    os.chown(own, SOMEBODY, SOMEBODY, follow_symlinks=False)


#: Messages about a volume, or a user's folder there, and what makes it wrong.
WRONG = {
    "{volume} can be written by everybody": lambda own: own.parent.chmod(0o777),
    "{own}: File exists": Path.touch,
    "{own} can be written by everybody": writable,
}
if ME == 0:  # root can give files to others
    WRONG["{volume} belongs to user 77"] = lambda own: os.chown(own.parent, SOMEBODY, SOMEBODY)
    WRONG["{own} belongs to user 77"] = linked


@pytest.mark.parametrize("reason", WRONG)
def test_what_others_can_write_to_is_not_used(volume, capsys, reason):
    WRONG[reason](volume / str(ME))
    assert_replaced(reason, capsys)
    assert not [*volume.glob("elsewhere/*")]


def test_other_words_are_a_command_in_the_folder_asked_for(become, tmp_path):
    words = ["python", "-m", "cudakern", "demo"]
    assert become(*words) == (words, tmp_path)
    assert os.environ["CUDAKERN_REQUIRE_GPU"] == "as before"


@each("there", [False, True])
def test_results_that_cannot_be_written_are_refused_before_the_tests(
    become, monkeypatch, tmp_path, there
):
    refused = tmp_path
    if there:  # another user's report
        refused /= "cpu.xml"
        refused.touch()
    monkeypatch.setattr(entrypoint.os, "access", lambda path, _mode: path != refused)
    with pytest.raises(SystemExit) as stop:
        become("cpu")
    assert str(stop.value).startswith(f"{refused} must be writable by user {os.getuid()}: ")
    assert '--user "$(id -u):$(id -g)"' in str(stop.value)
