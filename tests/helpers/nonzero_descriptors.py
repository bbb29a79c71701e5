"""A short way to build descriptors of nonzero-coordinates."""

from __future__ import annotations

import cudakern as ck
from cudakern import DataType, TensorDesc


def nonzero(
    x, count, coordinates, kind="FLOAT32", *, count_kind="UINT32", coordinate_kind="UINT32"
):
    """Build a descriptor from three tuples of sizes."""
    return ck.NonzeroCoordinatesOperatorDesc(
        TensorDesc(DataType[kind], x),
        TensorDesc(DataType[count_kind], count),
        TensorDesc(DataType[coordinate_kind], coordinates),
    )
