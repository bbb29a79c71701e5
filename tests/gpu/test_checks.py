"""The checks of the first run on a GPU hold, and see what does not; on a stand-in, too."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import pytest

from tests.gpu import checks, stress
from tests.helpers.libraries import ABSENT
from tests.helpers.operator_samples import functions
from tests.helpers.places import CUDA, HOST
from tests.helpers.recorded_cupy import recorded
from tests.helpers.rows import each
from tests.helpers.samples import sample

OPERATORS = ["compile_operator", *(function.__name__ for function in functions())]


@pytest.fixture(autouse=True)
def little(monkeypatch):
    """Have all places do what the simulator does in a moment; some checks have a kernel each."""
    monkeypatch.setattr(stress, "ON_GPU", stress.ON_SIMULATOR)
    monkeypatch.setattr(checks, "LISTS", 4)
    for name, step in {"launch": 3, "subnormal": 26, "bits": 13, "pages": 6}.items():
        every = checks.CHECKS[name]
        few = {HOST: sample(every(HOST), step)}
        monkeypatch.setitem(
            checks.CHECKS, name, lambda place, every=every, few=few: few.get(place) or every(place)
        )


@pytest.mark.parametrize("name", checks.CHECKS)
def test_checks_hold(place, name, capsys):
    assert checks.run(name, place) == 0
    assert ": ok\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["capture", "numbers", "stress"])  # of which a GPU's are others
def test_checks_hold_on_a_stand_in(name, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(checks.importlib.util, "find_spec", lambda _name: None)
    with recorded(tmp_path):
        assert checks.run(name, CUDA) == 0, capsys.readouterr().out


@each("name", checks.CHECKS)
def test_operators_that_do_nothing_fail_every_check(monkeypatch, capsys, name):
    modules = ["cudakern"] if "dask" in ABSENT else ["cudakern", "cudakern.dask"]
    for module, operator in product(map(import_module, modules), OPERATORS):
        monkeypatch.setattr(module, operator, lambda *_, **__: None, raising=False)
    made = len(list(checks.CHECKS[name](HOST)))
    assert checks.run(name, HOST) == made > 0
    assert capsys.readouterr().out.count("FAILED") == made


def test_one_that_fails_is_named_and_the_others_are_made(monkeypatch, capsys):
    monkeypatch.setattr(checks.ck, "gather", lambda *_, **__: 1 / 0)
    assert checks.main(["launch", "--engine", "simulator"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "launch: gather: FAILED" in lines
    assert "ZeroDivisionError: division by zero" in lines
    assert "launch: one_hot: ok" in lines
    assert lines[-1] == "1 failed"
