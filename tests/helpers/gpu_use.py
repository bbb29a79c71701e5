"""Tests on a GPU: how many there were, and none that runs after one that has lost the context.

Where a GPU is required, a run in which no test used one fails.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from unittest import mock

import pytest

from tests.helpers.places import CUDA, wait_for_gpu

#: What the report of a test that uses a GPU says, in JUnit's format too.
PROPERTY = ("place", CUDA)


class ContextLostError(BaseException):
    """No kernel runs in this process any more.

    Hypothesis does not look for a simpler example after it, as it does after an `Exception`.
    """


def uses_gpu(item: pytest.Item) -> bool:
    """Return whether a test is one that has a GPU."""
    return item.get_closest_marker("gpu") is not None


class GpuUse:
    """The plugin. Processes of pytest-xdist mark tests, the one that started them counts."""

    def __init__(self, *, required: bool, wait=wait_for_gpu) -> None:
        self.required, self.wait = required, wait
        self.outcomes = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in filter(uses_gpu, items):
            item.user_properties.append(PROPERTY)
            # A signal would be handled when the GPU is done, which may be never.
            item.add_marker(pytest.mark.timeout(method="thread"))

    @contextmanager
    def waiting(self):
        """Wait for the GPU after a block, which fails if one of its launches has."""
        try:
            yield
        finally:
            try:
                self.wait()
            except RuntimeError as error:
                raise ContextLostError(str(error)) from error

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        """Wait for the GPU after a test, and after each of its examples if hypothesis runs it."""
        if not uses_gpu(item):
            return (yield)
        handle = getattr(item.obj, "hypothesis", None)
        if handle is None:
            with self.waiting():
                return (yield)
        with mock.patch.object(handle, "inner_test", self.waiting()(handle.inner_test)):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        """End the process after a test that has lost the context: all others would fail."""
        result = yield
        if uses_gpu(item):
            try:
                self.wait()
            except RuntimeError as error:
                if hasattr(item.config, "workerinput"):
                    os._exit(1)  # the test is reported; pytest-xdist starts another process
                pytest.exit(f"{item.nodeid} has lost the CUDA context: {error}", returncode=1)
        return result

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
