"""Conversions: ``cvt`` and ``cvt.pack``, 9.7.9.21 and 9.7.9.22 of the manual.

Not here: ``cvt.rs``, which the manual draws only: it rounds by bits of a random operand.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "conversions.hpp"

_INTEGERS = "u8 u16 u32 u64 s8 s16 s32 s64"


def _fits(kind: str, into: str) -> bool:
    """Return whether a type of integers has all values of another one."""
    spare = int(into[1:]) - int(kind[1:])
    return spare >= 0 if kind[0] == into[0] else into[0] == "s" and spare > 0


_SATURATING = rows(
    """
UNDEFINED: whole
INT: $into
FROM: $sources
9.7.9.21 cvt.sat.INT.FROM d:INT, a:FROM = saturated<{INT}>({a})
""",
    *(
        {"into": into, "sources": " ".join(k for k in _INTEGERS.split() if not _fits(k, into))}
        for into in _INTEGERS.split()
    ),
)

FORMS = _SATURATING + rows(
    """
UNDEFINED: whole
HEADER: ptx.hpp
INT: $integers
FROM: $integers
9.7.9.21 cvt.INT.FROM d:INT, a:FROM (cheap, narrow) = ({INT}){a}
HEADER: conversions.hpp
RNI: rni rzi rmi rpi
# The nearest integer there is; of NaN 0, but 1 << (width - 1) from f64 or to 64 bits.
9.7.9.21 cvt.RNI{.ftz}{.sat}.INT.f32 d:INT, a:f32 = to_integer<{INT}, {RNI}>(flushed<{ftz}>({a}))
9.7.9.21 cvt.RNI{.sat}.INT.f64 d:INT, a:f64 = to_integer<{INT}, {RNI}>({a})
9.7.9.21 cvt.RNI{.sat}.INT.f16 d:INT, a:f16 = to_integer<{INT}, {RNI}>(to_f32({a}))
RND: rn rz rm rp
9.7.9.21 cvt.RND{.ftz}{.sat}.f32.INT d:f32, a:INT = from_integer<f32, {RND}, {sat}>({a})
9.7.9.21 cvt.RND{.sat}.f64.INT d:f64, a:INT = from_integer<f64, {RND}, {sat}>({a})
9.7.9.21 cvt.RND{.sat}.f16.INT d:f16, a:INT = from_integer<f16, {RND}, {sat}>({a})
INT: u16 u32 u64 s16 s32 s64
9.7.9.21 cvt.RNI.INT.bf16 d:INT, a:bf16 = to_integer<{INT}, {RNI}>(to_f32({a}))
9.7.9.21 cvt.RND.bf16.INT d:bf16, a:INT = from_integer<bf16, {RND}, 0>({a})
# The same format, perhaps as an integer.
9.7.9.21 cvt{.ftz}{.sat}.f32.f32 d:f32, a:f32 = same<{ftz}, {sat}>({a})
9.7.9.21 cvt.RNI{.ftz}{.sat}.f32.f32 d:f32, a:f32 =
    same<0, {sat}>(integral<{RNI}>(flushed<{ftz}>({a})))
9.7.9.21 cvt{.sat}.f64.f64 d:f64, a:f64 = same<0, {sat}>({a})
9.7.9.21 cvt.RNI{.sat}.f64.f64 d:f64, a:f64 = same<0, {sat}>(integral<{RNI}>({a}))
9.7.9.21 cvt{.sat}.f16.f16 d:f16, a:f16 = same<0, {sat}>({a})
9.7.9.21 cvt.RNI{.sat}.f16.f16 d:f16, a:f16 = same<0, {sat}>(integral<{RNI}>({a}))
9.7.9.21 cvt.bf16.bf16 d:bf16, a:bf16 = same<0, 0>({a})
9.7.9.21 cvt.RNI.bf16.bf16 d:bf16, a:bf16 = same<0, 0>(integral<{RNI}>({a}))
# Wider.
9.7.9.21 cvt{.ftz}{.sat}.f64.f32 d:f64, a:f32 = same<0, {sat}>((f64)flushed<{ftz}>({a}))
9.7.9.21 cvt{.ftz}{.sat}.f32.f16 d:f32, a:f16 = same<{ftz}, {sat}>(to_f32({a}))
9.7.9.21 cvt{.ftz}.f32.bf16 d:f32, a:bf16 = same<{ftz}, 0>(to_f32({a}))
9.7.9.21 cvt{.sat}.f64.f16 d:f64, a:f16 = same<0, {sat}>((f64)to_f32({a}))
9.7.9.21 cvt.f64.bf16 d:f64, a:bf16 = (f64)to_f32({a})
# Narrower.
9.7.9.21 cvt.RND{.ftz}{.sat}.f32.f64 d:f32, a:f64 = same<{ftz}, {sat}>(narrow<f32, {RND}>({a}))
9.7.9.21 cvt.RND{.ftz}{.sat}.f16.f32 d:f16, a:f32 =
    same<0, {sat}>(narrow<f16, {RND}>(flushed<{ftz}>({a})))
9.7.9.21 cvt.RND{.sat}.f16.f64 d:f16, a:f64 = same<0, {sat}>(narrow<f16, {RND}>({a}))
9.7.9.21 cvt.RND{.ftz}.bf16.f32 d:bf16, a:f32 = same<0, 0>(narrow<bf16, {RND}>(flushed<{ftz}>({a})))
9.7.9.21 cvt.RND.bf16.f64 d:bf16, a:f64 = narrow<bf16, {RND}>({a})
9.7.9.21 cvt.RND.bf16.f16 d:bf16, a:f16 = narrow<bf16, {RND}>(to_f32({a}))
9.7.9.21 cvt.RND.f16.bf16 d:f16, a:bf16 = narrow<f16, {RND}>(to_f32({a}))
NEAR: rn rz
9.7.9.21 cvt.NEAR.relu.f16.f32 d:f16, a:f32 = small<f16, {NEAR}, 1, 0>({a})
9.7.9.21 cvt.NEAR{.relu}.satfinite.f16.f32 d:f16, a:f32 = small<f16, {NEAR}, {relu}, 1>({a})
9.7.9.21 cvt.NEAR.relu.bf16.f32 d:bf16, a:f32 = small<bf16, {NEAR}, 1, 0>({a})
9.7.9.21 cvt.NEAR{.relu}.satfinite.bf16.f32 d:bf16, a:f32 = small<bf16, {NEAR}, {relu}, 1>({a})
9.7.9.21 cvt.NEAR{.relu}{.satfinite}.f16x2.f32 d:f16x2, a:f32, b:f32 =
    pair(small<f16, {NEAR}, {relu}, {satfinite}>({b}), small<f16, {NEAR}, {relu}, {satfinite}>({a}))
9.7.9.21 cvt.NEAR{.relu}{.satfinite}.bf16x2.f32 d:bf16x2, a:f32, b:f32 =
    pair(small<bf16, {NEAR}, {relu}, {satfinite}>({b}),
    small<bf16, {NEAR}, {relu}, {satfinite}>({a}))
9.7.9.21 cvt.rna{.satfinite}.tf32.f32 d:b32, a:f32 = to_tf32<rna, 0, {satfinite}>({a})
9.7.9.21 cvt.NEAR{.satfinite}{.relu}.tf32.f32 d:b32, a:f32 =
    to_tf32<{NEAR}, {relu}, {satfinite}>({a})
FP8: e4m3x2 e5m2x2
9.7.9.21 cvt.rn.satfinite{.relu}.FP8.f32 d:FP8, a:f32, b:f32 = to_small<{FP8}, {relu}>({a}, {b})
FP6: e2m3x2 e3m2x2
9.7.9.21 cvt.rn.satfinite{.relu}.FP6.f32 d:FP6, a:f32, b:f32 = to_small<{FP6}, {relu}>({a}, {b})
9.7.9.21 cvt.rn.satfinite{.relu}.e2m1x2.f32 d:e2m1x2, a:f32, b:f32 =
    to_small<e2m1x2, {relu}>({a}, {b})
9.7.9.21 cvt.rn.satfinite{.relu}.FP8.f16x2 d:FP8, a:f16x2 =
    to_small<{FP8}, {relu}>(to_f32(high({a})), to_f32(low({a})))
9.7.9.21 cvt.rn{.relu}.f16x2.FP8 d:f16x2, a:FP8 = from_small<{FP8}, {relu}>({a})
9.7.9.21 cvt.rn{.relu}.f16x2.FP6 d:f16x2, a:FP6 = from_small<{FP6}, {relu}>({a})
9.7.9.21 cvt.rn{.relu}.f16x2.e2m1x2 d:f16x2, a:e2m1x2 = from_small<e2m1x2, {relu}>({a})
UP: rz rp
9.7.9.21 cvt.UP{.satfinite}.ue8m0x2.f32 d:ue8m0x2, a:f32, b:f32 =
    to_ue8m0x2<{UP}, {satfinite}>({a}, {b})
9.7.9.21 cvt.UP{.satfinite}.ue8m0x2.bf16x2 d:ue8m0x2, a:bf16x2 =
    to_ue8m0x2<{UP}, {satfinite}>(to_f32(high({a})), to_f32(low({a})))
9.7.9.21 cvt.rn.bf16x2.ue8m0x2 d:bf16x2, a:ue8m0x2 = from_ue8m0x2({a})
INT: u16 s16
9.7.9.22 cvt.pack.sat.INT.s32 d:b32, a:s32, b:s32 = pack<{INT}>({a}, {b})
INT: u8 s8 u4 s4 u2 s2
9.7.9.22 cvt.pack.sat.INT.s32.b32 d:b32, a:s32, b:s32, c:b32 = pack_{INT}({a}, {b}, {c})
""",
    {"integers": _INTEGERS},
)
