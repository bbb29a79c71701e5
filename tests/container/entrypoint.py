"""The entry point of the test image.

gpu [OPTION ...]      show what is there, then run the tests on a GPU; fails without one (default)
cpu [OPTION ...]      run all other tests, with the kernels on the simulator
COMMAND [WORD ...]    run a command instead, such as: python -m cudakern demo

Options are pytest's. A report in JUnit's format goes to /results.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cudakern.compilation.cache import survey
from cudakern.compilation.trust import reason_not_trusted

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("/results")
#: The volume, and the variables that name folders in it.
CACHE = Path("/cache")
CACHES = ("CUDAKERN_CACHE_DIR", "CUPY_CACHE_DIR", "HYPOTHESIS_STORAGE_DIRECTORY")
#: Memory that a worker of pytest may need while it compiles kernels for the simulator.
WORKER_BYTES = 3 << 30
#: Options of pytest that choose the tests on a GPU. A test that hangs or breaks the context ends
#: its process. A kernel that does so may be in many tests, so many restarts are allowed.
GPU_TESTS = ("-m", "gpu", "--timeout=120", "--max-worker-restart=1000", "--dist=worksteal")

START = """\
Start it with one of these, IMAGE being this image:

  docker run --rm --gpus all IMAGE
  docker run --rm --device nvidia.com/gpu=all IMAGE     (CDI)
  docker compose -f tests/container/compose.yaml run --rm gpu

The tests on the simulator need no GPU:

  docker run --rm IMAGE cpu
"""


def no_gpu(devices: Path, cuda_major: str) -> str:
    """Return the reason why no GPU can be used, as far as it can be seen from inside.

    The folder has the device files; the image is made for a major version of CUDA.
    """
    if not any(devices.glob("nvidia*")) and not (devices / "dxg").exists():
        return "The container was started without a GPU."
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return (
            "There is a GPU, but the driver's library libcuda.so.1 is not: "
            "NVIDIA_DRIVER_CAPABILITIES must have 'compute' "
            f"and is {os.environ.get('NVIDIA_DRIVER_CAPABILITIES', '')!r}."
        )
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    if version.value // 1000 < int(cuda_major):
        return (
            f"The host's driver is for CUDA {version.value // 1000}.{version.value % 1000 // 10}, "
            f"this image for CUDA {cuda_major}: update the driver, or build with CUDA_MAJOR."
        )
    if status := driver.cuInit(0):
        return (
            f"The driver does not start (cuInit returns {status}). If it did before, the container "
            "has lost its GPU, to a daemon-reload on the host for example: start a new one."
        )
    return "There is a GPU with a driver, but a kernel does not run on it: see 'check' above."


def workers(word: str) -> int:
    """Return how many processes are to share the tests that a word names.

    On a GPU the host's memory sets no limit: a virtual machine may start with little and grow.
    """
    count = min(len(os.sched_getaffinity(0)), 12)
    if word == "gpu":
        return count
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(count, memory // WORKER_BYTES))


def refusal(folder: Path) -> str:
    """Make a folder for this user alone; return why it cannot hold programs to run, or ""."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if problem := reason_not_trusted(
            folder, group=os.environ.get("CUDAKERN_CACHE_SHARED") == "group"
        ):
            return problem
        if not os.access(folder, os.W_OK):
            return f"{folder} cannot be written"
        return f"{folder} is mounted noexec" if os.statvfs(folder).f_flag & os.ST_NOEXEC else ""
    except OSError as error:
        return f"{folder}: {error.strerror}"


def temporary_folder() -> str:
    """Return the folder for temporary files; exit if there is none."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        sys.exit("a temporary folder must be writable: add --tmpfs /tmp:exec to docker run")


def place_caches(user: int) -> None:
    """Move each cache of the volume to this user's folder there, or to a temporary one.

    Programs run what the caches hold, so the package's rule of trust applies to all of them.
    """
    variables = {name: Path(os.environ.get(name, "/")) for name in CACHES}
    variables = {name: path for name, path in variables.items() if path.is_relative_to(CACHE)}
    own = folder = CACHE / str(user)
    if variables and (problem := refusal(own)):
        folder = Path(tempfile.mkdtemp(prefix="caches-", dir=temporary_folder()))
        sys.stderr.write(
            f"{problem}: compiled kernels are in {folder} instead and go with the container; "
            f"{CACHE} serves if user {user} alone can write there, or everybody with mode 1777\n"
        )
    for name, path in variables.items():
        os.environ[name] = str(
            folder / path.relative_to(own if path.is_relative_to(own) else CACHE)
        )


def pytest(name: str, options: list[str]) -> list[str]:
    """Return the command that runs tests and writes a report of this name."""
    report = RESULTS / f"{name}.xml"
    written = report if report.exists() else RESULTS
    if not os.access(written, os.W_OK):
        sys.exit(
            f"{written} must be writable by user {os.getuid()}: make the folder that is mounted "
            'there first, and add --user "$(id -u):$(id -g)" to docker run'
        )
    temporary_folder()
    choice = survey()
    if choice.writable is None:  # no test has a warning
        sys.exit(choice.problem)
    os.chdir(ROOT)
    command = [sys.executable, "-m", "pytest", "-n", str(workers(name)), f"--junit-xml={report}"]
    return [*command, *options]


def gpu(options: list[str]) -> list[str]:
    """Return the command for the tests on a GPU; exit with advice if no kernel runs on one."""
    information = [sys.executable, "-m", "cudakern", "info", "--check"]
    if subprocess.run(information, check=False).returncode:
        reason = no_gpu(Path("/dev"), os.environ["CUDA_MAJOR"])
        sys.exit(f"\nNo GPU can be used, so none was tested. {reason}\n{START}")
    os.environ["CUDAKERN_REQUIRE_GPU"] = "1"
    return pytest("gpu", [*GPU_TESTS, *options])


def cpu(options: list[str]) -> list[str]:
    """Return the command for the tests on the simulator, which hides any GPU."""
    os.environ |= {"CUDAKERN_REQUIRE_GPU": "0", "CUDA_VISIBLE_DEVICES": ""}
    return pytest("cpu", ["--dist=worksteal", *options])


def main(words: list[str]) -> None:
    """Become the program that the words after the image's name ask for."""
    word, *options = words
    if word in {"-h", "--help"}:
        sys.stdout.write(str(__doc__))
        return
    place_caches(os.getuid())
    suites = {"gpu": gpu, "cpu": cpu}
    command = suites[word](options) if word in suites else words
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"{word}: {error.strerror}; the image's own words are gpu and cpu\n")
        sys.exit(127)


if __name__ == "__main__":
    main(sys.argv[1:] or ["gpu"])
