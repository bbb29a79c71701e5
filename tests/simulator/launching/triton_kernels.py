"""Kernels in Triton, which compiles them to PTX without a GPU."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def softmax(x, out, n, block: tl.constexpr):
    """Compute the softmax of each row."""
    row = tl.program_id(0)
    i = tl.arange(0, block)
    values = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + i, powers / tl.sum(powers, axis=0), mask=i < n)


@triton.jit
def product(x, y, out, n, block: tl.constexpr):
    """Multiply square matrices on the matrix units."""
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    total = tl.zeros((block, block), tl.float32)
    for start in range(0, n, 32):
        depth = start + tl.arange(0, 32)
        left = tl.load(x + rows[:, None] * n + depth[None, :])
        right = tl.load(y + depth[:, None] * n + columns[None, :])
        total += tl.dot(left, right)
    tl.store(out + rows[:, None] * n + columns[None, :], total)


def compiled(kernel, signature, architecture, **constants):
    """Return Triton's compilation of a kernel, with ``asm["ptx"]`` and ``metadata``."""
    signature = {**signature, **dict.fromkeys(constants, "constexpr")}
    source = triton.compiler.ASTSource(kernel, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32))
