"""Fixtures of all tests: where arrays live, and what happens without a GPU."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from contextlib import nullcontext
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import cudakern as ck
import cudakern.simulator.reports.pytest_plugin
from cudakern.compilation import nvrtc
from cudakern.compilation.cache import cache_folder
from cudakern.engines.cuda.library import device_count
from cudakern.errors import EngineUnavailableError
from cudakern.simulator.libraries import execution_mode
from tests.helpers import checked, samples
from tests.helpers.browser import browser, chromium  # noqa: F401  fixtures
from tests.helpers.gpu_use import GpuUse, uses_gpu
from tests.helpers.places import CUDA, DEVICE, HOST
from tests.helpers.readmes import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_GPU = "no CUDA device is visible: the tests ran on the simulator alone"
HAS_GPU = device_count() > 0
REQUIRES_GPU = os.environ.get("CUDAKERN_REQUIRE_GPU", "0") == "1"
#: Variables that users set for themselves. pytest has read them; a test that needs one sets it.
OF_USERS = (
    *("CUDAKERN_ARCH", "CUDAKERN_DEBUG", "CUDAKERN_LINEINFO", "PYTEST_ADDOPTS"),
    *("COLUMNS", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
)
PLACES = [HOST, pytest.param(CUDA, marks=pytest.mark.gpu)] if HAS_GPU else [HOST]
EVERYWHERE = [*PLACES, DEVICE]

# Tests of what a clone is released as; the tests may run beside an installed package.
collect_ignore = [] if (ROOT / ".ci").exists() else ["test_release.py"]

# There is no deadline, since a first example compiles its kernel; the seed of a failure is printed.
PROFILE = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}


@pytest.fixture(scope="session", autouse=True)
def usual_start() -> Iterator[None]:
    """Begin tests, and the programs that they start, with the usual umask and default signals.

    A job in the background of a shell ignores SIGINT, for example. A handler that does nothing
    ignores a signal as well, but programs do not inherit handlers.
    """
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    umask = os.umask(0o022)
    yield
    os.umask(umask)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that run every case, and that choose the execution mode."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run every case of the tables: all kernels, compilers and orders of threads",
    )
    parser.addoption(
        "--execution-mode",
        choices=[mode.value for mode in execution_mode.ExecutionMode],
        help="run the threads of plain launches in the simulator in this mode",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count what uses a GPU; load the package's own plugin also where it is not installed.

    Programs that tests start share the folder of compiled kernels, even with another home folder,
    and do not report that compiling takes long.
    JAX takes a GPU's memory as it needs it, not three quarters at once: CuPy needs some, too.
    Hypothesis keeps its examples in a temporary folder where the root is read-only.
    Garbage collection is off until all tests are collected.
    """
    for name in OF_USERS:
        os.environ.pop(name, None)
    if not os.access(config.rootpath, os.W_OK):
        folder = f"{tempfile.gettempdir()}/hypothesis-{os.getuid()}"
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", folder)
    os.environ.setdefault("CUDAKERN_CACHE_DIR", str(cache_folder()))
    os.environ.setdefault("CUDAKERN_QUIET", "1")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    gc.disable()
    samples.choose(thorough=config.getoption("--thorough"))
    mode = config.getoption("--execution-mode")
    execution_mode.chosen = execution_mode.ExecutionMode(mode) if mode else None
    settings.register_profile("cudakern", max_examples=samples.examples(100), **PROFILE)
    settings.load_profile("cudakern")
    config.pluginmanager.register(GpuUse(required=REQUIRES_GPU), "gpu_use")
    if not config.pluginmanager.has_plugin("cudakern"):
        config.pluginmanager.register(cudakern.simulator.reports.pytest_plugin, "cudakern")


def pytest_report_header() -> list[str]:
    """Return a line about what kernels run on, and which NVRTC and CuPy are installed."""
    cupy = [
        f"{distribution.name} {distribution.version}"
        for distribution in metadata.distributions()
        if (distribution.name or "").startswith("cupy")
    ]
    try:
        compiler = f"NVRTC {nvrtc.version()}"
    except EngineUnavailableError:
        compiler = "no NVRTC"
    engine = "a GPU and the simulator" if HAS_GPU else "the simulator; no GPU is visible"
    return [f"cudakern: on {engine}; {compiler}; {', '.join(cupy) or 'no CuPy'}"]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse to run without a GPU where one is required."""
    del session
    if REQUIRES_GPU and not HAS_GPU:
        message = (
            "CUDAKERN_REQUIRE_GPU=1, but no CUDA device is visible "
            "(in a container: docker run --gpus all)"
        )
        pytest.exit(message, returncode=1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that asks for a ``place`` on the simulator and, if there is one, on the GPU.

    A test that is marked ``device`` also runs with arrays on the stand-in's device. In a file with
    that mark, tests of kernels have ``device(on=False)``: kernels are the same there.
    """
    if "place" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("device")
        places = EVERYWHERE if mark and mark.kwargs.get("on", True) else PLACES
        metafunc.parametrize("place", places, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return where the arrays of a test live; on a device, ``import cupy`` gives the stand-in."""
    with ck.simulator.in_place_of_cupy() if request.param == DEVICE else nullcontext():
        yield request.param


@pytest.hookimpl(trylast=True)  # after -k, which may name spare tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked ``gpu`` where there is no GPU, which test_gpu_present reports once.

    Checked runs have one place, the simulator.
    """
    spare = checked.spare(items)
    left_out = {item for item in items if item in spare or _is_left_out(item)}
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Spare garbage collection the walk over all tests each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let garbage collection have the tests again: some libraries look for leaks at the end."""
    gc.unfreeze()


def _is_left_out(item: pytest.Item) -> bool:
    if not checked.is_checked(item):
        return uses_gpu(item) and not HAS_GPU
    return uses_gpu(item) or item.callspec.params.get("place") == DEVICE
