"""Floats of 16 bits, alone and in pairs: chapters 9.7.4, 9.7.5 and 9.7.7 of the manual.

Not here: ``fma.oob``, which tells the NaN that tensor maps fill with from others.
"""

from __future__ import annotations

from functools import partial

from cudakern.engines.simulator.ptx.forms import form

HEADER = "halves.hpp"
_f16 = partial(form, TYPE="f16 f16x2")
_bf16 = partial(form, TYPE="bf16 bf16x2")
_mixed = partial(form, RND="rn rz rm rp", TYPE="f16 bf16")

_ARITHMETIC = (
    _f16("9.7.4.1", "add{.rn}{.ftz}{.sat}.TYPE d, a, b", "add<{ftz}, {sat}>({a}, {b})"),
    _bf16("9.7.4.1", "add{.rn}.TYPE d, a, b", "add<0, 0>({a}, {b})"),
    _f16("9.7.4.2", "sub{.rn}{.ftz}{.sat}.TYPE d, a, b", "sub<{ftz}, {sat}>({a}, {b})"),
    _bf16("9.7.4.2", "sub{.rn}.TYPE d, a, b", "sub<0, 0>({a}, {b})"),
    _f16("9.7.4.3", "mul{.rn}{.ftz}{.sat}.TYPE d, a, b", "mul<{ftz}, {sat}>({a}, {b})"),
    _bf16("9.7.4.3", "mul{.rn}.TYPE d, a, b", "mul<0, 0>({a}, {b})"),
    _f16("9.7.4.4", "fma.rn{.ftz}{.sat}.TYPE d, a, b, c", "fma<{ftz}, {sat}, 0>({a}, {b}, {c})"),
    _f16("9.7.4.4", "fma.rn{.ftz}.relu.TYPE d, a, b, c", "fma<{ftz}, 0, 1>({a}, {b}, {c})"),
    _bf16("9.7.4.4", "fma.rn{.relu}.TYPE d, a, b, c", "fma<0, 0, {relu}>({a}, {b}, {c})"),
    _f16("9.7.4.5", "neg{.ftz}.TYPE d, a", "negated<{ftz}>({a})"),
    _bf16("9.7.4.5", "neg.TYPE d, a", "negated<0>({a})"),
    _f16("9.7.4.6", "abs{.ftz}.TYPE d, a", "magnitude<{ftz}>({a})"),
    _bf16("9.7.4.6", "abs.TYPE d, a", "magnitude<0>({a})"),
    _f16("9.7.4.7", "min{.ftz}{.NaN}.TYPE d, a, b", "minimum<{ftz}, {NaN}, 0>({a}, {b})"),
    _f16(
        "9.7.4.7", "min{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b", "minimum<{ftz}, {NaN}, 1>({a}, {b})"
    ),
    _bf16("9.7.4.7", "min{.NaN}.TYPE d, a, b", "minimum<0, {NaN}, 0>({a}, {b})"),
    _bf16("9.7.4.7", "min{.NaN}.xorsign.abs.TYPE d, a, b", "minimum<0, {NaN}, 1>({a}, {b})"),
    _f16("9.7.4.8", "max{.ftz}{.NaN}.TYPE d, a, b", "maximum<{ftz}, {NaN}, 0>({a}, {b})"),
    _f16(
        "9.7.4.8", "max{.ftz}{.NaN}.xorsign.abs.TYPE d, a, b", "maximum<{ftz}, {NaN}, 1>({a}, {b})"
    ),
    _bf16("9.7.4.8", "max{.NaN}.TYPE d, a, b", "maximum<0, {NaN}, 0>({a}, {b})"),
    _bf16("9.7.4.8", "max{.NaN}.xorsign.abs.TYPE d, a, b", "maximum<0, {NaN}, 1>({a}, {b})"),
    # Absolute error 2^-10.987 in f16, 2^-8 in bf16.
    form("9.7.4.9", "tanh.approx.TYPE d, a", "tanh_approx({a})", TYPE="f16 f16x2 bf16 bf16x2"),
    # Relative error 2^-9.9 in f16, 2^-7 in bf16.
    _f16("9.7.4.10", "ex2.approx.TYPE d, a", "ex2_approx<0>({a})"),
    _bf16("9.7.4.10", "ex2.approx.ftz.TYPE d, a", "ex2_approx<1>({a})"),
)

_MIXED = (
    _mixed(
        "9.7.5.1", "add{.RND}{.sat}.f32.TYPE d:f32, a, c:f32", "add<{RND}, 0, {sat}>(to_f32({a}), {c})"
    ),
    _mixed(
        "9.7.5.2", "sub{.RND}{.sat}.f32.TYPE d:f32, a, c:f32", "sub<{RND}, 0, {sat}>(to_f32({a}), {c})"
    ),
    _mixed(
        "9.7.5.3",
        "fma.RND{.sat}.f32.TYPE d:f32, a, b, c:f32",
        "fma<{RND}, 0, {sat}>(to_f32({a}), to_f32({b}), {c})",
    ),
)

FORMS = (*_ARITHMETIC, *_MIXED)
