"""The checker finds each planted fault, where it is, and nothing else."""

from __future__ import annotations

import pytest

import cudakern as ck
from tests.simulator.broken_kernels import BROKEN, fault_lines

#: What every compiler gets; the first one that is found gets all.
SAMPLE = BROKEN[::3]


def findings_of(broken, seed):
    """Run a kernel under the checker, which must raise; return what it found."""
    kernel = ck.simulator.RawKernel(broken.code, broken.kernel)
    arguments = broken.arguments()
    with pytest.raises(ck.SimulatorError), ck.simulator.checked(seed=seed) as report:
        kernel(broken.grid, broken.block, arguments, shared_mem=broken.shared_mem)
    return report.findings


def require_fault(broken, findings):
    """Raise AssertionError unless findings are a kernel's planted fault."""
    assert {f.kind for f in findings} <= {broken.kind, *broken.also}
    assert {f.source[1] for f in findings} <= fault_lines(broken.code)
    found = [f for f in findings if f.kind == broken.kind]
    assert found
    assert all(f.message and "\n" not in f.message for f in findings)
    if broken.array is not None:
        assert {f.array for f in findings} == {broken.array}
    if broken.index is not None:
        assert {f.index for f in findings} == {broken.index}


def test_names_are_distinct():
    assert len({broken.name for broken in BROKEN}) == len(BROKEN)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_fault_is_found(broken, seed):
    require_fault(broken, findings_of(broken, seed))


@pytest.mark.usefixtures("each_compiler")
@pytest.mark.parametrize("broken", SAMPLE, ids=str)
def test_each_compiler_serves(broken):
    require_fault(broken, findings_of(broken, 0))
