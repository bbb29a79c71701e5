"""The one test that is skipped where libraries are missing."""

from __future__ import annotations

import pytest

from tests.helpers.libraries import ABSENT


def test_libraries_are_there():
    if ABSENT:
        pytest.skip(f"tests of {', '.join(ABSENT)} need the extra interop")
