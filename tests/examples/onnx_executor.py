"""An executor of ONNX graphs whose nodes are the operators that cudakern has, of any opset."""

from __future__ import annotations

from functools import partial

import numpy as np
from onnx import helper, numpy_helper

import cudakern as ck


def one_hot(indices, depth, values, axis=-1):
    """Turn indices into vectors; indices may be floats with integral values."""
    if indices.dtype.kind == "f":
        indices = indices.astype(np.int64)
    return ck.one_hot(indices, int(depth.item()), axis=axis, values=values)


def arg(function, x, axis=0, keepdims=1, select_last_index=0):
    """Return the positions of the largest or least elements."""
    options = {"keepdims": bool(keepdims), "last_index": bool(select_last_index)}
    return ck.reduce(x, function, axis, **options)


def reduce(function, x, axes=(), keepdims=1, noop_with_empty_axes=0):
    """Reduce to the dtype of x; axes are an attribute, or an input in later opsets."""
    axis = tuple(map(int, axes)) or (() if noop_with_empty_axes else None)
    of_nothing = dict(zip(("max", "min"), extremes(x.dtype), strict=True))
    options = {"keepdims": bool(keepdims), "initial": of_nothing.get(function)}
    result = ck.reduce(x, function, axis, **options)
    return result.astype(x.dtype, copy=False)


def extremes(dtype):
    """Return the least and the largest element of a dtype."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return (False, True) if dtype.kind == "b" else (-np.inf, np.inf)


OPERATORS = {
    "ArgMax": partial(arg, "argmax"),
    "ArgMin": partial(arg, "argmin"),
    "Gather": ck.gather,
    "GatherND": ck.gather_nd,
    "NonZero": lambda x: ck.argwhere(x).T,
    "OneHot": one_hot,
    "ReduceL1": partial(reduce, "l1"),
    "ReduceL2": partial(reduce, "l2"),
    "ReduceLogSum": partial(reduce, "log_sum"),
    "ReduceLogSumExp": partial(reduce, "log_sum_exp"),
    "ReduceMax": partial(reduce, "max"),
    "ReduceMean": partial(reduce, "average"),
    "ReduceMin": partial(reduce, "min"),
    "ReduceProd": partial(reduce, "multiply"),
    "ReduceSum": partial(reduce, "sum"),
    "ReduceSumSquare": partial(reduce, "sum_square"),
}


def run(model, inputs, asarray=np.asarray):
    """Return a model's outputs for named inputs; ``asarray`` puts constants where inputs are."""
    constants = {c.name: asarray(numpy_helper.to_array(c)) for c in model.graph.initializer}
    values = {"": (), **constants, **inputs}  # an input without a name is absent
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        arrays = (values[name] for name in node.input)
        values[node.output[0]] = OPERATORS[node.op_type](*arrays, **attributes)
    return [values[output.name] for output in model.graph.output]


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file
    from onnx import parser

    VOTES = """<ir_version: 8, opset_import: ["": 13]>
    votes (float[voters, 3] scores) => (int64[3] votes)
    <int64 depth = {3}, int64[2] off_on = {0, 1}, int64[1] first = {0}>
    {
      best = ArgMax <axis = 1, keepdims = 0> (scores)
      chosen = OneHot (best, depth, off_on)
      votes = ReduceSum <keepdims = 0> (chosen, first)
    }"""
    scores = xp.array([[0.5, 2, 1], [3, 0, 1], [0, 7, 1]], dtype=xp.float32)
    print("votes:", run(parser.parse_model(VOTES), {"scores": scores}, xp.asarray)[0])
