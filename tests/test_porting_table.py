"""The table of other libraries' calls: each row runs in both libraries, on the same data.

NumPy and ONNX run themselves; other libraries are written in NumPy, as their documentation says.
"""

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import cudakern as ck
from tests.examples.onnx_executor import OPERATORS
from tests.helpers.places import get, put
from tests.helpers.readmes import rows, section
from tests.helpers.rows import each

pytestmark = pytest.mark.device

RNG = np.random.default_rng(20)
ARRAYS = {
    "x": (RNG.integers(0, 4, (4, 6)) / 2).astype(np.float32),
    "w": RNG.standard_normal((4, 6)),
    "i": np.array([3, 0, 1, 0, 2]),
    "j": RNG.integers(0, 6, (4, 2)),
    "t": RNG.integers(-2, 9, (4, 3, 1)),
}


ROWS = rows(section("cudakern/operators/README.md", "## Coming from other libraries"))


def expressions(cell):
    """Return the calls in a cell; a text that is not a call replaces a part of the first call."""
    first, *others = re.findall(r"`([^`]+)`", cell)
    calls = [first]
    for other in others:
        part = r'"\w+"' if '"' in other else r"\w+"
        calls.append(other if "(" in other else re.sub(part, other, first, count=1))
    return calls


def log_sum_exp(x, axis):
    return np.log(np.exp(x).sum(axis))


def embedding(count, width, padding_idx):
    weights = ARRAYS["w"].copy()
    assert weights.shape == (count, width)
    weights[padding_idx] = 0
    return lambda indices: np.array([weights[k] for k in indices])


def torch_gather(x, axis, indices):
    """Return x[i, indices[i, j]] at i, j, along axis 1."""
    assert axis == 1
    return np.array([[row[k] for k in ks] for row, ks in zip(x, indices, strict=True)])


def padded_nonzero(x, size, fill_value):
    positions = np.argwhere(x).tolist()
    positions += [[fill_value] * x.ndim] * (size - len(positions))
    return tuple(np.array(positions[:size]).T)


def gather_nd(x, indices, batch_dims):
    """Return x[b, indices[b, m, 0]] at b, m, or zero where the index is out of range."""
    assert batch_dims == 1
    result = np.zeros(indices.shape[:-1], x.dtype)
    for b, m in np.ndindex(result.shape):
        k = indices[b, m, 0]
        result[b, m] = x[b, k] if 0 <= k < x.shape[1] else 0
    return result


def onnx_node(operator, *inputs, **attributes):
    """Return the results of ONNX's own executor for a node."""
    names = [f"input{k}" for k in range(len(inputs))]
    node = helper.make_node(operator, names, ["output"], **attributes)
    operands = dict(zip(names, map(np.asarray, inputs), strict=True))
    return ReferenceEvaluator(node).run(None, operands)[0]


THERE = {
    **ARRAYS,
    "np": np,
    "scipy": SimpleNamespace(special=SimpleNamespace(logsumexp=log_sum_exp)),
    "torch": SimpleNamespace(
        gather=torch_gather,
        index_select=lambda x, axis, indices: np.stack([x.take(k, axis) for k in indices], axis),
        nn=SimpleNamespace(
            Embedding=embedding,
            functional=SimpleNamespace(one_hot=lambda indices, n: np.eye(n, dtype=int)[indices]),
        ),
    ),
    "jnp": SimpleNamespace(nonzero=padded_nonzero),
    "tf": SimpleNamespace(gather_nd=gather_nd),
    **{operator: partial(onnx_node, operator) for operator in OPERATORS},
}


@each(("there", "here", "difference"), ROWS)
def test_row(place, there, here, difference):
    namespace = {"ck": ck, "np": np, **{name: put(a, place) for name, a in ARRAYS.items()}}
    for theirs, ours in zip(expressions(there), expressions(here), strict=True):
        expected, results = eval(theirs, THERE), eval(ours, namespace)  # noqa: S307
        if not isinstance(expected, tuple):
            expected, results = (expected,), (results,)
        for array, values in zip(map(get, results), expected, strict=True):
            assert array.dtype == values.dtype or array.dtype.name in difference
            assert array.shape == values.shape
            # Sums are exact; the last bits of a logarithm may differ.
            rtol = 16 * np.finfo(values.dtype).eps if "log" in ours else 0
            np.testing.assert_allclose(array, values, rtol=rtol, atol=0)


def test_every_node_of_onnx_is_there():
    named = {theirs.split("(")[0] for there, *_ in ROWS for theirs in expressions(there)}
    assert named >= OPERATORS.keys()
