"""Comparison and selection: section 9.7.6 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "compare.hpp"

_ORDERED = "eq ne lt le gt ge"
_OF_FLOATS = f"{_ORDERED} equ neu ltu leu gtu geu num nan"
_OF_UNSIGNED = f"{_ORDERED} lo ls hi hs"
_OF_INTEGERS = "is_{CMP}({a}, {b})"
_PLAIN = "cmp<Is::{CMP}>({a}, {b})"
_FLUSHED = "cmp<Is::{CMP}>(compared({a}, {ftz}), compared({b}, {ftz}))"
#: Comparisons, the types that have them, the modifier and the type in names, how to compare.
_FIELDS = ("words", "types", "ftz", "kind", "compare", "cheap", "header", "operands")
_COMPARED = (
    ("eq ne", "b16 b32 b64", "", ".TYPE", _OF_INTEGERS, "cheap", "ptx.hpp", "typed"),
    ("eq ne", "s16 s32 s64", "", ".TYPE", _OF_INTEGERS, "cheap", "ptx.hpp", "unsigned"),
    ("lt le gt ge", "s16 s32 s64", "", ".TYPE", _OF_INTEGERS, "cheap", "ptx.hpp", "typed"),
    (
        f"{_ORDERED} lo ls hi hs",
        "u16 u32 u64",
        "",
        ".TYPE",
        _OF_INTEGERS,
        "cheap",
        "ptx.hpp",
        "typed",
    ),
    (_OF_FLOATS, "f32", "{.ftz}", ".f32", _FLUSHED, "whole", HEADER, "typed"),
    (_OF_FLOATS, "f64", "", ".f64", _PLAIN, "whole", HEADER, "typed"),
)

FORMS = rows(
    """
UNDEFINED: whole
OPERANDS: $operands
CMP: $words
TYPE: $types
RESULT: u32 s32 f32
BOOL: and or xor
9.7.6.1 set.CMP$ftz.RESULT$kind d:RESULT, a, b = truth<{RESULT}>($compare)
9.7.6.1 set.CMP.BOOL$ftz.RESULT$kind d:RESULT, a, b, c:pred =
    truth<{RESULT}>(bool_{BOOL}($compare, {c}))
HEADER: $header
9.7.6.2 setp.CMP$ftz$kind p:pred|q:pred, a, b ($cheap) = $compare; !{p}
9.7.6.2 setp.CMP.BOOL$ftz$kind p:pred|q:pred, a, b, c:pred (compare) =
    bool_{BOOL}($compare, {c}); bool_{BOOL}(!$compare, {c})
""",
    *(dict(zip(_FIELDS, row, strict=True)) for row in _COMPARED),
) + rows("""
UNDEFINED: whole
HEADER: ptx.hpp
TYPE: b16 b32 b64 u16 u32 u64 s16 s32 s64
9.7.6.3 selp.TYPE d, a, b, c:pred (moves, select) = ({c} ? {a} : {b})
HEADER: compare.hpp
TYPE: f32 f64
9.7.6.3 selp.TYPE d, a, b, c:pred (moves, select) = selected({c}, {a}, {b})
TYPE: b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64
9.7.6.4 slct.TYPE.s32 d, a, b, c:s32 = {c} >= 0 ? {a} : {b}
9.7.6.4 slct{.ftz}.TYPE.f32 d, a, b, c:f32 = compared({c}, {ftz}) >= 0 ? {a} : {b}
""")
