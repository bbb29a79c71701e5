"""The simulator and the stand-in take and refuse what CuPy's RawKernel and RawModule do."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from tests.gpu import raw_kernels
from tests.gpu.raw_kernels import COMPILED, CONSTRUCTED, LAUNCHED, ONLY_HERE_REFUSED, cases, wrong
from tests.helpers.rows import each

HERE = cases(CONSTRUCTED, LAUNCHED, COMPILED, {Exception: ONLY_HERE_REFUSED})
WITHOUT_A_DRIVER = cases(CONSTRUCTED, LAUNCHED, {None: ONLY_HERE_REFUSED})


@pytest.fixture(scope="module")
def simulators(tmp_path_factory):
    """Return what the expressions name, with the simulator's classes."""
    return raw_kernels.names(ck.simulator, np.zeros(1, np.int32), tmp_path_factory.mktemp("ptx"))


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """Return what they name in place of CuPy."""
    with ck.simulator.in_place_of_cupy() as cp:
        return raw_kernels.names(cp, cp.zeros(1, np.int32), tmp_path_factory.mktemp("ptx"))


@pytest.fixture(scope="module")
def cupys(tmp_path_factory):
    """Return what they name, with CuPy's own classes; a launch ends where it asks the driver."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    function = cupy.cuda.function.Function.__new__(cupy.cuda.function.Function)
    asked = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)

    def kernel(*arguments, **options):
        try:
            if options.get("stream") is None:  # the current one, of which only a driver knows
                options["stream"] = SimpleNamespace(ptr=0)
            function(*arguments, **options)
        except asked:
            return

    names = raw_kernels.names(cupy, None, tmp_path_factory.mktemp("ptx"))
    return names | {"kernel": kernel}


@each(("text", "expected"), HERE)
def test_the_simulator(simulators, text, expected):
    assert wrong(text, expected, simulators) == ""


@each(("text", "expected"), HERE)
def test_the_stand_in(stand_ins, text, expected):
    assert wrong(text, expected, stand_ins) == ""


@each(("text", "expected"), WITHOUT_A_DRIVER)
def test_cupy_itself(cupys, text, expected):
    assert wrong(text, expected, cupys) == ""


def test_what_does_not_hold_is_told(simulators, capsys, monkeypatch):
    held = {"1 == 2": None, "raw.name": KeyError, "kernel((1,), (1,), (x, 6))": None}
    told = [wrong(text, expected, simulators) for text, expected in held.items()]
    assert told == ["it is False", "it is taken", "it is False"]
    assert wrong("raw()", KeyError, simulators).startswith("TypeError: ")
    for table in ("LAUNCHED", "COMPILED"):
        monkeypatch.setattr(raw_kernels, table, {})
    monkeypatch.setattr(raw_kernels, "CONSTRUCTED", {KeyError: "raw.name"})
    monkeypatch.setattr(raw_kernels, "ONLY_HERE_REFUSED", "{}['a']")
    assert raw_kernels.main(["--engine", "simulator"]) == 1
    said = ["raw.name raises KeyError: FAILED, it is taken", "{}['a'] raises Exception: ok"]
    assert capsys.readouterr().out.splitlines() == [*said, "1 failed"]
