"""What nonzero_coordinates and nonzero answer to wrong arguments of their own, word by word."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import POISON, get, put
from tests.helpers.refused import assert_refused, nothing_allocated, refusals
from tests.helpers.rows import each

pytestmark = pytest.mark.device

X = np.array([[0, 1, 2], [3, 0, 5]], np.float32)
#: One element too many for uint32, in one byte.
HUGE = np.broadcast_to(np.ones(1, np.uint8), (2**16, 2**16))
KIND = "nonzero_coordinates: dtype must be int64 or uint32; got "
LONG = "nonzero_coordinates: dtype must be int64 for more than 2^32 - 1 elements; got uint32"
PAIR = "nonzero_coordinates: out must be a pair (count, coordinates); got "
COUNT = "nonzero_coordinates: out.count must "
ROWS = "nonzero_coordinates: out.coordinates must "
USE, USE_NARROW = '; use dtype="int64"', '; use dtype="uint32"'
FILL = "nonzero: fill_value must fit int64; got "


def count(*shape, dtype=np.uint32):
    return np.zeros(shape, dtype)


def rows(*shape, dtype=np.uint32):
    return np.zeros(shape or (6, 2), dtype)


def call(x=X, **options):
    return lambda: ck.nonzero_coordinates(x, **options)


def into(*out, x=X, **options):
    return call(x, out=out, **options)


def fixed(x=X, **options):
    return lambda: ck.nonzero(x, **options)


TABLES = {
    ck.ArgumentError: {
        LONG: [call(HUGE), into(count(1), rows(), x=HUGE)],
        "nonzero_coordinates: size must be at least 0; got -1": call(size=-1),
        "nonzero: size must be at least 0; got -1": fixed(size=-1),
        "nonzero: x must have at most 2^40 elements; got 4611686018427387904": fixed(
            np.broadcast_to(np.uint8(1), (2**31, 2**31)), size=3
        ),
    },
    ck.DTypeError: {
        f"{KIND}'uint31'; did you mean 'uint32'?": call(dtype="uint31"),
        f"{KIND}uint64": call(dtype=np.uint64),
        f"{KIND}None": call(X[:0], dtype=None),
        "nonzero_coordinates: size must be an int; got 2.0; did you mean 2?": call(size=2.0),
        **{f"nonzero: size must be an int; got {s!r}": fixed(size=s) for s in (2.5, "3", (1, 2))},
        f"{FILL}{2**63} (it is out of range)": fixed(size=2, fill_value=2**63),
    },
    ck.BindingError: {
        f"{PAIR}ndarray": call(out=rows(2, 6)),
        f"{PAIR}tuple": [into(), into(count(1)), into(count(1), rows(), count(1))],
        f"{PAIR}int": call(out=5),
        f"{PAIR}str": call(out="ab"),
        f"{COUNT}have shape (1,); got ()": into(count(), rows()),
        f"{COUNT}have shape (1,); got (2,)": into(count(2), rows()),
        f"{COUNT}have dtype uint64; got uint32": into(
            count(1), rows(dtype=np.int64), x=HUGE, dtype="int64"
        ),
        f"{ROWS}have shape (6, 2) for x.shape=(2, 3); got (5, 2)": into(count(1), rows(5, 2)),
        f"{ROWS}have shape (4, 2) for x.shape=(2, 3), size=4; got (6, 2)": into(
            count(1), rows(), size=4
        ),
        f"{ROWS}have shape (1, 1) for x.shape=(); got (1, 0)": into(
            count(1), rows(1, 0), x=np.float32(1)
        ),
        f"{ROWS}have shape (0, 2) for x.shape=(0, 3); got (1, 2)": into(
            count(1), rows(1, 2), x=X[:0]
        ),
        f"{ROWS}have shape ({2**32 - 1}, 1) for x.shape=({2**32 - 1},); got (6, 2)": into(
            count(1), rows(), x=HUGE.reshape(-1)[:-1]
        ),
        f"{ROWS}have dtype uint32; got int64{USE}": into(count(1), rows(dtype=np.int64)),
        f"{ROWS}have dtype int64; got uint32{USE_NARROW}": into(count(1), rows(), dtype=np.int64),
        **{
            f"{ROWS}have dtype uint32; got {kind}": into(count(1), rows(dtype=kind))
            for kind in ("int32", "float64", "uint64", "bool")
        },
    },
}  # fmt: skip


@each(("error", "text", "call"), refusals(TABLES))
def test_answer(launches, error, text, call):
    with nothing_allocated():
        assert_refused(error, text, call)
    assert not launches


@each(("start", "name"), [(11, "coordinates"), (12, "")])
def test_the_outputs_do_not_overlap_each_other(place, start, name):
    memory = put(np.full(64, POISON, np.uint32), place)
    pair = memory[start : start + 1], memory[:12].reshape(6, 2)
    x = put(X, place)
    if name:
        text = "nonzero_coordinates: out.coordinates must not overlap out.count; they share memory"
        for _ in range(2):
            assert_refused(ck.BindingError, f"{text} [T19]", into(*pair, x=x))
        assert (get(memory) == POISON).all()
    else:
        assert get(ck.nonzero_coordinates(x, out=pair).count).tolist() == [4]


def test_a_warm_call_tells_dtypes_and_shapes_apart(place):
    x, pair = put(X, place), (put(count(1), place), put(rows(), place))
    for _ in range(2):
        assert get(ck.nonzero_coordinates(x, out=pair).count).tolist() == [4]
    assert_refused(
        ck.BindingError,
        f"{ROWS}have dtype int64; got uint32{USE_NARROW}",
        into(*pair, x=x, dtype="int64"),
    )
    text = f"{ROWS}have shape (6, 1) for x.shape=(6,); got (6, 2)"
    assert_refused(ck.BindingError, text, into(*pair, x=x.reshape(6)))
