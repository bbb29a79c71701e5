"""Wrong arguments are answered as those of the eager functions, when the graph is built."""

from __future__ import annotations

import random
from inspect import signature

import dask.array as da
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from cudakern.engines import engine_for
from cudakern.operators import binding
from tests.helpers.bound import forget
from tests.helpers.every_function import CASES
from tests.helpers.operator_samples import rows_of_functions
from tests.helpers.refused import assert_refused
from tests.helpers.rows import each
from tests.helpers.samples import sample

X = np.arange(12, dtype=np.float32).reshape(3, 4)
I = np.array([0, -1, 2], np.int64)  # noqa: E741  as in the operators' formulas


class Stubborn:
    """What answers nothing but with an error of its own."""

    def __getattr__(self, name):
        raise OSError(name)

    def __repr__(self):
        raise OSError

    __bool__ = __eq__ = __iter__ = __len__ = __repr__
    __hash__ = None


#: Values of wrong kinds.
ANYTHING = [
    Stubborn(), True, None, 0, 1, -1, 2, 7, -(2**40), 2**63, 1.5, float("nan"), 1j, "", "sum",
    "fill", "clamp",
    "raise", "float32", "int8", "mean", "clip", np.float32(2), np.array([1, 0]), np.array(["a"]),
    np.array(1), (0, 1), (1, 1), (), [0, 5], [[1, 2], [0, 1]], [[1], [2, 3]], np.float32, object(),
    np.zeros((0, 3)), np.ma.array([1, 2]), np.zeros((1,) * 9), ck.ReduceFunction.MAX, {}, b"x",
    (None, 2), X, X.astype(object), X > 2, X.astype(">f4"), I, I.astype(np.int8), I[:, None],
    I.astype(">i8"), 2**64, [2**64], [2**63, -1],
]  # fmt: skip
LAZY_INDICES = da.from_array(I, chunks=2)
#: Several arrays in place of one: lazy ones, or not.
SEVERAL = [
    (I, I), (LAZY_INDICES, LAZY_INDICES), (LAZY_INDICES,), [LAZY_INDICES, LAZY_INDICES],
    [(LAZY_INDICES, I)], ck.NonzeroCoordinates(LAZY_INDICES, LAZY_INDICES),
]  # fmt: skip
OPTIONS = rows_of_functions("OPTIONS")
#: By function, its operands, the options that may be given by place, and those by name.
FUNCTIONS = {}
for name in OPTIONS:
    parameters = signature(getattr(ck, name)).parameters.values()
    given = [p for p in parameters if p.name in OPTIONS[name]]
    operands = [p.name for p in parameters if p not in given and p.name != "out"]
    FUNCTIONS[name] = (
        operands,
        [p.name for p in given if p.kind is not p.KEYWORD_ONLY],
        [p.name for p in given if p.kind is p.KEYWORD_ONLY],
    )


class Idle:
    """An engine that launches nothing: what results hold is not looked at here."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def prepare(self, *_):
        return lambda *_: None


@pytest.fixture(autouse=True)
def _idle(monkeypatch):
    forget(monkeypatch)
    monkeypatch.setattr(binding, "engine_for", lambda place: Idle(engine_for(place)))


def outcome(call):
    """Return the class and the words of an error, or the shape and dtype of each result."""
    try:
        found = call()
    except ck.CudakernError as error:
        return type(error), str(error)
    arrays = found if isinstance(found, tuple) else (found,)
    return [(array.shape, array.dtype) for array in arrays]


def good_call(name):
    """Return good operands and the options that must be given."""
    operands, required, _ = FUNCTIONS[name]
    arrays = [a % 2 if a.dtype.kind == "i" else a for a in CASES[name].operands]  # in every range
    given = dict(zip(CASES[name].least, arrays, strict=True))
    return [given[key] for key in operands], {key: OPTIONS[name][key][0] for key in required}


def wrong_calls(name):
    """Yield operands and options, of which one or two are of a wrong kind."""
    operands, required, optional = FUNCTIONS[name]
    good, count = OPTIONS[name], len(operands)
    places, rng = [*range(count), *required, *optional], random.Random(5)  # noqa: S311
    wrong = [[(where, value)] for where in places for value in sample(ANYTHING, 2)]
    wrong += [[(where, value)] for where in range(count) for value in SEVERAL]
    wrong += [[(rng.choice(places), rng.choice(ANYTHING)) for _ in "ab"] for _ in range(20)]
    for changes in wrong:
        operands, options = good_call(name)
        options |= {key: rng.choice(good[key]) for key in optional if rng.random() < 0.2}
        for where, value in changes:
            (operands if isinstance(where, int) else options)[where] = value
        yield operands, options


@each("name", FUNCTIONS)
def test_wrong_arguments_have_the_same_outcome(name):
    refused = []
    for operands, options in wrong_calls(name):
        eager = outcome(lambda a=operands, o=options: getattr(ck, name)(*a, **o))
        lazy = outcome(lambda a=operands, o=options: getattr(cd, name)(*a, **o))
        refused.append(isinstance(eager, tuple))
        if isinstance(lazy, list) and any(np.isnan(n) for shape, _ in lazy for n in shape):
            assert [dtype for _, dtype in lazy] == [dtype for _, dtype in eager]
        else:
            assert lazy == eager, (name, operands, options)
        chunked = [
            da.from_array(a, chunks=2) if type(a) is np.ndarray and a.dtype.kind in "fiub" else a
            for a in operands
        ]
        again = outcome(lambda a=chunked, o=options: getattr(cd, name)(*a, **o))
        assert str(again) == str(lazy), (name, operands, options)
    assert sum(refused) > len(refused) / 4


LAZY = da.ones(4, chunks=2)
WORD = da.from_array(np.array(1), chunks=())


@each("name", FUNCTIONS)
def test_what_a_graph_depends_on_is_known(name):
    """Each option, and that there is no output."""
    operands, required = good_call(name)
    for option in {*OPTIONS[name]} - {"values"}:
        with pytest.raises(ck.DTypeError, match=f"{option} must be known when the graph is built"):
            getattr(cd, name)(*operands, **{**required, option: WORD})
    if "out" in signature(getattr(cd, name)).parameters:
        for out in (LAZY, np.zeros(()), 3, ()):
            text = "out must be None: results are lazy; dask.array.store writes them to arrays; got"
            with pytest.raises(ck.ArgumentError, match=f"{text} {type(out).__name__}$"):
                getattr(cd, name)(*operands, **required, out=out)


@each(
    ("operator", "call", "error", "text"),
    [
        ("reduce", lambda: cd.reduce(LAZY, "sum", initial=WORD), ck.DTypeError,
         "initial must be known when the graph is built; got dask.array<"),
        ("one_hot", lambda: cd.one_hot([0], WORD), ck.DTypeError, "; call compute() on depth"),
        ("one_hot", lambda: cd.one_hot([0], 2, values=(0, WORD)), ck.DTypeError, "values must be"),
        ("gather", lambda: cd.gather(LAZY, [0], mode="fill", fill_value=WORD), ck.DTypeError,
         "fill_value must be known"),
        ("nonzero", lambda: cd.nonzero(LAZY, size=WORD), ck.DTypeError, "size must be known"),
        ("gather", lambda: cd.gather(LAZY.to_delayed()[0], [0]), ck.DTypeError,
         "x must be an array; got Delayed"),
        ("reduce", lambda: cd.reduce("sum", LAZY), ck.ArgumentError,
         "x must be an array; got 'sum': x and function are swapped"),
        ("gather", lambda: cd.gather(LAZY, 0, LAZY_INDICES), ck.DTypeError,
         "axis must be an int; got dask.array<"),
        ("one_hot", lambda: cd.one_hot(5, LAZY_INDICES), ck.DTypeError,
         ": indices and depth are swapped"),
        ("gather", lambda: cd.gather(LAZY_INDICES, LAZY), ck.DTypeError,
         "got float64; use gather(indices, x) if x and indices are swapped, else indices.astype("),
        ("gather_nd", lambda: cd.gather_nd(LAZY, [I]), ck.DTypeError,
         "indices must be one array; got a list of arrays; use np.stack(indices, axis=-1), or "),
        ("argwhere", lambda: cd.argwhere(da.ma.masked_equal(LAZY, 2)), ck.BindingError,
         "x must not be a masked array: the mask would be lost"),
    ],
)  # fmt: skip
def test_what_a_dask_array_cannot_be(operator, call, error, text):
    assert_refused(error, f"{operator}: ... {text} ... ", call)
