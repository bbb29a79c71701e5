"""The checker finds a data race where the PTX ISA manual says that an execution has one."""

from __future__ import annotations

import cudakern as ck
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough, sample
from tests.simulator.checker.litmus import litmus_rows, module_of, run

ROWS = litmus_rows()
MODULE = module_of(ROWS)


@each("row", ROWS, ids=lambda row: row.name)
def test_races_and_outcomes(row):
    races, is_decided = set(), row.race in {"True", "False"}
    for seed in sample(range(20), 7 if is_decided else 1):
        if len(races) == 2 and seed > 4 and not is_thorough():
            break
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
    # Where values decide about the race, both outcomes occur.
    assert is_decided or races == {True, False}
