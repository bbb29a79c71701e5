"""What a compiled operator keeps: owned inputs, and nothing else that changes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers.bindings import (
    DESC,
    EXPECTED,
    INDICES,
    OWNED,
    POISON,
    X,
    assert_refused,
    change,
    operands,
    strided_view,
)
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE

pytestmark = PLAIN_AND_CHECKED_ONCE


@pytest.mark.parametrize("how", ["packed", "padded", "permuted", "buffer"])
def test_t16_owned_input_is_kept_as_it_was(how):
    """Whatever way it was bound: later changes to the caller's array have no effect."""
    strides = {"padded": (6, 1), "permuted": (1, 3)}.get(how, (4, 1))
    x = strided_view(np.zeros(16, np.float32), (3, 4), strides)
    x[...] = X
    desc = change(DESC, "input_tensor", flags=OWNED, strides=strides)
    given = x.ravel() if how == "buffer" else x
    operator = ck.compile_operator(desc).initialize(given)
    given[...] = POISON
    for _ in range(2):
        np.testing.assert_array_equal(operator(INDICES), EXPECTED, strict=True)
    np.testing.assert_array_equal(operator(INDICES[:, ::-1].copy()), EXPECTED[::-1])


def test_t16_owned_flat_buffer_of_the_shape_of_a_repeated_tensor():
    """A buffer of four elements for a tensor of four that all are its first."""
    desc = ck.GatherOperatorDesc(
        TensorDesc(DataType.FLOAT32, (4,), strides=(0,), flags=OWNED),
        TensorDesc(DataType.INT32, (2,)),
        TensorDesc(DataType.FLOAT32, (2,)),
        axis=0,
        index_dimensions=1,
    )
    operator = ck.compile_operator(desc).initialize(np.array([5, 6, 7, 8], np.float32))
    assert operator(np.array([0, 3], np.int32)).tolist() == [5, 5]


def test_t16_owned_indices_and_all_inputs_owned():
    desc = change(DESC, "indices_tensor", flags=OWNED)
    indices = INDICES.copy()
    operator = ck.compile_operator(desc).initialize(indices)
    indices[...] = 0
    np.testing.assert_array_equal(operator(X), EXPECTED)
    desc = change(desc, "input_tensor", flags=OWNED)
    x, indices, out = operands()
    operator = ck.compile_operator(desc).initialize(x, indices)
    x[...], indices[...] = 0, 0
    assert operator(out=out) is out
    np.testing.assert_array_equal(out, EXPECTED)
    np.testing.assert_array_equal(operator(), EXPECTED)


def test_t16_initialize_leaves_the_operator_as_it_was():
    operator = ck.compile_operator(change(DESC, "input_tensor", flags=OWNED))
    first, second = operator.initialize(X), operator.initialize(X + 100)
    np.testing.assert_array_equal(first(INDICES), EXPECTED)
    np.testing.assert_array_equal(second(INDICES), EXPECTED + 100)
    np.testing.assert_array_equal(first(INDICES), EXPECTED)
    assert_refused(operator, [INDICES, operands()[2]], "input_tensor", "T16")


def test_t16_owned_input_is_not_bound_at_execution():
    operator = ck.compile_operator(change(DESC, "input_tensor", flags=OWNED)).initialize(X)
    out = operands()[2]
    with pytest.raises(ck.BindingError) as caught:
        operator(X, INDICES, out=out)
    assert caught.value.rule in {"T16", "T20"}
    assert np.all(out == POISON)


@pytest.mark.parametrize("count", [0, 2])
def test_t20_number_of_owned_inputs(count):
    operator = ck.compile_operator(change(DESC, "input_tensor", flags=OWNED))
    with pytest.raises(ck.BindingError) as caught:
        operator.initialize(*[X, INDICES][:count])
    assert caught.value.rule == "T20"


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        pytest.param(X.astype(np.float64), None, id="wider"),
        pytest.param(X.reshape(4, 3), None, id="shape"),
        pytest.param(np.asfortranarray(X), None, id="order"),
        pytest.param(X.ravel()[:11], "T17", id="flat-short"),
    ],
)
def test_t16_owned_input_must_fit(given, rule):
    operator = ck.compile_operator(change(DESC, "input_tensor", flags=OWNED))
    out = operands()[2]
    with pytest.raises(ck.BindingError) as caught:
        operator.initialize(given)(INDICES, out=out)
    assert (caught.value.field, caught.value.rule) == ("input_tensor", rule)
    assert np.all(out == POISON)


@pytest.mark.parametrize("name", ["desc", "feature_level"])
def test_operator_is_immutable(name):
    operator = ck.compile_operator(DESC, feature_level=FeatureLevel.LEVEL_5_0)
    assert operator.desc == DESC
    assert operator.feature_level is FeatureLevel.LEVEL_5_0
    with pytest.raises(AttributeError):
        setattr(operator, name, None)


def test_calls_do_not_validate_the_descriptor_again(monkeypatch):
    operator = ck.compile_operator(DESC)

    def validate(*_):
        raise AssertionError

    monkeypatch.setattr(ck.GatherOperatorDesc, "validate", validate)
    for _ in range(2):
        np.testing.assert_array_equal(operator(X, INDICES), EXPECTED)


def test_many_threads_share_one_operator():
    operator = ck.compile_operator(DESC)
    start = Barrier(8, timeout=60)

    def work(seed):
        random = np.random.default_rng(seed)
        start.wait()
        for turn in range(20):
            x = random.random((3, 4), np.float32)
            indices = random.integers(0, 3, (1, 4)).astype(np.uint32)
            given = [x, indices, operands()[2]]
            if turn % 3 == 0:  # another way to bind the same tensors
                given = [a.ravel() for a in given]
            out = given[2] if turn % 2 else None
            result = operator(*given[:2], out=out)
            assert out is None or result is out
            np.testing.assert_array_equal(result.reshape(4, 4), x[indices[0]])
        return turn + 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 160
