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


def broken_rule(desc, level=FeatureLevel.LEVEL_6_4):
    try:
        desc.validate(level)
    except ck.DescriptorError as error:
        return error.rule
    return None
