"""The node tests of the ONNX standard, from the package onnx: its own data, our operators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx.backend.test.case.node import collect_testcases

import cudakern as ck
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.places import put, same_bytes

pytestmark = PLAIN_AND_CHECKED


def cases(operator):
    """Return the node tests of an ONNX operator that are a single node."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # building all models warns about some of them
        found = collect_testcases(operator)
    nodes = [c for c in found if [n.op_type for n in c.model.graph.node] == [operator]]
    return [pytest.param(case, id=case.name) for case in nodes]


def attributes(case):
    """Return a node's attributes as Python values."""
    return {a.name: a.i for a in case.model.graph.node[0].attribute}


GATHER = cases("Gather")


@pytest.mark.parametrize("case", GATHER)
def test_gather_node(place, case):
    for inputs, outputs in case.data_sets:
        x, indices = (put(np.asarray(array), place) for array in inputs)
        result = ck.gather(x, indices, attributes(case).get("axis", 0))
        assert same_bytes(result, outputs[0])


def test_every_gather_node_test_is_there():
    names = {case.values[0].name for case in GATHER}
    assert {
        "test_gather_0",
        "test_gather_1",
        "test_gather_2d_indices",
        "test_gather_negative_indices",
    } <= names
