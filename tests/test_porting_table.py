"""What the page says to those who come from other libraries: calls, arguments, what is not here.

Each row of a table of calls runs in both libraries, on the same data. NumPy and ONNX run
themselves; other libraries are written in NumPy, as their documentation says.
"""

from __future__ import annotations

import re
from functools import partial
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import cudakern as ck
from cudakern.operators.reduce import types
from tests.examples.onnx_executor import OPERATORS
from tests.helpers.operator_samples import functions
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
ARRAYS["h"] = np.where(ARRAYS["x"] > ARRAYS["x"].min(axis=1, keepdims=True), ARRAYS["x"], np.nan)

PAGE = "cudakern/operators/porting.md"
REDUCTIONS = rows(section(PAGE, "## Reductions"))
ROWS = [
    *REDUCTIONS,
    *rows(section(PAGE, "## Lookups")),
    *rows(section(PAGE, "## Searches and one-hot vectors")),
]


def expressions(cell):
    """Return the calls in a cell; a text that is not a call replaces a part of the first call."""
    first, *others = re.findall(r"`([^`]+)`", cell)
    calls = [first]
    for other in others:
        part = r'"\w+"' if '"' in other else r"\w+"
        calls.append(other if "(" in other else re.sub(part, other, first, count=1))
    return calls


def pairs(there, here):
    """Yield calls of another library with ours; one call of ours is for all of theirs."""
    theirs, ours = expressions(there), expressions(here)
    return zip(theirs, ours * (len(theirs) if len(ours) == 1 else 1), strict=True)


def log_sum_exp(x, axis, keepdims=False):  # noqa: FBT002  as in SciPy
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


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


def of_torch(function):
    """Return a function of PyTorch's that reduces as one of NumPy's."""
    return lambda x, dim, keepdim=False: function(x, axis=dim, keepdims=keepdim)


def one_hot(indices, depth, dtype=np.float32):
    return np.eye(depth, dtype=dtype)[indices]


def index_select(x, axis, indices):
    return np.stack([x[(slice(None),) * axis + (k,)] for k in indices], axis)


SUMS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "logsumexp": log_sum_exp}
THERE = {
    **ARRAYS,
    "np": np,
    "scipy": SimpleNamespace(special=SimpleNamespace(logsumexp=log_sum_exp)),
    "torch": SimpleNamespace(
        **{name: of_torch(function) for name, function in SUMS.items()},
        amax=of_torch(np.max),
        argmax=of_torch(np.argmax),
        gather=torch_gather,
        index_select=index_select,
        masked_select=lambda x, mask: x[mask],
        linalg=SimpleNamespace(vector_norm=of_torch(np.linalg.norm)),
        max=lambda x, dim: (x.max(dim), x.argmax(dim)),
        nn=SimpleNamespace(
            Embedding=embedding,
            functional=SimpleNamespace(one_hot=partial(one_hot, dtype=int)),
        ),
        nonzero=np.argwhere,
        nonzero_static=lambda x, size: np.stack(padded_nonzero(x, size, -1), axis=1),
        take_along_dim=lambda x, indices, dim: torch_gather(x, dim, indices),
    ),
    "jax": SimpleNamespace(nn=SimpleNamespace(one_hot=one_hot)),
    "jnp": SimpleNamespace(nonzero=padded_nonzero, take=np.take),
    "tf": SimpleNamespace(
        **{f"reduce_{name}": function for name, function in SUMS.items()},
        gather=lambda x, indices, axis: index_select(x, axis, indices),
        gather_nd=gather_nd,
        one_hot=one_hot,
        reduce_euclidean_norm=np.linalg.norm,
        reduce_max=np.max,
        where=np.argwhere,
    ),
    **{operator: partial(onnx_node, operator) for operator in [*OPERATORS, "GatherElements"]},
}


@each(("there", "here", "difference"), ROWS)
def test_row(place, there, here, difference):
    namespace = {"ck": ck, "np": np, **{name: put(a, place) for name, a in ARRAYS.items()}}
    for theirs, ours in pairs(there, here):
        expected, results = eval(theirs, THERE), eval(ours, namespace)  # noqa: S307
        if not isinstance(expected, tuple):
            expected, results = (expected,), (results,)
        for array, values in zip(map(get, results), expected, strict=True):
            assert array.dtype == values.dtype or array.dtype.name in difference
            assert array.shape == values.shape
            # Sums are exact; the last bits of a logarithm may differ.
            rtol = 16 * np.finfo(values.dtype).eps if "log" in ours else 0
            np.testing.assert_allclose(array, values, rtol=rtol, atol=0)


@each(("there", "here", "difference"), REDUCTIONS)
def test_hints_lead_to_the_same_functions(there, here, difference):
    del difference
    for theirs, ours in pairs(there, here):
        word = re.match(r"[\w.]+", theirs)[0].split(".")[-1]
        function = re.search(r'"(\w+)"', ours)[1]
        hint = types.requirement_of(word).partition("; did you mean ")[2]
        assert types.BY_LABEL.get(word) == types.BY_LABEL[function] or f"'{function}'" in hint, word


def test_words_of_arguments_are_theirs_and_ours():
    table = rows(section(PAGE, "## Arguments"))
    parameters = {name for function in functions() for name in signature(function).parameters}
    for there, here in table:
        named = re.findall(r"(\w+)=", here)
        assert parameters.issuperset(named)
        assert not parameters.intersection(re.findall(r"(\w+)=(?!\")", there))
    assert len(table) >= 8


def test_what_is_not_here_is_somewhere_else():
    text = section(PAGE, "## What is not here")
    words = set(re.findall(r"`(?:cupyx?\.)?(\w+)`", text))
    assert types.ABSENT.keys() <= words
    assert not words & {*ck.__all__} - {"reduce", "gather"}
    elsewhere = set(re.findall(r"`(cupyx?)\.(\w+)`", text))
    elsewhere |= {("cupy", word) for word, libraries in types.ABSENT.items() if "CuPy" in libraries}
    with ck.simulator.in_place_of_cupy() as cupy:
        import cupyx  # noqa: PLC0415  the stand-in's

        modules = {"cupy": cupy, "cupyx": cupyx}
        assert all(hasattr(modules[library], name) for library, name in elsewhere)
    assert len(elsewhere) > 15


def test_every_node_of_onnx_is_there():
    named = {theirs.split("(")[0] for there, *_ in ROWS for theirs in expressions(there)}
    assert named >= OPERATORS.keys()
