"""Short ways to build descriptors of reduce, argmax and argmin."""

from __future__ import annotations

import cudakern as ck
from cudakern import AxisDirection, DataType, ReduceFunction, TensorDesc

INCREASING, DECREASING = AxisDirection.INCREASING, AxisDirection.DECREASING
ARG_DESCS = {"argmax": ck.ArgmaxOperatorDesc, "argmin": ck.ArgminOperatorDesc}


def reduced(sizes, axes):
    """Return the sizes of the output."""
    return tuple(1 if d in axes else n for d, n in enumerate(sizes))


def reduce(function, x, axes, kind="FLOAT32", result=None, out=None):
    """Build a descriptor from sizes; of the output, the right ones unless others are given."""
    given = ReduceFunction[function.upper()] if isinstance(function, str) else function
    result = result or ("UINT32" if function in ARG_DESCS else kind)
    return ck.ReduceOperatorDesc(given, *_tensors(x, axes, kind, result, out), axes)


def arg(operator, x, axes, direction=INCREASING, kind="FLOAT32", result="UINT32", out=None):
    """Build a descriptor of argmax or argmin likewise."""
    return ARG_DESCS[operator](*_tensors(x, axes, kind, result, out), axes, direction)


def _tensors(x, axes, kind, result, out):
    out = reduced(x, axes) if out is None else out
    return TensorDesc(DataType[kind], x), TensorDesc(DataType[result], out)
