"""What reports of traffic say to change and call a broadcast, and how they tell kernels apart."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, traffic
from cudakern.simulator.reports.html import page
from cudakern.simulator.reports.traffic import LineTraffic, Requests
from tests.helpers.pages import Page
from tests.helpers.rows import each

TOGETHER = "let neighbouring threads take neighbouring elements"


def line_of(body, kind="load", *, before="", blocks=None, scattered=None):
    """Return the traffic of the array x at one line, by 64 threads of two blocks."""
    code = f"""{before}
extern "C" __global__ void k(float* x, const int* idx, float* out) {{
  const int t = threadIdx.x;
{body}
}}"""
    x = np.zeros(2**15, np.float32)
    idx = np.zeros(64, np.int32) if scattered is None else scattered
    with traffic(blocks=blocks) as report:
        RawKernel(code, "k")((2,), (64,), (x, idx, np.zeros(64, np.float32)))
    own = (line for line in report.kernels[0].lines if line.kind == kind)
    return next(line for line in own if kind != "load" or line.array == 0)


SCATTERED = np.random.default_rng(3).permutation(2**14)[:64].astype(np.int32)
STEP = "out[t] = x[{}];"


@each(
    "body, distance, advice",
    [
        (STEP.format("t"), 4, ""),
        (STEP.format("2 * t"), 8, ""),  # half of what moves was asked for
        (STEP.format("128 * t"), 512, f"neighbouring threads are 512 bytes apart: {TOGETHER}"),
        (STEP.format("9000 - 3 * t"), 12, f"neighbouring threads are 12 bytes apart: {TOGETHER}"),
        (STEP.format("t + idx[0]"), 4, ""),
        (STEP.format("t / 2 * 64 + t % 2"), 4, "only 2 neighbouring threads are side by side"),
        (STEP.format("t * t * 8"), None, "neighbouring threads are at scattered places: sort"),
        (STEP.format("t / 3 * 64 + t % 3"), 4, "only 2.78 neighbouring threads are side by side"),
        ("  if (t == 5) " + STEP.format("t"), None, "requests are of 1 of 32 threads: let"),
        ("  if (t < 3) " + STEP.format("t"), 4, "requests are of 3 of 32 threads: let"),
        (STEP.format("7"), 0, ""),
        ("if (t % 2) " + STEP.format("16 * t"), None, "requests are of 16 of 32 threads: let"),
        # of two instructions of a line, the one whose threads are farther apart
        ("out[t] = x[t * 16] + x[t];", 64, f"neighbouring threads are 64 bytes apart: {TOGETHER}"),
    ],
)
def test_lines_below_a_half_say_what_to_change(body, distance, advice):
    for blocks in (None, 1):  # also of a sample
        line = line_of(body, blocks=blocks)
        assert line.distance == distance
        assert line.advice.startswith(advice)
        assert bool(line.advice) is bool(advice)
        assert bool(line.advice) is (line.efficiency < 0.5)


def test_random_indices_are_told_so():
    for body in ("out[t] = x[idx[t]];", "out[t] = x[idx[t]] + x[t * 16];"):
        line = line_of(body, scattered=SCATTERED)
        assert line.distance is None
        assert line.advice.startswith("neighbouring threads are at scattered places: sort or group")


WIDE = """__shared__ float4 s[64];
  s[t] = ((float4*)x)[t];
  __syncthreads();
  ((float4*)x)[t] = s[63 - t];"""


@each(
    "body, kind, before, advice",
    [
        (
            "__shared__ volatile float s[4096]; s[32 * t] = x[t];",
            "shared store",
            "",
            "neighbouring threads are 128 bytes apart, in one bank: pad rows by an element",
        ),
        (
            "__shared__ volatile float s[4096]; s[4 * t] = x[t];",
            "shared store",
            "",
            "neighbouring threads are 16 bytes apart, and several share a bank: let",
        ),
        ("__shared__ volatile double s[64]; s[t] = x[t];", "shared store", "", ""),
        (
            WIDE,
            "shared load",
            "",
            "",
        ),
        ("__shared__ volatile float s[4096]; s[33 * t] = x[t];", "shared store", "", ""),
        ("x[t] = c[t];", "constant load", "__constant__ float c[64];", "threads of a warp read"),
        ("x[t] = c[idx[0]];", "constant load", "__constant__ float c[64];", ""),
        (
            "float a[8]; for (int i = 0; i < 8; ++i) a[(i + idx[0]) % 8] = i; x[t] = a[t % 8];",
            "local load",
            "",
            "threads of a warp use different indices",
        ),
    ],
)
def test_other_memory_than_global(body, kind, before, advice):
    line = line_of(body, kind, before=before)
    assert line.advice.startswith(advice)
    assert bool(line.advice) is bool(advice)


def test_a_broadcast_has_no_efficiency_above_one():
    line = line_of(STEP.format("7"))
    assert (line.efficiency, line.is_broadcast) == (1, True)
    assert str(line).endswith("  1.00 sectors/request  broadcast")
    assert not line_of(STEP.format("t")).is_broadcast
    assert not Requests().is_broadcast


def test_advice_stands_below_its_line_and_on_the_page():
    code = 'extern "C" __global__ void k(float* x) { x[64 * threadIdx.x] = x[0]; }'
    with traffic() as report:
        RawKernel(code, "k")((1,), (32,), (np.zeros(2048, np.float32),))
    said = f"neighbouring threads are 256 bytes apart: {TOGETHER}"
    head, load, store, advice = str(report).split("\n")
    assert head == "k: 1 launch, 256 bytes requested, 1,056 bytes moved"
    assert load.endswith("broadcast")
    assert store.endswith(" 12% efficiency")
    assert advice == f"    {said}"
    rows = Page(page.render(report.report)).rows("line", "kernel", "access")
    assert [(row["efficiency"], row["what to change"]) for row in rows] == [
        ("12%", said),
        ("broadcast", ""),
    ]


def test_lines_of_several_launches_have_the_strides_of_all():
    line = LineTraffic(requests=1, neighbours=31, strides={4: 31})
    line.include(LineTraffic(requests=1, neighbours=31, strides={64: 31, 4: 2}))
    assert (line.requests, line.neighbours, line.strides) == (2, 62, {4: 33, 64: 31})


def test_kernels_of_one_name_are_told_apart():
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    code = "template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }"
    module = RawModule(code=code, name_expressions=["scale<int>", "scale<float>"])
    filling = 'extern "C" __global__ void fill(TYPE* x) { x[threadIdx.x] = VALUE; }'
    x, y = np.ones(32, np.float32), np.ones(32, np.int32)
    with traffic() as report, ck.simulator.in_place_of_cupy():
        import cupy as cp  # noqa: PLC0415  the stand-in

        module.get_function("scale<int>")((1,), (32,), (y,))
        module.get_function("scale<float>")((1,), (32,), (x,))
        add = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
        for dtype in (np.float32, np.int16):
            add(cp.ones(8, dtype), cp.ones(8, dtype))
        for type_, value, array in (("float", 1, x), ("float", 2, x), ("int", 1, y)):
            options = (f"-DTYPE={type_}", f"-DVALUE={value}")
            RawKernel(filling, "fill", options)((1,), (32,), (array,))
            RawKernel(filling, "fill", options)((1,), (32,), (array,))
    names = [
        "scale<int>",
        "scale<float>",
        "add(float32, float32, float32)",
        "add(int16, int16, int16)",
        "fill(float32) #1",
        "fill(float32) #2",
        "fill(int32)",
    ]
    assert [text.partition(":")[0] for text in str(report).split("\n\n")] == names
    shown = Page(page.render(report.report))
    assert [row["kernel"] for row in shown.rows("kernel", "launches")] == names
    assert {row["kernel"] for row in shown.rows("array", "kernel")} == {*names}
    assert [kernel.launches for kernel in report.kernels] == [1, 1, 1, 1, 2, 2, 2]
    assert [kernel.kernel for kernel in report.kernels[2:4]] == ["add", "add"]
