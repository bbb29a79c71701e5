"""Comparison and selection: section 9.7.6 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import Form, form

HEADER = "compare.hpp"
_LOGIC = "and or xor"
_RESULTS = "u32 s32 f32"
#: Names of types, the comparisons that they have, and how a pair is compared.
_COMPARED = (
    (".TYPE", "b16 b32 b64", "eq ne", "cmp_{CMP}({a}, {b})"),
    (".TYPE", "s16 s32 s64", "eq ne lt le gt ge", "cmp_{CMP}({a}, {b})"),
    (".TYPE", "u16 u32 u64", "eq ne lt le gt ge lo ls hi hs", "cmp_{CMP}({a}, {b})"),
    (
        "{.ftz}.f32",
        "f32",
        "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
        "cmp_{CMP}(compared({a}, {ftz}), compared({b}, {ftz}))",
    ),
    (".f64", "f64", "eq ne lt le gt ge equ neu ltu leu gtu geu num nan", "cmp_{CMP}({a}, {b})"),
)


def _comparisons() -> tuple[Form, ...]:
    made = []
    for kind, types, comparisons, compare in _COMPARED:
        words = {"CMP": comparisons, **({"TYPE": types} if kind == ".TYPE" else {})}
        name = kind.removeprefix("{.ftz}")
        ftz = kind.removesuffix(name)
        made += [
            form(
                "9.7.6.1",
                f"set.CMP{ftz}.RESULT{name} d:RESULT, a, b",
                f"truth<{{RESULT}}>({compare})",
                RESULT=_RESULTS,
                **words,
            ),
            form(
                "9.7.6.1",
                f"set.CMP.BOOL{ftz}.RESULT{name} d:RESULT, a, b, c:pred",
                f"truth<{{RESULT}}>(bool_{{BOOL}}({compare}, {{c}}))",
                RESULT=_RESULTS,
                BOOL=_LOGIC,
                **words,
            ),
            form(
                "9.7.6.2",
                f"setp.CMP{kind} p:pred|q:pred, a, b",
                f"{{p}} = {compare}; {{q}} = !{{p}};",
                **words,
            ),
            form(
                "9.7.6.2",
                f"setp.CMP.BOOL{kind} p:pred|q:pred, a, b, c:pred",
                f"{{q}} = {compare}; {{p}} = bool_{{BOOL}}({{q}}, {{c}});"
                " {q} = bool_{BOOL}(!{q}, {c});",
                BOOL=_LOGIC,
                **words,
            ),
        ]
    return tuple(made)


_ALL = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"

FORMS = (
    *_comparisons(),
    form("9.7.6.3", "selp.TYPE d, a, b, c:pred", "{c} ? {a} : {b}", TYPE=_ALL),
    form("9.7.6.4", "slct.TYPE.s32 d, a, b, c:s32", "{c} >= 0 ? {a} : {b}", TYPE=_ALL),
    form(
        "9.7.6.4",
        "slct{.ftz}.TYPE.f32 d, a, b, c:f32",
        "compared({c}, {ftz}) >= 0 ? {a} : {b}",
        TYPE=_ALL,
    ),
)
