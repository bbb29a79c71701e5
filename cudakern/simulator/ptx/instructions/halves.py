"""Floats of 16 bits, alone and in pairs: chapters 9.7.4, 9.7.5 and 9.7.7 of the manual.

Not here: ``fma.oob``, which tells the NaN that tensor maps fill with from others.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "halves.hpp"

#: In halves, or in pairs of them, of which each is computed alone.
_ARITHMETIC = """
UNDEFINED: $undefined
TYPE: f16$x2
9.7.4.1 add{.rn}{.ftz}{.sat}.TYPE d, a, b =
    $two add<rn, {ftz}, {sat}>($a, $b)$end_two
9.7.4.2 sub{.rn}{.ftz}{.sat}.TYPE d, a, b =
    $two sub<rn, {ftz}, {sat}>($a, $b)$end_two
9.7.4.3 mul{.rn}{.ftz}{.sat}.TYPE d, a, b =
    $two mul<rn, {ftz}, {sat}>($a, $b)$end_two
9.7.4.4 fma.rn{.ftz}{.sat}.TYPE d, a, b, c =
    $three fma<rn, {ftz}, {sat}>($a, $b, $c)$end_three
9.7.4.4 fma.rn{.ftz}.relu.TYPE d, a, b, c =
    $three rectified<1>(fma<rn, {ftz}>($a, $b, $c))$end_three
9.7.4.5 neg{.ftz}.TYPE d, a =
    $one negated<{ftz}>($a)$end_one
9.7.4.6 abs{.ftz}.TYPE d, a =
    $one canonical(magnitude<{ftz}>($a))$end_one
9.7.4.7 min{.ftz}{.NaN}.TYPE d, a, b =
    $two minimum<{ftz}, {NaN}>($a, $b)$end_two
9.7.4.7 min{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b =
    $two with_signs($a, $b, minimum<{ftz}, {NaN}>(magnitude($a), magnitude($b)))$end_two
9.7.4.8 max{.ftz}{.NaN}.TYPE d, a, b =
    $two maximum<{ftz}, {NaN}>($a, $b)$end_two
9.7.4.8 max{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b =
    $two with_signs($a, $b, maximum<{ftz}, {NaN}>(magnitude($a), magnitude($b)))$end_two
# Absolute error 2^-10.987.
9.7.4.9 tanh.approx.TYPE d, a =
    $one from_f32<f16>(ck_sim_tanh(to_f32($a)))$end_one
# Relative error 2^-9.9.
9.7.4.10 ex2.approx.TYPE d, a =
    $one from_f32<f16>(ck_sim_ex2(to_f32($a)))$end_one
TYPE: bf16$x2
9.7.4.1 add{.rn}.TYPE d, a, b =
    $two add<rn>($a, $b)$end_two
9.7.4.2 sub{.rn}.TYPE d, a, b =
    $two sub<rn>($a, $b)$end_two
9.7.4.3 mul{.rn}.TYPE d, a, b =
    $two mul<rn>($a, $b)$end_two
9.7.4.4 fma.rn{.relu}.TYPE d, a, b, c =
    $three rectified<{relu}>(fma<rn>($a, $b, $c))$end_three
9.7.4.5 neg.TYPE d, a =
    $one negated($a)$end_one
9.7.4.6 abs.TYPE d, a =
    $one canonical(magnitude($a))$end_one
9.7.4.7 min{.NaN}.TYPE d, a, b =
    $two minimum<0, {NaN}>($a, $b)$end_two
9.7.4.7 min{.NaN}.xorsign.abs.TYPE d, a, b =
    $two with_signs($a, $b, minimum<0, {NaN}>(magnitude($a), magnitude($b)))$end_two
9.7.4.8 max{.NaN}.TYPE d, a, b =
    $two maximum<0, {NaN}>($a, $b)$end_two
9.7.4.8 max{.NaN}.xorsign.abs.TYPE d, a, b =
    $two with_signs($a, $b, maximum<0, {NaN}>(magnitude($a), magnitude($b)))$end_two
# Absolute error 2^-8.
9.7.4.9 tanh.approx.TYPE d, a =
    $one from_f32<bf16>(ck_sim_tanh(to_f32($a)))$end_one
# Relative error 2^-7.
9.7.4.10 ex2.approx.ftz.TYPE d, a =
    $one flushed<1>(from_f32<bf16>(ck_sim_ex2(to_f32(flushed<1>($a)))))$end_one
"""
_HALF = {"x2": "", "undefined": "whole", "a": "{a}", "b": "{b}", "c": "{c}"}
_HALF |= dict.fromkeys(("one", "two", "three", "end_one", "end_two", "end_three"), "")
_PAIR = {
    "x2": "x2",
    "undefined": "halves",
    **dict(zip("abc", "abc", strict=True)),
    "one": "on_halves([&](auto a) {{ return",
    "two": "on_halves([&](auto a, auto b) {{ return",
    "three": "on_halves([&](auto a, auto b, auto c) {{ return",
    "end_one": ";}}, {a})",
    "end_two": ";}}, {a}, {b})",
    "end_three": ";}}, {a}, {b}, {c})",
}
#: Of a half and a float.
_MIXED = """
UNDEFINED: whole
TYPE: f16 bf16
RND: rn rz rm rp
9.7.5.1 add{.RND}{.sat}.f32.TYPE d:f32, a, c:f32 = add<{RND}, 0, {sat}>(to_f32({a}), {c})
9.7.5.2 sub{.RND}{.sat}.f32.TYPE d:f32, a, c:f32 = sub<{RND}, 0, {sat}>(to_f32({a}), {c})
9.7.5.3 fma.RND{.sat}.f32.TYPE d:f32, a, b, c:f32 =
    fma<{RND}, 0, {sat}>(to_f32({a}), to_f32({b}), {c})
"""

#: Comparisons of a half and of its pairs, and those with it as the result.
_OF_HALF = """
UNDEFINED: whole
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

FORMS = (
    rows(_ARITHMETIC, _HALF, _PAIR)
    + rows(_MIXED)
    + rows(_OF_HALF, *(half | logic | _COMPARED for half in _HALVES for logic in _LOGIC))
)
