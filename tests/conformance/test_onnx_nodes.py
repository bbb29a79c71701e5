"""The node tests of the ONNX standard, from the package onnx: its own data, our operators."""

from __future__ import annotations

import pkgutil
import re
import warnings
from functools import lru_cache
from unittest import mock

import numpy as np
import pytest
from onnx.backend.test.case import node

import cudakern as ck
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.places import get, put, same_bytes

pytestmark = PLAIN_AND_CHECKED

OURS = re.compile("argm|gather|nonzero|onehot|reduce")


@lru_cache(maxsize=1)
def all_cases():
    """Make the node tests of our operators; those of all of ONNX take ten times as long."""
    modules = [m for m in pkgutil.iter_modules(node.__path__) if OURS.match(m.name)]
    with mock.patch("pkgutil.iter_modules", return_value=modules), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # building all models warns about some of them
        return node.collect_testcases(None)


def cases(operator):
    """Return the node tests of an ONNX operator that are a single node."""
    nodes = [c for c in all_cases() if [n.op_type for n in c.model.graph.node] == [operator]]
    return [pytest.param(case, id=case.name) for case in nodes]


def attributes(case):
    """Return a node's attributes as Python values."""
    return {a.name: a.i for a in case.model.graph.node[0].attribute}


GATHER, GATHER_ND, NONZERO, ONE_HOT = map(cases, ("Gather", "GatherND", "NonZero", "OneHot"))
#: Operators that one function of reduce is for, and how many node tests each has.
REDUCTIONS = {
    "ArgMax": ("argmax", 16),
    "ArgMin": ("argmin", 16),
    "ReduceL1": ("l1", 9),
    "ReduceL2": ("l2", 9),
    "ReduceLogSum": ("log_sum", 5),
    "ReduceLogSumExp": ("log_sum_exp", 9),
    "ReduceMax": ("max", 11),
    "ReduceMean": ("average", 8),
    "ReduceMin": ("min", 10),
    "ReduceProd": ("multiply", 9),
    "ReduceSum": ("sum", 12),
    "ReduceSumSquare": ("sum_square", 9),
}
#: What max and min of nothing are in ONNX, for bool and for floats; NumPy has neither.
IDENTITIES = {"max": {"b": False, "f": -np.inf}, "min": {"b": True, "f": np.inf}}
REDUCE = [case for operator in REDUCTIONS for case in cases(operator)]


@pytest.mark.parametrize("case", GATHER)
def test_gather_node(place, case):
    for inputs, outputs in case.data_sets:
        x, indices = (put(np.asarray(array), place) for array in inputs)
        result = ck.gather(x, indices, attributes(case).get("axis", 0))
        assert same_bytes(result, outputs[0])


@pytest.mark.parametrize("case", GATHER_ND)
def test_gather_nd_node(place, case):
    for inputs, outputs in case.data_sets:
        x, indices = (put(np.asarray(array), place) for array in inputs)
        result = ck.gather_nd(x, indices, attributes(case).get("batch_dims", 0))
        assert same_bytes(result, outputs[0])


@pytest.mark.parametrize("case", NONZERO)
def test_nonzero_node(place, case):
    for (x,), outputs in case.data_sets:
        result = ck.nonzero(put(np.asarray(x), place))
        assert same_bytes(np.stack([get(found) for found in result]), outputs[0])


@pytest.mark.parametrize("case", ONE_HOT)
def test_one_hot_node(place, case):
    for (indices, depth, values), outputs in case.data_sets:
        if indices.dtype.kind == "f":  # ONNX has whole numbers of any type
            assert np.array_equal(indices, np.rint(indices))
            indices = indices.astype(np.int64)  # noqa: PLW2901
        axis = attributes(case).get("axis", -1)
        given = put(np.asarray(values), place)
        result = ck.one_hot(put(indices, place), int(depth), axis=axis, values=given)
        assert same_bytes(result, outputs[0])


def reduce_as_onnx(case, x, axes=()):
    """Reduce as an ONNX node does: axes as an input or an attribute, identities for max and min."""
    given = attributes(case)
    function, _ = REDUCTIONS[case.model.graph.node[0].op_type]
    options = {"keepdims": bool(given.get("keepdims", 1))}
    if function.startswith("arg"):
        axis = given.get("axis", 0)
        options["last_index"] = bool(given.get("select_last_index", 0))
    else:
        no_axes = () if given.get("noop_with_empty_axes", 0) else None
        axis = tuple(map(int, axes)) or no_axes
    try:
        return ck.reduce(x, function, axis, **options)
    except ck.DescriptorError as error:
        if error.field != "x" or x.size or function not in IDENTITIES:
            raise
    shape = np.empty(x.shape, bool).any(axis, keepdims=options["keepdims"]).shape
    return np.full(shape, IDENTITIES[function][x.dtype.kind], x.dtype)


@pytest.mark.cudakern_checked(seeds=(None,))
@pytest.mark.parametrize("case", REDUCE)
def test_reduce_node(place, case):
    for (x, *axes), (expected,) in case.data_sets:
        result = get(reduce_as_onnx(case, put(np.asarray(x), place), *axes))
        exact = expected.dtype.kind in "bi"
        epsilon = 0 if exact else np.finfo(expected.dtype).eps
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        # Both are sums of at most 60 elements, none of which cancel.
        np.testing.assert_allclose(result, expected, rtol=32 * epsilon, atol=0)


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_every_node_test_of_reduce_is_there(operator):
    _, known = REDUCTIONS[operator]
    assert len(cases(operator)) >= known


@pytest.mark.parametrize(
    ("found", "known"),
    [
        (
            GATHER,
            """test_gather_0 test_gather_1 test_gather_2d_indices test_gather_negative_indices""",
        ),
        (
            GATHER_ND,
            """test_gathernd_example_float32 test_gathernd_example_int32
            test_gathernd_example_int32_batch_dim1""",
        ),
        (NONZERO, "test_nonzero_example"),
        (
            ONE_HOT,
            """test_onehot_negative_indices test_onehot_with_axis test_onehot_with_negative_axis
            test_onehot_without_axis test_onehot_with_bfloat16_values""",
        ),
    ],
    ids=["Gather", "GatherND", "NonZero", "OneHot"],
)
def test_every_node_test_is_there(found, known):
    assert {case.values[0].name for case in found} >= set(known.split())
