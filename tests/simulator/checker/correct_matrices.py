"""Correct kernels with matrix products of a warp: mma.sync, ldmatrix, wmma."""

from __future__ import annotations

import numpy as np

from tests.simulator.checker.tables import Correct, ints, poison

_SHAPES = {"tf32": ((16, 16, 8),), "double": ((8, 8, 4),)}


def _factors(m, n, k, first, second, dtypes):
    """Return a function that makes arguments: integers so small that each type holds products."""
    given, total = dtypes

    def inputs(rng):
        low = 0 if given is np.uint8 else -9
        x, y = ints(rng, (m, k), low=low, high=9), ints(rng, (k, n), low=low, high=9)
        x, y = (x if first == "row_major" else x.T), (y if second == "row_major" else y.T)
        z = ints(rng, (n, m), total)
        return _held(x, given), _held(y, given), z, poison((m, n), total)

    return inputs


def _held(x, given):
    """Return an array as the kernel takes it: bfloat16 as its bits."""
    if given == "bf16":
        return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(x, given)


def _product(first, second):
    def expected(x, y, z, _):
        if x.dtype == np.uint16:
            x, y = ((v.astype(np.uint32) << 16).view(np.float32) for v in (x, y))
        x, y = (x if first == "row_major" else x.T), (y if second == "row_major" else y.T)
        total = x.astype(np.float64) @ y.astype(np.float64) + z.T
        return {3: total.astype(z.dtype)}

    return expected


ROWS = (
    *(
        Correct(
            f"wmma_of_{name}_{m}x{n}x{k}_{first[:3]}_{second[:3]}",
            f"""
#include <mma.h>
using namespace nvcuda;
using Given = {given};
using Total = {total};
extern "C" __global__ void k(const {stored}* x, const {stored}* y, const Total* z, Total* out) {{
  wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, Given, wmma::{first}> a;
  wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, Given, wmma::{second}> b;
  wmma::fragment<wmma::accumulator, {m}, {n}, {k}, Total> c;
  const auto* const left = reinterpret_cast<const {held}*>(x);
  const auto* const right = reinterpret_cast<const {held}*>(y);
  wmma::load_matrix_sync(a, left, {k if first == "row_major" else m});
  wmma::load_matrix_sync(b, right, {n if second == "row_major" else k});
  wmma::load_matrix_sync(c, z, {m}, wmma::mem_col_major);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(out, c, {n}, wmma::mem_row_major);
}}
""",
            (1,),
            (32,),
            _factors(m, n, k, first, second, dtypes),
            _product(first, second),
        )
        for name, given, held, stored, total, dtypes in (
            ("half", "__half", "__half", "__half", "__half", (np.float16, np.float16)),
            ("bfloat16", *["__nv_bfloat16"] * 2, "unsigned short", "float", ("bf16", np.float32)),
            ("signed_char", *["signed char"] * 3, "int", (np.int8, np.int32)),
            ("unsigned_char", *["unsigned char"] * 3, "int", (np.uint8, np.int32)),
            ("tf32", "wmma::precision::tf32", "float", "float", "float", (np.float32, np.float32)),
            ("double", "double", "double", "double", "double", (np.float64, np.float64)),
        )
        for m, n, k in _SHAPES.get(name, ((16, 16, 16), (32, 8, 16), (8, 32, 16)))
        for first, second in (("row_major", "col_major"), ("col_major", "row_major"))
    ),
)
