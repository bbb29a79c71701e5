"""Calls that are known: they only launch, and mean what they meant when they were checked."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from contextlib import ExitStack

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import use
from cudakern.engines.simulator import SimulatorEngine
from cudakern.operators import binding
from cudakern.operators.arrays import native
from cudakern.process import caches
from tests.helpers.every_function import CASES, expected_of, poisoned, results_of, run
from tests.helpers.operator_samples import AT as INDICES
from tests.helpers.operator_samples import FEW as X
from tests.helpers.operator_samples import rows, rows_of_functions
from tests.helpers.places import beside, same_bytes
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.rows import each

PLACES = {"host": lambda array: array.copy(), "device": lambda array: on_device(array.copy())}


@pytest.fixture(autouse=True)
def _nothing_known():
    ck.clear_caches()


@pytest.fixture
def thorough(monkeypatch):
    """List the calls that are not known."""
    calls, call_thoroughly = [], binding.Binding._call_thoroughly  # noqa: SLF001

    def note(self, key, options, arrays, out):
        calls.append(options)
        return call_thoroughly(self, key, options, arrays, out)

    monkeypatch.setattr(binding.Binding, "_call_thoroughly", note)
    return calls


@each(("name", "place"), [(name, place) for name in CASES for place in PLACES])
def test_the_second_call_is_known(tmp_path, thorough, name, place):
    """It gives the right result, with an output and without."""
    case = CASES[name]
    with recorded(tmp_path):
        put = PLACES[place]
        for outputs in (False, True) if case.has_out else (False,):
            for turn in range(3):
                thorough.clear()
                given = [put(array) for array in poisoned(case)] if outputs else None
                results = run(case, put, given)
                for result, expected in zip(results, expected_of(case), strict=True):
                    assert same_bytes(result, expected), (name, place, outputs, turn)
                always = "owned" in name  # the operator's own inputs are no arguments
                assert len(thorough) == (turn == 0 or always), (name, place, outputs, turn)


class Counted:
    """How often each of some functions of CuPy's is called."""

    def __init__(self, record, monkeypatch):
        cuda, self.calls = record.cupy.cuda, []
        for owner, name in (
            (cuda.Device, "__enter__"),
            (cuda.runtime, "getDevice"),
            (cuda.driver, "launchKernel"),
            (cuda.runtime, "memcpy2DAsync"),
            (cuda, "alloc_pinned_memory"),
        ):
            self._count(owner, name, monkeypatch)

    def _count(self, owner, name, monkeypatch):
        function = getattr(owner, name)

        def call(*args, **kwargs):
            self.calls.append(name)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)


@each("name", [name for name in CASES if "owned" not in name])
def test_what_a_known_call_asks_for(tmp_path, monkeypatch, name):
    """The current device, a launch, an array for each result, a wait for a count: nothing else."""
    case, waits = CASES[name], name in {"argwhere", "nonzero"}
    with recorded(tmp_path) as record:
        counted = Counted(record, monkeypatch)
        ck.clear_caches()
        for outputs in (False, True) if case.has_out else (False,):
            operands = [on_device(array) for array in case.operands]
            given = [on_device(array) for array in poisoned(case)] if outputs else None
            for _ in range(2):
                counted.calls.clear()
                record.clear()
                results = results_of(run(case._replace(operands=operands), lambda a: a, given))
            assert counted.calls == ["getDevice", "launchKernel"], (name, outputs)
            sizes = [] if outputs else [result.data.mem.size for result in results]
            sizes = sizes[:1] if waits else sizes
            assert (sorted(record.allocations), record.memsets) == (sorted(sizes), [])
            assert (record.synchronisations, len(record.waits)) == ([], waits)


#: Calls with one option, and values for that, many of which are equal and mean different things.
EQUALS = rows_of_functions(
    "EQUALS", unless=[name for name, options in rows("OPTIONS").items() if not options]
)


def outcome(call, value):
    """Return the bytes of results and what they are, or what the error says."""
    try:
        results = results_of(call(ck, value))
    except ck.CudakernError as error:
        return type(error), str(error)
    if type(results) is ck.NonzeroCoordinates:  # rows behind the count are undefined
        return int(results.count[0]), results.coordinates.dtype, results.coordinates.shape
    return [(array.dtype, array.shape, array.tobytes()) for array in results]


@each("name", EQUALS)
def test_equal_options_are_not_confused(name):
    call, values = EQUALS[name]
    expected = []
    for value in values:
        ck.clear_caches()
        expected.append(outcome(call, value))
    assert any(isinstance(one, list) or len(one) == 3 for one in expected)
    for known in values:
        ck.clear_caches()
        for _ in range(2):
            outcome(call, known)
        for value, wanted in zip(values, expected, strict=True):
            for _ in range(2):
                assert outcome(call, value) == wanted, (name, known, value)


#: Arrays with one other fact: strides, address modulo 16, dtype, shape, device.
OTHERS = {
    "strides": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "address": lambda a: np.append(a[:1], a)[a[:1].size :].reshape(a.shape),
    "dtype": lambda a: a.astype(np.int64 if a.dtype == np.int32 else np.int32),
    "shape": lambda a: np.append(a, a, 0),
}


@each(("fact", "which"), [(fact, k) for fact in OTHERS for k in range(3)])
def test_other_facts_are_another_call(tmp_path, fact, which):
    """A call that differs from a known one in a fact of one array has its own result, or error."""

    def arrays(*, vary):
        given = [X.copy(), INDICES.copy(), np.full((3, 4), 77, np.float32)]
        if vary:
            given[which] = OTHERS[fact](given[which])
        if vary and fact == "dtype" and which != 1:  # out has that of x
            given[2 - which] = given[2 - which].astype(given[which].dtype)
        return given

    with recorded(tmp_path):
        for device, vary in ((0, False), (0, False), (0, True), (1, False), (1, True)):
            given = arrays(vary=vary)
            x, indices, out = [on_device(array, device) for array in given]
            if vary and fact == "shape" and which:
                with pytest.raises(ck.BindingError, match="out must have shape"):
                    ck.gather(x, indices, out=out)
            else:
                ck.gather(x, indices, out=out)
                assert np.array_equal(out.get(), given[0][given[1]]), (fact, which, device)


class Subclass(np.ndarray):
    """An array that is not of NumPy's own class."""


#: Calls that do more than launch, or whose arrays are not those of the launch.
ALWAYS_CHECKED = {
    "an index may be out of range": lambda: ck.gather(X, INDICES, mode="raise"),
    "narrow indices": lambda: ck.gather(X, INDICES.astype(np.int8)),
    "misaligned x": lambda: ck.reduce(beside(X), "sum"),
    "misaligned out": lambda: ck.reduce(X, "sum", 0, out=beside(np.zeros(4, "f4"))),
    "a list": lambda: ck.gather(X, [0, 2]),
    "a subclass": lambda: ck.gather(X.view(Subclass), INDICES),
    "out of a subclass": lambda: ck.reduce(X, "sum", 0, out=np.zeros(4, "f4").view(Subclass)),
    "no elements": lambda: ck.reduce(X[:0], "sum", 0),
    "no results": lambda: ck.gather(X, INDICES[:0]),
    "other dtype of values": lambda: ck.one_hot(INDICES, 2, values=np.array([0, 1]), dtype="f4"),
    "NaN": lambda: ck.gather(X, INDICES, mode="fill", fill_value=float("nan")),
    "a number of NumPy's": lambda: ck.reduce(X, "sum", np.int64(0)),
    "not hashable": lambda: ck.one_hot(INDICES, 2, values=[0, 1]),
}


@each("name", ALWAYS_CHECKED)
def test_what_is_never_known(thorough, name):
    call = ALWAYS_CHECKED[name]
    thorough.clear()
    for turn in range(3):
        call()
        assert len(thorough) == turn + 1


def test_each_call_is_held_against_overlap_and_what_must_not_be_written(thorough):
    memory, sums = np.zeros((8, 4), np.float32), np.zeros(4, np.float32)
    for out in (memory[3:6], memory[5:8]):
        for _ in range(2):
            ck.gather(memory[:3], INDICES, out=out)
    assert len(thorough) == 1
    with pytest.raises(ck.BindingError, match="out must not overlap x"):
        ck.gather(memory[:3], INDICES, out=memory[2:5])
    for _ in range(2):
        ck.reduce(X, "sum", 0, out=sums)
    sums.flags.writeable = False
    with pytest.raises(ck.BindingError, match="must be writeable"):
        ck.reduce(X, "sum", 0, out=sums)


@each(("starts", "checked"), [((0, 0, 4, 0), 2), ((4, 0, 4, 0), 3)])
def test_an_output_elsewhere_modulo_16_bytes_is_bound_anew(monkeypatch, thorough, starts, checked):
    """Of a call that is known, where outputs start on 16 bytes; of one that is not, also."""
    ck.clear_caches()
    thorough.clear()
    remaining = iter(starts)

    def maker(shape, *_):
        """Return what makes arrays over memory of a caller's allocator."""
        return lambda: np.zeros(16, np.float32)[next(remaining) // 4 :][:12].reshape(shape)

    monkeypatch.setattr(native, "maker", maker)
    for _ in range(3):
        assert np.array_equal(ck.gather(X, INDICES), X[INDICES])
    assert len(thorough) == checked
    assert next(remaining, None) is None


@each("how", ["cleared", "another engine", "a fork"])
def test_calls_are_forgotten(thorough, how):
    ck.clear_caches()
    thorough.clear()
    for _ in range(2):
        ck.reduce(X, "sum")
    assert len(thorough) == 1
    if how == "cleared":
        ck.clear_caches()
    elif how == "another engine":
        with use(SimulatorEngine()):
            ck.reduce(X, "sum")
        assert len(thorough) == 2
        thorough.pop()
    else:
        child = os.fork()
        if not child:
            os._exit(ck.reduce(X, "sum") != X.sum() or len(thorough) != 1)
        assert os.waitpid(child, 0)[1] == 0, "known there, too, on the host"
        return
    ck.reduce(X, "sum")
    assert len(thorough) == 2


def test_a_known_call_keeps_no_array():
    x, out = X + 1, np.zeros((3, 4), np.float32)
    gone = [weakref.ref(x), weakref.ref(out)]
    for _ in range(2):
        ck.gather(x, INDICES, out=out)
        ck.nonzero(x)
        ck.argwhere(x)
        ck.nonzero_coordinates(x)
    del x, out
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_equal_dtypes_give_equal_results():
    """Metadata, which equal dtypes may differ in, is not handed on; nor is another's kept."""
    table = np.arange(6, dtype=np.int64)
    of = [np.dtype("i8", metadata={"enum": number}) for number in range(2)]
    for dtype in (*of, np.dtype(np.longlong), np.dtype("i8")) * 2:
        x = table.view(dtype)
        for result in (
            ck.gather(x, INDICES),
            ck.gather_nd(x, INDICES[:, None]),
            ck.one_hot(INDICES, 3, values=x[:2]),
            ck.one_hot(INDICES, 3, dtype=dtype),
            ck.reduce(x, "max", 0),
            ck.nonzero_coordinates(x, dtype=dtype).coordinates,
        ):
            assert (result.dtype.metadata, result.dtype.char) == (None, "l")


@each("how", ["another engine", "the stand-in"])
def test_a_call_that_is_under_way_is_not_kept(monkeypatch, how):
    """It was begun with an engine that is no longer there."""
    run, left = binding.Binding.run, ExitStack()
    cupy = left.enter_context(ck.simulator.in_place_of_cupy()) if how == "the stand-in" else np
    x, indices = cupy.asarray(X), cupy.asarray(INDICES)

    def run_and_leave(self, *args):
        bound = run(self, *args)
        left.close() if how == "the stand-in" else left.enter_context(use(SimulatorEngine()))
        return bound

    with monkeypatch.context() as patch, left:
        patch.setattr(binding.Binding, "run", run_and_leave)
        ck.gather(x, indices)
        patch.undo()
        assert not any(size.entries for size in caches.sizes().values())
        assert np.array_equal(np.asarray(ck.gather(X, INDICES)), X[INDICES])


def test_threads_know_the_same_calls():
    x = np.arange(2**10, dtype=np.int64)
    wrong = []

    def work(k):
        out = np.zeros((), np.int64)
        for turn in range(200):
            n = 1 + (k + turn) % 7
            if ck.reduce(x[:n], "sum") != x[:n].sum() or ck.reduce(x[:n], "max", out=out) != n - 1:
                wrong.append((k, turn))
            if turn % 50 == k:
                ck.clear_caches()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
