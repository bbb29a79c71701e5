"""One test is skipped without a GPU; runs fail if no test used one, or a test broke it."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree as ET

import pytest

from tests.conftest import HAS_GPU, NO_GPU
from tests.helpers.places import CUDA, Buffer
from tests.helpers.rows import each
from tests.helpers.samples import sample

pytest_plugins = ["pytester"]

LOST = "cudaErrorIllegalAddress: an illegal memory access was encountered"
CONFTEST = """
import pytest
from tests.helpers.gpu_use import GpuUse

errors = []

@pytest.fixture(scope="session")
def lose():
    return errors.append

def wait():
    if errors:
        raise RuntimeError(errors[0])

def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU")
    config.pluginmanager.register(GpuUse(required={required}, wait=wait))
"""
ON_HOST = """
import pytest

@pytest.mark.parametrize("place", ["host"])
def test_on_host(place): pass
"""
ON_GPU = """
@pytest.mark.parametrize("place", [pytest.param("cuda", marks=pytest.mark.gpu)])
def test_on_gpu(place): {body}
"""
BROKEN = """
import pytest
from hypothesis import given, settings, strategies as st

pytestmark = pytest.mark.gpu

def test_before(): pass

{body}

@pytest.mark.parametrize("number", range(6))
def test_after(number): pass
"""
BREAKS = {
    "kernel": f"def test_breaks(lose): lose({LOST!r})",
    "call": f"def test_breaks(lose): lose({LOST!r}); raise RuntimeError({LOST!r})",
    "example": f"""
@settings(database=None)
@given(n=st.integers(0, 1000))
def test_breaks(lose, n): n < 100 or lose("{LOST} by " + str(n)) or print("broken by", n)
""",
}


@(pytest.mark.gpu if HAS_GPU else pytest.mark.skip(reason=NO_GPU))
def test_a_gpu_is_used(request):
    import cupy as cp  # noqa: PLC0415  absent where this test is skipped

    assert isinstance(Buffer(bytes(16), CUDA).view((4,), "int32"), cp.ndarray)
    runtime = cp.cuda.runtime
    request.node.user_properties += [
        ("gpu", runtime.getDeviceProperties(0)["name"].decode()),
        ("driver", str(runtime.driverGetVersion())),
        ("cupy", cp.__version__),
    ]


@pytest.fixture
def outcome(pytester, monkeypatch):
    """Return a function that runs pytest on a text and returns exit status, output and report."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # texts change within a second

    def run(text, *options, required=True):
        pytester.makeconftest(CONFTEST.format(required=required))
        pytester.makepyfile(text)
        plain = ("-p", "no:cacheprovider", "-p", "no:cudakern", "--junit-xml=report.xml")
        result = pytester.runpytest_inprocess(*plain, *options)
        report = pytester.path / "report.xml"
        cases = ET.parse(report).iter("testcase") if report.exists() else ()  # noqa: S314
        places = {
            case.get("name"): [p.get("value") for p in case.iter("property")] for case in cases
        }
        return result.ret, result.stdout.str(), places

    return run


@each("processes", ["0", "1"])
def test_a_run_with_a_test_on_a_gpu_passes(outcome, processes):
    status, text, places = outcome(ON_HOST + ON_GPU.format(body="pass"), "-n", processes)
    assert status == pytest.ExitCode.OK
    assert "on a GPU: 1 passed" in text
    assert places == {"test_on_host[host]": [], "test_on_gpu[cuda]": ["cuda"]}


@each(
    ("text", "options"),
    [
        (ON_HOST, ()),
        (ON_HOST + ON_GPU.format(body="pytest.skip()"), ()),
        (ON_HOST + "@pytest.mark.gpu\n@pytest.mark.skip\ndef test_marked(): pass\n", ()),
        (ON_HOST + ON_GPU.format(body="pass"), ("-k", "host")),
        ("", ()),
    ],
)
def test_a_run_without_one_fails_where_a_gpu_is_required(outcome, text, options):
    status, printed, _ = outcome(text, *options)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "no test passed on a GPU: this run has failed" in printed


@each("breaks", sample(BREAKS, 3))
def test_a_broken_context_ends_its_process_alone(outcome, breaks):
    status, text, places = outcome(BROKEN.format(body=BREAKS[breaks]), "-n", "1")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 7 passed" in text
    assert re.search(r"crashed while running '\S+::test_breaks'", text)
    assert f"ContextLostError: {LOST}" in text
    assert text.count("broken by") == (breaks == "example"), "no other example follows"
    assert sorted(places) == [*(f"test_after[{k}]" for k in range(6)), "test_before", "test_breaks"]


@each("breaks", BREAKS)
def test_without_other_processes_it_ends_the_run(outcome, breaks):
    status, text, places = outcome(BROKEN.format(body=BREAKS[breaks]))
    assert status == 1
    assert "test_breaks has lost the CUDA context: " + LOST in text
    assert "1 failed, 1 passed" in text
    assert list(places) == ["test_before", "test_breaks"]


def test_a_hanging_test_is_ended_though_no_signal_is_handled(outcome):
    hangs = "import signal, time; signal.pthread_sigmask(0, [signal.SIGALRM]); time.sleep(60)"
    text = ON_GPU.format(body=hangs) + "@pytest.mark.gpu\ndef test_after(): pass\n"
    status, printed, places = outcome("import pytest\n" + text, "-n", "1", "--timeout", "1")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed" in printed
    assert "crashed while running" in printed
    assert list(places) == ["test_on_gpu[cuda]", "test_after"]


@each(("required", "options"), [(False, ()), (True, ("--collect-only",))])
def test_without_the_requirement_and_without_a_run_nothing_is_demanded(outcome, required, options):
    status, printed, _ = outcome(ON_HOST, *options, required=required)
    assert status == pytest.ExitCode.OK
    assert "GPU" not in printed
