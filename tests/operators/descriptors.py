"""Short ways to change descriptors and to judge them."""

from __future__ import annotations

from dataclasses import replace

import cudakern as ck
from cudakern import FeatureLevel


def change(desc, field, **values):
    return replace(desc, **{field: replace(getattr(desc, field), **values)})


def verdict(desc, level=FeatureLevel.LEVEL_6_4):
    """Return the broken rule that is reported, or the field where no rule is named; else None."""
    try:
        desc.validate(level)
    except ck.DescriptorError as error:
        return error.rule or error.field
    return None
