"""Matrix instructions of a warp: sections 9.7.14.4 to 9.7.14.6 of the PTX ISA manual.

Registers of fragments are their bits; `device/matrix.hpp` has the layouts and the order of sums.
"""

from __future__ import annotations

from itertools import product

from cudakern.simulator.ptx.forms import rows

HEADER = "matrix.hpp"

#: The C++ of a product is ${multiply}shape, types>$fragments.
_MULTIPLY = {
    "m": "matrix::",
    "multiply": "matrix::multiply<matrix::",
    "saturated": ", matrix::Products, {satfinite}",
    "fragments": "(matrix::fragment({d}), matrix::fragment({a}), "
    "matrix::fragment({b}), matrix::fragment({c}), {site});",
    "operands": "d:$register, a:$register, b:$register, c:$register (waits)",
}
#: The operands are fragments: a vector of registers, or one register.
_WORDS = {**_MULTIPLY, "register": "b32"}
_DOUBLES = {**_MULTIPLY, "register": "b64"}
#: How bits are multiplied.
_BITS = (
    {**_WORDS, "word": "xor", "step": "matrix::Differ"},
    {**_WORDS, "word": "and", "step": "matrix::Both"},
)

MMA = (
    *rows(
        """
ROWS: row col
COLUMNS: row col
DTYPE: f16 f32
CTYPE: f16 f32
9.7.14.5.1 mma.sync.aligned.m8n8k4.ROWS.COLUMNS.DTYPE.f16.f16.CTYPE $operands =
    ${multiply}Quads<matrix::{ROWS}, matrix::{COLUMNS}>, ${m}f16, ${m}f16, ${m}{CTYPE},
    ${m}{DTYPE}>$fragments
SHAPE: m16n8k8 m16n8k16
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.DTYPE.f16.f16.CTYPE $operands =
    ${multiply}{SHAPE}, ${m}f16, ${m}f16, ${m}{CTYPE}, ${m}{DTYPE}>$fragments
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.f32.bf16.bf16.f32 $operands =
    ${multiply}{SHAPE}, ${m}bf16, ${m}bf16, ${m}f32, ${m}f32>$fragments
SHAPE: m16n8k4 m16n8k8
9.7.14.5.6 mma.sync.aligned.SHAPE.row.col.f32.tf32.tf32.f32 $operands =
    ${multiply}{SHAPE}, ${m}tf32, ${m}tf32, ${m}f32, ${m}f32>$fragments
SHAPE: m16n8k16 m16n8k32
ATYPE: e4m3 e5m2
BTYPE: e4m3 e5m2
9.7.14.5.10 mma.sync.aligned.SHAPE.row.col.DTYPE.ATYPE.BTYPE.CTYPE $operands =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}{CTYPE}, ${m}{DTYPE}>$fragments
SHAPE: m8n8k16 m16n8k16 m16n8k32
ATYPE: s8 u8
BTYPE: s8 u8
9.7.14.5.3 mma.sync.aligned.SHAPE.row.col{.satfinite}.s32.ATYPE.BTYPE.s32 $operands =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$saturated>$fragments
SHAPE: m8n8k32 m16n8k32 m16n8k64
ATYPE: s4 u4
BTYPE: s4 u4
9.7.14.5.4 mma.sync.aligned.SHAPE.row.col{.satfinite}.s32.ATYPE.BTYPE.s32 $operands =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$saturated>$fragments
""",
        _WORDS,
    ),
    *rows(
        """
SHAPE: m8n8k4 m16n8k4 m16n8k8 m16n8k16
9.7.14.5.2 mma.sync.aligned.SHAPE.row.col.f64.f64.f64.f64 $operands =
    ${multiply}{SHAPE}, ${m}f64, ${m}f64, ${m}f64, ${m}f64, ${m}Fused>$fragments
""",
        _DOUBLES,
    ),
    *rows(
        """
SHAPE: m8n8k128 m16n8k128 m16n8k256
9.7.14.5.5 mma.sync.aligned.SHAPE.row.col.s32.b1.b1.s32.$word.popc $operands =
    ${multiply}{SHAPE}, ${m}b1, ${m}b1, ${m}s32, ${m}s32, $step>$fragments
""",
        *_BITS,
    ),
)

_MOVES = (
    *rows(
        """
SPACE: shared shared::cta
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x$count$trans{.SPACE}.b16 d:b32, [p]
    (reads, 16 bytes, waits) =
    matrix::load_matrices<$count, $is>(matrix::fragment({d}), {p}, me, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x$count$trans{.SPACE}.b16 [p], a:b32
    (writes, 16 bytes, waits) =
    matrix::store_matrices<$count, $is>({p}, matrix::fragment({a}), me, {site});
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

_SHAPES = "m16n16k16 m8n32k16 m32n8k16"
#: What wmma.load loads, and wmma.store stores of c: parts, elements, layouts, shapes (9.7.14.4.1).
_LOADED = (
    ("a b", "f16 bf16 s8 u8", "row col", _SHAPES),
    ("a b", "tf32", "row col", "m16n16k8"),
    ("a b", "f64", "row col", "m8n8k4"),
    ("a", "s4 u4", "row", "m8n8k32"),
    ("b", "s4 u4", "col", "m8n8k32"),
    ("a", "b1", "row", "m8n8k128"),
    ("b", "b1", "col", "m8n8k128"),
    ("c", "f16", "row col", _SHAPES),
    ("c", "f32", "row col", f"{_SHAPES} m16n16k8"),
    ("c", "s32", "row col", f"{_SHAPES} m8n8k32 m8n8k128"),
    ("c", "f64", "row col", "m8n8k4"),
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
    {
        "part": part,
        "element": element,
        "majors": majors,
        "shapes": shapes,
        "register": "b64" if element == "f64" else "b32",
        "size": ", 4 bytes" if element in {"s4", "u4", "b1"} else "",
        **stride,
    }
    for parts, elements, majors, shapes in _LOADED
    for part, element, stride in product(parts.split(), elements.split(), _STRIDES)
)
_SETS = """
MAJOR: $majors
SHAPE: $shapes
SPACE: global shared shared::cta
"""
_TRANSFERS = (
    *rows(
        _SETS
        + """
9.7.14.4.3 wmma.load.$part.sync.aligned.MAJOR.SHAPE{.SPACE}.$element d:$register, [p]$stride_operand
    (reads, waits$size) =
    matrix::load_fragment<matrix::{SHAPE}, matrix::$element, matrix::part_$part,
    matrix::{MAJOR}>(matrix::fragment({d}), {p}, $stride, {site});
""",
        *_LOADS,
    ),
    *rows(
        _SETS
        + """
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.$element [p], a:$register$stride_operand
    (writes, waits$size) =
    matrix::store_fragment<matrix::{SHAPE}, matrix::$element, matrix::{MAJOR}>({p},
    matrix::fragment({a}), $stride, {site});
""",
        *(fields for fields in _LOADS if fields["part"] == "c"),
    ),
)

WMMA = (
    *rows(
        """
ROWS: row col
COLUMNS: row col
SHAPE: m16n16k16 m8n32k16 m32n8k16
DTYPE: f16 f32
CTYPE: f16 f32
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.DTYPE.CTYPE $operands =
    ${multiply}{SHAPE}, ${m}f16, ${m}f16, ${m}{CTYPE}, ${m}{DTYPE}>$fragments
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.f32.bf16.bf16.f32 $operands =
    ${multiply}{SHAPE}, ${m}bf16, ${m}bf16, ${m}f32, ${m}f32>$fragments
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.m16n16k8.f32.tf32.tf32.f32 $operands =
    ${multiply}m16n16k8, ${m}tf32, ${m}tf32, ${m}f32, ${m}f32>$fragments
ATYPE: s8 u8
BTYPE: s8 u8
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.s32.ATYPE.BTYPE.s32{.satfinite} $operands =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$saturated>$fragments
ATYPE: s4 u4
BTYPE: s4 u4
9.7.14.4.5 wmma.mma.sync.aligned.row.col.m8n8k32.s32.ATYPE.BTYPE.s32{.satfinite} $operands =
    ${multiply}m8n8k32, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$saturated>$fragments
""",
        _WORDS,
    ),
    *rows(
        """
ROWS: row col
COLUMNS: row col
# As the manual and as NVRTC write it.
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.m8n8k4{.rn}.f64.f64.f64.f64 $operands =
    ${multiply}m8n8k4, ${m}f64, ${m}f64, ${m}f64, ${m}f64, ${m}Fused>$fragments
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.m8n8k4.f64.f64.f64.f64.rn $operands =
    ${multiply}m8n8k4, ${m}f64, ${m}f64, ${m}f64, ${m}f64, ${m}Fused>$fragments
""",
        _DOUBLES,
    ),
    *rows(
        """
9.7.14.4.5 wmma.mma.$word.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 $operands =
    ${multiply}m8n8k128, ${m}b1, ${m}b1, ${m}s32, ${m}s32, $step>$fragments
""",
        *_BITS,
    ),
)

FORMS = (*MMA, *_MOVES, *_TRANSFERS, *WMMA)
