"""The checker finds each planted fault in the right place, and nothing else."""

from __future__ import annotations

import cudakern as ck
from tests.helpers.rows import each
from tests.helpers.samples import sample
from tests.simulator.checker import broken_fences
from tests.simulator.checker.headers import OPTIONS, present
from tests.simulator.checker.tables import Modules, broken_rows, fault_lines

BROKEN = (*broken_rows(), *broken_fences.ROWS)
MODULES = Modules(BROKEN, OPTIONS)


def findings_of(broken, seed, *, strict):
    """Return what the checker finds in a kernel."""
    kernel, arguments = MODULES.kernel(broken), broken.arguments()
    report = None
    try:
        with ck.simulator.checked(seed=seed, strict=strict) as report:
            kernel(broken.grid, broken.block, arguments, shared_mem=broken.shared_mem)
    except ck.SimulatorError:
        assert report.findings
    return report.findings


def require_fault(broken, findings):
    """Raise AssertionError unless the findings are a kernel's planted fault."""
    assert {f.kind for f in findings} <= {broken.kind, *broken.also}
    faults = [f for f in findings if f.kind == broken.kind]
    assert faults
    assert all(_lines(broken, f) & fault_lines(broken.code) for f in findings)
    assert all(f.message and "\n" not in f.message for f in findings)
    assert {"which only strict reports" in f.message for f in findings} == {broken.strict}
    if broken.array is not None:
        assert {f.array for f in faults} == {broken.array}
    if broken.index is not None:
        assert {f.index for f in faults} == {broken.index}


def _lines(broken, finding):
    """Return the lines of a finding in the row's own text, perhaps of calls of a header's code."""
    return {line for file, line in finding.stack if file == f"{broken.name}.cu"}


@each("broken", present(BROKEN), ids=lambda broken: broken.name)
def test_fault_is_found(broken):
    for seed in sample(range(2), 2):
        require_fault(broken, findings_of(broken, seed, strict=broken.strict))
        if broken.strict:
            assert findings_of(broken, seed, strict=False) == []
