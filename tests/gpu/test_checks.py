"""The checks of the first run on a GPU hold, and see what does not; on a stand-in, too."""

from __future__ import annotations

import threading
from functools import partial
from importlib import import_module
from itertools import product

import numpy as np
import pytest

from tests.gpu import checks, stress
from tests.helpers.fake_cupy import GRAPH, Array, MemoryPointer, allocated, installed
from tests.helpers.libraries import ABSENT
from tests.helpers.places import CUDA, HOST
from tests.helpers.rows import each
from tests.helpers.samples import sample

OPERATORS = ["compile_operator", "gather", "gather_nd", "nonzero", "nonzero_coordinates"]
OPERATORS += ["one_hot", "reduce"]


@pytest.fixture(autouse=True)
def little(monkeypatch):
    """Have all places do what the simulator does in a moment; some checks have a kernel each."""
    monkeypatch.setattr(stress, "ON_GPU", stress.ON_SIMULATOR)
    monkeypatch.setattr(checks, "LISTS", 4)
    for name, step in {"subnormal": 13, "bits": 13, "pages": 6}.items():
        every = checks.CHECKS[name]
        few = {HOST: sample(every(HOST), step)}
        monkeypatch.setitem(
            checks.CHECKS, name, lambda place, every=every, few=few: few.get(place) or every(place)
        )


@pytest.mark.parametrize("name", checks.CHECKS)
def test_checks_hold(place, name, capsys):
    assert checks.run(name, place) == 0
    assert ": ok\n" in capsys.readouterr().out


class Graph:
    """What was launched while a stream of the stand-in was captured."""

    def __init__(self, works):
        self.works = works

    def launch(self, stream):
        with stream:
            for work in self.works:
                work()


def graphs(fake):
    """Have a stand-in record what is launched on a stream that is captured; return its launcher."""
    state, turn, works = fake.state, threading.RLock(), []
    launch = fake.RawKernel.__call__

    def begin(stream, mode):
        state.captures += 1
        stream.ptr, state.capture_mode = GRAPH + state.captures, mode
        state.capturing.add(stream.ptr)
        works.clear()

    def end(stream):
        state.capturing.remove(stream.ptr)
        return Graph([*works])

    def launch_or_record(kernel, grid, block, args, *, shared_mem):
        given = (args[0].copy(),)
        work = partial(launch, kernel, grid, block, given, shared_mem=shared_mem)
        if state.stream.ptr in state.capturing:
            works.append(work)
        else:
            with turn:
                work()

    fake.cuda.Stream.begin_capture, fake.cuda.Stream.end_capture = begin, end
    fake.RawKernel.__call__ = launch_or_record
    for number, mode in enumerate(checks.MODES):
        setattr(fake.cuda.runtime, f"streamCaptureMode{mode}", number)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Put a stand-in in CuPy's place that has graphs and takes arrays of NumPy."""
    missing = {"raising": False}
    monkeypatch.setattr(Array, "set", lambda x, values: np.copyto(x.values, values), **missing)
    beyond = lambda at, n: MemoryPointer(at.mem, at.ptr - at.mem.ptr + n)  # noqa: E731
    monkeypatch.setattr(MemoryPointer, "__add__", beyond, **missing)
    with installed(tmp_path, by_address=False) as fake:
        graphs(fake)
        fake.asarray = lambda values: allocated(fake.state, values.copy(), 0)
        fake.cuda.runtime.deviceSynchronize = lambda: None
        yield fake


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("name", ["capture", "numbers", "stress"])  # of which a GPU's are others
def test_checks_hold_on_a_stand_in(name, capsys, monkeypatch):
    monkeypatch.setattr(checks.importlib.util, "find_spec", lambda _name: None)
    assert checks.run(name, CUDA) == 0, capsys.readouterr().out


@each("name", checks.CHECKS)
def test_operators_that_do_nothing_fail_every_check(monkeypatch, capsys, name):
    modules = ["cudakern"] if "dask" in ABSENT else ["cudakern", "cudakern.dask"]
    for module, operator in product(map(import_module, modules), OPERATORS):
        monkeypatch.setattr(module, operator, lambda *_, **__: None, raising=False)
    made = len(list(checks.CHECKS[name](HOST)))
    assert checks.run(name, HOST) == made > 0
    assert capsys.readouterr().out.count("FAILED") == made


def test_one_that_fails_is_named_and_the_others_are_made(monkeypatch, capsys):
    monkeypatch.setattr(checks.ck, "gather_nd", lambda *_, **__: 1 / 0)
    assert checks.main(["launch", "--engine", "simulator"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "launch: gather_nd: FAILED" in lines
    assert "ZeroDivisionError: division by zero" in lines
    assert "launch: reduce: ok" in lines
    assert lines[-1] == "1 failed"
