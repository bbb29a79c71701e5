"""The examples' executor runs the node tests of the ONNX standard, from the package onnx."""

from __future__ import annotations

import pkgutil
import re
import warnings
from functools import partial
from unittest import mock

import numpy as np
import pytest
from onnx.backend.test.case import node
from onnx.reference import ReferenceEvaluator

from tests.examples.onnx_executor import OPERATORS, run
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import sample

pytestmark = pytest.mark.device

OURS = re.compile("argm|gather|nonzero|onehot|reduce")
#: How many node tests onnx 1.18 has for the operators; later versions add some.
KNOWN = 134
COPIES = {"Gather", "GatherND", "NonZero", "OneHot"}


def single_nodes():
    """Make the tests of single nodes of our operators; making all takes ten times as long."""
    modules = [m for m in pkgutil.iter_modules(node.__path__) if OURS.match(m.name)]
    with mock.patch("pkgutil.iter_modules", return_value=modules), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # building all models warns about some of them
        cases = node.collect_testcases(None)
    return [c for c in cases if [n.op_type in OPERATORS for n in c.model.graph.node] == [True]]


def operator(case):
    """Return the operator that a test is about."""
    return case.model.graph.node[0].op_type


CASES = single_nodes()
COPYING = [case for case in CASES if operator(case) in COPIES]
REDUCING = [case for case in CASES if operator(case) not in COPIES]


def results(place, case):
    """Yield triples: the executor's output, the test's own, and that of ONNX's reference."""
    names = [value.name for value in case.model.graph.input]
    for inputs, outputs in case.data_sets:
        given = dict(zip(names, map(np.asarray, inputs), strict=True))
        placed = {name: put(array, place) for name, array in given.items()}
        found = run(case.model, placed, partial(put, place=place))
        yield from zip(found, outputs, ReferenceEvaluator(case.model).run(None, given), strict=True)


@PLAIN_UNLESS_THOROUGH
@each("case", COPYING, ids=lambda case: case.name)
def test_copying_node(place, case):
    for found, expected, reference in results(place, case):
        assert same_bytes(found, expected)
        assert same_bytes(found, reference)


@each("case", sample(REDUCING, 6), ids=lambda case: case.name)
def test_reducing_node(place, case):
    for found, *others in results(place, case):
        for expected in others:
            epsilon = 0 if expected.dtype.kind in "bi" else np.finfo(expected.dtype).eps
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            # All are sums of at most 60 elements, which do not cancel.
            np.testing.assert_allclose(get(found), expected, rtol=32 * epsilon, atol=0)


def test_every_node_test_is_there():
    assert set(map(operator, CASES)) == OPERATORS.keys()
    assert len(CASES) >= KNOWN
