"""Floats of 16 bits, alone and in pairs: chapters 9.7.4, 9.7.5 and 9.7.7 of the manual.

Not here: ``fma.oob``, which tells the NaN that tensor maps fill with from others.
"""

from __future__ import annotations

import re
from dataclasses import replace

from cudakern.simulator.ptx.forms import Form, rows

HEADER = "halves.hpp"

#: In halves, or with $x2 in pairs of them.
_ARITHMETIC = """
TYPE: f16$x2
9.7.4.1 add{.rn}{.ftz}{.sat}.TYPE d, a, b = add<rn, {ftz}, {sat}>({a}, {b})
9.7.4.2 sub{.rn}{.ftz}{.sat}.TYPE d, a, b = sub<rn, {ftz}, {sat}>({a}, {b})
9.7.4.3 mul{.rn}{.ftz}{.sat}.TYPE d, a, b = mul<rn, {ftz}, {sat}>({a}, {b})
9.7.4.4 fma.rn{.ftz}{.sat}.TYPE d, a, b, c = fma<rn, {ftz}, {sat}>({a}, {b}, {c})
9.7.4.4 fma.rn{.ftz}.relu.TYPE d, a, b, c = rectified<1>(fma<rn, {ftz}>({a}, {b}, {c}))
9.7.4.5 neg{.ftz}.TYPE d, a = negated<{ftz}>({a})
9.7.4.6 abs{.ftz}.TYPE d, a = canonical(magnitude<{ftz}>({a}))
9.7.4.7 min{.ftz}{.NaN}.TYPE d, a, b = minimum<{ftz}, {NaN}>({a}, {b})
9.7.4.7 min{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b =
    with_signs({a}, {b}, minimum<{ftz}, {NaN}>(magnitude({a}), magnitude({b})))
9.7.4.8 max{.ftz}{.NaN}.TYPE d, a, b = maximum<{ftz}, {NaN}>({a}, {b})
9.7.4.8 max{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b =
    with_signs({a}, {b}, maximum<{ftz}, {NaN}>(magnitude({a}), magnitude({b})))
# Absolute error 2^-10.987.
9.7.4.9 tanh.approx.TYPE d, a = from_f32<f16>(__builtin_tanhf(to_f32({a})))
# Relative error 2^-9.9.
9.7.4.10 ex2.approx.TYPE d, a = from_f32<f16>(__builtin_exp2f(to_f32({a})))
TYPE: bf16$x2
9.7.4.1 add{.rn}.TYPE d, a, b = add<rn>({a}, {b})
9.7.4.2 sub{.rn}.TYPE d, a, b = sub<rn>({a}, {b})
9.7.4.3 mul{.rn}.TYPE d, a, b = mul<rn>({a}, {b})
9.7.4.4 fma.rn{.relu}.TYPE d, a, b, c = rectified<{relu}>(fma<rn>({a}, {b}, {c}))
9.7.4.5 neg.TYPE d, a = negated({a})
9.7.4.6 abs.TYPE d, a = canonical(magnitude({a}))
9.7.4.7 min{.NaN}.TYPE d, a, b = minimum<0, {NaN}>({a}, {b})
9.7.4.7 min{.NaN}.xorsign.abs.TYPE d, a, b =
    with_signs({a}, {b}, minimum<0, {NaN}>(magnitude({a}), magnitude({b})))
9.7.4.8 max{.NaN}.TYPE d, a, b = maximum<0, {NaN}>({a}, {b})
9.7.4.8 max{.NaN}.xorsign.abs.TYPE d, a, b =
    with_signs({a}, {b}, maximum<0, {NaN}>(magnitude({a}), magnitude({b})))
# Absolute error 2^-8.
9.7.4.9 tanh.approx.TYPE d, a = from_f32<bf16>(__builtin_tanhf(to_f32({a})))
# Relative error 2^-7.
9.7.4.10 ex2.approx.ftz.TYPE d, a =
    flushed<1>(from_f32<bf16>(__builtin_exp2f(to_f32(flushed<1>({a})))))
"""
#: Of a half and a float.
_MIXED = """
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
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$more = half_truth<$half>($bool_of $plain))
CMP: eq ne lt le gt ge
SRC: s16 s32 s64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$more = half_truth<$half>($bool_of $plain))
CMP: eq ne lt le gt ge lo ls hi hs
SRC: u16 u32 u64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$more = half_truth<$half>($bool_of $plain))
CMP: eq ne lt le gt ge equ neu ltu leu gtu geu num nan
SRC: f64
9.7.7.1 set.CMP$bool.$half.SRC d:$half, a:SRC, b:SRC$more = half_truth<$half>($bool_of $plain))
SRC: $half f32
9.7.7.1 set.CMP$bool$ftz.$half.SRC d:$half, a:SRC, b:SRC$more = half_truth<$half>($bool_of $whole))
RESULT: u16 s16 u32 s32
9.7.7.1 set.CMP$bool$ftz.RESULT.$half d:RESULT, a, b$more = truth<{RESULT}>($bool_of $whole))
9.7.7.1 set.CMP$bool$ftz.${half}x2.${half}x2 d, a, b$more =
    pair(half_truth<$half>($bool_of $low)), half_truth<$half>($bool_of $high)))
RESULT: u32 s32
9.7.7.1 set.CMP$bool$ftz.RESULT.${half}x2 d:RESULT, a, b$more =
    word_truth($bool_of $low), $bool_of $high))
9.7.7.2 setp.CMP$bool$ftz.$half p:pred, a, b$more = $bool_of $whole)
9.7.7.2 setp.CMP$bool$ftz.${half}x2 p:pred|q:pred, a, b$more =
    {p} = $bool_of $low); {q} = $bool_of $high);
"""


#: How the operands compare, and their lower and upper halves; plain ones are no halves.
_COMPARED = {
    "plain": "cmp<Is::{CMP}>({a}, {b})",
    "whole": "cmp<Is::{CMP}>(operand<$flush>(({a})), operand<$flush>(({b})))",
    "low": "cmp<Is::{CMP}>(operand<$flush>(low({a})), operand<$flush>(low({b})))",
    "high": "cmp<Is::{CMP}>(operand<$flush>(high({a})), operand<$flush>(high({b})))",
}
_HALVES = (
    {"half": "f16", "ftz": "{.ftz}", "flush": "{ftz}"},
    {"half": "bf16", "ftz": "", "flush": "0"},
)
#: With a logical operation, or without one.
_LOGIC = (
    {"bool": "", "more": "", "bool_of": "("},
    {"bool": ".BOOL", "more": ", c:pred", "bool_of": "bool_{BOOL}({c},"},
)


def _on_pairs(form: Form) -> Form:
    """Return a row of halves as one of pairs, each half of which it computes alone."""
    low, high = (re.sub(r"{[abc]}", rf"{part}(\g<0>)", form.code) for part in ("low", "high"))
    return replace(form, code=f"pair({low}, {high})")


FORMS = (
    *rows(_ARITHMETIC, {"x2": ""}),
    *map(_on_pairs, rows(_ARITHMETIC, {"x2": "x2"})),
    *rows(_MIXED),
    *rows(_OF_HALF, *(half | logic | _COMPARED for half in _HALVES for logic in _LOGIC)),
)
