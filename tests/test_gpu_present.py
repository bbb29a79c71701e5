"""The one test that is skipped without a GPU, and what a run without any GPU test comes to."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.conftest import HAS_GPU, NO_GPU
from tests.helpers.places import CUDA, Buffer

pytest_plugins = ["pytester"]

CONFTEST = """
from tests.helpers.gpu_use import GpuUse

def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU")
    config.pluginmanager.register(GpuUse(required={required}))
"""
ON_HOST = """
import pytest

@pytest.mark.parametrize("place", ["host"])
def test_on_host(place): pass
"""
ON_GPU = """
@pytest.mark.parametrize("place", ["cuda"])
def test_on_gpu(place): {body}
"""


@pytest.mark.skipif(not HAS_GPU, reason=NO_GPU)
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
def outcome(pytester):
    """Return a function that runs pytest on a text: its exit status, output and report."""

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


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_with_a_test_on_a_gpu_passes(outcome, processes):
    status, text, places = outcome(ON_HOST + ON_GPU.format(body="pass"), "-n", processes)
    assert status == pytest.ExitCode.OK
    assert "on a GPU: 1 passed" in text
    assert places == {"test_on_host[host]": [], "test_on_gpu[cuda]": ["cuda"]}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (ON_HOST, ()),
        (ON_HOST + ON_GPU.format(body="pytest.skip()"), ()),
        (ON_HOST + ON_GPU.format(body="pytest.skip()"), ("-n", "2")),
        (ON_HOST + "@pytest.mark.gpu\n@pytest.mark.skip\ndef test_marked(): pass\n", ()),
        (ON_HOST + ON_GPU.format(body="pass"), ("-k", "host")),
        ("", ()),
    ],
    ids=["none", "skipped", "skipped-in-processes", "skipped-at-once", "deselected", "empty"],
)
def test_a_run_without_one_fails_where_a_gpu_is_required(outcome, text, options):
    status, printed, _ = outcome(text, *options)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "no test passed on a GPU: this run has failed" in printed


def test_other_failures_keep_their_status(outcome):
    status, _, _ = outcome(ON_HOST + ON_GPU.format(body="pytest.exit()"))
    assert status == pytest.ExitCode.INTERRUPTED


@pytest.mark.parametrize(("required", "options"), [(False, ()), (True, ("--collect-only",))])
def test_without_the_requirement_and_without_a_run_nothing_is_demanded(outcome, required, options):
    status, printed, _ = outcome(ON_HOST, *options, required=required)
    assert status == pytest.ExitCode.OK
    assert "GPU" not in printed
