"""Every function and compiled operators on small arrays, and what NumPy's own formulas give."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers.places import same_bytes

X = np.array([[1.5, -0.0, 3, np.inf], [0, 1e-40, -7, 0], [2, 0, 0, -9]], np.float32)
INDICES = np.array([3, 0, 2], np.int64)
TUPLES = np.array([[2, 3], [0, 0]], np.int32)
OFF_ON = np.array([-1, 5], np.int16)
FOUND = np.argwhere(X)


class Case(NamedTuple):
    """Operands, what calls a function on them (and, if there is one, on ``out``), and its results.

    There are several results if they are in a tuple.
    """

    operands: tuple
    call: object
    expected: object
    has_out: bool = True


def _nonzero_coordinates(x, out=None):
    coordinates = ck.nonzero_coordinates(x, size=len(FOUND), out=out)
    assert out is None or all(a is b for a, b in zip(coordinates, out, strict=True))
    return tuple(coordinates)


def _tensors(*arrays):
    """Return descriptors for arrays."""
    return [TensorDesc(DataType.from_numpy(a.dtype), a.shape) for a in arrays]


@cache
def compiled(desc):
    """Return the operator, the same one for an equal descriptor: its second call is warm."""
    return ck.compile_operator(desc, FeatureLevel.EXTENDED)


GATHER = ck.GatherOperatorDesc(*_tensors(X, INDICES[None], X[:, :3]), 1, 1)
OWNED = replace(GATHER.indices_tensor, flags=ck.TensorFlags.OWNED_BY_DML)


def _owned_gather(x, indices, out=None):
    operator = compiled(replace(GATHER, indices_tensor=OWNED))
    return operator.initialize(indices)(x, out=out)


def _argmax(x, out=None):
    a, b = _tensors(X, np.zeros((3, 1), np.int64))
    direction = ck.AxisDirection.INCREASING
    return compiled(ck.ArgmaxOperatorDesc(a, b, (1,), direction))(x, out=out)


CASES = {
    "gather": Case((X, INDICES), lambda x, i, **o: ck.gather(x, i, 1, **o), X[:, [3, 0, 2]]),
    "gather_nd": Case((X, TUPLES), ck.gather_nd, X[[2, 0], [3, 0]]),
    "one_hot": Case(
        (INDICES, OFF_ON),
        lambda i, v, **o: ck.one_hot(i, 4, values=v, **o),
        np.where(INDICES[:, None] == np.arange(4), OFF_ON[1], OFF_ON[0]),
    ),
    "reduce": Case((X,), lambda x, **o: ck.reduce(x, "max", 1, **o), X.max(1)),
    "nonzero_coordinates": Case(
        (X,), _nonzero_coordinates, (np.array([len(FOUND)], np.uint32), FOUND.astype(np.uint32))
    ),
    "argwhere": Case((X,), ck.argwhere, FOUND, has_out=False),
    "nonzero": Case((X,), ck.nonzero, tuple(FOUND.T), has_out=False),
    "compiled gather": Case((X, INDICES[None]), compiled(GATHER), X[:, [3, 0, 2]]),
    "compiled gather of owned": Case((X, INDICES[None]), _owned_gather, X[:, [3, 0, 2]]),
    "compiled argmax": Case((X,), _argmax, X.argmax(1)[:, None]),
}


def results_of(returned):
    """Return the results of a call as a tuple."""
    return returned if isinstance(returned, tuple) else (returned,)


def expected_of(case):
    return results_of(case.expected)


def poisoned(case):
    """Return arrays for the results of a case that hold something else."""
    return [np.full(result.shape, 77, result.dtype) for result in expected_of(case)]


def run(case, put, outputs=None):
    """Call a case on operands that a library has put somewhere, with outputs of that library."""
    options = {}
    if outputs is not None:
        options["out"] = tuple(outputs) if isinstance(case.expected, tuple) else outputs[0]
    returned = case.call(*map(put, case.operands), **options)
    if outputs is not None:
        for result, output in zip(results_of(returned), outputs, strict=True):
            assert result is output
    return results_of(returned)


def run_in_place(case, arrays, pointers, addresses):
    """Run a case on arrays, which must be right and read where they are; return the results.

    ``addresses`` are those that launches are given.
    """
    addresses.clear()
    taken = iter(arrays)
    results = run(case, lambda _: next(taken))
    for result, expected in zip(results, expected_of(case), strict=True):
        assert same_bytes(result, expected)
    read = 1 if case is CASES["compiled gather of owned"] else len(pointers)  # it has a copy
    assert list(addresses[0][:read]) == list(pointers[:read])
    return results
