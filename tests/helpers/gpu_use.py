"""How many tests used a GPU; where one is required, a run in which none did fails."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.helpers.places import CUDA

#: What the report of a test that uses a GPU says, in JUnit's format too.
PROPERTY = ("place", CUDA)


def uses_gpu(item: pytest.Item) -> bool:
    """Return whether a test is one that has a GPU."""
    given = getattr(item, "callspec", None)
    return item.get_closest_marker("gpu") is not None or (
        given is not None and given.params.get("place") == CUDA
    )


class GpuUse:
    """The plugin. Processes of pytest-xdist mark tests, the one that started them counts."""

    def __init__(self, *, required: bool) -> None:
        self.required = required
        self.outcomes = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if uses_gpu(item):
                item.user_properties.append(PROPERTY)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if PROPERTY in map(tuple, report.user_properties) and (
            report.when == "call" or not report.passed
        ):
            self.outcomes[report.outcome] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        if hasattr(config, "workerinput") or config.option.collectonly:
            return
        if self.missing() and session.exitstatus in {
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        }:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter, config: pytest.Config) -> None:
        if config.option.collectonly:
            return
        if self.missing():
            text = "CUDAKERN_REQUIRE_GPU=1, but no test passed on a GPU: this run has failed"
            terminalreporter.write_line(text, red=True)
        elif self.required or self.outcomes:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.items())
            terminalreporter.write_line(f"on a GPU: {counts}")

    def missing(self) -> bool:
        """Return whether a GPU is required and no test passed on one."""
        return self.required and not self.outcomes["passed"]
