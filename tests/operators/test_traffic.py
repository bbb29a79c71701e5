"""What each variant moves, held against the least: the tables are in each operator's folder."""

from __future__ import annotations

import re

import pytest

from cudakern.operators.operator import FOLDERS
from tests.helpers.operator_samples import rooms
from tests.helpers.rows import each

ROOMS = dict(zip(FOLDERS, rooms("test_traffic"), strict=True))


@pytest.mark.parametrize("folder", ROOMS)
def test_every_variant_moves_little(folder):
    operator, room = ROOMS[folder]
    each("case", room.CASES, ids=str)(room.hold)()
    variants = {spec.variant for spec in operator.specialisations()} - {"check"}
    forms = "_staged|_few"  # of a variant
    assert {re.sub(forms, "", case.variant) for case in room.CASES} == variants
