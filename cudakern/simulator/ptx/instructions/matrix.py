"""Matrix instructions of a warp: sections 9.7.14.4 to 9.7.14.6 of the PTX ISA manual.

Registers of fragments are their bits; `device/matrix.hpp` has the layouts and the order of sums.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "matrix.hpp"

#: d = a * b + c. The operands are fragments: a vector of registers, or one register.
_PRODUCT = """
ROWS: row col
COLUMNS: row col
SHAPE: $shapes
ATYPE: $elements
BTYPE: $elements
CTYPE: $sums
DTYPE: $results
$section $name d:$register, a:$register, b:$register, c:$register (waits) =
    matrix::multiply<matrix::$shape, matrix::$a, matrix::$b, matrix::{CTYPE},
    matrix::{DTYPE}$step>(matrix::fragment({d}), matrix::fragment({a}),
    matrix::fragment({b}), matrix::fragment({c}), {site});
"""
_MMA = "mma.sync.aligned.SHAPE.row.col$saturated.DTYPE.ATYPE.BTYPE.CTYPE$bits"
_QUADS = "mma.sync.aligned.m8n8k4.ROWS.COLUMNS.DTYPE.ATYPE.BTYPE.CTYPE"
_WMMA = "wmma.mma$bits.sync.aligned.ROWS.COLUMNS.SHAPE.DTYPE.ATYPE.BTYPE.CTYPE$saturated"
_WMMA_OF_BITS = _WMMA.replace("ROWS.COLUMNS", "row.col")
_WMMA_OF_HALVES = "wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.DTYPE.CTYPE"
#: How it is computed.
_PLAIN = {
    "register": "b32",
    "shape": "{SHAPE}",
    "a": "{ATYPE}",
    "b": "{BTYPE}",
    "results": "$sums",
    "step": "",
    "saturated": "",
    "bits": "",
}
_IN_QUADS = _PLAIN | {"shape": "Quads<matrix::{ROWS}, matrix::{COLUMNS}>"}
_OF_HALVES = _PLAIN | {"a": "f16", "b": "f16"}
_SATURATED = _PLAIN | {"saturated": "{.satfinite}", "step": ", matrix::Products, {satfinite}"}
_FUSED = _PLAIN | {"register": "b64", "step": ", matrix::Fused"}
_XOR = _PLAIN | {"bits": ".xor.popc", "step": ", matrix::Differ"}
_AND = _PLAIN | {"bits": ".and.popc", "step": ", matrix::Both"}
_SHAPES = "m16n16k16 m8n32k16 m32n8k16"
#: How, sections, names, elements of a and b, those of c and, mostly, d, shapes.
_FIELDS = ("section", "name", "elements", "sums", "shapes")
_PRODUCTS = (
    (_IN_QUADS, "9.7.14.5.1", _QUADS, "f16", "f32", ""),
    (_IN_QUADS | {"results": "f16 f32"}, "9.7.14.5.1", _QUADS, "f16", "f16", ""),
    (_PLAIN, "9.7.14.5.7", _MMA, "f16", "f16", "m16n8k8 m16n8k16"),
    (_PLAIN, "9.7.14.5.7", _MMA, "f16", "f32", "m16n8k8 m16n8k16"),
    (_PLAIN, "9.7.14.5.7", _MMA, "bf16", "f32", "m16n8k8 m16n8k16"),
    (_PLAIN, "9.7.14.5.6", _MMA, "tf32", "f32", "m16n8k4 m16n8k8"),
    (_PLAIN, "9.7.14.5.10", _MMA, "e4m3 e5m2", "f16", "m16n8k16 m16n8k32"),
    (_PLAIN, "9.7.14.5.10", _MMA, "e4m3 e5m2", "f32", "m16n8k16 m16n8k32"),
    (_SATURATED, "9.7.14.5.3", _MMA, "s8 u8", "s32", "m8n8k16 m16n8k16 m16n8k32"),
    (_SATURATED, "9.7.14.5.4", _MMA, "s4 u4", "s32", "m8n8k32 m16n8k32 m16n8k64"),
    (_FUSED, "9.7.14.5.2", _MMA, "f64", "f64", "m8n8k4 m16n8k4 m16n8k8 m16n8k16"),
    (_XOR, "9.7.14.5.5", _MMA, "b1", "s32", "m8n8k128 m16n8k128 m16n8k256"),
    (_AND, "9.7.14.5.5", _MMA, "b1", "s32", "m8n8k128 m16n8k128 m16n8k256"),
    (_OF_HALVES, "9.7.14.4.5", _WMMA_OF_HALVES, "f16", "f16 f32", _SHAPES),
    (_PLAIN, "9.7.14.4.5", _WMMA, "bf16", "f32", _SHAPES),
    (_PLAIN, "9.7.14.4.5", _WMMA, "tf32", "f32", "m16n16k8"),
    (_SATURATED, "9.7.14.4.5", _WMMA, "s8", "s32", _SHAPES),
    (_SATURATED, "9.7.14.4.5", _WMMA, "u8", "s32", _SHAPES),
    (_SATURATED, "9.7.14.4.5", _WMMA_OF_BITS, "s4", "s32", "m8n8k32"),
    (_SATURATED, "9.7.14.4.5", _WMMA_OF_BITS, "u4", "s32", "m8n8k32"),
    # As the manual and as NVRTC write it.
    (_FUSED, "9.7.14.4.5", _WMMA.replace("SHAPE", "SHAPE{.rn}"), "f64", "f64", "m8n8k4"),
    (_FUSED, "9.7.14.4.5", f"{_WMMA}.rn", "f64", "f64", "m8n8k4"),
    (_XOR, "9.7.14.4.5", _WMMA_OF_BITS, "b1", "s32", "m8n8k128"),
    (_AND, "9.7.14.4.5", _WMMA_OF_BITS, "b1", "s32", "m8n8k128"),
)

_MOVES = (
    *rows(
        """
SPACE: shared shared::cta
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x$count$trans{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits) =
    matrix::move_rows<$count, $is, false>(matrix::fragment({d}), {p}, me, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x$count$trans{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits) =
    matrix::move_rows<$count, $is, true>(matrix::fragment({a}), {p}, me, {site});
""",
        *(
            {"count": count, "trans": trans, "is": is_transposed}
            for count in "124"
            for trans, is_transposed in (("", "false"), (".trans", "true"))
        ),
    ),
    *rows("""
9.7.14.5.17 movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32 (waits) =
    matrix::transpose({a}, {site})
"""),
)

#: What wmma.load loads, and wmma.store stores of c (9.7.14.4.1): registers, sizes where elements
#: have no bytes of their own, parts, elements, layouts, shapes.
_LOADED_FIELDS = ("register", "size", "parts", "elements", "majors", "shapes")
_LOADED = (
    ("b32", "", "a b", "f16 bf16 s8 u8", "row col", _SHAPES),
    ("b32", "", "a b", "tf32", "row col", "m16n16k8"),
    ("b64", "", "a b", "f64", "row col", "m8n8k4"),
    ("b32", ", 4 bytes", "a", "s4 u4", "row", "m8n8k32"),
    ("b32", ", 4 bytes", "b", "s4 u4", "col", "m8n8k32"),
    ("b32", ", 4 bytes", "a", "b1", "row", "m8n8k128"),
    ("b32", ", 4 bytes", "b", "b1", "col", "m8n8k128"),
    ("b32", "", "c", "f16", "row col", _SHAPES),
    ("b32", "", "c", "f32", "row col", f"{_SHAPES} m16n16k8"),
    ("b32", "", "c", "s32", "row col", f"{_SHAPES} m8n8k32 m8n8k128"),
    ("b64", "", "c", "f64", "row col", "m8n8k4"),
)
#: With the stride between rows, or without one.
_STRIDES = (
    {
        "stride_operand": "",
        "stride": "matrix::default_stride<matrix::{SHAPE}, matrix::part_$part, matrix::{MAJOR}>()",
    },
    {"stride_operand": ", s:s32", "stride": "{s}"},
)
_LOADS = tuple(
    dict(zip(_LOADED_FIELDS, row, strict=True)) | stride for row in _LOADED for stride in _STRIDES
)
_SETS = """
PART: $parts
ELEMENT: $elements
MAJOR: $majors
SHAPE: $shapes
SPACE: global shared shared::cta
"""
_LOAD = """
9.7.14.4.3 wmma.load.PART.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT d:$register, [p]$stride_operand
    (reads, waits$size) =
    matrix::move<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_$part,
    matrix::{MAJOR}, false>(matrix::fragment({d}), {p}, $stride, {site});
"""
_STORE = """
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.ELEMENT [p], a:$register$stride_operand
    (writes, waits$size) =
    matrix::move<matrix::{SHAPE}, matrix::{ELEMENT}, matrix::part_c,
    matrix::{MAJOR}, true>(matrix::fragment({a}), {p}, $stride, {site});
"""

FORMS = (
    *rows(_PRODUCT, *(how | dict(zip(_FIELDS, row, strict=True)) for how, *row in _PRODUCTS)),
    *_MOVES,
    *rows(_SETS + _LOAD, *(fields | {"part": "{PART}"} for fields in _LOADS)),
    *rows(_SETS + _STORE, *(f | {"part": "c"} for f in _LOADS if f["parts"] == "c")),
)
