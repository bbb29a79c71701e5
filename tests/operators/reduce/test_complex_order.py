"""Max, min, argmax and argmin of complex numbers: NumPy's, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import checked
from cudakern.values import layout
from tests.helpers.places import HOST, POISON, get, put, same_bytes
from tests.helpers.refused import assert_refused
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample
from tests.operators.reduce.rules import ARG_DESCS, DECREASING, arg

NAN, INF = np.nan, np.inf
KINDS = ["complex64", "complex128"]
FUNCTIONS = ["max", "min", "argmax", "argmin"]
#: Parts of numbers: those of a few values are often equal, and of others hardly ever.
PARTS = {
    "few": [0.0, 1.0, -1.0],
    "zeros": [0.0, -0.0],
    "infinities": [INF, -INF, 2.0, 1e-42],
    "NaN": [NAN, -0.0, 0.0, -INF, 1.0],
    "all NaN": [NAN, NAN],
    "seldom NaN": [NAN, *range(500)],
}
#: Shape, axis, view of the array of this shape.
CASES = {
    "row": ((9_003,), None, np.s_[1:]),
    "rows of pieces": ((4, 3, 300), (0, 2), np.s_[:, :, :-3]),
    "many rows": ((600, 172), 1, np.s_[:, :-1]),
    "short rows": ((300, 3), 1, np.s_[1:]),
    "short rows of vectors": ((50, 32), 1, np.s_[...]),
    "slabs": ((30, 40, 5), 1, np.s_[...]),
    "columns": ((400, 33), 0, np.s_[1:]),
    "wide columns": ((30, 1501), 0, np.s_[...]),
    "vectors of columns": ((300, 40), 0, np.s_[:, :32]),
    "backwards": ((50, 5, 60), (0, 2), np.s_[:, :, ::-2]),
    "every third column": ((400, 20), 0, np.s_[:, 3::3]),
    "in another order": ((6, 5, 7), (2, 0), np.s_[::-1]),
}
OPTIONS = [{}, {"nan": "ignore"}, {"last_index": True}, {"nan": "ignore", "last_index": True}]


def numbers(rng, shape, dtype, parts):
    """Return complex numbers of such parts."""
    values = np.empty(shape, dtype)
    values.real, values.imag = (rng.choice(PARTS[parts], shape) for _ in range(2))
    return values


def rows_of(x, axis):
    """Return x with what is reduced as the last axis, in the order of places."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = sorted(d % x.ndim for d in axes)
    kept = [d for d in range(x.ndim) if d not in axes]
    return x.transpose(*kept, *axes).reshape(*(x.shape[d] for d in kept), -1)


def numpys(x, function, axis, *, nan="propagate", last_index=False):
    """Return what NumPy gives; its nanargmax takes NaN for -inf + 0j, which is not the least."""
    rows, extreme = rows_of(x, axis), function.removeprefix("arg")
    best = getattr(np, f"f{extreme}" if nan == "ignore" else f"{extreme}imum").reduce(rows, -1)
    if function == extreme:
        return best
    rows = rows[..., ::-1] if last_index else rows
    if nan == "ignore":
        lost = np.isnan(best)
        places = ((rows == best[..., None]) & ~np.isnan(rows)).argmax(-1)
    else:
        lost, places = False, getattr(np, function)(rows, -1)
    return np.where(lost, 0, rows.shape[-1] - 1 - places if last_index else places)


def check(result, x, function, axis, options):
    """Hold a result against NumPy's; of NaN alone, ignored, it is any NaN."""
    found, expected = get(result), np.asarray(numpys(get(x), function, axis, **options))
    if options.get("nan") == "ignore" and found.dtype.kind == "c":
        lost = np.isnan(expected)
        assert np.isnan(found[lost]).all()
        found, expected = found[~lost], expected[~lost]
    assert same_bytes(found, expected.reshape(found.shape))


CALLS = [(f, o) for o in OPTIONS for f in FUNCTIONS if f in ARG_DESCS or o in OPTIONS[:2]]


@pytest.mark.usefixtures("sharing")
@each(("name", "call", "dtype"), sample(covering(CASES, CALLS, [*KINDS, "complex64"]), 3))
def test_every_layout_has_the_bits_of_numpy(place, name, call, dtype):
    (function, options), (shape, axis, view) = call, CASES[name]
    for parts in PARTS:
        values = numbers(np.random.default_rng(40), shape, dtype, parts)
        x = put(values, place)[view]
        check(ck.reduce(x, function, axis, **options), x, function, axis, options)


@pytest.mark.usefixtures("sharing")
@each(("name", "call"), sample(covering(CASES, CALLS), 12))
def test_offsets_of_64_bits_and_every_order(monkeypatch, plans, name, call):
    (function, options), (shape, axis, view) = call, CASES[name]
    monkeypatch.setattr(layout, "MAX_SPAN_32", 64)
    x = put(numbers(np.random.default_rng(41), shape, "complex64", "NaN"), HOST)[view]
    for seed in (1, 2):
        with checked(seed, 3) as report:
            result = ck.reduce(x, function, axis, **options)
        assert not report.findings
        check(result, x, function, axis, options)
    assert plans[-1].kernel.entry.endswith("_o64")


def c(re, im):
    """Return a complex number; 1j * inf is not one of these parts."""
    return complex(re, im)


#: Elements of a row, the function, its options, and the result.
EDGES = [
    ([1, c(1, NAN), c(NAN, 0)], "max", {}, c(1, NAN)),
    ([c(9, NAN), 1, c(NAN, 9)], "max", {"nan": "ignore"}, 1),
    ([c(-0.0, 1), c(0.0, 1)], "max", {}, c(-0.0, 1)),
    # The initial value is in front.
    ([1 + 2j], "max", {"initial": 1 + 1j}, 1 + 2j),
    ([c(0.0, 1)], "max", {"initial": c(-0.0, 1)}, c(-0.0, 1)),
    ([c(NAN, 1)], "max", {"initial": c(2, NAN)}, c(2, NAN)),
    ([c(NAN, 1)], "max", {"initial": 5}, c(NAN, 1)),
    ([c(NAN, 1)], "min", {"initial": 5, "nan": "ignore"}, 5),
    ([c(NAN, 1)], "min", {"initial": c(2, NAN), "nan": "ignore"}, c(2, NAN)),
    ([], "max", {"initial": c(-0.0, NAN)}, c(-0.0, NAN)),
]


@each(("row", "function", "options", "expected"), EDGES)
def test_edges(place, row, function, options, expected):
    """Columns, so that all have one kind of kernel."""
    x = put(np.array([row] * 3, "complex64").T.copy(), place)
    dtype = "int64" if function in ARG_DESCS else "complex64"
    found = ck.reduce(x, function, 0, **options)
    assert same_bytes(found, np.array([expected] * 3, dtype))


@each(("function", "kind"), zip(["max", "min"], KINDS, strict=True))
def test_initial_values_have_the_bits_of_numpy(place, function, kind):
    rng = np.random.default_rng(42)
    for parts in ("few", "zeros", "NaN"):
        x = numbers(rng, (rng.integers(2, 40), 3), kind, parts)
        initial = numbers(rng, (), kind, parts)[()]
        expected = getattr(np, function)(x, 0, initial=initial)
        assert same_bytes(ck.reduce(put(x, place), function, 0, initial=initial), expected)


def test_shapes_outputs_and_other_results(place):
    x = numbers(np.random.default_rng(43), (4, 3, 5), "complex64", "few")
    given, wide = put(x, place), x.astype("complex128")
    assert same_bytes(ck.reduce(given, "max", ()), x)
    assert not get(ck.reduce(given, "argmin", ())).any()
    memory = put(np.full((4, 5, 3), POISON, "complex128"), place)
    out = memory[:, ::-1, 1]
    assert ck.reduce(given, "min", 1, out=out) is out
    assert same_bytes(out, wide.min(1))
    assert (get(memory)[..., ::2] == POISON).all()
    for function in FUNCTIONS:
        text = f"reduce: x must have elements for {function}, which has no identity ... "
        assert_refused(ck.ArgumentError, text, lambda f=function: ck.reduce(given[:, :0], f, 1))


def test_descriptors_take_nan_as_absent(place):
    x = numbers(np.random.default_rng(44), (9, 5), "complex64", "NaN")
    x[:, 0] = NAN
    desc = arg("argmax", x.shape, (0,), DECREASING, "COMPLEX64", "INT64")
    found = ck.compile_operator(desc, ck.FeatureLevel.EXTENDED)(put(x, place))[0]
    check(found, x, "argmax", 0, OPTIONS[3])
