"""Conversions: chapter 9.7.9.21 of the manual, ``cvt``, and 9.7.9.22, ``cvt.pack``.

Not here: ``cvt.rs``, whose results depend on random bits in a manner that the manual draws only.
"""

from __future__ import annotations

from functools import partial

from cudakern.engines.simulator.ptx.forms import form

HEADER = "conversions.hpp"
_INTEGERS = "u8 u16 u32 u64 s8 s16 s32 s64"
_cvt = partial(form, "9.7.9.21", RND="rn rz rm rp", RNI="rni rzi rmi rpi", NEAR="rn rz")
_to_small = partial(_cvt, F8="e4m3x2 e5m2x2", F6="e2m3x2 e3m2x2", UP="rz rp")

_BETWEEN = (
    _cvt("cvt{.sat}.DST.SRC d:DST, a:SRC", "converted<{DST}, {sat}>({a})", DST=_INTEGERS, SRC=_INTEGERS),
    # Out of range the nearest integer; of NaN 0, but 1 << (width - 1) to 64 bits or from f64.
    _cvt(
        "cvt.RNI{.ftz}{.sat}.DST.f32 d:DST, a:f32",
        "to_integer<{DST}, {RNI}>(flushed<{ftz}>({a}))",
        DST=_INTEGERS,
    ),
    _cvt(
        "cvt.RNI{.sat}.DST.SRC d:DST, a:SRC",
        "to_integer<{DST}, {RNI}>({a})",
        DST=_INTEGERS,
        SRC="f16 bf16 f64",
    ),
    _cvt(
        "cvt.RND{.ftz}{.sat}.f32.SRC d:f32, a:SRC",
        "from_integer<f32, {RND}, {sat}>({a})",
        SRC=_INTEGERS,
    ),
    _cvt(
        "cvt.RND{.sat}.DST.SRC d:DST, a:SRC",
        "from_integer<{DST}, {RND}, {sat}>({a})",
        DST="f16 bf16 f64",
        SRC=_INTEGERS,
    ),
)
FORMS = _BETWEEN
