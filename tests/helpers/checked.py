"""Whether a test of operators runs plain, or checked in the simulator with orders of threads.

A kernel is compiled once more to be checked. So what runs on many kernels is checked only in a
thorough run, and a few kernels of each kind always: every second case of a test.
"""

from __future__ import annotations

import pytest

from cudakern.simulator.launching import observation
from tests.helpers.samples import is_thorough


def spare(items):
    """Return the checked cases of tests that run in a thorough run alone: every second one."""
    by_test = {}
    for item in items if not is_thorough() else ():
        if is_checked(item):
            by_test.setdefault((item.path, item.originalname), []).append(item)
    return {item for cases in by_test.values() for item in cases[1::2]}


def of_checked(rows):
    """Return the rows of a table that run here: each second one in a checked test, or all."""
    return rows[::2] if observation.active and not is_thorough() else rows


def is_checked(item):
    """Return whether a collected test is a checked case."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("cudakern_checked_seed") is not None


#: Seeds of orders: one, in a thorough run three.
ORDERS = range(3 if is_thorough() else 1)


def _seeds(*seeds):
    # Operators launch nothing for arrays without elements.
    return pytest.mark.cudakern_checked(seeds=seeds, launches="any")


PLAIN = _seeds(None)
#: Tests of kernels.
PLAIN_AND_CHECKED = _seeds(None, *ORDERS)
#: Tests of many kernels, or of what stands in front of them: one order, in a thorough run alone.
PLAIN_UNLESS_THOROUGH = _seeds(None, 0) if is_thorough() else PLAIN
