"""Kernels that Triton compiles to PTX without a GPU."""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy

import numpy as np
import pytest

import cudakern as ck

pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")

POINTERS = {"x": "*fp32", "out": "*fp32", "n": "i32"}


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def launch(compilation, grid, *arguments):
    """Run a Triton kernel, checked and plain; two pointers to scratch memory end its arguments."""
    module = ck.simulator.RawModule(code=compilation.asm["ptx"])
    kernel = module.get_function(compilation.metadata.name)
    block = (32 * compilation.metadata.num_warps,)
    copies = [copy(argument) for argument in arguments]
    for values, seed in ((copies, 0), (arguments, None)):
        with nullcontext() if seed is None else ck.simulator.checked(seed):
            kernel(grid, block, (*values, None, None), shared_mem=compilation.metadata.shared)
    for values, plain in zip(copies, arguments, strict=True):
        np.testing.assert_array_equal(values, plain)


def test_softmax():
    from tests.simulator.launching.triton_kernels import compiled, softmax  # noqa: PLC0415  optional

    compilation = compiled(softmax, POINTERS, 90, block=256)
    x = np.random.default_rng(0).standard_normal((5, 200)).astype(np.float32)
    out = np.full_like(x, np.nan)
    launch(compilation, (5,), x, out, np.int32(200))
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    # exp2.approx of a product, a sum of 256 and a division: relative errors below 2^-22 each.
    np.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True), rtol=8e-6)


def test_product_on_matrix_units():
    from tests.simulator.launching.triton_kernels import compiled, product  # noqa: PLC0415  optional

    pointers = {"x": "*fp16", "y": "*fp16", "out": "*fp32", "n": "i32"}
    compilation = compiled(product, pointers, 80, block=64)
    assert "mma.sync" in compilation.asm["ptx"]
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, (128, 128)).astype(np.float16) for _ in range(2))
    out = np.full((128, 128), np.nan, np.float32)
    launch(compilation, (2, 2), x, y, out, np.int32(128))
    np.testing.assert_array_equal(out, x.astype(np.float32) @ y.astype(np.float32))
