"""Tests of operators run plain, and checked in the simulator with five orders of threads."""

from __future__ import annotations

import pytest

PLAIN_AND_CHECKED = pytest.mark.cudakern_checked(seeds=(None, 0, 1, 2, 3, 4))
