"""Matrix instructions of a warp: sections 9.7.14.4 to 9.7.14.6 of the PTX ISA manual.

d = a * b + c; these operands are fragments: a vector of registers, or one register, of bits.
`device/matrix.hpp` has the layouts and the order of sums.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "matrix.hpp"

FORMS = rows("""
UNDEFINED: fragments
ROWS: row col
COLUMNS: row col
CTYPE: f16
DTYPE: f16 f32
9.7.14.5.1 mma.sync.aligned.m8n8k4.ROWS.COLUMNS.DTYPE.f16.f16.CTYPE d:b32, a:b32, b:b32, c:b32
    (waits, matrix) =
    matrix::multiply<matrix::Quads<matrix::{ROWS}, matrix::{COLUMNS}>, matrix::f16, matrix::f16,
    matrix::{CTYPE}, matrix::{DTYPE}>({d}, {a}, {b}, {c}, {site});
9.7.14.5.1 mma.sync.aligned.m8n8k4.ROWS.COLUMNS.f32.f16.f16.f32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) =
    matrix::multiply<matrix::Quads<matrix::{ROWS}, matrix::{COLUMNS}>, matrix::f16, matrix::f16,
    matrix::f32, matrix::f32>({d}, {a}, {b}, {c}, {site});
SHAPE: m16n8k8 m16n8k16
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.f16.f16.f16.f16 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::f16, matrix::f16,
    matrix::f16, matrix::f16>({d}, {a}, {b}, {c}, {site});
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.f32.f16.f16.f32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::f16, matrix::f16,
    matrix::f32, matrix::f32>({d}, {a}, {b}, {c}, {site});
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.f32.bf16.bf16.f32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::bf16, matrix::bf16,
    matrix::f32, matrix::f32>({d}, {a}, {b}, {c}, {site});
SHAPE: m16n8k4 m16n8k8
9.7.14.5.6 mma.sync.aligned.SHAPE.row.col.f32.tf32.tf32.f32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::tf32, matrix::tf32,
    matrix::f32, matrix::f32>({d}, {a}, {b}, {c}, {site});
SHAPE: m16n8k16 m16n8k32
ATYPE: e4m3 e5m2
BTYPE: e4m3 e5m2
CTYPE: f16
DTYPE: f16
9.7.14.5.10 mma.sync.aligned.SHAPE.row.col.DTYPE.ATYPE.BTYPE.CTYPE d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::{ATYPE}, matrix::{BTYPE},
    matrix::{CTYPE}, matrix::{DTYPE}>({d}, {a}, {b}, {c}, {site});
CTYPE: f32
DTYPE: f32
9.7.14.5.10 mma.sync.aligned.SHAPE.row.col.DTYPE.ATYPE.BTYPE.CTYPE d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::{ATYPE}, matrix::{BTYPE},
    matrix::{CTYPE}, matrix::{DTYPE}>({d}, {a}, {b}, {c}, {site});
SHAPE: m8n8k16 m16n8k16 m16n8k32
ATYPE: s8 u8
BTYPE: s8 u8
9.7.14.5.3 mma.sync.aligned.SHAPE.row.col{.satfinite}.s32.ATYPE.BTYPE.s32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::{ATYPE}, matrix::{BTYPE},
    matrix::s32, matrix::s32, matrix::Products, {satfinite}>({d}, {a}, {b}, {c}, {site});
SHAPE: m8n8k32 m16n8k32 m16n8k64
ATYPE: s4 u4
BTYPE: s4 u4
9.7.14.5.4 mma.sync.aligned.SHAPE.row.col{.satfinite}.s32.ATYPE.BTYPE.s32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::{ATYPE}, matrix::{BTYPE},
    matrix::s32, matrix::s32, matrix::Products, {satfinite}>({d}, {a}, {b}, {c}, {site});
SHAPE: m8n8k4 m16n8k4 m16n8k8 m16n8k16
9.7.14.5.2 mma.sync.aligned.SHAPE.row.col.f64.f64.f64.f64 d:b64, a:b64, b:b64, c:b64
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::f64, matrix::f64,
    matrix::f64, matrix::f64, matrix::Fused>({d}, {a}, {b}, {c}, {site});
SHAPE: m8n8k128 m16n8k128 m16n8k256
9.7.14.5.5 mma.sync.aligned.SHAPE.row.col.s32.b1.b1.s32.xor.popc d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::b1, matrix::b1,
    matrix::s32, matrix::s32, matrix::Differ>({d}, {a}, {b}, {c}, {site});
9.7.14.5.5 mma.sync.aligned.SHAPE.row.col.s32.b1.b1.s32.and.popc d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::b1, matrix::b1,
    matrix::s32, matrix::s32, matrix::Both>({d}, {a}, {b}, {c}, {site});
SHAPE: m16n16k16 m8n32k16 m32n8k16
CTYPE: f16 f32
DTYPE: f16 f32
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.DTYPE.CTYPE d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::f16, matrix::f16,
    matrix::{CTYPE}, matrix::{DTYPE}>({d}, {a}, {b}, {c}, {site});
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.f32.bf16.bf16.f32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::bf16, matrix::bf16,
    matrix::f32, matrix::f32>({d}, {a}, {b}, {c}, {site});
ATYPE: s8
BTYPE: s8
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.s32.ATYPE.BTYPE.s32{.satfinite}
    d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::s8, matrix::s8,
    matrix::s32, matrix::s32, matrix::Products, {satfinite}>({d}, {a}, {b}, {c}, {site});
ATYPE: u8
BTYPE: u8
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.s32.ATYPE.BTYPE.s32{.satfinite}
    d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::u8, matrix::u8,
    matrix::s32, matrix::s32, matrix::Products, {satfinite}>({d}, {a}, {b}, {c}, {site});
SHAPE: m16n16k8
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.f32.tf32.tf32.f32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::tf32, matrix::tf32,
    matrix::f32, matrix::f32>({d}, {a}, {b}, {c}, {site});
# As the manual and as NVRTC write it.
SHAPE: m8n8k4
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE{.rn}.f64.f64.f64.f64 d:b64, a:b64, b:b64, c:b64
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::f64, matrix::f64,
    matrix::f64, matrix::f64, matrix::Fused>({d}, {a}, {b}, {c}, {site});
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.f64.f64.f64.f64.rn d:b64, a:b64, b:b64, c:b64
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::f64, matrix::f64,
    matrix::f64, matrix::f64, matrix::Fused>({d}, {a}, {b}, {c}, {site});
SHAPE: m8n8k32
ATYPE: s4
BTYPE: s4
9.7.14.4.5 wmma.mma.sync.aligned.row.col.SHAPE.s32.ATYPE.BTYPE.s32{.satfinite}
    d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::s4, matrix::s4,
    matrix::s32, matrix::s32, matrix::Products, {satfinite}>({d}, {a}, {b}, {c}, {site});
ATYPE: u4
BTYPE: u4
9.7.14.4.5 wmma.mma.sync.aligned.row.col.SHAPE.s32.ATYPE.BTYPE.s32{.satfinite}
    d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::u4, matrix::u4,
    matrix::s32, matrix::s32, matrix::Products, {satfinite}>({d}, {a}, {b}, {c}, {site});
SHAPE: m8n8k128
9.7.14.4.5 wmma.mma.xor.popc.sync.aligned.row.col.SHAPE.s32.b1.b1.s32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::b1, matrix::b1,
    matrix::s32, matrix::s32, matrix::Differ>({d}, {a}, {b}, {c}, {site});
9.7.14.4.5 wmma.mma.and.popc.sync.aligned.row.col.SHAPE.s32.b1.b1.s32 d:b32, a:b32, b:b32, c:b32
    (waits, matrix) = matrix::multiply<matrix::{SHAPE}, matrix::b1, matrix::b1,
    matrix::s32, matrix::s32, matrix::Both>({d}, {a}, {b}, {c}, {site});
# Rows of matrices of 8 by 8.
SPACE: shared shared::cta
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x1{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits, matrix, load) =
    matrix::move_rows<1, false, false>(matrix::fragment({d}), {p}, {me}, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x1{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits, matrix) =
    matrix::move_rows<1, false, true>(matrix::fragment({a}), {p}, {me}, {site});
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x1.trans{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits, matrix, load) =
    matrix::move_rows<1, true, false>(matrix::fragment({d}), {p}, {me}, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x1.trans{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits, matrix) =
    matrix::move_rows<1, true, true>(matrix::fragment({a}), {p}, {me}, {site});
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x2{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits, matrix, load) =
    matrix::move_rows<2, false, false>(matrix::fragment({d}), {p}, {me}, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x2{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits, matrix) =
    matrix::move_rows<2, false, true>(matrix::fragment({a}), {p}, {me}, {site});
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x2.trans{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits, matrix, load) =
    matrix::move_rows<2, true, false>(matrix::fragment({d}), {p}, {me}, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x2.trans{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits, matrix) =
    matrix::move_rows<2, true, true>(matrix::fragment({a}), {p}, {me}, {site});
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x4{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits, matrix, load) =
    matrix::move_rows<4, false, false>(matrix::fragment({d}), {p}, {me}, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x4{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits, matrix) =
    matrix::move_rows<4, false, true>(matrix::fragment({a}), {p}, {me}, {site});
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x4.trans{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits, matrix, load) =
    matrix::move_rows<4, true, false>(matrix::fragment({d}), {p}, {me}, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x4.trans{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits, matrix) =
    matrix::move_rows<4, true, true>(matrix::fragment({a}), {p}, {me}, {site});
9.7.14.5.17 movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32 (waits, lanes) =
    matrix::transpose({a}, {site})
# Elements that have no bytes of their own are accessed by words. Without a stride, matrices are
# dense.
SPACE: global shared shared::cta
PART: a b
ELEMENT: f16 bf16 s8 u8
MAJOR: row col
SHAPE: m16n16k16 m8n32k16 m32n8k16
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: a b
ELEMENT: tf32
MAJOR: row col
SHAPE: m16n16k8
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: a b
ELEMENT: f64
MAJOR: row col
SHAPE: m8n8k4
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b64, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b64, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: a
ELEMENT: s4 u4
MAJOR: row
SHAPE: m8n8k32
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: b
ELEMENT: s4 u4
MAJOR: col
SHAPE: m8n8k32
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: a
ELEMENT: b1
MAJOR: row
SHAPE: m8n8k128
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: b
ELEMENT: b1
MAJOR: col
SHAPE: m8n8k128
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix, 4 bytes) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
PART: c
ELEMENT: f16
MAJOR: row col
SHAPE: m16n16k16 m8n32k16 m32n8k16
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b32, s:s32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site}, {s});
PART: c
ELEMENT: f32
MAJOR: row col
SHAPE: m16n16k16 m8n32k16 m32n8k16 m16n16k8
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b32, s:s32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site}, {s});
PART: c
ELEMENT: s32
MAJOR: row col
SHAPE: m16n16k16 m8n32k16 m32n8k16 m8n8k32 m8n8k128
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b32, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b32, s:s32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site}, {s});
PART: c
ELEMENT: f64
MAJOR: row col
SHAPE: m8n8k4
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b64, [p]
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b64
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site});
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:b64, [p], s:s32
    (reads, waits, matrix) =
    matrix::load<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_{PART}, matrix::{MAJOR}>(
    {d}, {p}, {site}, {s});
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:b64, s:s32
    (writes, waits, matrix) =
    matrix::store<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::{MAJOR}>(
    {a}, {p}, {site}, {s});
""")
