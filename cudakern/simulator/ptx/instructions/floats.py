"""Floats of 32 and 64 bits: chapter 9.7.3 of the manual.

Instructions that are not approximate give the manual's bits. Approximate ones give the host's
function, to a unit in the last place or so; their rows name the error that the manual allows.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "floats.hpp"

FORMS = rows("""
UNDEFINED: whole
DIRECTED: small_floats.hpp
OP: finite infinite number notanumber normal subnormal
TYPE: f32 f64
9.7.3.1 testp.OP.TYPE p:pred, a = testp_{OP}({a})
9.7.3.2 copysign.TYPE d, a, b = with_sign({a}, {b})
RND: rn rz rm rp
9.7.3.3 add{.RND}{.ftz}{.sat}.f32 d, a, b = add<{RND}, {ftz}, {sat}>({a}, {b})
9.7.3.3 add{.RND}{.ftz}.f32x2 d, a, b =
    pair(add<{RND}, {ftz}>(low({a}), low({b})), add<{RND}, {ftz}>(high({a}), high({b})))
9.7.3.3 add{.RND}.f64 d, a, b = sum_of<{RND}>({a}, {b})
9.7.3.4 sub{.RND}{.ftz}{.sat}.f32 d, a, b = sub<{RND}, {ftz}, {sat}>({a}, {b})
9.7.3.4 sub{.RND}{.ftz}.f32x2 d, a, b =
    pair(sub<{RND}, {ftz}>(low({a}), low({b})), sub<{RND}, {ftz}>(high({a}), high({b})))
9.7.3.4 sub{.RND}.f64 d, a, b = sum_of<{RND}>({a}, -{b})
9.7.3.5 mul{.RND}{.ftz}{.sat}.f32 d, a, b = mul<{RND}, {ftz}, {sat}>({a}, {b})
9.7.3.5 mul{.RND}{.ftz}.f32x2 d, a, b =
    pair(mul<{RND}, {ftz}>(low({a}), low({b})), mul<{RND}, {ftz}>(high({a}), high({b})))
9.7.3.5 mul{.RND}.f64 d, a, b = product_of<{RND}>({a}, {b})
9.7.3.6 fma.RND{.ftz}{.sat}.f32 d, a, b, c =
    fma_{ftz}<{RND}, {ftz}, {sat}>({a}, {b}, {c})
9.7.3.6 fma.RND{.ftz}.f32x2 d, a, b, c =
    pair(fma<{RND}, {ftz}>(low({a}), low({b}), low({c})),
    fma<{RND}, {ftz}>(high({a}), high({b}), high({c})))
9.7.3.6 fma.RND.f64 d, a, b, c = fused_of<{RND}>({a}, {b}, {c})
9.7.3.7 mad.RND{.ftz}{.sat}.f32 d, a, b, c =
    fma_{ftz}<{RND}, {ftz}, {sat}>({a}, {b}, {c})
9.7.3.7 mad.RND.f64 d, a, b, c = fused_of<{RND}>({a}, {b}, {c})
# To 2 units in the last place for |b| up to 2^126; 0, or NaN of an infinity, above.
9.7.3.8 div.approx{.ftz}.f32 d, a, b = div_approx<{ftz}>({a}, {b})
# To 2 units in the last place.
9.7.3.8 div.full{.ftz}.f32 d, a, b = div<rn, {ftz}>({a}, {b})
9.7.3.8 div.RND{.ftz}.f32 d, a, b = div<{RND}, {ftz}>({a}, {b})
9.7.3.8 div.RND.f64 d, a, b = div<{RND}>({a}, {b})
9.7.3.9 abs{.ftz}.f32 d, a = magnitude<{ftz}>({a})
9.7.3.9 abs.f64 d, a = magnitude({a})
9.7.3.10 neg{.ftz}.f32 d, a = negated<{ftz}>({a})
9.7.3.10 neg.f64 d, a = negated({a})
9.7.3.11 min{.ftz}{.NaN}.f32 d, a, b = minimum<{ftz}, {NaN}>({a}, {b})
9.7.3.11 min{.ftz}{.NaN}.xorsign.abs.f32 d, a, b =
    with_signs({a}, {b}, minimum<{ftz}, {NaN}>(magnitude({a}), magnitude({b})))
9.7.3.11 min{.ftz}{.NaN}{.abs}.f32 d, a, b, c = minimum<{ftz}, {NaN}, {abs}>({a}, {b}, {c})
9.7.3.11 min.f64 d, a, b = minimum({a}, {b})
9.7.3.12 max{.ftz}{.NaN}.f32 d, a, b = maximum<{ftz}, {NaN}>({a}, {b})
9.7.3.12 max{.ftz}{.NaN}.xorsign.abs.f32 d, a, b =
    with_signs({a}, {b}, maximum<{ftz}, {NaN}>(magnitude({a}), magnitude({b})))
9.7.3.12 max{.ftz}{.NaN}{.abs}.f32 d, a, b, c = maximum<{ftz}, {NaN}, {abs}>({a}, {b}, {c})
9.7.3.12 max.f64 d, a, b = maximum({a}, {b})
# To 1 unit in the last place.
9.7.3.13 rcp.approx{.ftz}.f32 d, a = div<rn, {ftz}>(1.0f, {a})
9.7.3.13 rcp.RND{.ftz}.f32 d, a = div<{RND}, {ftz}>(1.0f, {a})
9.7.3.13 rcp.RND.f64 d, a = div<{RND}>(1.0, {a})
# From the upper 32 bits of a to those of the result; the lower ones are 0.
9.7.3.14 rcp.approx.ftz.f64 d, a = upper_half(1 / upper_half({a}))
# Relative error 2^-23.
9.7.3.15 sqrt.approx{.ftz}.f32 d, a = square_root<rn, {ftz}>({a})
9.7.3.15 sqrt.RND{.ftz}.f32 d, a = square_root<{RND}, {ftz}>({a})
9.7.3.15 sqrt.RND.f64 d, a = square_root<{RND}>({a})
# Relative error 2^-22.4; the manual gives none for f64.
9.7.3.16 rsqrt.approx{.ftz}.f32 d, a =
    finished<{ftz}>((f32)(1 / __builtin_sqrt((f64)flushed<{ftz}>({a}))))
9.7.3.16 rsqrt.approx.f64 d, a = 1 / __builtin_sqrt({a})
9.7.3.17 rsqrt.approx.ftz.f64 d, a = upper_half(1 / __builtin_sqrt(upper_half({a})))
# Absolute error 2^-20.5 from -pi to pi, 2^-14.7 from -100 pi to 100 pi, unknown beyond.
9.7.3.18 sin.approx{.ftz}.f32 d, a = finished<{ftz}>(ck_sim_sin(flushed<{ftz}>({a})))
9.7.3.19 cos.approx{.ftz}.f32 d, a = finished<{ftz}>(ck_sim_cos(flushed<{ftz}>({a})))
# Absolute error 2^-22 from 0.5 to 2, relative error 2^-22 elsewhere.
9.7.3.20 lg2.approx{.ftz}.f32 d, a = finished<{ftz}>(ck_sim_lg2(flushed<{ftz}>({a})))
# Relative error 2^-22.
9.7.3.21 ex2.approx{.ftz}.f32 d, a = finished<{ftz}>(ck_sim_ex2(flushed<{ftz}>({a})))
# Relative error 2^-11.
9.7.3.22 tanh.approx.f32 d, a = canonical(ck_sim_tanh({a}))
""")
