"""Every function and compiled operators on small arrays, and what NumPy's own formulas give."""

from __future__ import annotations

import numpy as np

from tests.helpers.operator_samples import rows_of_functions
from tests.helpers.places import same_bytes

CASES = rows_of_functions("CASES")


def results_of(returned):
    """Return the results of a call as a tuple."""
    return returned if isinstance(returned, tuple) else (returned,)


def expected_of(case):
    return results_of(case.expected)


def poisoned(case):
    """Return arrays for the results of a case that hold something else."""
    return [np.full(result.shape, 77, result.dtype) for result in expected_of(case)]


def run(case, put, outputs=None):
    """Call a case on operands that a library has put somewhere, with outputs of that library."""
    options = {}
    if outputs is not None:
        options["out"] = tuple(outputs) if isinstance(case.expected, tuple) else outputs[0]
    returned = case.call(*map(put, case.operands), **options)
    if outputs is not None:
        for result, output in zip(results_of(returned), outputs, strict=True):
            assert result is output
    return results_of(returned)


def run_in_place(case, arrays, pointers, addresses):
    """Run a case on arrays, which must be right and read where they are; return the results.

    ``addresses`` are those that launches are given.
    """
    addresses.clear()
    taken = iter(arrays)
    results = run(case, lambda _: next(taken))
    for result, expected in zip(results, expected_of(case), strict=True):
        assert same_bytes(result, expected)
    read = 1 if case is CASES["compiled gather of owned"] else len(pointers)  # it has a copy
    assert list(addresses[0][:read]) == list(pointers[:read])
    return results
