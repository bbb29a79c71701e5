"""Calls of each operator whose results are known, eager or captured into a CUDA graph."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.helpers.operator_samples import rows
from tests.helpers.places import CUDA, overwrite, poison, put, same_bytes, wait_for_gpu

LARGE = rows("LARGE")


def wait(place):
    """Wait until all launches are done; raise what CuPy says of them if one failed."""
    if place == CUDA:
        wait_for_gpu()


def elements():
    """Return what operators are called with: more than a block's share, so with a workspace."""
    return np.random.default_rng(5).integers(0, 5, (3, 40_000), np.int32)


def operators(place):
    """Return calls of each operator that take x and outputs, and what the outputs must be."""

    def with_others(call, others):
        others = [put(array, place) for array in others]
        return lambda x, out: call(x, *others, out)

    return {
        name: (with_others(call, others), expect) for name, (call, others, expect) in LARGE.items()
    }


def outputs(expected, place):
    """Return poisoned arrays in place of those that are expected."""
    return tuple(put(poison(array.shape, array.dtype), place) for array in expected)


def assert_are(out, expected):
    """All bytes of the outputs are what is expected."""
    for k, (array, wanted) in enumerate(zip(out, expected, strict=True)):
        assert same_bytes(array, wanted), f"output {k} is {array}, not {wanted}"


class Calls:
    """All operators on an array, with outputs of their own."""

    def __init__(self, values, place):
        self.x = put(values, place)
        self.made = [
            (call, outputs(expect(values), place), expect(values))
            for call, expect in operators(place).values()
        ]

    def poison(self):
        for _, out, _ in self.made:
            for array in out:
                overwrite(array, poison(array.shape, array.dtype))

    def run(self):
        for call, out, _ in self.made:
            call(self.x, out)

    def check(self):
        for _, out, expected in self.made:
            assert_are(out, expected)


def captured(mode, call):
    """Capture a call on a stream that had no launch before; return what launches the graph."""
    from cupy import cuda  # noqa: PLC0415  optional

    stream = cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture(getattr(cuda.runtime, f"streamCaptureMode{mode}"))
        try:
            call()
        finally:
            graph = stream.end_capture()
    return partial(graph.launch, stream)


class _External:
    """A stream of PyTorch, also of a version without ``__cuda_stream__``."""

    def __init__(self, stream):
        self._stream = stream

    def __cuda_stream__(self):
        return 0, self._stream.cuda_stream


def captured_by_torch(call):
    """Capture a call as a step of PyTorch's; return what launches the graph."""
    import torch  # noqa: PLC0415  optional
    from cupy import cuda  # noqa: PLC0415  optional

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = _External(torch.cuda.current_stream())
        with cuda.Stream.from_external(stream):
            call()
    return graph.replay
