"""Results of conversions: Python's integers and ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tests.simulator.ptx import exact
from tests.simulator.ptx.exact import bits_of, converted, every, flushed, saturated, wide
from tests.simulator.ptx.harness import DTYPES, Oracle

INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def rounding_of(words) -> str:
    """Return the rounding that an instruction names."""
    return words.get("RND") or words.get("NEAR") or words["UP"]


def limits(kind: str) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    info = np.iinfo(DTYPES[kind])
    return int(info.min), int(info.max)


def to_width(words, a):
    """Return integers of another width: the lower bits, or the nearest representable integer."""
    least, most = limits(words["INT"])
    result = a.astype(object)
    return np.clip(result, least, most) if words.get("sat") == "1" else result


def to_integer(words, a):
    """Return the nearest integer of the type; of NaN 0, or the upper bit from f64 or to 64 bits."""
    kind = words["INT"]
    least, most = limits(kind)
    x = INTEGRAL[words["RNI"]](wide(flushed(words, a)))
    width = int(kind[1:])
    nan = 1 << (width - 1) if width == 64 or a.dtype == np.float64 else 0

    def integer(value):
        if np.isnan(value):
            return nan
        return int(min(max(value, least - 1.0), most + 1.0)) if np.isinf(value) else int(value)

    result = [integer(value) for value in x.tolist()]
    clipped = [
        value if np.isnan(source) else min(max(value, least), most)
        for value, source in zip(result, x.tolist(), strict=True)
    ]
    return np.array(clipped, object)


def from_integer(kind: str):
    """Return the oracle of conversions of integers to a float."""

    def oracle(words, a):
        result = every(exact.from_integer, kind, rounding_of(words), a)
        return bits_of(saturated(words, result), kind)

    return oracle


def same(words, a):
    """Return the numbers, rounded to integers if the spelling says so; NaN may have any bits."""
    x = flushed(words, a)
    if "RNI" in words:
        x = INTEGRAL[words["RNI"]](wide(x)).astype(a.dtype)
    return saturated(words, x)


def to_float(kind: str):
    """Return the oracle of conversions between formats of floats."""

    def oracle(words, a):
        rounding = rounding_of(words) if {"RND", "NEAR"} & {*words} else "rn"
        source = flushed(words, a) if a.dtype == np.float32 else a
        result = every(converted, kind, rounding, wide(source))
        if kind == "f32":
            result = flushed(words, result)
        result = saturated(words, result)
        return bits_of(result, kind) if a.dtype.itemsize < 8 or kind == "f16" else result

    return oracle


def limited(kind: str, a, words, rounding: str):
    """Return numbers of a format in f64, limited as the spelling says."""
    result = np.array([converted(x, kind, rounding) for x in wide(a).tolist()])
    if words.get("satfinite") == "1":
        form = exact.FORMATS[kind]
        most = (2.0 - 2.0 ** (1 - form.precision)) * 2.0**form.largest
        result = np.clip(result, -most, most)
    if words.get("relu") == "1":
        result = np.where(np.signbit(result) & ~np.isnan(result), 0.0, result)
    return result


def to_half(kind: str):
    """Return the oracle of conversions from f32 with limits, of one number and of two to a pair."""

    def oracle(words, *operands):
        result = [limited(kind, x, words, words["NEAR"]).astype(DTYPES[kind]) for x in operands]
        bits = [bits_of(x, kind) for x in result]
        return bits[0] if len(bits) == 1 else np.stack(bits[::-1], 1)

    return oracle


def to_tf32(words, a):
    """Return floats of 19 bits; the bits of a NaN are undefined."""
    result = limited("tf32", a, words, words.get("NEAR", "rna")).astype("f4")
    return np.ma.array(result.view("u4"), mask=np.isnan(a))


SMALL = {
    "e4m3x2": (ml_dtypes.float8_e4m3fn, 8, 0x7F),
    "e5m2x2": (ml_dtypes.float8_e5m2, 8, 0x7F),
    "e2m3x2": (ml_dtypes.float6_e2m3fn, 8, 0x1F),
    "e3m2x2": (ml_dtypes.float6_e3m2fn, 8, 0x1F),
    "e2m1x2": (ml_dtypes.float4_e2m1fn, 4, 0x7),
}


def small_codes(kind, words, x):
    """Return the codes of f32 in a small format, by ml_dtypes, which has no saturation."""
    dtype, _, nan = SMALL[kind]
    most = np.float32(ml_dtypes.finfo(dtype).max)
    result = np.clip(x, -most, most)
    if words["relu"] == "1":
        result = np.where(np.signbit(result), np.float32(0), result)
    codes = np.where(np.isnan(x), np.float32(0), result).astype(dtype).view("u1")
    return np.where(np.isnan(x), nan, codes).astype(int)


def to_small(words, *operands):
    """Return pairs of codes: of two operands, or of the halves of one."""
    kind = words.get("FP8") or words.get("FP6") or "e2m1x2"
    if len(operands) == 1:
        operands = operands[0].T[::-1]
    a, b = (small_codes(kind, words, x.astype("f4")) for x in operands)
    return (a << SMALL[kind][1] | b).astype(object)


def from_small(words, a):
    """Return pairs of f16 for codes."""
    kind = words.get("FP8") or words.get("FP6") or "e2m1x2"
    dtype, width, _ = SMALL[kind]
    mask = {"FP8": 0xFF, "FP6": 0x3F}.get(next((k for k in ("FP8", "FP6") if k in words), ""), 0xF)
    codes = np.stack([a & mask, a >> width & mask], 1).astype("u1")
    result = codes.view(dtype).astype("f4").astype("f2")
    if words["relu"] == "1":
        result = np.where(np.signbit(result) & ~np.isnan(result), np.float16(0), result)
    return bits_of(result, "f16")


def ue8m0_code(x, words):
    """Return the code of the power of two at or beside a magnitude."""
    if np.isnan(x):
        return 0xFF
    if np.isinf(x):
        return 0xFE if words["satfinite"] == "1" else 0xFF
    mantissa, exponent = np.frexp(abs(x))  # mantissa from 0.5
    up = words["UP"] == "rp" and mantissa != 0.5
    code = max(int(exponent) - 1 + up + 127, 0) if x else 0
    return min(code, 0xFE) if words["satfinite"] == "1" else code


def to_ue8m0(words, *operands):
    """Return pairs of codes of powers of two."""
    if len(operands) == 1:
        operands = operands[0].T[::-1]
    a, b = ([ue8m0_code(v, words) for v in wide(x).tolist()] for x in operands)
    return np.array(a, object) << 8 | np.array(b, object)


def from_ue8m0(_, a):
    """Return pairs of bf16 for codes."""
    codes = np.stack([a & 0xFF, a >> 8], 1).astype("u1")
    return bits_of(codes.view(ml_dtypes.float8_e8m0fnu).astype("f4").astype(DTYPES["bf16"]), "bf16")


def pack(words, a, b, *c):
    """Return two saturated integers in the lowest bits, below the earlier ones."""
    width = int(words["INT"][1:])
    least = -(1 << (width - 1)) if words["INT"][0] == "s" else 0
    mask = (1 << width) - 1
    high, low = (np.clip(x.astype(object), least, least + mask) & mask for x in (a, b))
    rest = c[0].astype(object) << 2 * width if c else 0
    return high << width | low | rest


WORDS = range(65536)
#: Floats beside integers and beside the limits of integers.
LIMITS = (
    *(0, 0.5, 1, 1.5, 2.5, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1),
    *(2.0**n for n in (24, 31, 32, 53, 63, 64, 100)),
)
NEAR_INTEGERS = np.array(
    [
        *(
            sign * near
            for limit in LIMITS
            for near in (limit, limit + 0.5, limit + 0.25, np.nextafter(limit, 0), limit - 1)
            for sign in (1, -1)
        ),
        *(np.inf, -np.inf, np.nan, 1e-310, 1e-40, -1e-40, 65504, 65520),
    ]
)


def near_powers(kind):
    """Return floats beside powers of two, and pairs of them."""
    powers = np.array([2.0**n for n in (-149, -128, -127, -126, -1, 0, 1, 126, 127)], "f4")
    up, down = (np.nextafter(powers, np.float32(limit)) for limit in (np.inf, 0))
    some = np.concatenate([powers, up, down, [0, np.inf, np.nan]]).astype("f4")
    both = np.concatenate([some, -some])
    return both if kind == "f32" else np.stack([both, both[::-1]], 1)


_WIDTHS = {
    "cvt.INT.FROM d:INT, a:FROM": to_width,
    "cvt.sat.INT.FROM d:INT, a:FROM": to_width,
    "cvt.RNI{.ftz}{.sat}.INT.f32 d:INT, a:f32": Oracle(to_integer, {"a": NEAR_INTEGERS}),
    "cvt.RNI{.sat}.INT.f64 d:INT, a:f64": Oracle(to_integer, {"a": NEAR_INTEGERS}),
    "cvt.RNI{.sat}.INT.f16 d:INT, a:f16": Oracle(to_integer, {"a": NEAR_INTEGERS}),
    "cvt.RNI.INT.bf16 d:INT, a:bf16": Oracle(to_integer, {"a": NEAR_INTEGERS}),
    "cvt.RND{.ftz}{.sat}.f32.INT d:f32, a:INT": from_integer("f32"),
    "cvt.RND{.sat}.f64.INT d:f64, a:INT": from_integer("f64"),
    "cvt.RND{.sat}.f16.INT d:f16, a:INT": from_integer("f16"),
    "cvt.RND.bf16.INT d:bf16, a:INT": from_integer("bf16"),
}

_SAME = {
    f"cvt{rounding}{modifiers}.{kind}.{kind} d:{kind}, a:{kind}": (
        Oracle(same, {"a": NEAR_INTEGERS}) if rounding else same
    )
    for kind, modifiers in (
        ("f32", "{.ftz}{.sat}"),
        ("f64", "{.sat}"),
        ("f16", "{.sat}"),
        ("bf16", ""),
    )
    for rounding in ("", ".RNI")
}

_FLOATS = {
    "cvt{.ftz}{.sat}.f64.f32 d:f64, a:f32": to_float("f64"),
    "cvt{.ftz}{.sat}.f32.f16 d:f32, a:f16": to_float("f32"),
    "cvt{.ftz}.f32.bf16 d:f32, a:bf16": to_float("f32"),
    "cvt{.sat}.f64.f16 d:f64, a:f16": to_float("f64"),
    "cvt.f64.bf16 d:f64, a:bf16": to_float("f64"),
    "cvt.RND{.ftz}{.sat}.f32.f64 d:f32, a:f64": to_float("f32"),
    "cvt.RND{.ftz}{.sat}.f16.f32 d:f16, a:f32": to_float("f16"),
    "cvt.RND{.sat}.f16.f64 d:f16, a:f64": to_float("f16"),
    "cvt.RND{.ftz}.bf16.f32 d:bf16, a:f32": to_float("bf16"),
    "cvt.RND.bf16.f64 d:bf16, a:f64": to_float("bf16"),
    "cvt.RND.bf16.f16 d:bf16, a:f16": to_float("bf16"),
    "cvt.RND.f16.bf16 d:f16, a:bf16": to_float("f16"),
}

_SMALL = {
    "cvt.NEAR.relu.f16.f32 d:f16, a:f32": to_half("f16"),
    "cvt.NEAR{.relu}.satfinite.f16.f32 d:f16, a:f32": to_half("f16"),
    "cvt.NEAR.relu.bf16.f32 d:bf16, a:f32": to_half("bf16"),
    "cvt.NEAR{.relu}.satfinite.bf16.f32 d:bf16, a:f32": to_half("bf16"),
    "cvt.NEAR{.relu}{.satfinite}.f16x2.f32 d:f16x2, a:f32, b:f32": to_half("f16"),
    "cvt.NEAR{.relu}{.satfinite}.bf16x2.f32 d:bf16x2, a:f32, b:f32": to_half("bf16"),
    "cvt.rna{.satfinite}.tf32.f32 d:b32, a:f32": to_tf32,
    "cvt.NEAR{.satfinite}{.relu}.tf32.f32 d:b32, a:f32": to_tf32,
    "cvt.rn.satfinite{.relu}.FP8.f32 d:FP8, a:f32, b:f32": to_small,
    "cvt.rn.satfinite{.relu}.FP6.f32 d:FP6, a:f32, b:f32": to_small,
    "cvt.rn.satfinite{.relu}.e2m1x2.f32 d:e2m1x2, a:f32, b:f32": to_small,
    "cvt.rn.satfinite{.relu}.FP8.f16x2 d:FP8, a:f16x2": to_small,
    "cvt.rn{.relu}.f16x2.FP8 d:f16x2, a:FP8": Oracle(from_small, {"a": WORDS}),
    "cvt.rn{.relu}.f16x2.FP6 d:f16x2, a:FP6": Oracle(from_small, {"a": WORDS}),
    "cvt.rn{.relu}.f16x2.e2m1x2 d:f16x2, a:e2m1x2": Oracle(from_small, {"a": range(256)}),
    "cvt.UP{.satfinite}.ue8m0x2.f32 d:ue8m0x2, a:f32, b:f32": Oracle(
        to_ue8m0, {"a": near_powers, "b": near_powers}
    ),
    "cvt.UP{.satfinite}.ue8m0x2.bf16x2 d:ue8m0x2, a:bf16x2": Oracle(to_ue8m0, {"a": near_powers}),
    "cvt.rn.bf16x2.ue8m0x2 d:bf16x2, a:ue8m0x2": Oracle(from_ue8m0, {"a": WORDS}),
}

_PACKED = {
    "cvt.pack.sat.INT.s32 d:b32, a:s32, b:s32": pack,
    "cvt.pack.sat.INT.s32.b32 d:b32, a:s32, b:s32, c:b32": pack,
}

ORACLES = {**_WIDTHS, **_SAME, **_FLOATS, **_SMALL, **_PACKED}
