"""Matrix instructions of a warp: sections 9.7.14.4 to 9.7.14.6 of the PTX ISA manual.

Registers of fragments are their bits; `device/matrix.hpp` has the layouts and the order of sums.
"""

from __future__ import annotations

from itertools import product

from cudakern.simulator.ptx.forms import rows

HEADER = "matrix.hpp"

#: The C++ of a product is ${multiply}shape, types>$given.
_MULTIPLY = {
    "m": "matrix::",
    "multiply": "matrix::multiply<matrix::",
    "clamped": ", matrix::Products, {satfinite}",
    "given": "({abcd}, {{site}});".format(
        abcd=", ".join(f"matrix::fragment({{{name}}})" for name in "dabc")
    ),
}
#: With the operands, which are fragments: a vector of registers, or one register.
_WORDS = {**_MULTIPLY, "all": "d:b32, a:b32, b:b32, c:b32"}
_DOUBLES = {**_MULTIPLY, "all": "d:b64, a:b64, b:b64, c:b64"}
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
9.7.14.5.1 mma.sync.aligned.m8n8k4.ROWS.COLUMNS.DTYPE.f16.f16.CTYPE $all =
    ${multiply}Quads<matrix::{ROWS}, matrix::{COLUMNS}>, ${m}f16, ${m}f16, ${m}{CTYPE},
    ${m}{DTYPE}>$given
SHAPE: m16n8k8 m16n8k16
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.DTYPE.f16.f16.CTYPE $all =
    ${multiply}{SHAPE}, ${m}f16, ${m}f16, ${m}{CTYPE}, ${m}{DTYPE}>$given
9.7.14.5.7 mma.sync.aligned.SHAPE.row.col.f32.bf16.bf16.f32 $all =
    ${multiply}{SHAPE}, ${m}bf16, ${m}bf16, ${m}f32, ${m}f32>$given
SHAPE: m16n8k4 m16n8k8
9.7.14.5.6 mma.sync.aligned.SHAPE.row.col.f32.tf32.tf32.f32 $all =
    ${multiply}{SHAPE}, ${m}tf32, ${m}tf32, ${m}f32, ${m}f32>$given
SHAPE: m16n8k16 m16n8k32
ATYPE: e4m3 e5m2
BTYPE: e4m3 e5m2
9.7.14.5.10 mma.sync.aligned.SHAPE.row.col.DTYPE.ATYPE.BTYPE.CTYPE $all =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}{CTYPE}, ${m}{DTYPE}>$given
SHAPE: m8n8k16 m16n8k16 m16n8k32
ATYPE: s8 u8
BTYPE: s8 u8
9.7.14.5.3 mma.sync.aligned.SHAPE.row.col{.satfinite}.s32.ATYPE.BTYPE.s32 $all =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$clamped>$given
SHAPE: m8n8k32 m16n8k32 m16n8k64
ATYPE: s4 u4
BTYPE: s4 u4
9.7.14.5.4 mma.sync.aligned.SHAPE.row.col{.satfinite}.s32.ATYPE.BTYPE.s32 $all =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$clamped>$given
""",
        _WORDS,
    ),
    *rows(
        """
SHAPE: m8n8k4 m16n8k4 m16n8k8 m16n8k16
9.7.14.5.2 mma.sync.aligned.SHAPE.row.col.f64.f64.f64.f64 $all =
    ${multiply}{SHAPE}, ${m}f64, ${m}f64, ${m}f64, ${m}f64, ${m}Fused>$given
""",
        _DOUBLES,
    ),
    *rows(
        """
SHAPE: m8n8k128 m16n8k128 m16n8k256
9.7.14.5.5 mma.sync.aligned.SHAPE.row.col.s32.b1.b1.s32.$word.popc $all =
    ${multiply}{SHAPE}, ${m}b1, ${m}b1, ${m}s32, ${m}s32, $step>$given
""",
        *_BITS,
    ),
)

_MOVES = (
    *rows(
        """
SPACE: shared shared::cta
9.7.14.5.15 ldmatrix.sync.aligned.m8n8.x$count$trans{.SPACE}.b16 d:b32, [p] =
    matrix::load_matrices<$count, $is>(matrix::fragment({d}), {p}, me, {site});
9.7.14.5.16 stmatrix.sync.aligned.m8n8.x$count$trans{.SPACE}.b16 [p], a:b32 =
    matrix::store_matrices<$count, $is>({p}, matrix::fragment({a}), me, {site});
""",
        *(
            {"count": count, "trans": trans, "is": is_transposed}
            for count in "124"
            for trans, is_transposed in (("", "false"), (".trans", "true"))
        ),
    ),
    *rows("""
9.7.14.5.17 movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32 = matrix::transpose({a}, {site})
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
_LOADS = tuple(
    {
        "part": part,
        "element": element,
        "majors": majors,
        "shapes": shapes,
        "kind": "b64" if element == "f64" else "b32",
        "s": ", s:s32" if has_stride else "",
        "stride": "{s}"
        if has_stride
        else f"matrix::default_stride<matrix::{{SHAPE}}, matrix::part_{part}, matrix::{{MAJOR}}>()",
    }
    for parts, elements, majors, shapes in _LOADED
    for part, element, has_stride in product(parts.split(), elements.split(), (False, True))
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
9.7.14.4.3 wmma.load.$part.sync.aligned.MAJOR.SHAPE{.SPACE}.$element d:$kind, [p]$s =
    matrix::load_fragment<matrix::{SHAPE}, matrix::$element, matrix::part_$part,
    matrix::{MAJOR}>(matrix::fragment({d}), {p}, $stride, {site});
""",
        *_LOADS,
    ),
    *rows(
        _SETS
        + """
9.7.14.4.4 wmma.store.d.sync.aligned.MAJOR.SHAPE{.SPACE}.$element [p], a:$kind$s =
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
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.DTYPE.CTYPE $all =
    ${multiply}{SHAPE}, ${m}f16, ${m}f16, ${m}{CTYPE}, ${m}{DTYPE}>$given
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.f32.bf16.bf16.f32 $all =
    ${multiply}{SHAPE}, ${m}bf16, ${m}bf16, ${m}f32, ${m}f32>$given
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.m16n16k8.f32.tf32.tf32.f32 $all =
    ${multiply}m16n16k8, ${m}tf32, ${m}tf32, ${m}f32, ${m}f32>$given
ATYPE: s8 u8
BTYPE: s8 u8
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.s32.ATYPE.BTYPE.s32{.satfinite} $all =
    ${multiply}{SHAPE}, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$clamped>$given
ATYPE: s4 u4
BTYPE: s4 u4
9.7.14.4.5 wmma.mma.sync.aligned.row.col.m8n8k32.s32.ATYPE.BTYPE.s32{.satfinite} $all =
    ${multiply}m8n8k32, ${m}{ATYPE}, ${m}{BTYPE}, ${m}s32, ${m}s32$clamped>$given
""",
        _WORDS,
    ),
    *rows(
        """
ROWS: row col
COLUMNS: row col
# As the manual and as NVRTC write it.
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.m8n8k4{.rn}.f64.f64.f64.f64 $all =
    ${multiply}m8n8k4, ${m}f64, ${m}f64, ${m}f64, ${m}f64, ${m}Fused>$given
9.7.14.4.5 wmma.mma.sync.aligned.ROWS.COLUMNS.m8n8k4.f64.f64.f64.f64.rn $all =
    ${multiply}m8n8k4, ${m}f64, ${m}f64, ${m}f64, ${m}f64, ${m}Fused>$given
""",
        _DOUBLES,
    ),
    *rows(
        """
9.7.14.4.5 wmma.mma.$word.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 $all =
    ${multiply}m8n8k128, ${m}b1, ${m}b1, ${m}s32, ${m}s32, $step>$given
""",
        *_BITS,
    ),
)

FORMS = (*MMA, *_MOVES, *_TRANSFERS, *WMMA)
