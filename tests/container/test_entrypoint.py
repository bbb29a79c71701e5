"""What the test image does with the words after its name, and what it says without a GPU."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
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


@pytest.fixture
def volume(monkeypatch):
    """Return a function that makes a volume and becomes a user, who has a temporary folder, too."""
    before = os.getresuid(), os.getresgid(), os.getgroups()
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # which all can reach
        folder, temporary = Path(name, "cache"), Path(name, "tmp")
        for path, mode in ((folder.parent, 0o755), (folder, 0o755), (temporary, 0o1777)):
            path.mkdir(exist_ok=True)
            path.chmod(mode)
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        monkeypatch.setattr(entrypoint, "CACHE", folder)
        monkeypatch.setattr(entrypoint, "CACHES", ("CUPY_CACHE_DIR", "CUDAKERN_CACHE_DIR"))
        monkeypatch.setenv("CUPY_CACHE_DIR", f"{folder}/cupy")
        monkeypatch.setenv("CUDAKERN_CACHE_DIR", f"{folder}/cudakern")

        def make(mode, owner=ME, user=ME):
            folder.chmod(mode)
            if ME == 0:
                os.chown(folder, owner, owner)
                os.setgroups([])
                os.setresgid(user, user, 0)
                os.setresuid(user, user, 0)
            return folder

        yield make
        os.setresuid(*before[0])
        os.setresgid(*before[1])
        if ME == 0:
            os.setgroups(before[2])


def placed():
    """Return where the entry point puts the cache of compiled kernels, for the present user."""
    entrypoint.place_caches(os.getuid())
    return Path(os.environ["CUDAKERN_CACHE_DIR"])


def assert_serves(folder, capsys):
    """Check that caches are in a volume, where the package takes its own."""
    own = folder / str(os.getuid())
    assert placed() == own / "cudakern" == cache_folder()
    assert os.environ["CUPY_CACHE_DIR"] == f"{own}/cupy"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert placed() == own / "cudakern"  # another start
    assert capsys.readouterr().err == ""


def assert_replaced(reason, capsys):
    """Check that caches are in a temporary folder, where the package takes its own."""
    folder = placed()
    assert folder.parents[1] == Path(tempfile.gettempdir())
    assert folder == cache_folder()
    assert os.environ["CUPY_CACHE_DIR"] == f"{folder.parent}/cupy"
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{reason}: compiled kernels are in {folder.parent} instead")


ME = os.getuid()
#: Why a volume of a mode does not serve its owner; an empty string if it does.
OWN = {0o700: "", 0o755: "", 0o1777: "", 0o777: " can be written by everybody"}
#: The same of volumes of root, for other users. Named volumes and tmpfs are as the image's folder,
#: 1777; emptyDir of Kubernetes is 0777, with fsGroup 2777.
OF_ROOT = {
    0o1777: "",
    0o777: " can be written by everybody",
    0o2777: " can be written by everybody",
    0o755: "/{user}: Permission denied",
    0o700: "/{user}: Permission denied",
}
SOMEBODY = 77
OF_SOMEBODY = {0o1777: " belongs to user 77", 0o755: " belongs to user 77"}
VOLUMES = [(ME, ME, mode, problem) for mode, problem in OWN.items()]
PLANTED = {"a file": ": File exists", "a folder for all": " can be written by everybody"}
if ME == 0:  # who can become others, and give files to them
    VOLUMES += [(0, SOMEBODY, mode, problem) for mode, problem in OF_SOMEBODY.items()]
    for other in (10001, 54321):
        VOLUMES += [(other, other, mode, problem) for mode, problem in OWN.items()]
        VOLUMES += [(other, 0, mode, problem) for mode, problem in OF_ROOT.items()]
        VOLUMES += [(other, SOMEBODY, 0o1777, OF_SOMEBODY[0o1777])]
    PLANTED |= {"a folder": " belongs to user 77", "a link": " belongs to user 77"}


@pytest.mark.parametrize(
    ("user", "owner", "mode", "problem"),
    [pytest.param(*row, id=f"user {row[0]}, {row[2]:o} of {row[1]}") for row in VOLUMES],
)
def test_caches_are_in_the_volume_if_the_package_trusts_it(
    volume, capsys, user, owner, mode, problem
):
    folder = volume(mode, owner, user)
    if problem:
        assert_replaced(f"{folder}{problem.format(user=user)}", capsys)
    else:
        assert_serves(folder, capsys)


@pytest.mark.parametrize("planted", PLANTED)
def test_what_others_have_put_into_the_volume_is_not_used(volume, capsys, planted):
    folder = volume(0o1777)
    own = folder / str(ME)
    (folder / "elsewhere").mkdir()
    if planted == "a file":
        own.touch()
    elif planted == "a link":
        own.symlink_to("elsewhere")
    else:
        own.mkdir()
    if planted == "a folder for all":
        own.chmod(0o777)
    elif ME == 0:
        os.chown(own, SOMEBODY, SOMEBODY, follow_symlinks=False)
    assert_replaced(f"{own}{PLANTED[planted]}", capsys)
    assert not [*(folder / "elsewhere").iterdir()]


def test_a_group_that_is_trusted_may_write_to_the_volume(volume, monkeypatch, capsys):
    folder = volume(0o770)
    monkeypatch.setenv("CUDAKERN_CACHE_SHARED", "group")
    assert_serves(folder, capsys)


def test_a_volume_that_runs_no_programs_does_not_serve(volume, monkeypatch, capsys):
    folder = volume(0o1777)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    assert_replaced(f"{folder}/{ME} is mounted noexec", capsys)


def test_a_volume_that_is_read_only_does_not_serve(volume, monkeypatch, capsys):
    own, access = volume(0o1777) / str(ME), os.access
    own.mkdir(0o700)
    monkeypatch.setattr(os, "access", lambda path, mode: path != own and access(path, mode))
    assert_replaced(f"{own} cannot be written", capsys)


@pytest.mark.parametrize("named", ["/elsewhere", "{volume}/{user}/kernels"])
def test_a_cache_that_was_placed_by_hand_stays_there(volume, monkeypatch, named):
    named = named.format(volume=volume(0o1777), user=ME)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", named)
    assert placed() == Path(named)


def test_without_a_temporary_folder_one_is_asked_for(become, volume, monkeypatch):
    volume(0o777)
    missing = FileNotFoundError(errno.ENOENT, "No usable temporary directory found")
    monkeypatch.setattr(tempfile, "gettempdir", mock.Mock(side_effect=missing))
    for words in (["cpu"], ["python"]):
        monkeypatch.setattr(entrypoint, "CACHES", () if words == ["cpu"] else ("CUPY_CACHE_DIR",))
        with pytest.raises(
            SystemExit, match=r"temporary folder .* add --tmpfs /tmp:exec to docker"
        ):
            become(*words)


def test_tests_do_not_start_with_a_cache_that_is_not_trusted(become, monkeypatch, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", f"{tmp_path}/kernels")
    with pytest.raises(SystemExit, match=f"{tmp_path}/kernels can be written by everybody"):
        become("cpu")


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
