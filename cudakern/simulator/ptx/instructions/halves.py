"""Floats of 16 bits, alone and in pairs: chapters 9.7.4, 9.7.5 and 9.7.7 of the manual.

Not here: ``fma.oob``, which tells the NaN that tensor maps fill with from others.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "halves.hpp"

_ARITHMETIC = """
TYPE: f16 f16x2
9.7.4.1 add{.rn}{.ftz}{.sat}.TYPE d, a, b = add_half<{ftz}, {sat}>({a}, {b})
9.7.4.2 sub{.rn}{.ftz}{.sat}.TYPE d, a, b = sub_half<{ftz}, {sat}>({a}, {b})
9.7.4.3 mul{.rn}{.ftz}{.sat}.TYPE d, a, b = mul_half<{ftz}, {sat}>({a}, {b})
9.7.4.4 fma.rn{.ftz}{.sat}.TYPE d, a, b, c = fma_half<{ftz}, {sat}, 0>({a}, {b}, {c})
9.7.4.4 fma.rn{.ftz}.relu.TYPE d, a, b, c = fma_half<{ftz}, 0, 1>({a}, {b}, {c})
9.7.4.5 neg{.ftz}.TYPE d, a = negated_half<{ftz}>({a})
9.7.4.6 abs{.ftz}.TYPE d, a = magnitude_half<{ftz}>({a})
9.7.4.7 min{.ftz}{.NaN}.TYPE d, a, b = minimum_half<{ftz}, {NaN}, 0>({a}, {b})
9.7.4.7 min{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b = minimum_half<{ftz}, {NaN}, 1>({a}, {b})
9.7.4.8 max{.ftz}{.NaN}.TYPE d, a, b = maximum_half<{ftz}, {NaN}, 0>({a}, {b})
9.7.4.8 max{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b = maximum_half<{ftz}, {NaN}, 1>({a}, {b})
# Relative error 2^-9.9 in f16, 2^-7 in bf16.
9.7.4.10 ex2.approx.TYPE d, a = ex2_half<0>({a})
TYPE: bf16 bf16x2
9.7.4.1 add{.rn}.TYPE d, a, b = add_half<0, 0>({a}, {b})
9.7.4.2 sub{.rn}.TYPE d, a, b = sub_half<0, 0>({a}, {b})
9.7.4.3 mul{.rn}.TYPE d, a, b = mul_half<0, 0>({a}, {b})
9.7.4.4 fma.rn{.relu}.TYPE d, a, b, c = fma_half<0, 0, {relu}>({a}, {b}, {c})
9.7.4.5 neg.TYPE d, a = negated_half<0>({a})
9.7.4.6 abs.TYPE d, a = magnitude_half<0>({a})
9.7.4.7 min{.NaN}.TYPE d, a, b = minimum_half<0, {NaN}, 0>({a}, {b})
9.7.4.7 min{.NaN}.xorsign.abs.TYPE d, a, b = minimum_half<0, {NaN}, 1>({a}, {b})
9.7.4.8 max{.NaN}.TYPE d, a, b = maximum_half<0, {NaN}, 0>({a}, {b})
9.7.4.8 max{.NaN}.xorsign.abs.TYPE d, a, b = maximum_half<0, {NaN}, 1>({a}, {b})
9.7.4.10 ex2.approx.ftz.TYPE d, a = ex2_half<1>({a})
# Absolute error 2^-10.987 in f16, 2^-8 in bf16.
TYPE: f16 f16x2 bf16 bf16x2
9.7.4.9 tanh.approx.TYPE d, a = tanh_half({a})
# Of a half and a float.
TYPE: f16 bf16
RND: rn rz rm rp
9.7.5.1 add{.RND}{.sat}.f32.TYPE d:f32, a, c:f32 = add<{RND}, 0, {sat}>(to_f32({a}), {c})
9.7.5.2 sub{.RND}{.sat}.f32.TYPE d:f32, a, c:f32 = sub<{RND}, 0, {sat}>(to_f32({a}), {c})
9.7.5.3 fma.RND{.sat}.f32.TYPE d:f32, a, b, c:f32 =
    fma<{RND}, 0, {sat}>(to_f32({a}), to_f32({b}), {c})
"""

#: Comparisons of a half and of its pairs, and those with it as the result.
_OF_HALF = """
CMP: eq ne
BOOL: and or xor
SRC: b16 b32 b64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$c = half_truth<$half>($of $plain))
CMP: eq ne lt le gt ge
SRC: s16 s32 s64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$c = half_truth<$half>($of $plain))
CMP: eq ne lt le gt ge lo ls hi hs
SRC: u16 u32 u64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$c = half_truth<$half>($of $plain))
CMP: eq ne lt le gt ge equ neu ltu leu gtu geu num nan
SRC: f64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$c = half_truth<$half>($of $plain))
SRC: $half f32
9.7.7.1 set.CMP$bool$ftz.$half.SRC d:$half, a:SRC, b:SRC$c = half_truth<$half>($of $one))
RESULT: u16 s16 u32 s32
9.7.7.1 set.CMP$bool$ftz.RESULT.$half d:RESULT, a, b$c = truth<{RESULT}>($of $one))
9.7.7.1 set.CMP$bool$ftz.${half}x2.${half}x2 d, a, b$c =
    pair(half_truth<$half>($of $low)), half_truth<$half>($of $high)))
RESULT: u32 s32
9.7.7.1 set.CMP$bool$ftz.RESULT.${half}x2 d:RESULT, a, b$c = word_truth($of $low), $of $high))
9.7.7.2 setp.CMP$bool$ftz.$half p:pred, a, b$c = $of $one)
9.7.7.2 setp.CMP$bool$ftz.${half}x2 p:pred|q:pred, a, b$c = {p} = $of $low); {q} = $of $high);
"""


def _variant(half: str, ftz: str, *, logic: bool) -> dict[str, str]:
    """Return what stands in the comparisons of a half, with a logical operation or without one."""
    flush = "{ftz}" if ftz else "0"
    compare = "cmp<Is::{{CMP}}>(operand<{0}>({1}({{a}})), operand<{0}>({1}({{b}})))"
    parts = {"one": "", "low": "low", "high": "high"}
    made = {name: compare.format(flush, part) for name, part in parts.items()}
    made |= {"half": half, "ftz": ftz, "plain": "cmp<Is::{CMP}>({a}, {b})"}
    if logic:
        return {**made, "bool": ".BOOL", "c": ", c:pred", "of": "bool_{BOOL}({c},"}
    return {**made, "bool": "", "c": "", "of": "("}


FORMS = (
    *rows(_ARITHMETIC),
    *rows(
        _OF_HALF,
        *(
            _variant(half, ftz, logic=logic)
            for half, ftz in (("f16", "{.ftz}"), ("bf16", ""))
            for logic in (False, True)
        ),
    ),
)
