"""The checker finds a data race where the PTX ISA manual says that an execution has one."""

from __future__ import annotations

import pytest

import cudakern as ck
from tests.simulator.litmus import litmus_rows, module_of, run

ROWS = litmus_rows()
MODULE = module_of(ROWS)
SEEDS = range(20)


def test_names_are_distinct():
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_races_and_outcomes(row):
    races = set()
    for seed in SEEDS:
        report = None
        try:
            with ck.simulator.checked(seed=seed) as report:
                values = run(MODULE, row, seed)
        except ck.SimulatorError:
            assert {finding.kind for finding in report.findings} == {"race"}
        assert not eval(row.never or "False", values), values  # noqa: S307
        assert eval(row.may or "False", values) in {True, False}  # noqa: S307
        race = bool(eval(row.race, values))  # noqa: S307
        assert bool(report.findings) == race, (seed, values)
        races.add(race)
    # Where values decide, both happen.
    assert row.race in {"True", "False"} or races == {True, False}
