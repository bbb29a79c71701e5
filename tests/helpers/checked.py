"""Whether a test of operators runs plain, or checked in the simulator with orders of threads.

A kernel is compiled once more to be checked. So what runs on many kernels is checked only in a
thorough run, and a few kernels of each kind always.
"""

from __future__ import annotations

import pytest

from tests.helpers.samples import is_thorough

#: Seeds of orders: one, in a thorough run three.
ORDERS = range(3 if is_thorough() else 1)


def _seeds(*seeds):
    return pytest.mark.cudakern_checked(seeds=seeds)


PLAIN = _seeds(None)
#: Tests of kernels.
PLAIN_AND_CHECKED = _seeds(None, *ORDERS)
#: Tests of many kernels, or of what stands in front of them: one order, in a thorough run alone.
PLAIN_UNLESS_THOROUGH = _seeds(None, 0) if is_thorough() else PLAIN
