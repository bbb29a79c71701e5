"""Wrong arguments are answered as those of the eager functions, when the graph is built."""

from __future__ import annotations

import random
from itertools import product

import dask.array as da
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from tests.helpers.refused import assert_refused
from tests.helpers.samples import sample

X = np.arange(12, dtype=np.float32).reshape(3, 4)
I = np.array([0, -1, 2], np.int64)  # noqa: E741  as in the operators' formulas
#: What may stand where something else should.
ANYTHING = [
    None, True, 0, 1, -1, 2, 7, -(2**40), 2**63, 1.5, float("nan"), 1j, "", "sum", "fill", "clamp",
    "raise", "float32", "int8", "mean", "clip", np.float32(2), np.array([1, 0]), np.array(["a"]),
    np.array(1), (0, 1), (1, 1), (), [0, 5], [[1, 2], [0, 1]], [[1], [2, 3]], np.float32, object(),
    np.zeros((0, 3)), np.ma.array([1, 2]), np.zeros((1,) * 9), ck.ReduceFunction.MAX, {}, b"x",
    (None, 2), X, X.astype(object), X > 2, X.astype(">f4"), I, I.astype(np.int8), I[:, None],
]  # fmt: skip
FUNCTIONS = {
    "gather": (["axis"], ["mode", "fill_value", "negative"], 2),
    "gather_nd": (["batch_dims"], ["mode", "fill_value", "negative"], 2),
    "one_hot": (["depth"], ["axis", "values", "dtype", "negative"], 1),
    "nonzero_coordinates": ([], ["size", "dtype"], 1),
    "nonzero": ([], ["size", "fill_value"], 1),
    "argwhere": ([], [], 1),
    "reduce": (
        ["function", "axis"], ["keepdims", "dtype", "nan", "last_index", "initial"], 1
    ),
}  # fmt: skip
GOOD = {
    "axis": [0, 1, -1], "batch_dims": [0, 0, 1], "mode": ["clamp", "fill", "wrap", "raise"],
    "fill_value": [3], "negative": ["from_end", "invalid"], "depth": [4], "values": [(0, 1)],
    "dtype": ["float32", "int64"], "size": [None, 2], "function": ["sum", "argmax", "max", "l2"],
    "keepdims": [True], "nan": ["propagate", "ignore"], "last_index": [False, True],
    "initial": [None, 1],
}  # fmt: skip


def outcome(call):
    """Return the class and the words of an error, or the shape and dtype of each result."""
    try:
        found = call()
    except ck.CudakernError as error:
        return type(error), str(error)
    arrays = found if isinstance(found, tuple) else (found,)
    return [(array.shape, array.dtype) for array in arrays]


def random_call(rng, name):
    """Return operands and options: good ones, and at most two others."""
    required, optional, count = FUNCTIONS[name]
    operands = [X] if count == 1 else [X, I]
    operands = [I] if name == "one_hot" else operands
    if name == "gather_nd":
        operands = [X, rng.choice([I[:, None], np.array([[1, 2], [0, 9]])])]
    options = {key: rng.choice(GOOD[key]) for key in required}
    options |= {key: rng.choice(GOOD[key]) for key in optional if rng.random() < 0.2}
    for _ in range(rng.choice([0, 1, 1, 2])):
        places = [*range(count), *required, *optional]
        where = rng.choice(places)
        (operands if isinstance(where, int) else options)[where] = rng.choice(ANYTHING)
    return operands, options


@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_arguments_have_the_same_outcome(name):
    rng = random.Random(5)  # noqa: S311  nothing is secret
    refused = 0
    turns = sample(range(400), 3)
    for _ in turns:
        operands, options = random_call(rng, name)
        eager = outcome(lambda a=operands, o=options: getattr(ck, name)(*a, **o))
        lazy = outcome(lambda a=operands, o=options: getattr(cd, name)(*a, **o))
        refused += isinstance(eager, tuple)
        if isinstance(eager, tuple) and eager[0] is ck.IndexRangeError and "indices[" in eager[1]:
            assert isinstance(lazy, list), "only when it is computed"
        elif isinstance(lazy, list) and any(np.isnan(n) for shape, _ in lazy for n in shape):
            assert [dtype for _, dtype in lazy] == [dtype for _, dtype in eager]
        else:
            assert lazy == eager, (name, operands, options)
        chunked = [
            da.from_array(a, chunks=2) if type(a) is np.ndarray and a.dtype.kind in "fiub" else a
            for a in operands
        ]
        again = outcome(lambda a=chunked, o=options: getattr(cd, name)(*a, **o))
        assert str(again) == str(lazy), (name, operands, options)
    assert refused > len(turns) / (20 if name == "argwhere" else 5)


LAZY = da.ones(4, chunks=2)
WORD = da.from_array(np.array(1), chunks=())


class Stubborn:
    """What answers nothing but with an error of its own."""

    def __getattr__(self, name):
        raise OSError(name)

    def __repr__(self):
        raise OSError

    __bool__ = __eq__ = __iter__ = __len__ = __repr__
    __hash__ = None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_answers_nothing_is_an_error(name):
    required, optional, count = FUNCTIONS[name]
    for where in (*range(count), *required, *optional):
        operands, options = good_call(name)
        options |= {"size": 2} if name == "nonzero" else {}  # its fill value is read with that
        (operands if isinstance(where, int) else options)[where] = Stubborn()
        for library in (ck, cd):
            with pytest.raises(ck.CudakernError):
                getattr(library, name)(*operands, **options)


@pytest.mark.parametrize(
    ("operator", "call", "error", "text"),
    [
        ("reduce", lambda: cd.reduce(LAZY, "sum", out=np.zeros(())), ck.ArgumentError,
         "out must be None: results are lazy; dask.array.store writes them to arrays; got ndarray"),
        ("gather", lambda: cd.gather(LAZY, [0], out=LAZY), ck.ArgumentError,
         "out must be None: results are lazy; dask.array.store writes them to arrays; got Array"),
        ("gather_nd", lambda: cd.gather_nd(LAZY, [[0]], out=3), ck.ArgumentError, "out must be"),
        ("one_hot", lambda: cd.one_hot([0], 2, out=3), ck.ArgumentError, "out must be None"),
        ("nonzero_coordinates", lambda: cd.nonzero_coordinates(LAZY, out=()), ck.ArgumentError,
         "out must be None"),
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
        ("argwhere", lambda: cd.argwhere(da.ma.masked_equal(LAZY, 2)), ck.BindingError,
         "x must not be a masked array: the mask would be lost"),
    ],
)  # fmt: skip
def test_what_a_dask_array_cannot_be(operator, call, error, text):
    assert_refused(error, f"{operator}: ... {text} ... ", call)


def good_call(name):
    """Return good operands and the options that must be given."""
    required, _, count = FUNCTIONS[name]
    operands = [I] if name == "one_hot" else [X, I[:, None]][:count]
    return operands, {key: GOOD[key][0] for key in required}


LAZY_INDICES = da.from_array(I, chunks=2)
#: Several arrays in place of one: lazy ones, or not.
SEVERAL = {
    "tuple": (I, I),
    "lazy": (LAZY_INDICES, LAZY_INDICES),
    "one": (LAZY_INDICES,),
    "list": [LAZY_INDICES, LAZY_INDICES],
    "list of tuples": [(LAZY_INDICES, I)],
    "NonzeroCoordinates": ck.NonzeroCoordinates(LAZY_INDICES, LAZY_INDICES),
}


@pytest.mark.parametrize("several", SEVERAL)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_several_arrays_are_no_operand(name, several):
    operands, options = good_call(name)
    for k in range(len(operands)):
        given = [*operands[:k], SEVERAL[several], *operands[k + 1 :]]
        error = outcome(lambda a=given: getattr(cd, name)(*a, **options))
        assert error == outcome(lambda a=given: getattr(ck, name)(*a, **options))
        assert error[0] is ck.DTypeError
        assert " must be one array; got " in error[1]


#: Operands that some parameter refuses, with a word of advice.
ADVISED = [X.astype(">f4"), I.astype(">i8"), X > 2, X.astype(object), 2**64, [2**64], [2**63, -1]]


@pytest.mark.parametrize("given", ADVISED, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_advice_is_the_same(name, given):
    operands, options = good_call(name)
    forms = [given]
    if isinstance(given, np.ndarray):
        forms.append(da.from_array(given, chunks=2))
    for k, form in product(range(len(operands)), forms):
        lazy, eager = ([*operands[:k], value, *operands[k + 1 :]] for value in (form, given))
        found = outcome(lambda a=lazy: getattr(cd, name)(*a, **options))
        expected = outcome(lambda a=eager: getattr(ck, name)(*a, **options))
        assert found == expected or expected[0] is not ck.DTypeError
