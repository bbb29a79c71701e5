"""ReductionKernel does what CuPy's guide says, along all axes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.rows import each
from tests.helpers.samples import sample

SUM = ("T x", "T y", "x", "a + b", "y = a", "0", "total")


AXES = [None, *(axes for n in range(4) for axes in itertools.combinations(range(3), n)), -1, 1]


@PLAIN_AND_CHECKED
@each("axis", AXES)
def test_every_axis(cp, axis):
    host = np.random.default_rng(1).integers(-9, 9, (3, 4, 5))
    total = cp.ReductionKernel(*SUM)
    for x, view in ((cp.asarray(host), host), (cp.asarray(host).T[::-1], host.T[::-1])):
        for keepdims in (False, True):
            result = total(x, axis=axis, keepdims=keepdims)
            expected = view.sum(axis=axis, keepdims=keepdims)
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(result.get(), expected)
            out = cp.empty(expected.shape[::-1], cp.int64).T
            assert total(x, axis=axis, keepdims=keepdims, out=out) is out
            np.testing.assert_array_equal(out.get(), expected)


@each("shape", [(1, 1), (1000, 3), (3, 1000), (70_000, 2), (1, 65), (2, 128)])
@each("axis", [0, 1])
def test_every_number_of_elements(cp, shape, axis):
    host = np.random.default_rng(1).integers(-9, 9, shape)
    result = cp.ReductionKernel(*SUM)(cp.asarray(host), axis=axis)
    np.testing.assert_array_equal(result.get(), host.sum(axis=axis))


@each("char", sample("bhiqBHIQefdFD", 3))
def test_every_type(cp, char):
    host = np.arange(6, dtype=char).reshape(2, 3)
    product = cp.ReductionKernel("T x", "T y", "x", "a * b", "y = a", "1", "product")
    result = product(cp.asarray(host), axis=0)
    assert result.dtype == char
    np.testing.assert_array_equal(result.get(), host.prod(axis=0, dtype=char))


@PLAIN_AND_CHECKED
def test_several_inputs_outputs_and_a_structure(cp):
    kernel = cp.ReductionKernel(
        "T x, T y, float64 scale",
        "T least, int64 count",
        "Found(x * y * scale)",
        "Found(a, b)",
        "least = a.least, count = a.count",
        "Found()",
        "found",
        reduce_type="Found",
        preamble="""
        struct Found {
          T least; long long count;
          __device__ Found() : least(1e30), count(0) {}
          __device__ Found(T x) : least(x), count(1) {}
          __device__ Found(const Found& a, const Found& b)
              : least(min(a.least, b.least)), count(a.count + b.count) {}
        };
        """,
    )
    x, y = np.random.default_rng(2).normal(size=(2, 7, 9))
    least, count = cp.empty(7), cp.empty(7, cp.int64)
    assert kernel(cp.asarray(x), cp.asarray(y[:1]), 2, least, count, axis=1) is least
    first = kernel(cp.asarray(x), cp.asarray(y[:1]), 2, axis=1)  # and no other kernel, as in CuPy
    np.testing.assert_array_equal(first.get(), least.get())
    np.testing.assert_allclose(least.get(), (x * y[:1] * 2).min(axis=1))
    np.testing.assert_array_equal(count.get(), [9] * 7)


def test_nothing_to_reduce(cp):
    total = cp.ReductionKernel(*SUM)
    assert total(cp.ones((0, 3)), axis=0).get().tolist() == [0, 0, 0]
    assert total(cp.ones((3, 0)), axis=0).shape == (0,)
    without = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "", "without")
    with pytest.raises(ValueError, match="without: an empty array cannot be reduced"):
        without(cp.ones(0))


def test_what_a_call_must_not_have(cp):
    total = cp.ReductionKernel(*SUM)
    x = cp.ones((2, 3))
    with pytest.raises(ValueError, match=r"y must have shape \(3,\); got \(2,\)"):
        total(x, axis=0, out=cp.ones(2))
    with pytest.raises(TypeError, match="x must be an array of float32; got float64"):
        total(x, axis=0, out=cp.ones(3, cp.float32))
    with pytest.raises(TypeError, match="must have 1 arguments, or 2 with outputs; got 0"):
        total()
    with pytest.raises(TypeError, match="got a NumPy array"):
        total(np.ones(3))
    with pytest.raises(ValueError, match="must have an input that is an array and not raw"):
        cp.ReductionKernel("raw T x", "T y", "x[_j]", "a + b", "y = a", "0", "k")(x)
    weighted = cp.ReductionKernel("T x, raw T w", "T y", "x * w[_j]", "a + b", "y = a", "0", "w")
    with pytest.raises(NotImplementedError, match=r"axis must be the first axes; got \(1,\)"):
        weighted(x, x, axis=1)
    with pytest.raises(np.exceptions.AxisError):
        total(x, axis=2)


def test_a_finding_names_the_line_of_the_text(cp):
    kernel = cp.ReductionKernel(
        "T x, raw T w", "T y", "x * w[_j + 1]", "a + b", "y = a", "0", "weighted"
    )
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked():
        kernel(cp.ones(5), cp.ones(5))
    (finding,) = caught.value.findings
    assert (finding.kind, finding.kernel) == ("out_of_bounds", "weighted")
    assert finding.code.strip() == "x * w[_j + 1]"
    assert "(w)" in finding.message
