"""Graphs: nothing is computed while they are built, equal calls have equal keys, they are small."""

from __future__ import annotations

import inspect
import pickle

import dask
import dask.array as da
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from tests.helpers.bound import launched
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough

NAMES = ["argwhere", "gather", "gather_nd", "nonzero", "nonzero_coordinates", "one_hot", "reduce"]


def calls(x, indices, tuples):
    """Return calls of all functions, in every mode and with every kind of partial result."""
    return {
        "argwhere": lambda: cd.argwhere(x),
        "gather": lambda: cd.gather(x, indices, 0),
        "gather, along another axis": lambda: cd.gather(x, indices, 1),
        "gather, wrapped": lambda: cd.gather(x, indices, 0, mode="wrap"),
        "gather, filled": lambda: cd.gather(x, indices, 0, mode="fill", fill_value=3),
        "gather, filled with 4": lambda: cd.gather(x, indices, 0, mode="fill", fill_value=4),
        "gather, filled with 0.0": lambda: cd.gather(x, indices, 0, mode="fill", fill_value=0.0),
        "gather, filled with -0.0": lambda: cd.gather(x, indices, 0, mode="fill", fill_value=-0.0),
        "gather, invalid": lambda: cd.gather(x, indices, mode="fill", negative="invalid"),
        "gather, checked": lambda: cd.gather(x, indices, 0, mode="raise"),
        "gather of a list": lambda: cd.gather(x, [1, 0]),
        "gather of another list": lambda: cd.gather(x, [1, 1]),
        "gather_nd": lambda: cd.gather_nd(x, tuples),
        "gather_nd of batches": lambda: cd.gather_nd(x, x[:, :1].astype(np.int32), 1),
        "gather_nd, checked": lambda: cd.gather_nd(x, tuples, mode="raise"),
        "nonzero": lambda: cd.nonzero(x)[0],
        "nonzero, the second axis": lambda: cd.nonzero(x)[1],
        "nonzero of a size": lambda: cd.nonzero(x, size=5)[0],
        "nonzero of another size": lambda: cd.nonzero(x, size=6)[0],
        "nonzero of a size, filled": lambda: cd.nonzero(x, size=5, fill_value=0)[0],
        "nonzero_coordinates": lambda: cd.nonzero_coordinates(x).coordinates,
        "nonzero_coordinates, int64": lambda: cd.nonzero_coordinates(x, dtype="int64").coordinates,
        "nonzero_coordinates, count": lambda: cd.nonzero_coordinates(x, size=4).count,
        "one_hot": lambda: cd.one_hot(indices, 5),
        "one_hot of depth 6": lambda: cd.one_hot(indices, 6),
        "one_hot along axis 0": lambda: cd.one_hot(indices, 5, axis=0),
        "one_hot of 1 and 2": lambda: cd.one_hot(indices, 5, values=(1, 2)),
        "one_hot of an array": lambda: cd.one_hot(indices, 5, values=np.array([1, 2])),
        "one_hot of lazy values": lambda: cd.one_hot(indices, 5, values=x[0, :2]),
        "one_hot, invalid": lambda: cd.one_hot(indices, 5, negative="invalid"),
        "reduce, kept": lambda: cd.reduce(x, "sum", 0, keepdims=True),
        "reduce, initial": lambda: cd.reduce(x, "sum", initial=3),
        "reduce, uint16": lambda: cd.reduce(x, "argmin", dtype="uint16"),
        "reduce, ignoring NaN": lambda: cd.reduce(x, "argmax", nan="ignore"),
        "reduce, the last": lambda: cd.reduce(x, "argmax", last_index=True),
        **{
            f"reduce, {f.label} over {axis}": lambda f=f, axis=axis: cd.reduce(x, f, axis)
            for f in ck.ReduceFunction
            for axis in (None, 1, ())
        },
    }


def unavailable(block):
    """Stand for chunks that nobody may compute."""
    message = f"a chunk of shape {block.shape} was computed"
    raise AssertionError(message)


def untouchable(shape, chunks, dtype):
    """Return a dask array whose chunks raise."""
    dtype = np.dtype(dtype)
    blocks = da.zeros(shape, chunks=chunks, dtype=dtype)
    return blocks.map_blocks(unavailable, dtype=dtype, meta=np.empty((0,) * len(shape), dtype))


OPERANDS = {"x": ((6, 4), (2, 3), "f4"), "indices": ((5,), 2, "i8"), "tuples": ((5, 2), 2, "i4")}


@pytest.fixture
def operands():
    return {name: untouchable(*facts) for name, facts in OPERANDS.items()}


@each("name", calls(None, None, None))
def test_nothing_is_computed_while_a_graph_is_built(name, operands, launches):
    def scheduler(*_, **__):
        raise AssertionError("a graph was computed")

    with dask.config.set(scheduler=scheduler):
        lazy = calls(**operands)[name]()
    assert launches == []
    assert isinstance(lazy, da.Array)
    with pytest.raises(AssertionError, match="was computed"):
        lazy.compute()


def test_equal_calls_have_equal_keys_others_have_others_and_all_pickle(operands):
    first, second = ([call() for call in calls(**operands).values()] for _ in range(2))
    assert len({lazy.name for lazy in first}) == len(first)
    for lazy, again in zip(first, second, strict=True):
        assert lazy.name == again.name
        assert set(lazy.__dask_graph__()) == set(again.__dask_graph__())
        sent = pickle.loads(pickle.dumps(lazy))  # noqa: S301  our own
        assert (sent.name, sent.chunks, sent.dtype) == (lazy.name, lazy.chunks, lazy.dtype)


@pytest.fixture
def launches(monkeypatch):
    """List the launches of operators."""
    return launched(monkeypatch)


#: Calls with every kind of layer.
TOGETHER = ["gather, filled", "gather_nd, checked", "nonzero of a size", "one_hot of lazy values"]
TOGETHER += ["reduce, sum over None", "reduce, argmax over None"]


def test_all_calls_at_once_give_what_each_gives_alone():
    """No two of them share a key of different tasks; threads share tables of bound launches."""
    rng = np.random.default_rng(9)
    x = da.from_array(rng.standard_normal((30, 20)).astype(np.float32), chunks=(11, 7))
    indices = da.from_array(rng.integers(-30, 20, 40), chunks=9)
    tuples = da.from_array(rng.integers(-20, 20, (20, 2)), chunks=(7, 1))
    made = calls(x, indices % 20, tuples)
    arrays = [made[name]() for name in (made if is_thorough() else TOGETHER)]
    arrays = [array for array in arrays if "coordinates-table" not in array.name]  # ends undefined
    alone = [array.compute() for array in arrays]
    together = dask.compute(*arrays, scheduler="threads")
    for array, one, other in zip(arrays, alone, together, strict=True):
        assert one.tobytes() == other.tobytes(), array.name


#: How many tasks of a call there are at most beside those of x, for each chunk of what varies.
GROWTH = {
    "reduce": (lambda n: cd.reduce(da.ones(n, chunks=1), "argmax"), 4),
    "reduce rows": (lambda n: cd.reduce(da.ones((n, 4), chunks=(1, 2)), "sum", 1), 8),
    "gather": (lambda n: cd.gather(da.ones(n, chunks=1), da.ones(2, chunks=1, dtype=int)), 8),
    "gather, by indices": (
        lambda n: cd.gather(da.ones(2, chunks=1), da.ones(n, chunks=1, dtype=int)), 11
    ),
    "gather, checked": (
        lambda n: cd.gather(np.ones(2), da.ones(n, chunks=1, dtype=int), mode="raise"), 4
    ),
    "gather_nd": (
        lambda n: cd.gather_nd(
            da.ones((n, 2), chunks=1), da.ones((2, 2), chunks=(1, 2), dtype=int)
        ), 16
    ),
    "one_hot": (lambda n: cd.one_hot(da.ones(n, chunks=1, dtype=int), 3), 2),
    "argwhere": (lambda n: cd.argwhere(da.ones(n, chunks=1)), 2),
    "nonzero": (lambda n: cd.nonzero(da.ones(n, chunks=1), size=9)[0], 4),
}  # fmt: skip


def tasks(lazy, *, optimised):
    """Return how many tasks a dask array takes, as it was built or as it is run."""
    (graph,) = dask.optimize(lazy) if optimised else (lazy,)
    return len(dict(graph.__dask_graph__()))


@each("name", GROWTH)
@each("optimised", [False, True])
def test_tasks_grow_with_chunks_and_no_faster(name, optimised):
    call, most = GROWTH[name]
    arrays = [call(n) for n in (50, 400)]
    small, large = (tasks(lazy, optimised=optimised) for lazy in arrays)
    assert large - small <= most * 350
    assert abs(large - 8 * small) <= 0.1 * large
    partial_results = map(len, arrays[0].dask.get_all_dependencies().values())
    assert max(partial_results) <= 8, "that many are in memory at once"


def test_chunks_of_unknown_sizes_are_refused():
    x = da.ones(6, chunks=2)
    unknown = x[x > 0]
    text = "x must have chunks of known sizes; got shape (nan,); "
    for name in (name for name in NAMES if name != "one_hot"):
        more = {"reduce": ["sum"], "gather": [[0]], "gather_nd": [[[0]]]}.get(name, [])
        with pytest.raises(ck.ArgumentError) as caught:
            getattr(cd, name)(unknown, *more)
        assert text + "call x.compute_chunk_sizes() first" in str(caught.value)
    with pytest.raises(ck.ArgumentError, match=r"indices\.compute_chunk_sizes\(\)"):
        cd.one_hot(unknown.astype(int), 3)
    known = cd.argwhere(x).compute_chunk_sizes()
    assert cd.reduce(known, "max").compute() == 5


@each("name", NAMES)
def test_functions_have_the_arguments_of_the_eager_ones(name):
    lazy, eager = (inspect.signature(getattr(module, name)) for module in (cd, ck))
    facts = [
        [(p.name, p.kind, p.default) for p in signature.parameters.values()]
        for signature in (lazy, eager)
    ]
    assert facts[0] == facts[1]
    assert sorted(cd.__all__) == NAMES


SHOWN = """
try:
    import cudakern.dask
except ImportError as error:
    print(error)
"""


def test_importing_needs_dask_and_the_package_does_not():
    code = """
import sys
import cudakern
assert not [name for name in sys.modules if name.split(".")[0] in {"dask", "distributed"}]
sys.modules["dask"] = None
"""
    text = 'cudakern: dask is not installed; from a clone run: pip install ".[dask]"\n'
    assert printed(code + SHOWN) == text


def test_query_planning_of_arrays_is_refused():
    pytest.importorskip("dask.array._array_expr", reason="this dask cannot plan queries of arrays")
    text = "cudakern: dask's array.query-planning must be off, as it is unless set; got True\n"
    assert printed(SHOWN, DASK_ARRAY__QUERY_PLANNING="True") == text


def test_distributed_is_not_needed():
    code = """
import sys
sys.modules["distributed"] = None
import dask.array as da
import cudakern.dask as cd
print(cd.gather(da.arange(6, chunks=2), [5, 0]).compute().tolist())
"""
    assert printed(code) == "[5, 0]\n"
