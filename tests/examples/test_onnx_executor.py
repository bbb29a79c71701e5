"""Graphs of several nodes, of early and late opsets, run by the executor and by ONNX's own."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from onnx import checker, helper, parser
from onnx.reference import ReferenceEvaluator

from tests.examples.onnx_executor import run
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get, put
from tests.helpers.rows import each

pytestmark = pytest.mark.device

CLASSIFIER = """
<ir_version: 8, opset_import: ["": 13]>
classifier (int64[2, 3] words, float[2, 4] scores)
  => (float[2, 2] mean, float[2, 2] chosen, int64[2, places] places, int64[4] votes)
<float[3, 2] table = {1, 0.5, 0, 0, 3, 4}, int64[2, 2, 1] pairs = {0, 3, -1, 1},
 int64 depth = {4}, int64[2] off_on = {0, 1}, int64[1] last = {-1}>
{
  vectors = Gather (table, words)
  mean = ReduceMean <axes = [1], keepdims = 0> (vectors)
  chosen = GatherND <batch_dims = 1> (scores, pairs)
  places = NonZero (mean)
  best = ArgMax <axis = -1, keepdims = 0> (scores)
  vote = OneHot <axis = 0> (best, depth, off_on)
  votes = ReduceSum <keepdims = 0> (vote, last)
}"""
FUNCTIONS = ["L1", "L2", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


def assert_as_reference(place, model, inputs):
    """The outputs have the values of ONNX's own executor, and the types of the model."""
    checker.check_model(model)
    placed = {name: put(array, place) for name, array in inputs.items()}
    outputs = run(model, placed, partial(put, place=place))
    expected = ReferenceEvaluator(model).run(None, inputs)  # turns some sums into int64
    for found, values, output in zip(outputs, expected, model.graph.output, strict=True):
        kind = helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type)
        assert (found.dtype, found.shape) == (kind, values.shape)
        np.testing.assert_array_equal(get(found), values)


@PLAIN_UNLESS_THOROUGH
def test_graph(place):
    words = np.array([[0, 1, -1], [1, 1, -2]])
    scores = np.array([[0.5, 2, 2, -1], [-3, -2, -1, 0]], np.float32)
    model = parser.parse_model(CLASSIFIER)
    assert_as_reference(place, model, {"words": words, "scores": scores})


def reductions(opset):
    """Return a model of reductions; ReduceSum was the first whose axes became an input."""
    nodes = []
    for name in FUNCTIONS:
        early = opset < (13 if name == "Sum" else 18)
        axes, inputs = ("axes = [0, -1], ", "x") if early else ("", "x, axes")
        nodes.append(f"{name} = Reduce{name} <{axes}keepdims = 0> ({inputs})")
    outputs = ", ".join(f"float[b] {name}" for name in FUNCTIONS)
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {opset}]>
        reductions (float[a, b, c] x) => ({outputs}) <int64[2] axes = {{0, -1}}>
        {{ {" ".join(nodes)} }}"""
    )


@each("opset", [11, 13, 18])
def test_axes_of_every_opset(place, opset):
    x = np.array([[[3, -4], [0, -1]], [[2, 5], [-1, 2]]], np.float32)
    assert_as_reference(place, reductions(opset), {"x": x})


def test_integers_of_nothing(place):
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18]>
        extremes (int8[a, b] x) => (int8[b] most, int8[b] least) <int64[1] axes = {0}>
        {
          most = ReduceMax <keepdims = 0> (x, axes)
          least = ReduceMin <keepdims = 0> (x, axes)
        }"""
    )
    assert_as_reference(place, model, {"x": np.empty((0, 3), np.int8)})
