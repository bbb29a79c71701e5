"""Matrix instructions of a warp: sections 9.7.14.4 to 9.7.14.6 of the PTX ISA manual.

Registers of fragments are their bits; `device/matrix.hpp` has the layouts and the order of sums.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.ptx.forms import Form

HEADER = "matrix.hpp"

#: Of operands that are fragments: a vector of registers, or one register.
_FRAGMENTS = "d:b32, a:b32, b:b32, c:b32"
_DOUBLES = "d:b64, a:b64, b:b64, c:b64"
_GIVEN = (
    "matrix::fragment({d}), matrix::fragment({a}), matrix::fragment({b}), matrix::fragment({c})"
)


def _multiply(shape: str, a: str, b: str, c: str, d: str, more: str = "") -> str:
    """Return the C++ of a product whose shape and types are words or fields."""
    kinds = ", ".join(f"matrix::{kind}" for kind in (shape, a, b, c, d))
    return f"matrix::multiply<{kinds}{more}>({_GIVEN}, {{site}});"


_HALVES = {"DTYPE": "f16 f32", "CTYPE": "f16 f32"}
_BYTES = {"ATYPE": "s8 u8", "BTYPE": "s8 u8"}
_NIBBLES = {"ATYPE": "s4 u4", "BTYPE": "s4 u4"}
_QUARTERS = {"ATYPE": "e4m3 e5m2", "BTYPE": "e4m3 e5m2"}
_OF_INTEGERS = ", matrix::Products, {satfinite}"

MMA = (
    form(
        "9.7.14.5.1",
        f"mma.sync.aligned.m8n8k4.ROWS.COLUMNS.DTYPE.f16.f16.CTYPE {_FRAGMENTS}",
        _multiply("Quads<matrix::{ROWS}, matrix::{COLUMNS}>", "f16", "f16", "{CTYPE}", "{DTYPE}"),
        ROWS="row col", COLUMNS="row col", **_HALVES,
    ),
    form(
        "9.7.14.5.7",
        f"mma.sync.aligned.SHAPE.row.col.DTYPE.f16.f16.CTYPE {_FRAGMENTS}",
        _multiply("{SHAPE}", "f16", "f16", "{CTYPE}", "{DTYPE}"),
        SHAPE="m16n8k8 m16n8k16", **_HALVES,
    ),
    form(
        "9.7.14.5.7",
        f"mma.sync.aligned.SHAPE.row.col.f32.bf16.bf16.f32 {_FRAGMENTS}",
        _multiply("{SHAPE}", "bf16", "bf16", "f32", "f32"),
        SHAPE="m16n8k8 m16n8k16",
    ),
    form(
        "9.7.14.5.6",
        f"mma.sync.aligned.SHAPE.row.col.f32.tf32.tf32.f32 {_FRAGMENTS}",
        _multiply("{SHAPE}", "tf32", "tf32", "f32", "f32"),
        SHAPE="m16n8k4 m16n8k8",
    ),
    form(
        "9.7.14.5.2",
        f"mma.sync.aligned.SHAPE.row.col.f64.f64.f64.f64 {_DOUBLES}",
        _multiply("{SHAPE}", "f64", "f64", "f64", "f64", ", matrix::Fused"),
        SHAPE="m8n8k4 m16n8k4 m16n8k8 m16n8k16",
    ),
    form(
        "9.7.14.5.10",
        f"mma.sync.aligned.SHAPE.row.col.DTYPE.ATYPE.BTYPE.CTYPE {_FRAGMENTS}",
        _multiply("{SHAPE}", "{ATYPE}", "{BTYPE}", "{CTYPE}", "{DTYPE}"),
        SHAPE="m16n8k16 m16n8k32", **_QUARTERS, **_HALVES,
    ),
    form(
        "9.7.14.5.3",
        f"mma.sync.aligned.SHAPE.row.col{{.satfinite}}.s32.ATYPE.BTYPE.s32 {_FRAGMENTS}",
        _multiply("{SHAPE}", "{ATYPE}", "{BTYPE}", "s32", "s32", _OF_INTEGERS),
        SHAPE="m8n8k16 m16n8k16 m16n8k32", **_BYTES,
    ),
    form(
        "9.7.14.5.4",
        f"mma.sync.aligned.SHAPE.row.col{{.satfinite}}.s32.ATYPE.BTYPE.s32 {_FRAGMENTS}",
        _multiply("{SHAPE}", "{ATYPE}", "{BTYPE}", "s32", "s32", _OF_INTEGERS),
        SHAPE="m8n8k32 m16n8k32 m16n8k64", **_NIBBLES,
    ),
    *(
        form(
            "9.7.14.5.5",
            f"mma.sync.aligned.SHAPE.row.col.s32.b1.b1.s32.{word}.popc {_FRAGMENTS}",
            _multiply("{SHAPE}", "b1", "b1", "s32", "s32", f", matrix::{step}"),
            SHAPE="m8n8k128 m16n8k128 m16n8k256",
        )
        for word, step in (("xor", "Differ"), ("and", "Both"))
    ),
)  # fmt: skip


def _moves() -> Iterator[Form]:
    """Yield the rows of ldmatrix, stmatrix and movmatrix."""
    for count, trans in product((1, 2, 4), ("", ".trans")):
        words = f"sync.aligned.m8n8.x{count}{trans}{{.SPACE}}.b16"
        template = f"<{count}, {'true' if trans else 'false'}>"
        yield form(
            "9.7.14.5.15",
            f"ldmatrix.{words} d:b32, [p]",
            f"matrix::load_matrices{template}(matrix::fragment({{d}}), {{p}}, me, {{site}});",
            SPACE="shared shared::cta",
        )
        yield form(
            "9.7.14.5.16",
            f"stmatrix.{words} [p], a:b32",
            f"matrix::store_matrices{template}({{p}}, matrix::fragment({{a}}), me, {{site}});",
            SPACE="shared shared::cta",
        )
    yield form(
        "9.7.14.5.17",
        "movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32",
        "matrix::transpose({a}, {site})",
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


def _fragments() -> Iterator[Form]:
    """Yield the rows of wmma.load and wmma.store, with and without a stride."""
    for parts, elements, majors, shapes in _LOADED:
        sets = {"MAJOR": majors, "SHAPE": shapes, "SPACE": "global shared shared::cta"}
        for part, element, has_stride in product(parts.split(), elements.split(), (False, True)):
            yield _load(part, element, sets, has_stride=has_stride)
            if part == "c":
                yield _store(element, sets, has_stride=has_stride)


def _stride(part: str, *, has_stride: bool) -> tuple[str, str]:
    """Return the operand of a stride, and the C++ of it or of the default."""
    if has_stride:
        return ", s:s32", "{s}"
    return (
        "",
        f"matrix::default_stride<matrix::{{SHAPE}}, matrix::part_{part}, matrix::{{MAJOR}}>()",
    )


def _load(part: str, element: str, sets: dict[str, str], *, has_stride: bool) -> Form:
    operand, stride = _stride(part, has_stride=has_stride)
    kind = "b64" if element == "f64" else "b32"
    return form(
        "9.7.14.4.3",
        f"wmma.load.{part}.sync.aligned.MAJOR.SHAPE{{.SPACE}}.{element} d:{kind}, [p]{operand}",
        f"matrix::load_fragment<matrix::{{SHAPE}}, matrix::{element}, matrix::part_{part}, "
        f"matrix::{{MAJOR}}>(matrix::fragment({{d}}), {{p}}, {stride}, {{site}});",
        **sets,
    )


def _store(element: str, sets: dict[str, str], *, has_stride: bool) -> Form:
    operand, stride = _stride("c", has_stride=has_stride)
    kind = "b64" if element == "f64" else "b32"
    return form(
        "9.7.14.4.4",
        f"wmma.store.d.sync.aligned.MAJOR.SHAPE{{.SPACE}}.{element} [p], a:{kind}{operand}",
        f"matrix::store_fragment<matrix::{{SHAPE}}, matrix::{element}, matrix::{{MAJOR}}>("
        f"{{p}}, matrix::fragment({{a}}), {stride}, {{site}});",
        **sets,
    )


_LAYOUTS = {"ROWS": "row col", "COLUMNS": "row col"}

WMMA = (
    form(
        "9.7.14.4.5",
        f"wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.DTYPE.CTYPE {_FRAGMENTS}",
        _multiply("{SHAPE}", "f16", "f16", "{CTYPE}", "{DTYPE}"),
        SHAPE=_SHAPES, **_LAYOUTS, **_HALVES,
    ),
    form(
        "9.7.14.4.5",
        f"wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.f32.bf16.bf16.f32 {_FRAGMENTS}",
        _multiply("{SHAPE}", "bf16", "bf16", "f32", "f32"),
        SHAPE=_SHAPES, **_LAYOUTS,
    ),
    form(
        "9.7.14.4.5",
        f"wmma.mma.sync.aligned.ROWS.COLUMNS.m16n16k8.f32.tf32.tf32.f32 {_FRAGMENTS}",
        _multiply("m16n16k8", "tf32", "tf32", "f32", "f32"),
        **_LAYOUTS,
    ),
    *(
        form(
            "9.7.14.4.5",
            f"wmma.mma.sync.aligned.ROWS.COLUMNS.m8n8k4{words} {_DOUBLES}",
            _multiply("m8n8k4", "f64", "f64", "f64", "f64", ", matrix::Fused"),
            **_LAYOUTS,
        )
        # As the manual and as NVRTC write it.
        for words in ("{.rn}.f64.f64.f64.f64", ".f64.f64.f64.f64.rn")
    ),
    form(
        "9.7.14.4.5",
        f"wmma.mma.sync.aligned.ROWS.COLUMNS.SHAPE.s32.ATYPE.BTYPE.s32{{.satfinite}} {_FRAGMENTS}",
        _multiply("{SHAPE}", "{ATYPE}", "{BTYPE}", "s32", "s32", _OF_INTEGERS),
        SHAPE=_SHAPES, **_BYTES, **_LAYOUTS,
    ),
    form(
        "9.7.14.4.5",
        f"wmma.mma.sync.aligned.row.col.m8n8k32.s32.ATYPE.BTYPE.s32{{.satfinite}} {_FRAGMENTS}",
        _multiply("m8n8k32", "{ATYPE}", "{BTYPE}", "s32", "s32", _OF_INTEGERS),
        **_NIBBLES,
    ),
    *(
        form(
            "9.7.14.4.5",
            f"wmma.mma.{word}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {_FRAGMENTS}",
            _multiply("m8n8k128", "b1", "b1", "s32", "s32", f", matrix::{step}"),
        )
        for word, step in (("xor", "Differ"), ("and", "Both"))
    ),
)  # fmt: skip

FORMS = (*MMA, *_moves(), *_fragments(), *WMMA)
