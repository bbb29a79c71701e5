"""The first checks of a GPU. ``python -m tests.gpu.checks NAME ...``.

launch      one launch of each operator
subnormal   reductions of subnormal numbers, which are no zeros
bits        reductions that have the same bits on a GPU and in the simulator
capture     each operator in a CUDA graph: in all three modes, and in torch.cuda.graph; its kernel
            loaded before, or never
numbers     lists beside arrays, many calls in flight, whose copies nobody waits for
misaligned  what is no launch of our own, with elements of 16 bytes that lie on 8
pages       the programs of the pages and the examples print what they say
stress      more launches than a workspace counts, threads, streams, repeats, graphs beside calls

Each check is a line; one that fails does not end the others, unless it loses the CUDA context.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
from contextlib import nullcontext
from functools import partial

import numpy as np

import cudakern as ck
from cudakern import engines
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.engines.cuda.library import import_cupy
from cudakern.engines.simulator import SimulatorEngine
from cudakern.values.dtypes import bfloat16
from tests.gpu.bits import bits
from tests.gpu.calls import (
    assert_are,
    captured,
    captured_by_torch,
    elements,
    operators,
    outputs,
    wait,
)
from tests.gpu.stress import stress
from tests.helpers.places import CUDA, DEVICE, HOST, POISON, Buffer, overwrite, poison, put
from tests.helpers.programs import programs

#: Modes of capture, as CuPy names them.
MODES = ("Relaxed", "ThreadLocal", "Global")
#: Calls with lists in flight at once.
LISTS = 300


def launch(place):
    """Yield a check of one launch for each operator."""

    def check(call, expect):
        x = elements()
        out = outputs(expect(x), place)
        call(put(x, place), out)
        assert_are(out, expect(x))

    for name, pair in operators(place).items():
        yield name, partial(check, *pair)


def subnormal(place):
    """Yield reductions of subnormal numbers: their bits count up like integers."""
    bits = np.zeros((5, 3000), np.uint32)
    rng = np.random.default_rng(3)
    bits.reshape(-1)[rng.choice(bits.size, 20, replace=False)] = rng.integers(1, 6, 20)

    def check(function, dtype, axis, raised):
        word = np.dtype(f"u{min(np.dtype(dtype).itemsize, 4)}")
        given = bits + raised
        expected = np.asarray(getattr(given, function)(axis))
        if not function.startswith("arg"):
            expected = expected.astype(word).view(dtype)
        out = outputs((expected,), place)
        ck.reduce(put(given.astype(word).view(dtype), place), function, axis, out=out[0])
        assert_are(out, (expected,))

    for dtype in filter(None, ("float32", bfloat16(), "float16")):
        for function, raised in {"argmax": 0, "max": 0, "sum": 0, "argmin": 1, "min": 1}.items():
            for axis in (None, 0, 1):
                label = f"{function} of {np.dtype(dtype)}, axis {axis}"
                yield label, partial(check, function, dtype, axis, np.uint32(raised))
    yield "sum of complex64", partial(check, "sum", "complex64", 0, np.uint32(0))


def capture(place):
    """Yield a check for each operator and mode; on the host, its calls are repeated."""
    ways = {"repeated": lambda call: call}
    if place == CUDA:
        ways = {mode: partial(captured, mode) for mode in MODES}
        if importlib.util.find_spec("torch"):
            ways["torch.cuda.graph"] = captured_by_torch

    def loaded_before(call, expect, way):
        call(put(elements(), place), outputs(expect(elements()), place))
        replay(call, expect, way)

    def never_loaded(call, expect, way):
        engine = CudaEngine() if place == CUDA else SimulatorEngine()
        with engines.use(engine):
            replay(call, expect, way)

    def replay(call, expect, way):
        values = elements()
        x, out = put(values, place), outputs(expect(values), place)
        wait(place)
        again = way(partial(call, x, out))
        for turn in range(1, 4):
            values = np.roll(values, turn)
            overwrite(x, values)
            for array in out:
                overwrite(array, poison(array.shape, array.dtype))
            wait(place)
            again()
            wait(place)
            assert_are(out, expect(values))

    for way in ways:
        for name, pair in operators(place).items():
            yield f"{name}, {way}", partial(loaded_before, *pair, ways[way])
            yield f"{name}, {way}, never loaded before", partial(never_loaded, *pair, ways[way])


def numbers(place):
    """Yield calls with lists of numbers beside an array, on each kind of stream."""

    def check(stream):
        values = np.arange(5 << 10).reshape(5, -1)
        x = put(values, place)
        wait(place)
        with stream:
            lists = [[k % 5, -1 - k % 3, k % 2] for k in range(LISTS)]
            results = [ck.gather(x, rows) for rows in lists]
            single = [ck.gather_nd(x, [(rows[0], 7)]) for rows in lists]
        wait(place)
        assert_are(single, [values[rows[:1], 7] for rows in lists])
        for rows, result in zip(lists, results, strict=True):
            assert_are([result], [values[rows]])

    streams = {"the host": nullcontext()}
    if place == CUDA:
        cuda = import_cupy().cuda
        streams = {"the null stream": cuda.Stream.null, "a stream": cuda.Stream(non_blocking=True)}
    for name, stream in streams.items():
        yield f"lists, on {name}", partial(check, stream)


def misaligned(place):
    """Yield calls in which nothing is launched and all elements are filled or copied."""
    x = np.arange(6).reshape(2, 3) * (1 - 2j)
    memory = Buffer(bytes(8) + x.tobytes(), place)
    off = memory.view(x.shape, x.dtype, offset=8)
    empty, floats = (put(np.empty((0, 3), kind), place) for kind in (x.dtype, np.float32))
    indices, nothing = put(np.zeros(4, np.int32), place), put(np.empty((2, 0), np.int32), place)
    fill = partial(ck.gather, indices=indices, mode="fill")
    calls = {
        "gather, fill": (partial(fill, empty, fill_value=1 - 2j), np.full((4, 3), 1 - 2j)),
        "gather, fill with zero": (partial(fill, empty, fill_value=0), np.zeros((4, 3), x.dtype)),
        "gather, fill with -0.0": (
            partial(fill, floats, fill_value=-0.0),
            np.full((4, 3), -0.0, np.float32),
        ),
        "gather_nd": (partial(ck.gather_nd, off, nothing), np.stack([x, x])),
        "reduce, sum": (partial(ck.reduce, empty, "sum", 0), np.zeros(3, x.dtype)),
        "reduce, multiply": (partial(ck.reduce, empty, "multiply", 0), np.ones(3, x.dtype)),
    }

    def check(call, expected, offset):
        room = bytearray([POISON]) * (expected.nbytes + 32)
        memory = Buffer(room, place)
        call(out=memory.view(expected.shape, expected.dtype, offset=offset))
        room[offset : offset + expected.nbytes] = expected.tobytes()
        assert memory.bytes().tobytes() == bytes(room), memory.bytes().tolist()

    for name, pair in calls.items():
        for offset in (0, 8):
            yield f"{name}, {offset} bytes beyond", partial(check, *pair, offset)


def pages(place):
    """Yield each program with arrays on a device, which the simulator has for the host."""

    def check(program):
        stand_in = partial(ck.simulator.in_place_of_cupy, devices=program.devices)
        with nullcontext() if place == CUDA else stand_in():
            found = program.run()
        assert found == program.printed, found

    for program in programs(CUDA if place == CUDA else DEVICE):
        yield program.name, partial(check, program)


CHECKS = {
    check.__name__: check
    for check in (launch, subnormal, bits, capture, numbers, misaligned, pages, stress)
}


def run(name, place):
    """Make the checks of a name, a line each; return how many failed.

    A lost context raises RuntimeError.
    """
    failures = 0
    for label, check in CHECKS[name](place):
        said = "ok"
        try:
            check()
            wait(place)
        except Exception:  # noqa: BLE001  whatever it is, the others are made
            said = f"FAILED\n{traceback.format_exc()}"
            failures += 1
        sys.stdout.write(f"{name}: {label}: {said}\n")
        sys.stdout.flush()
        wait(place)
    return failures


def main(words=None):
    """Make the checks that are named; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.gpu.checks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="+", choices=CHECKS)
    parser.add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    options = parser.parse_args(words)
    place = CUDA if options.engine == "cuda" else HOST
    failures = sum([run(name, place) for name in options.name])
    sys.stdout.write(f"{failures} failed\n")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
