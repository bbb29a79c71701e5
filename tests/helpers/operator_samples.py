"""What each operator's folder below ``tests/operators`` has for the tests of all operators.

``samples.py``
    CASES: a `Case` of each function, by its name, and of what is compiled; see `eager`, `compiled`.
    MIXED: functions of a random generator and a shape, which return a result and NumPy's.
    LARGE: calls of x, other operands and outputs, those operands, and what gives NumPy's results
    for x; x is `tests.gpu.calls.elements`. They are captured into graphs, too.
    COSTS: calls, their arrays, bytes at most beside the results, and bytes that are kept.
    OPTIONS: by function, good values for all parameters but operands and ``out``.
    EQUALS: calls of `cudakern` or `cudakern.dask` with one option, such as "gather: axis", and
    values for it that are equal or nearly so. Each integer and each flag has a row.
``lazy.py``, with dask
    GRAPHS: calls of arrays x, indices and tuples, no two of which are the same graph.
    GROWTH: calls of a number of chunks, and the tasks that each chunk takes at most.
    CHUNKS: calls, their operands, which become chunks on a device, and NumPy's results.
    CLUSTER: calls of x and indices, and NumPy's results; the first row is always run.
``rules.py``, of an operator that has descriptors
    BROKEN, FIELDS, LEGAL_CASES, ORDER, of_rank, of_type: for ``test_rules.py``.
    BINDING: descriptors, and the fields of their tensors in binding order.
    SINCE: descriptors that a feature level is the first to have.
    PRINTED: results of the descriptors' examples, typed from the pages that have these.
``test_plan.py``
    PLAN: what plans a problem. PINNED: names, problems and kernels, of every variant.
``test_traffic.py``
    CASES: `tests.helpers.traffic.Case` of every variant. hold: what checks one.

Keys that begin with a function's name are rows of that function. Whatever is missing is an error.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from inspect import signature
from typing import NamedTuple

import numpy as np

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from cudakern.operators.operator import operators

X = np.array([[1.5, -0.0, 3, np.inf], [0, 1e-40, -7, 0], [2, 0, 0, -9]], np.float32)
INDICES = np.array([3, 0, 2], np.int64)
#: Of COSTS.
TABLE = np.arange(120, dtype=np.float32).reshape(12, 10) % 7
LONG = np.arange(60_000, dtype=np.float32) % 3
I8, I32, I64 = (np.arange(12, dtype=kind) % 5 for kind in ("int8", "int32", "int64"))
#: Of EQUALS.
FEW = np.arange(12, dtype=np.float32).reshape(3, 4) % 5
AT = np.array([2, 0, -1], np.int32)
FAR = AT - 3


class Word(str):
    """A string that is none of ours."""

    __slots__ = ()


ZEROS = (0, False, 0.0, -0.0, np.int64(0), np.float32(-0.0), np.False_, 0j)
ONES = (1, True, 1.0, np.int8(1), np.float64(1), np.True_, 1 + 0j)
KINDS = (None, "float32", Word("float32"), np.float32, np.dtype("f4"), ck.DataType.FLOAT32, 1, True)


def rooms(module):
    """Yield each operator and this module of its tests; those without descriptors have no rules."""
    for operator in operators():
        if operator.descriptors or module != "rules":
            yield operator, import_module(f"tests.operators.{operator.folder}.{module}")


def rows(name, module="samples"):
    """Return the rows of all operators' tables of this name; each operator must have some."""
    together = []
    for operator, room in rooms(module):
        own = getattr(room, name)
        assert own, f"{operator.name} has no {name} in {room.__name__}"
        together += own.items() if isinstance(own, dict) else own
    if not isinstance(own, dict):
        return together
    assert len(dict(together)) == len(together), f"two rows of {name} have one name"
    return dict(together)


def rows_of_functions(name, module="samples", unless=()):
    """Return the same, where each function must have a row, unless it is among these."""
    table = rows(name, module)
    has_row = {re.match(r"\w+", row)[0] for row in table}
    lacking = {function.__name__ for function in functions()} - has_row
    assert lacking == {*unless}, f"functions without {name}: {lacking}"
    return table


def functions():
    """Return the public functions of all operators."""
    return [function for operator in operators() for function in operator.functions]


class Case(NamedTuple):
    """Operands, what calls a function on them (and, if there is one, on ``out``), and its results.

    There are several results if they are in a tuple.
    """

    operands: tuple
    call: object
    expected: object
    #: The least dimensions of operands by their names in messages: None where their shape is the
    #: descriptor's, or any. Empty where operands are not those of the call.
    least: dict
    #: The names of outputs in messages; none if there is no ``out``.
    outputs: tuple = ("out",)

    @property
    def has_out(self):
        return bool(self.outputs)


def eager(name, operands, expected, outputs=("out",), **options):
    """Return a case of a function; operands are pairs of an array and its least dimensions."""
    arrays, least = zip(*operands.values(), strict=True)

    def call(*given, **out):
        function = getattr(ck, name)
        by_name = dict(zip(operands, given, strict=True))
        bound = signature(function).bind(**by_name, **options, **out)
        return function(*bound.args, **bound.kwargs)

    return Case(arrays, call, expected, dict(zip(operands, least, strict=True)), outputs)


def tensors(*arrays):
    """Return descriptors for arrays."""
    return [TensorDesc(DataType.from_numpy(a.dtype), a.shape) for a in arrays]


@cache
def operator_for(desc):
    """Return the operator, the same one for an equal descriptor: its second call is warm."""
    return ck.compile_operator(desc, FeatureLevel.EXTENDED)


def compiled(desc, operands, expected):
    """Return a case of what is compiled."""
    inputs, outputs = ([name for name, _ in bound] for bound in (desc.inputs(), desc.outputs()))

    def call(*given, **out):
        return operator_for(desc)(*given, **out)

    return Case(operands, call, expected, dict.fromkeys(inputs), tuple(outputs))
