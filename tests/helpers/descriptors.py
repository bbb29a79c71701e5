"""Short ways to build and change descriptors of gather."""

from __future__ import annotations

from dataclasses import replace

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc


def gather(x, indices, out, axis, count, kind="FLOAT32", index_kind="UINT32"):
    """Build a descriptor from three tuples of sizes."""
    return ck.GatherOperatorDesc(
        TensorDesc(DataType[kind], x),
        TensorDesc(DataType[index_kind], indices),
        TensorDesc(DataType[kind], out),
        axis,
        count,
    )


def change(desc, field, **values):
    return replace(desc, **{field: replace(getattr(desc, field), **values)})


def verdict(desc, level=FeatureLevel.LEVEL_6_4):
    """Return the broken rule that is reported, or the field where no rule is named; else None."""
    try:
        desc.validate(level)
    except ck.DescriptorError as error:
        return error.rule or error.field
    return None
