"""What the test image does with the words after its name, and what it says without a GPU."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from cudakern.engines.cache import cache_folder
from tests.container import entrypoint

ROOT = Path(__file__).parents[2]
STARTS = ["docker run --rm --gpus all", "--device nvidia.com/gpu=all", "docker compose -f"]


class Driver:
    """Stands in for libcuda.so.1."""

    def __init__(self, version, status=0):
        self.version = version
        self.cuInit = lambda _flags: status

    def cuDriverGetVersion(self, found):  # noqa: N802  the driver's name
        found._obj.value = self.version  # noqa: SLF001
        return 0


@pytest.fixture
def devices(tmp_path):
    (tmp_path / "nvidia0").touch()
    return tmp_path


@pytest.fixture
def become(monkeypatch, tmp_path):
    """Return a function that gives the command that the entry point becomes, and its folder."""
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


def test_without_devices_the_container_was_started_without_a_gpu(tmp_path):
    assert entrypoint.no_gpu(tmp_path, "12") == "The container was started without a GPU."


@pytest.mark.parametrize(
    ("driver", "cuda_major", "expected"),
    [
        (None, "12", "NVIDIA_DRIVER_CAPABILITIES must have 'compute' and is 'utility'"),
        (Driver(11080), "12", "The host's driver is for CUDA 11.8, this image for CUDA 12: update"),
        (Driver(12090), "13", "The host's driver is for CUDA 12.9, this image for CUDA 13: update"),
        (
            Driver(13000, 999),
            "12",
            "(cuInit returns 999). If it did before, the container has lost",
        ),
        (Driver(12000), "12", "There is a GPU with a driver, but a kernel does not run on it"),
        (Driver(13010), "12", "There is a GPU with a driver, but a kernel does not run on it"),
    ],
)
def test_a_driver_that_does_not_do_is_told_from_others(
    devices, monkeypatch, driver, cuda_major, expected
):
    load = mock.Mock(side_effect=[driver or OSError("no such library")])
    monkeypatch.setattr(entrypoint.ctypes, "CDLL", load)
    monkeypatch.setenv("NVIDIA_DRIVER_CAPABILITIES", "utility")
    assert expected in entrypoint.no_gpu(devices, cuda_major)


def test_the_default_fails_without_a_gpu_and_says_how_to_start_it():
    result = subprocess.run(
        [sys.executable, entrypoint.__file__],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "CUDA_MAJOR": "12", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 1
    assert "simulator.compiler" in result.stdout
    assert "No GPU can be used, so none was tested." in result.stderr
    assert all(start in result.stderr for start in STARTS)
    assert "docker run --rm IMAGE cpu" in result.stderr


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("gib", "cpus", "cpu", "gpu"), [(1, 16, 1, 12), (7, 4, 2, 4)])
def test_memory_limits_the_workers_of_the_simulator_alone(monkeypatch, gib, cpus, cpu, gpu):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": gib << 18}
    monkeypatch.setattr(entrypoint.os, "sysconf", pages.get)
    monkeypatch.setattr(entrypoint.os, "sched_getaffinity", lambda _pid: range(cpus))
    assert (entrypoint.workers("cpu"), entrypoint.workers("gpu")) == (cpu, gpu)


@pytest.mark.parametrize("user", [10001, 0, 54321])
def test_each_user_has_its_own_caches_in_the_volume(monkeypatch, tmp_path, user):
    monkeypatch.setattr(entrypoint, "CACHE", tmp_path)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", "/elsewhere")
    for before in ("cupy", "cupy", f"{user}/cupy"):
        monkeypatch.setenv("CUPY_CACHE_DIR", f"{tmp_path}/{before}")
        entrypoint.make_caches(user)
        assert os.environ["CUPY_CACHE_DIR"] == f"{tmp_path}/{user}/cupy"
    assert (tmp_path / f"{user}/cupy").is_dir()
    assert stat.S_IMODE((tmp_path / f"{user}").stat().st_mode) == 0o700
    assert os.environ["CUDAKERN_CACHE_DIR"] == "/elsewhere"


def test_the_caches_are_trusted_in_a_volume_for_all(monkeypatch, tmp_path):
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(entrypoint, "CACHE", tmp_path)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", f"{tmp_path}/cudakern")
    entrypoint.make_caches(os.getuid())
    assert cache_folder() == tmp_path / f"{os.getuid()}/cudakern"


@pytest.mark.parametrize("planted", ["by others", "a link", "of somebody"])
def test_a_planted_folder_in_the_volume_is_refused(monkeypatch, tmp_path, planted):
    monkeypatch.setattr(entrypoint, "CACHE", tmp_path)
    monkeypatch.setenv("CUPY_CACHE_DIR", f"{tmp_path}/cupy")
    (tmp_path / "elsewhere").mkdir()
    if planted == "a link":
        (tmp_path / "77").symlink_to("elsewhere")
    else:
        (tmp_path / "77").mkdir()
    if planted == "by others":
        (tmp_path / "77").chmod(0o777)
    if planted == "of somebody":
        monkeypatch.setattr(os, "getuid", lambda: 77)
    with pytest.raises(SystemExit, match="/77 must be a folder that user 77 alone can write"):
        entrypoint.make_caches(77)
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_a_volume_that_cannot_be_written_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(entrypoint, "CACHE", tmp_path)
    monkeypatch.setenv("CUPY_CACHE_DIR", f"{tmp_path}/cupy")
    (tmp_path / "77").touch()
    with pytest.raises(SystemExit, match=r"must be writable by user 77: .*: File exists"):
        entrypoint.make_caches(77)


def test_other_words_are_a_command_in_the_folder_asked_for(become, tmp_path):
    words = ["python", "-m", "cudakern", "demo"]
    assert become(*words) == (words, tmp_path)
    assert os.environ["CUDAKERN_REQUIRE_GPU"] == "as before"


@pytest.mark.parametrize("there", [False, True], ids=["no report", "another user's report"])
def test_results_that_cannot_be_written_are_refused_before_the_tests(
    become, monkeypatch, tmp_path, there
):
    refused = tmp_path
    if there:
        refused /= "cpu.xml"
        refused.touch()
    monkeypatch.setattr(entrypoint.os, "access", lambda path, _mode: path != refused)
    with pytest.raises(SystemExit) as stop:
        become("cpu")
    assert str(stop.value).startswith(f"{refused} must be writable by user {os.getuid()}: ")
    assert '--user "$(id -u):$(id -g)"' in str(stop.value)


def test_an_unknown_command_is_one_line(capsys):
    with pytest.raises(SystemExit, match="127"):
        entrypoint.main(["no-such-command"])
    assert capsys.readouterr().err == (
        "no-such-command: No such file or directory; the image's own words are gpu and cpu\n"
    )
