"""reduce combines a row in the order of the balanced binary tree: bit for bit, in any layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.reduce import tuning
from cudakern.values import layout
from tests.helpers.bound import forget
from tests.helpers.places import POISON, Buffer, get, poison, put, same_bytes
from tests.helpers.reduce import result_dtype
from tests.helpers.reduce_tree import (
    COMPLEX,
    FLOATS,
    category,
    complex_of,
    results,
    same_numbers,
    tree,
    walked,
)
from tests.helpers.rows import each
from tests.helpers.samples import covering, is_thorough, sample
from tests.helpers.strategies import DTYPES

pytestmark = [pytest.mark.device(on=False), pytest.mark.timeout(300)]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INF, NAN = np.inf, np.nan
#: Functions all of whose bits are specified; l1 of real numbers is, too.
EXACT = ["average", "l1", "l2", "multiply", "sum", "sum_square"]
LENGTHS = [1, 2, 3, 5, 31, 33, 127, 129, 1000, 1023, 1024, 1025, 2047, 3000, 5001, 20_000, 70_001]


def is_exact(function, dtype, result):
    """Return whether all bits of floats or complex numbers are specified."""
    dtype, result = np.dtype(dtype), np.dtype(result)
    rounds = category(result) >= FLOATS
    return function in EXACT and rounds and (function != "l1" or category(dtype) < COMPLEX)


def numbers(rng, shape, dtype, function, count):
    """Return elements of which any other order of combinations has other bits, as a rule."""
    dtype = np.dtype(dtype)
    if category(dtype) == 0:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min // 2, info.max // 2, shape, dtype)
        if function == "multiply":  # of many, the product does not overflow
            values[rng.random(shape) > 6 / count] = 1
        return values
    sizes = np.exp2(rng.uniform(-20, 0, shape))
    if function == "multiply":  # of many, neither overflows nor vanishes
        sizes = np.exp2(rng.normal(0, min(1, 3 / count**0.5), shape))
    if dtype.kind == "c":
        return (sizes * np.exp(1j * rng.uniform(0, 7, shape))).astype(dtype)
    signs = np.where(rng.random(shape) < (0 if function == "log_sum" else 0.5), -1, 1)
    return (signs * sizes).astype(dtype)


def reduced(x, function, axis, options, place, step=1):
    """Return what reduce writes between elements of poison, which it leaves as they are."""
    kind = options.get("dtype", result_dtype(function, x.dtype))
    memory = put(poison((*np.empty(x.shape, bool).any(axis).shape, step), kind), place)
    out = memory[..., step - 1]
    assert ck.reduce(x, function, axis, out=out, **options) is out
    beside = np.ascontiguousarray(get(memory)[..., : step - 1])
    assert (beside.reshape(-1).view(np.uint8) == POISON).all()
    return get(out)


def check(x, function, axis, options, place, step=1):
    """Hold what reduce gives against the tree over the elements as they lie in memory."""
    found = reduced(x, function, axis, options, place, step)
    x = get(x)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    rows = walked(x, [d % x.ndim for d in axes])
    right = same_numbers(found, results(rows, function, found.dtype, options.get("initial")))
    assert right.all(), f"{(~right).sum()} of {right.size} differ for {x.shape}, {axis}"


#: With results of the same width, wider and narrower ones, and those of integers.
RESULTS = [
    ("float16", "float32"), ("float16", "float16"), (BFLOAT16, BFLOAT16), (BFLOAT16, "float64"),
    ("float32", "float32"), ("float32", "float64"), ("float32", BFLOAT16), ("float64", "float64"),
    ("float64", "float16"), ("float64", BFLOAT16), ("float64", "float32"), ("float32", "complex64"),
    ("complex64", "complex64"), ("complex64", "complex128"), ("complex128", "complex64"),
    ("complex128", "complex128"), ("complex64", "float32"), ("complex128", "float16"),
    ("bool", "float32"), ("int8", "float64"), ("uint8", "float16"), ("int16", "float32"),
    ("uint32", "float64"), ("int64", "float64"), ("uint64", "float32"), ("int64", "complex128"),
]  # fmt: skip
CALLS = [
    (function, dtype, {"dtype": result})
    for function in EXACT
    for dtype, result in RESULTS
    if is_exact(function, dtype, result)
    and (function == "l2" or category(np.dtype(dtype)) <= category(np.dtype(result)))
]
#: As rows and as columns: with a few others.
FORMS = [(lambda n: (2, n), 1), (lambda n: (n, 3), 0)]


@pytest.mark.parametrize("function", EXACT if is_thorough() else ["every"])
def test_rows_and_columns_of_any_type_have_the_bits_of_the_tree(place, function):
    rng = np.random.default_rng(50)
    calls = [call for call in sample(CALLS, 13, 4) if function in {call[0], "every"}]
    step = 3 if is_thorough() else len(LENGTHS)
    for k, (name, dtype, options) in enumerate(calls):
        for n in LENGTHS[-1 - k % step :: -step]:
            shape_of, axis = FORMS[n % 2]
            x = put(numbers(rng, shape_of(n), dtype, name, n), place)
            check(x, name, axis, options, place)


#: The first one takes all lengths in every run.
FEW = [("sum", "float32"), ("multiply", "complex64"), ("sum_square", "float64")]
FEW += [("average", "float16"), ("l2", "complex128"), ("l1", "bfloat16")] * is_thorough()


@each(("function", "dtype"), FEW[:1] if not is_thorough() else FEW)
def test_rows_and_columns_of_any_length(place, function, dtype):
    rng = np.random.default_rng(51)
    options = {"dtype": "float32"} if np.dtype(dtype).itemsize == 2 else {}
    for n in LENGTHS if dtype == "float32" else sample(LENGTHS, 4):
        for shape, axis in (((n,), 0), ((2, n), 1), ((n, 3), 0), ((n, 32), 0), ((2, n, 5), 1)):
            x = put(numbers(rng, shape, dtype, function, n), place)
            check(x, function, axis, options, place)


WIDTHS = [1, 2, 4, 5, 7, 8, 9, 12, 16, 20, 31, 33, 48, 63, 64, 65, 130]
OF_COLUMNS = [9, 129, 700, 1100, 3001, 9001]


@each(
    ("width", "n"),
    [
        (width, n)
        for k, width in enumerate(WIDTHS)
        for n in (OF_COLUMNS if is_thorough() else [OF_COLUMNS[k % len(OF_COLUMNS)]])
    ],
)
def test_columns_of_any_width(place, width, n):
    rng = np.random.default_rng(64)
    for dtype in ["float32", *["float16", "float64", "complex128"] * is_thorough()]:
        x = numbers(rng, (n, width), dtype, "sum", n)
        for array in (put(x, place), shifted(x, place, min(x.itemsize, 8))):
            check(array, "sum", 0, {}, place)


#: Rows of blocks that share them, and of which few blocks have many parts.
LONG = [((1, 300_000), 1), ((3, 70_001), 1), ((70_001, 3), 0), ((30_000, 33), 0), ((9000, 32), 0)]
LONG += [((2, 9000, 17), 1), ((2_000_003,), 0), ((5, 400_000), 1)] * is_thorough()


@each(("case", "call"), covering(LONG, FEW[:1] if not is_thorough() else FEW))
def test_long_rows_and_columns(place, case, call):
    (shape, axis), (function, dtype) = case, call
    rng = np.random.default_rng(52)
    x = put(numbers(rng, shape, dtype, function, shape[axis]), place)
    check(x, function, axis, {}, place)
    check(x[..., ::-1], function, axis, {}, place, step=2)


@pytest.mark.usefixtures("sharing")
@each(("case", "call"), covering([((2, 9001), 1), ((5001, 3), 0), ((900, 33), 0)], FEW[:2]))
def test_shared_rows_and_columns(place, case, call):
    (shape, axis), (function, dtype) = case, call
    x = numbers(np.random.default_rng(53), shape, dtype, function, shape[axis])
    check(put(x, place), function, axis, {}, place)
    check(put(x, place)[::-1], function, axis, {}, place)


@each(("shape", "axis"), [((2, 3001), 1), ((600, 129), 1), ((1023, 33), 0), ((2, 1000, 5), 1)])
def test_offsets_of_64_bits(monkeypatch, place, shape, axis):
    monkeypatch.setattr(layout, "MAX_SPAN_32", 64)
    forget(monkeypatch)
    x = put(numbers(np.random.default_rng(54), shape, "float32", "sum", 1), place)
    check(x, "sum", axis, {}, place)


def among(row, rng, shape, at):
    """Return an array of shuffled copies of a row along the axis whose place is None."""
    axis = at.index(None)
    shape = (*shape[:axis], row.size, *shape[axis:])
    x = np.moveaxis(np.empty(shape, row.dtype), axis, -1)
    x[...] = rng.choice(row, x.shape)
    x[tuple(k for k in at if k is not None)] = row
    return np.ascontiguousarray(np.moveaxis(x, -1, axis))


def split(row):
    """Return a row as several of a length that divides its own."""
    return row.reshape(next(k for k in (8, 5, 3, 1) if row.size % k == 0), -1)


def padded(x, place, before=0, behind=0):
    """Return an array with a gap in front of each of its rows and behind it."""
    wide = [(0, 0)] * (x.ndim - 1) + [(before, behind)]
    data = np.pad(x, wide, constant_values=x.reshape(-1)[-1])
    return put(data, place)[..., before : before + x.shape[-1]]


def shifted(x, place, offset):
    """Return an array that starts so many bytes behind a vector's beginning."""
    data = np.full(x.nbytes + 32, POISON, np.uint8)
    data[offset : offset + x.nbytes] = np.frombuffer(x.tobytes(), np.uint8)
    return Buffer(data, place).view(x.shape, x.dtype, None, offset)


#: An array that has a row's elements somewhere, what is reduced, and where the row's result is.
LAYOUTS = {
    "a batch of 2": lambda row, rng, p: (put(among(row, rng, (2,), (1, None)), p), 1, 1),
    "a batch of 8": lambda row, rng, p: (put(among(row, rng, (8,), (5, None)), p), 1, 5),
    "pitched": lambda row, rng, p: (padded(among(row, rng, (5,), (3, None)), p, 1, 2), 1, 3),
    "pitched by vectors": lambda row, rng, p: (
        *(padded(among(row, rng, (5,), (3, None)), p, 16, 16 + -row.size % 16), 1, 3),
    ),
    "columns": lambda row, rng, p: (put(among(row, rng, (33,), (None, 32)), p), 0, 32),
    "few columns": lambda row, rng, p: (put(among(row, rng, (3,), (None, 2)), p), 0, 2),
    "vectors of columns": lambda row, rng, p: (put(among(row, rng, (32,), (None, 9)), p), 0, 9),
    "every third column": lambda row, rng, p: (
        *(put(among(row, rng, (30,), (None, 12)), p)[:, ::3], 0, 4),
    ),
    "transposed": lambda row, rng, p: (put(among(row, rng, (40,), (None, 7)), p).T, 1, 7),
    "middle": lambda row, rng, p: (put(among(row, rng, (2, 5), (1, None, 3)), p), 1, (1, 3)),
    "reversed": lambda row, _, p: (put(row[::-1], p)[::-1], 0, ()),
    "reversed rows": lambda row, rng, p: (
        *(put(among(row[::-1], rng, (4,), (2, None)), p)[::-1, ::-1], 1, 1),
    ),
    "every second element": lambda row, _, p: (put(np.repeat(row, 2), p)[1::2], 0, ()),
    "repeated": lambda row, _, p: (np.broadcast_to(put(row, p), (4, row.size)), 1, 2),
    "split": lambda row, _, p: (padded(split(row), p, 0, 1), (0, 1), ()),
    "split by others": lambda row, rng, p: (
        *(put(np.stack([split(rng.permutation(row)), split(row)], 1), p), (0, 2), 1),
    ),
    "split, transposed": lambda row, _, p: (padded(split(row), p, 2, 1).T, None, ()),
}
MANY = {
    "a batch of 600": lambda row, rng, p: (put(among(row, rng, (600,), (444, None)), p), 1, 444),
    "wide columns": lambda row, rng, p: (put(among(row, rng, (1001,), (None, 900)), p), 0, 900),
}
#: What any layout must give the same bits for, also where the bits are not specified.
ALIKE = [("sum", "float32"), ("log_sum_exp", "float32"), ("multiply", "complex64")]
ALIKE += [("log_sum_exp", "float16"), ("log_sum", "complex64"), ("l1", "complex64")] * is_thorough()
ALIKE += [("log_sum_exp", "float64"), ("sum", "complex128"), ("average", "int64")] * is_thorough()
ALIKE += [("l2", "float16"), ("sum_square", "bfloat16"), ("sum", "float64")] * is_thorough()
OF_ROWS = [1000, 129, 5001, 31] if not is_thorough() else [n for n in LENGTHS if n < 10_000]


def row_of(rng, n, dtype, function):
    """Return a row of which other orders have other bits, and the options that show them."""
    row = numbers(rng, n, dtype, function, n)
    narrow = category(row.dtype) == FLOATS and row.itemsize == 2
    if function == "log_sum_exp":  # of which not all have one shift
        row = row * row.dtype.type(90)
    return row, {"dtype": "float32"} if narrow else {}


def check_row(row, function, options, place, arrays):
    """Hold the result of a row somewhere in arrays against that of the row alone."""
    kind = np.dtype(options.get("dtype", result_dtype(function, row.dtype)))
    alone = reduced(put(row, place), function, 0, options, place)
    if is_exact(function, row.dtype, kind):
        assert same_numbers(alone, results(row, function, kind)).all()
    for name, (x, axis, at) in arrays:
        for step in (1, 2):
            found = reduced(x, function, axis, options, place, step)[at]
            assert same_numbers(found, alone).all(), (name, step, found, alone)


@each(
    ("name", "call", "n"),
    [
        (name, call, n)
        for k, name in enumerate(LAYOUTS)
        for j, call in enumerate(ALIKE)
        if is_thorough() or j <= k % 2
        for n in (OF_ROWS if is_thorough() else OF_ROWS[(k + j) % 4 :][:1])
    ],
)
def test_a_row_has_the_same_bits_in_any_layout(place, name, call, n):
    rng = np.random.default_rng(55)
    row, options = row_of(rng, n, call[1], call[0])
    check_row(row, call[0], options, place, [(name, LAYOUTS[name](row, rng, place))])


@each(
    ("name", "call", "n"),
    covering(
        MANY, ALIKE[:2] if not is_thorough() else ALIKE, [129, 700, 1024][: 2 + is_thorough()]
    ),
)
def test_a_row_has_the_same_bits_among_many(place, name, call, n):
    rng = np.random.default_rng(56)
    row, options = row_of(rng, n, call[1], call[0])
    check_row(row, call[0], options, place, [(name, MANY[name](row, rng, place))])


@each("n", [20_000, 70_001] if is_thorough() else [20_000])
@each(("function", "dtype"), ALIKE[:2] if not is_thorough() else ALIKE)
def test_a_long_row_has_the_same_bits(place, function, dtype, n):
    rng = np.random.default_rng(57)
    row, options = row_of(rng, n, dtype, function)
    names = LAYOUTS if is_thorough() else ["pitched", "few columns", "reversed", "split"]
    check_row(
        row, function, options, place, [(name, LAYOUTS[name](row, rng, place)) for name in names]
    )


@each(
    ("dtype", "n"),
    covering(
        ["float32", "float16", "complex64"] + ["float64", "complex128", "int8"] * is_thorough(),
        [1025, 127, 40, 5001] if is_thorough() else [1025, 127, 5001],
    ),
)
def test_a_row_may_start_anywhere(place, dtype, n):
    """In a vector of 16 bytes; int8 has no order, but all elements."""
    rng = np.random.default_rng(58)
    row, options = row_of(rng, n, dtype, "sum")
    options = {"dtype": "float64"} if dtype == "int8" else options
    batch = among(row, rng, (3,), (1, None))
    offsets = range(0, 16, min(row.itemsize, 8))
    arrays = [(offset, (shifted(row, place, offset), 0, ())) for offset in offsets]
    arrays += [((offset, "of 3"), (shifted(batch, place, offset), 1, 1)) for offset in offsets]
    check_row(row, "sum", options, place, arrays)


#: Elements, those behind them that are absent, and the size of the others.
MASKED = [(1000, 24, 1), (700, 3000, 5), (5, 2000, 1), (1, 129, 9), (0, 1025, 1)]


@each("dtype", ["float32", *["float16", "float64", "bfloat16"] * is_thorough()])
def test_absent_elements_change_no_bits_of_log_sum_exp(place, dtype):
    """Those of the other ones; -inf at the end is the identity, wherever it lies in a vector."""
    rng = np.random.default_rng(65)
    for options in [{"dtype": kind} for kind in dict.fromkeys(["float32", dtype])]:
        for n, more, size in MASKED:
            row = (rng.standard_normal(n) * size).astype(dtype)
            row[n // 3 : n // 2] = -INF
            longer = np.concatenate([row, np.full(more, -INF)]).astype(dtype)
            alone = reduced(put(longer[: max(1, n)], place), "log_sum_exp", 0, options, place)
            batch = np.stack([longer[::-1], longer, longer[::-1]])
            kept = [longer, *(shifted(longer, place, k * row.itemsize) for k in (1, 3))]
            arrays = [(put(x, place) if isinstance(x, np.ndarray) else x, 0, ()) for x in kept]
            arrays += [(put(batch, place), 1, 1), (put(batch.T.copy(), place), 0, 1)]
            for x, axis, at in arrays:
                found = reduced(x, "log_sum_exp", axis, options, place)[at]
                assert same_numbers(found, alone).all(), (options, n, found, alone)


AXES = [None, 0, (0, 1), (0, 2), (1, 3), (2, 3), (3, 1, 0), (0, 3), (1, 2)]
VIEWS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.transpose(2, 0, 3, 1),
    "reversed": lambda x: x[::-1, :, ::-1],
    "every second": lambda x: x[:, ::2, 1:, ::2],
    "repeated": lambda x: np.broadcast_to(x[:, :1], (x.shape[0], 6, *x.shape[2:])),
}


@each(("view", "axis"), covering(VIEWS, AXES))
def test_several_axes_are_walked_as_memory_has_them(place, view, axis):
    for dtype in ("float32", *(["complex64", "float16"] if is_thorough() else [])):
        x = numbers(np.random.default_rng(59), (6, 7, 10, 12), dtype, "sum", 1)
        options = {"dtype": "float32"} if dtype == "float16" else {}
        check(VIEWS[view](put(x, place)), "sum", axis, options, place)


@each("axis", AXES)
def test_a_contiguous_array_is_walked_row_by_row(place, axis):
    """In whatever order its axes are given."""
    x = numbers(np.random.default_rng(60), (6, 7, 10, 12), "float32", "sum", 1)
    axes = range(4) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    kept = [d for d in range(4) if d not in axes]
    rows = x.transpose(*kept, *sorted(axes)).reshape(*(x.shape[d] for d in kept), -1)
    expected = tree(rows)
    assert same_bytes(reduced(put(x, place), "sum", axis, {}, place), expected)
    order = [0, 3, 1, 2]
    turned = None if axis is None else tuple(order.index(d) for d in axes)
    found = reduced(put(x, place).transpose(order), "sum", turned, {}, place)
    places = [kept.index(d) for d in order if d in kept]
    assert same_bytes(found, expected.transpose(places))


def test_seven_numbers_by_hand(place):
    """((a + b) + (c + d)) + ((e + f) + g): each other order is another sum."""
    a, b, c, d, e, f, g = row = np.array([1e8, 3, -1e8, 5, 2.0**-24, 1, -7e7], np.float32)
    expected = ((a + b) + (c + d)) + ((e + f) + g)
    for x, axis in ((row, 0), (np.stack([row] * 3), 1), (np.stack([row] * 3, 1), 0)):
        found = get(ck.reduce(put(x, place), "sum", axis))
        assert same_bytes(found, np.full(found.shape, expected))


def specials(rng, shape, dtype, function):
    """Return numbers among which there are NaN, infinities, subnormal ones and zeros, by rows."""
    parts = (
        [np.dtype(dtype)] if np.dtype(dtype).kind != "c" else [np.empty(0, dtype).real.dtype] * 2
    )
    info = ml_dtypes.finfo(parts[0])
    least, most = float(info.smallest_subnormal), float(info.max)
    kinds = [[NAN], [INF], [INF, -INF], [most], [most, -most], [least, -least], [-0.0], [0.0, -0.0]]
    kinds += [[least * 77, -1.0], [float(info.smallest_normal), -least]]
    columns = []
    for part in parts:
        x = numbers(rng, shape, part, function, shape[1])
        for k, row in enumerate(x):
            few = rng.random(shape[1]) < (1.5 / shape[1] if k % 4 < 2 else 1)
            row[few] = rng.choice(kinds[k % len(kinds)], few.sum())
        columns.append(x)
    return complex_of(*columns) if len(parts) > 1 else columns[0]


@each(
    ("function", "dtype"),
    covering(EXACT, ["float32", "complex64", "float16", BFLOAT16, "float64", "complex128"])
    if is_thorough()
    else [("sum", "float32"), ("multiply", "complex64")],
)
def test_special_values(place, function, dtype):
    if not is_exact(function, dtype, result_dtype(function, dtype)):
        return
    rng = np.random.default_rng(61)
    for n in (1, 2, 5, 33, 1000):
        x = specials(rng, (40, n), dtype, function)
        check(put(x, place), function, 1, {}, place)
        check(put(x.T.copy(), place), function, 0, {}, place)


@each(
    ("function", "dtype", "result"),
    [
        ("sum", "float32", "float32"), ("multiply", "complex64", "complex64"),
        *([
            ("multiply", "float32", "float32"), ("sum", "float16", "float16"),
            ("sum", "float64", BFLOAT16), ("sum", "float32", "complex64"),
            ("multiply", "int16", "complex128"), ("sum", "int64", "float64"),
            ("multiply", BFLOAT16, "float64"), ("sum", "complex128", "complex64"),
        ] * is_thorough()),
    ],
)  # fmt: skip
def test_an_initial_value_is_behind_all_elements(place, function, dtype, result):
    rng = np.random.default_rng(62)
    for n in (1, 3, 129, 1000, 3000) if is_thorough() else (1000,):
        initial = numbers(rng, (), result, function, 1)[()]
        for shape, axis in (((4, n), 1), ((n, 5), 0)):
            x = put(numbers(rng, shape, dtype, function, n), place)
            check(x, function, axis, {"dtype": result, "initial": initial}, place, step=2)


@each("dtype", ["float32", *sample([d for d in DTYPES if np.dtype(d).kind in "fcV"], 6)])
def test_a_sum_of_negative_zeros_is_one(place, dtype):
    """As the tree's: an initial value is added to it."""
    zero = np.zeros((), dtype)[()]
    for shape, axis in (((4, 33), 1), ((33, 5), 0), ((2, 1000), 1)):
        x = put(np.full(shape, -zero), place)
        found = reduced(x, "sum", axis, {}, place)
        assert same_bytes(found, np.full(found.shape, -zero))
        for initial in (zero, -zero):
            found = reduced(x, "sum", axis, {"initial": initial}, place)
            assert same_bytes(found, np.full(found.shape, -zero + initial))


LOGS = [("log_sum", "float32"), ("log_sum", "complex64"), ("l1", "complex64")]


@each(("function", "dtype"), LOGS if is_thorough() else LOGS[:1])
def test_trees_of_and_under_what_has_no_specified_bits(place, function, dtype):
    """A logarithm is of the sum; a hypotenuse is that of the element on its own."""
    rng = np.random.default_rng(63)
    for shape, axis in (((3, 1000), 1), ((1000, 3), 0), ((2, 5001), 1)):
        x = put(numbers(rng, shape, dtype, function, 1), place)
        found = reduced(x, function, axis, {}, place)
        if function == "log_sum":
            total = put(reduced(x, "sum", axis, {}, place), place)
            assert same_numbers(found, get(ck.reduce(total, function, ()))).all()
        else:
            sizes = get(ck.reduce(x, function, ())).real
            assert same_numbers(found.real, tree(walked(sizes, (axis,)))).all()


@pytest.fixture
def alone(monkeypatch):
    """Have one block take a result, whose states shared memory has no room for at once."""
    for name, value in (("MIN_SHARE_BYTES", 2**40), ("MOST_SPLITS", 1)):
        monkeypatch.setattr(tuning, name, value)
    monkeypatch.setattr(tuning, "COLUMN_STAGE_BYTES", 2048)
    forget(monkeypatch)


@each(("shape", "axis"), [((1, 300_001), 1), ((3001, 40), 0), ((9001, 8), 0), ((7003, 3), 0)])
@pytest.mark.usefixtures("alone")
def test_a_block_combines_more_states_than_it_has_room_for(place, shape, axis):
    x = numbers(np.random.default_rng(33), shape, "float32", "sum", shape[axis])
    for array in (x, np.repeat(x, 2, 1)[:, ::2]):
        check(put(array, place), "sum", axis, {}, place)
