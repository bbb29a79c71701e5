"""Floats of 16 bits, alone and in pairs: chapters 9.7.4, 9.7.5 and 9.7.7 of the manual.

Not here: ``fma.oob``, which tells the NaN that tensor maps fill with from others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.ptx.forms import Form

HEADER = "halves.hpp"
_f16 = partial(form, TYPE="f16 f16x2")
_bf16 = partial(form, TYPE="bf16 bf16x2")
_mixed = partial(form, RND="rn rz rm rp", TYPE="f16 bf16")

_ARITHMETIC = (
    _f16("9.7.4.1", "add{.rn}{.ftz}{.sat}.TYPE d, a, b", "add_half<{ftz}, {sat}>({a}, {b})"),
    _bf16("9.7.4.1", "add{.rn}.TYPE d, a, b", "add_half<0, 0>({a}, {b})"),
    _f16("9.7.4.2", "sub{.rn}{.ftz}{.sat}.TYPE d, a, b", "sub_half<{ftz}, {sat}>({a}, {b})"),
    _bf16("9.7.4.2", "sub{.rn}.TYPE d, a, b", "sub_half<0, 0>({a}, {b})"),
    _f16("9.7.4.3", "mul{.rn}{.ftz}{.sat}.TYPE d, a, b", "mul_half<{ftz}, {sat}>({a}, {b})"),
    _bf16("9.7.4.3", "mul{.rn}.TYPE d, a, b", "mul_half<0, 0>({a}, {b})"),
    _f16(
        "9.7.4.4", "fma.rn{.ftz}{.sat}.TYPE d, a, b, c", "fma_half<{ftz}, {sat}, 0>({a}, {b}, {c})"
    ),
    _f16("9.7.4.4", "fma.rn{.ftz}.relu.TYPE d, a, b, c", "fma_half<{ftz}, 0, 1>({a}, {b}, {c})"),
    _bf16("9.7.4.4", "fma.rn{.relu}.TYPE d, a, b, c", "fma_half<0, 0, {relu}>({a}, {b}, {c})"),
    _f16("9.7.4.5", "neg{.ftz}.TYPE d, a", "negated_half<{ftz}>({a})"),
    _bf16("9.7.4.5", "neg.TYPE d, a", "negated_half<0>({a})"),
    _f16("9.7.4.6", "abs{.ftz}.TYPE d, a", "magnitude_half<{ftz}>({a})"),
    _bf16("9.7.4.6", "abs.TYPE d, a", "magnitude_half<0>({a})"),
    _f16("9.7.4.7", "min{.ftz}{.NaN}.TYPE d, a, b", "minimum_half<{ftz}, {NaN}, 0>({a}, {b})"),
    _f16(
        "9.7.4.7",
        "min{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b",
        "minimum_half<{ftz}, {NaN}, 1>({a}, {b})",
    ),
    _bf16("9.7.4.7", "min{.NaN}.TYPE d, a, b", "minimum_half<0, {NaN}, 0>({a}, {b})"),
    _bf16("9.7.4.7", "min{.NaN}.xorsign.abs.TYPE d, a, b", "minimum_half<0, {NaN}, 1>({a}, {b})"),
    _f16("9.7.4.8", "max{.ftz}{.NaN}.TYPE d, a, b", "maximum_half<{ftz}, {NaN}, 0>({a}, {b})"),
    _f16(
        "9.7.4.8",
        "max{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b",
        "maximum_half<{ftz}, {NaN}, 1>({a}, {b})",
    ),
    _bf16("9.7.4.8", "max{.NaN}.TYPE d, a, b", "maximum_half<0, {NaN}, 0>({a}, {b})"),
    _bf16("9.7.4.8", "max{.NaN}.xorsign.abs.TYPE d, a, b", "maximum_half<0, {NaN}, 1>({a}, {b})"),
    # Absolute error 2^-10.987 in f16, 2^-8 in bf16.
    form("9.7.4.9", "tanh.approx.TYPE d, a", "tanh_half({a})", TYPE="f16 f16x2 bf16 bf16x2"),
    # Relative error 2^-9.9 in f16, 2^-7 in bf16.
    _f16("9.7.4.10", "ex2.approx.TYPE d, a", "ex2_half<0>({a})"),
    _bf16("9.7.4.10", "ex2.approx.ftz.TYPE d, a", "ex2_half<1>({a})"),
)

_MIXED = (
    _mixed(
        "9.7.5.1",
        "add{.RND}{.sat}.f32.TYPE d:f32, a, c:f32",
        "add<{RND}, 0, {sat}>(to_f32({a}), {c})",
    ),
    _mixed(
        "9.7.5.2",
        "sub{.RND}{.sat}.f32.TYPE d:f32, a, c:f32",
        "sub<{RND}, 0, {sat}>(to_f32({a}), {c})",
    ),
    _mixed(
        "9.7.5.3",
        "fma.RND{.sat}.f32.TYPE d:f32, a, b, c:f32",
        "fma<{RND}, 0, {sat}>(to_f32({a}), to_f32({b}), {c})",
    ),
)

_ORDERED = "eq ne lt le gt ge"
_OF_FLOATS = f"{_ORDERED} equ neu ltu leu gtu geu num nan"
_OF_UNSIGNED = f"{_ORDERED} lo ls hi hs"


def _with_logic(section: str, pattern: str, code: str, **sets: str) -> Iterator[Form]:
    """Yield a comparison, and that with a logical operation on each truth ``L(...)``."""
    yield form(section, pattern, code.replace("L(", "("), **sets)
    more = pattern.replace(".CMP", ".CMP.BOOL") + ", c:pred"
    yield form(section, more, code.replace("L(", "bool_{BOOL}({c}, "), BOOL="and or xor", **sets)


def _of_half(half: str, ftz: str) -> Iterator[Form]:
    """Yield the comparisons of a half and of its pairs, and those with it as the result."""
    flush = "{ftz}" if ftz else "0"

    def compared(part: str) -> str:
        a, b = (f"operand<{flush}>({part}({{{name}}}))" for name in "ab")
        return f"cmp_{{CMP}}({a}, {b})"

    one, low, high = compared(""), compared("low"), compared("high")
    pair = f"{half}x2"
    for comparisons, sources in (
        ("eq ne", "b16 b32 b64"),
        (_ORDERED, "s16 s32 s64"),
        (_OF_UNSIGNED, "u16 u32 u64"),
        (_OF_FLOATS, "f64"),
    ):
        yield from _with_logic(
            "9.7.7.1", f"set.CMP.{half}.SRC d:{half}, a:SRC, b:SRC",
            f"half_truth<{half}>(L(cmp_{{CMP}}({{a}}, {{b}})))",
            CMP=comparisons, SRC=sources,
        )  # fmt: skip
    yield from _with_logic(
        "9.7.7.1", f"set.CMP{ftz}.{half}.SRC d:{half}, a:SRC, b:SRC",
        f"half_truth<{half}>(L({one}))",
        CMP=_OF_FLOATS, SRC=f"{half} f32",
    )  # fmt: skip
    yield from _with_logic(
        "9.7.7.1", f"set.CMP{ftz}.RESULT.{half} d:RESULT, a, b", f"truth<{{RESULT}}>(L({one}))",
        CMP=_OF_FLOATS, RESULT="u16 s16 u32 s32",
    )  # fmt: skip
    yield from _with_logic(
        "9.7.7.1", f"set.CMP{ftz}.{pair}.{pair} d, a, b",
        f"pair(half_truth<{half}>(L({low})), half_truth<{half}>(L({high})))",
        CMP=_OF_FLOATS,
    )  # fmt: skip
    yield from _with_logic(
        "9.7.7.1", f"set.CMP{ftz}.RESULT.{pair} d:RESULT, a, b", f"word_truth(L({low}), L({high}))",
        CMP=_OF_FLOATS, RESULT="u32 s32",
    )  # fmt: skip
    yield from _with_logic(
        "9.7.7.2", f"setp.CMP{ftz}.{half} p:pred, a, b", f"L({one})",
        CMP=_OF_FLOATS,
    )  # fmt: skip
    yield from _with_logic(
        "9.7.7.2", f"setp.CMP{ftz}.{pair} p:pred|q:pred, a, b",
        f"{{p}} = L({low}); {{q}} = L({high});",
        CMP=_OF_FLOATS,
    )  # fmt: skip


FORMS = (*_ARITHMETIC, *_MIXED, *_of_half("f16", "{.ftz}"), *_of_half("bf16", ""))
