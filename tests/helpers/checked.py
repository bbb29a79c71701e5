"""Tests of operators run plain, and checked in the simulator with orders of threads."""

from __future__ import annotations

import pytest

#: Tests of kernels: three orders.
PLAIN_AND_CHECKED = pytest.mark.cudakern_checked(seeds=(None, 0, 1, 2))
#: Tests of what stands in front of the kernels, which others run in three orders: one.
PLAIN_AND_CHECKED_ONCE = pytest.mark.cudakern_checked(seeds=(None, 0))
