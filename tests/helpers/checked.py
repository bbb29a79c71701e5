"""Tests of operators run plain, and checked in the simulator with orders of threads."""

from __future__ import annotations

import pytest

from tests.helpers.samples import is_thorough

#: Tests of kernels: one order, in a thorough run three.
PLAIN_AND_CHECKED = pytest.mark.cudakern_checked(seeds=(None, 0, 1, 2)[: 4 if is_thorough() else 2])
#: Tests of what stands in front of the kernels, which others run in three orders: one.
PLAIN_AND_CHECKED_ONCE = pytest.mark.cudakern_checked(seeds=(None, 0))
