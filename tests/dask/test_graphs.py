"""Graphs: nothing is computed while they are built, equal calls have equal keys, they are small."""

from __future__ import annotations

import pickle
from importlib import import_module
from inspect import Parameter, signature

import dask
import dask.array as da
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from cudakern.operators.operator import operators
from tests.helpers.bound import launched
from tests.helpers.every_function import CASES
from tests.helpers.operator_samples import functions, rooms, rows, rows_of_functions
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough

NAMES = sorted(function.__name__ for function in functions())


#: Calls of all functions, in every mode and with every kind of partial result.
GRAPHS = rows_of_functions("GRAPHS", "lazy")


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


@each("name", GRAPHS)
def test_nothing_is_computed_while_a_graph_is_built(name, operands, launches):
    def scheduler(*_, **__):
        raise AssertionError("a graph was computed")

    with dask.config.set(scheduler=scheduler):
        lazy = GRAPHS[name](*operands.values())
    assert launches == []
    assert isinstance(lazy, da.Array)
    with pytest.raises(AssertionError, match="was computed"):
        lazy.compute()


def test_equal_calls_have_equal_keys_others_have_others_and_all_pickle(operands):
    first, second = ([call(*operands.values()) for call in GRAPHS.values()] for _ in range(2))
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
    of_each = [next(iter(room.GRAPHS)) for _, room in rooms("lazy")]
    names = GRAPHS if is_thorough() else dict.fromkeys(TOGETHER + of_each)
    arrays = [GRAPHS[name](x, indices % 20, tuples) for name in names]
    arrays = [array for array in arrays if "coordinates-table" not in array.name]  # ends undefined
    alone = [array.compute() for array in arrays]
    together = dask.compute(*arrays, scheduler="threads")
    for array, one, other in zip(arrays, alone, together, strict=True):
        assert one.tobytes() == other.tobytes(), array.name


#: How many tasks of a call there are at most beside those of x, for each chunk of what varies.
GROWTH = rows("GROWTH", "lazy")


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
    for name, options in rows("OPTIONS").items():
        given = dict(zip(CASES[name].least, CASES[name].operands, strict=True))
        first = next(iter(given))
        given[first] = unknown.astype(given[first].dtype)
        parameters = signature(getattr(ck, name)).parameters
        given |= {k: v[0] for k, v in options.items() if parameters[k].default is Parameter.empty}
        with pytest.raises(ck.ArgumentError) as caught:
            getattr(cd, name)(**given)
        text = f"{first} must have chunks of known sizes; got shape (nan,); "
        assert f"{text}call {first}.compute_chunk_sizes() first" in str(caught.value)
    known = cd.argwhere(x).compute_chunk_sizes()
    assert cd.reduce(known, "max").compute() == 5


@each("name", NAMES)
def test_functions_have_the_arguments_of_the_eager_ones(name):
    lazy, eager = (signature(getattr(module, name)) for module in (cd, ck))
    facts = [
        [(p.name, p.kind, p.default) for p in signature.parameters.values()]
        for signature in (lazy, eager)
    ]
    assert facts[0] == facts[1]
    assert sorted(cd.__all__) == NAMES
    for operator in operators():
        module = import_module(f"cudakern.operators.{operator.folder}.dask")
        for f in operator.functions:
            assert getattr(cd, f.__name__) is getattr(module, f.__name__)


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
    text = 'cudakern: dask is not installed; run: pip install "cudakern[dask]"\n'
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
