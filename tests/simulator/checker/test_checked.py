"""The context manager `checked`: its report, its error, its seeds, and its findings' texts."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, checked, empty
from cudakern.simulator.launching.launch_parameters import operand_of
from tests.helpers.rows import each
from tests.simulator.launches import findings_of

SET = 'extern "C" __global__ void set(int* x, int i) { x[i] = 7; }'
FILL = 'extern "C" __global__ void fill(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }'
RACE = """extern "C" __global__ void race(int* x) {
  x[0] = threadIdx.x;
  x[1] = x[2] + threadIdx.x;
}"""


def zeros(size, dtype=np.int32):
    return np.zeros(size, dtype)


def outside(index=3, size=3):
    """Launch a kernel that writes outside its array."""
    RawKernel(SET, "set")((1,), (1,), (zeros(size), index))


def test_nothing_found():
    x = zeros(6)
    with checked() as report:
        RawKernel(FILL, "fill")((2,), (3,), (x,))
        assert report.launches == 1
    assert report.findings == []
    assert str(report) == "nothing found in 1 launch"
    assert x.tolist() == [1] * 6


def test_an_error_at_the_end_with_all_findings():
    with pytest.raises(ck.SimulatorError) as caught, checked() as report:  # noqa: PT012
        outside()
        RawKernel(FILL, "fill")((1,), (1,), (zeros(1),))
        RawKernel(SET.replace("set", "put"), "put")((1,), (1,), (zeros(3), -1))
        assert len(report.findings) == 2
    error = caught.value
    assert error.findings == tuple(report.findings)
    assert [(f.kernel, f.index) for f in error.findings] == [("set", 3), ("put", -1)]
    assert (error.kind, error.kernel) == ("out_of_bounds", "set")
    assert str(error).endswith("; and 1 more finding")
    assert "\n" not in str(error)
    assert report.launches == 3


def test_every_output_has_what_several_launches_find_once(tmp_path):
    with pytest.raises(ck.SimulatorError) as caught, checked() as report:  # noqa: PT012
        for index in (3, -1, 7):
            outside(index)
    (finding,) = report.findings
    assert finding.index == 3
    assert caught.value.findings == (finding,)
    assert "more finding" not in str(caught.value)
    assert str(report) == str(finding)
    assert len(json.loads(report.json())["findings"]) == 1
    assert report._repr_html_().count("out_of_bounds") == 1
    report.html(tmp_path / "a.html")
    assert "<title>cudakern: 1 finding</title>" in (tmp_path / "a.html").read_text("utf-8")


def test_an_error_of_the_block_comes_from_the_findings():
    with pytest.raises(ck.SimulatorError) as caught, checked():  # noqa: PT012
        outside()
        raise AssertionError
    assert isinstance(caught.value.__cause__, AssertionError)


@each("error", [AssertionError(), KeyboardInterrupt(), ck.BindingError("a", "b", "c")])
def test_an_error_of_the_block_without_findings(error):
    with pytest.raises(type(error)), checked():
        raise error
    outside_is_not_checked_any_more = RawKernel(FILL, "fill")
    outside_is_not_checked_any_more((1,), (1,), (zeros(1),))


def test_the_innermost_of_nested_blocks_takes_note():
    with checked() as outer:
        with pytest.raises(ck.SimulatorError), checked() as inner:
            outside()
        RawKernel(FILL, "fill")((1,), (1,), (zeros(1),))
    assert (len(inner.findings), inner.launches) == (1, 1)
    assert (outer.findings, outer.launches) == ([], 1)


def test_what_a_finding_says():
    code = """
__device__ __forceinline__ void put(float* x, int i) {
  x[i] = 1.0f;
}
extern "C" __global__ void k(int n, float* x) {
  const int i = n * blockIdx.y + threadIdx.x;
  put(x, i);
}"""
    with pytest.raises(ck.SimulatorError) as caught, checked():
        RawKernel(code, "k")((1, 2), (3,), (3, zeros(5, np.float32)))
    (finding,) = caught.value.findings
    assert (finding.kind, finding.kernel, finding.array) == ("out_of_bounds", "k", 1)
    assert (finding.block, finding.thread, finding.index) == ((0, 1, 0), (2, 0, 0), 5)
    assert finding.source == ("k.cu", 3)
    assert finding.stack == (("k.cu", 3), ("k.cu", 7))
    assert finding.message == (
        "k.cu:3 (called at k.cu:7): write of 4 bytes must lie inside of an array; it is element 5 "
        "of argument 1 (x), shape (5,) (block (0, 1, 0), thread (2, 0, 0))"
    )
    assert str(finding) == f"k: out_of_bounds: {finding.message}"
    assert (caught.value.block, caught.value.thread) == (finding.block, finding.thread)


@each("protocol", [0, pickle.HIGHEST_PROTOCOL])
def test_errors_can_be_pickled(protocol):
    with pytest.raises(ck.SimulatorError) as caught, checked():
        outside()
    copy = pickle.loads(pickle.dumps(caught.value, protocol))  # noqa: S301  our own
    assert copy.findings == caught.value.findings
    assert (str(copy), copy.kind) == (str(caught.value), caught.value.kind)


def test_a_seed_gives_the_same_findings_again():
    def races(seed):
        return findings_of(RACE, zeros(3), grid=3, block=70, seed=seed)

    def places(findings):
        return [(finding.block, finding.thread) for finding in findings]

    first = races(5)
    assert {finding.kind for finding in first} == {"race"}
    assert races(5) == first
    assert any(places(races(seed)) != places(first) for seed in range(6, 12))


def test_a_block_of_1024_threads():
    code = """extern "C" __global__ void k(int* x, volatile int* y) {
      const int t = threadIdx.x;
      x[t] = t;
      __threadfence();
      __syncthreads();
      y[t] = x[1023 - t];
    }"""
    x, y = zeros(1024), zeros(1024)
    for seed in range(2):
        assert findings_of(code, x, y, grid=1, block=1024, seed=seed) == []
        assert y.tolist() == [*range(1023, -1, -1)]


def test_a_write_is_held_against_each_warp_that_read():
    code = """extern "C" __global__ void k(int* x, int* y) {
      __shared__ int s;
      if (threadIdx.x == 0) s = x[0];
      __syncthreads();
      if (threadIdx.x == 0) y[0] = s;
      if (threadIdx.x == 32) {
        y[1] = s;
        s = x[1];
      }
    }"""
    for seed in range(8):  # in some of which the second warp comes late
        (finding,) = findings_of(code, zeros(2), zeros(2), block=64, seed=seed)
        assert (finding.kind, finding.array) == ("race", "s")


def test_a_store_acquires_nothing():
    # Fences around stores do not order anything either, except fence.sc, which __threadfence is.
    code = """#define FENCE asm volatile("fence.acq_rel.gpu;" ::: "memory")
    extern "C" __global__ void k(int* flag, int* data, int* out) {
      if (threadIdx.x == 0) {
        data[0] = 1;
        FENCE;
        *(volatile int*)flag = 1;
      } else if (threadIdx.x == 32) {
        *(volatile int*)flag = 2;
        FENCE;
        out[0] = data[0];
      }
    }"""
    for seed in range(8):  # in some of which the second warp comes late
        found = findings_of(code, zeros(1), zeros(1), zeros(1), block=64, seed=seed)
        assert {(finding.kind, finding.array) for finding in found} == {("race", 0), ("race", 1)}


def test_seeds_differ_in_the_order_of_threads(capfd):
    code = r'extern "C" __global__ void say() { printf("%d.%d ", blockIdx.x, threadIdx.x); }'
    orders = []
    for seed in (0, 0, 1, 2):
        with checked(seed):
            RawKernel(code, "say")((3,), (64,), ())
        orders.append(capfd.readouterr().out)
    assert orders[0] == orders[1]
    assert len({*orders}) == 3
    assert len({" ".join(sorted(order.split())) for order in orders}) == 1


def test_a_seed_gives_the_same_order_whatever_ran_before():
    code = """extern "C" __global__ void order(int* drawn, int* turns) {
      const int first = 5 * (blockIdx.x * blockDim.x + threadIdx.x);
      for (int k = 0; k < 5; ++k) turns[first + k] = atomicAdd(drawn, 1);
    }"""
    orders = set()
    for _ in range(60):  # so many that a count of atomics kept between launches would show
        drawn, turns = zeros(1), zeros(5 * 256)
        with checked(3):
            RawKernel(code, "order")((8,), (32,), (drawn, turns))
        orders.add(turns.tobytes())
    assert len(orders) == 1


@each("blocks", [1, 2, np.int64(3), 100, 10**9])
@each("seed", [0, -1, 2**64, np.uint8(7)])
def test_settings(blocks, seed):
    x = zeros(40)
    with checked(seed, blocks):
        RawKernel(FILL, "fill")((10,), (4,), (x,))
    assert x.tolist() == [1] * 40


@each("odd", [None, "1", 1.5, True, np.ones(2), np.zeros(1, [("a", "i4")])])
@each("argument", ["seed", "resident_blocks", "strict"])
def test_settings_must_be_integers(argument, odd):
    odd = int(odd) if argument == "strict" and type(odd) is bool else odd
    message = rf"^simulator.checked: {argument} must be (an int|True or False); got "
    with pytest.raises(ck.DTypeError, match=message), ck.simulator.checked(**{argument: odd}):
        pass
    for blocks in (0, -1):
        expected = pytest.raises(ck.BindingError, match=f"must be at least 1; got {blocks}")
        with expected, checked(resident_blocks=blocks):
            pass


FORGOTTEN = """extern "C" __global__ void k(int* x) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 1;
  __syncthreads();
  const int v = s;
  if (threadIdx.x < 32) {
    MEET
    if (threadIdx.x == 0) s = 2;
  } else {
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  }
  x[threadIdx.x] = v;
}"""


def test_readers_whom_nobody_remembers_are_noted():
    code = FORGOTTEN.replace("MEET", 'asm volatile("bar.sync 1, 128;" ::: "memory");')
    for seed in range(3):
        with checked(seed) as report:
            RawKernel(code, "k")((1,), (128,), (np.zeros(128, np.int32),))
        (note,) = report.notes
        assert re.match(r"k: not checked: k.cu:8 is .*test_checked.py:\d+: a write of what", note)
        assert str(report) == f"nothing found in 1 launch\n{note}"


STRICT_NOTES = """extern "C" __global__ void k(volatile int* x, int* y, int n) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) x[0] = x[1] = 1;
    if (threadIdx.x >= n) return;
    __syncthreads();
  } else if (threadIdx.x == 0) {
    y[0] = x[0];
    y[1] = x[1];
  }
}"""


def test_what_strict_launches_alone_report_is_counted():
    notes = {}
    for seed in range(4):  # the same reads and writes, in any order
        with checked(seed) as report:
            for n in (20, 32, 20):
                arguments = np.zeros(2, np.int32), np.zeros(2, np.int32), np.int32(n)
                RawKernel(STRICT_NOTES, "k")((2,), (32,), arguments)
        assert str(report) == "\n".join(("nothing found in 3 launches", *report.notes))
        notes |= dict.fromkeys(report.notes)
    barrier = "1 barrier went on without threads that had exited, the first at k.cu:5"
    assert any(note.startswith(f"k: strict has more: {barrier} is ") for note in notes)
    pairs = r"k: strict has more: \d pairs? of accesses by volatile met unordered, the first at k"
    assert any(re.match(pairs, note) for note in notes)
    with pytest.raises(ck.SimulatorError) as caught, checked(strict=True) as report:
        RawKernel(STRICT_NOTES, "k")((2,), (32,), arguments)
    assert {finding.kind for finding in caught.value.findings} >= {"barrier_divergence"}
    assert report.notes == []


def test_readers_before_a_barrier_of_the_block_need_not_be_remembered():
    code = FORGOTTEN.replace("MEET", "").replace("asm", "//")
    code = code.replace("const int v = s;", "const int v = s; __syncthreads();")
    with checked() as report:
        RawKernel(code, "k")((1,), (128,), (np.zeros(128, np.int32),))
    assert str(report) == "nothing found in 1 launch"


DOUBLED = """extern "C" __global__ void k(const int* x, int* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[i] * 2;
}"""


@each("missing", range(5))
def test_a_word_that_is_written_in_part(missing):
    """At the end of what the host has written, or at its beginning."""
    last, first = empty(100, np.int32), empty(100, np.int32)
    last.view(np.uint8)[: 400 - missing] = 0
    first.view(np.uint8)[40 + missing :] = 0
    for array, lowest, elements in ((last, 0, {99}), (first, 10, {10})):
        x, y = array[lowest:], empty(100, np.int32)
        found = findings_of(DOUBLED, x, y, np.int32(100 - lowest), block=128)
        assert {f.index + lowest for f in found} == (elements if missing else set())
        assert {f.kind for f in found} <= {"uninitialized"}


def test_bytes_that_look_unwritten_by_chance():
    generator = np.random.default_rng(1)
    for _ in range(1000):
        array = empty(64, np.uint32)
        written = array.view(np.uint8)[: 4 * generator.integers(1, 64)]
        written[:] = generator.integers(0, 256, written.size)
        pattern = empty(array.size, np.uint32).view(np.uint8)[: written.size]
        written[-1], written[-2] = pattern[-1], ~pattern[-2]
        unwritten = operand_of("x", array, None).unwritten
        assert unwritten.tolist() == [0] * written.size + [1] * (256 - written.size)


@each("members, dtype", [("double a; int b;", np.float64), ("int a, b;", np.int32)])
def test_structures_that_earlier_launches_wrote(members, dtype):
    code = """struct Item { MEMBERS };
extern "C" __global__ void fill(Item* x, int missing) {
  if (threadIdx.x != missing) x[threadIdx.x].a = x[threadIdx.x].b = 1;
}
extern "C" __global__ void copy(const Item* x, Item* y) { y[threadIdx.x] = x[threadIdx.x]; }"""
    module = RawModule(code=code.replace("MEMBERS", members))
    fill, copy = map(module.get_function, ("fill", "copy"))
    for missing in (0, 3, 7):
        x, y = empty((8, 2), dtype), empty((8, 2), dtype)
        with checked() as report:
            fill((1,), (8,), (x, missing))
            copy((1,), (missing,), (x, y)) if missing else None
            assert report.findings == []  # padding, which nothing writes, is not one
            copy((1,), (8,), (x, y))
            found = [(f.kind, f.index // 2) for f in report.findings]
            report.findings.clear()
        assert found == [("uninitialized", missing)]
        assert y[:missing, 0].tolist() == [1] * missing
