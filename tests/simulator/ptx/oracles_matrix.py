"""Answers for `instructions/matrix.py`: NumPy's products of matrices that are distributed to the
lanes as the manual's figures show.
"""

from __future__ import annotations

import re
from zlib import crc32

import ml_dtypes
import numpy as np

from cudakern.simulator.ptx.instructions.matrix import FORMS
from tests.simulator.ptx.exact import fused
from tests.simulator.ptx.harness import HEAD, KernelCase, answers_by, poison

LANES = 32
_FUSED = np.vectorize(lambda a, b, c: fused(a, b, c, "f64", "rn"))
ORACLES: dict = {}

# Elements: NumPy's dtype, and how many bits of a matrix each takes.

DTYPES = {
    "f16": np.dtype("f2"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype("f4"),
    "f32": np.dtype("f4"),
    "f64": np.dtype("f8"),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    **dict.fromkeys(["s8", "s4"], np.dtype("i1")),
    **dict.fromkeys(["u8", "u4", "b1"], np.dtype("u1")),
    "s32": np.dtype("i4"),
}
WIDTHS = {**{name: 8 * dtype.itemsize for name, dtype in DTYPES.items()}, "s4": 4, "u4": 4, "b1": 1}
RANGES = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}


def words_of(values, element):
    """Return the bits of values as unsigned integers."""
    values = np.ascontiguousarray(values, DTYPES[element])
    mask = (1 << WIDTHS[element]) - 1
    return values.view(f"u{values.itemsize}").astype(np.uint64) & np.uint64(mask)


def packed(words, element):
    """Return words along the last axis as registers, or memory: the first one is the lowest."""
    width = WIDTHS[element]
    size = max(width, 32)
    per = size // width
    groups = words.reshape(*words.shape[:-1], -1, per)
    shifts = np.arange(per, dtype=np.uint64) * np.uint64(width)
    return np.bitwise_or.reduce(groups << shifts, axis=-1).astype(f"u{size // 8}")


# Layouts: row and column of the i-th element of a lane, by groupID g and threadID_in_group t, as
# the manual's sections 9.7.14.5.1 to 9.7.14.5.14 state them.

_OF_A = {
    ("m8n8k4", 64): lambda g, t, _: (g, t),
    ("m8n8k16", 8): lambda g, t, i: (g, t * 4 + i),
    ("m8n8k32", 4): lambda g, t, i: (g, t * 8 + i),
    ("m8n8k128", 1): lambda g, t, i: (g, t * 32 + i),
    ("m16n8k4", 32): lambda g, t, i: (g if i == 0 else g + 8, t),
    ("m16n8k4", 64): lambda g, t, i: (g if i == 0 else g + 8, t),
    ("m16n8k8", 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ("m16n8k8", 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    ("m16n8k8", 64): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    ("m16n8k16", 16): lambda g, t, i: (
        g if 0 <= i < 2 or 4 <= i < 6 else g + 8,
        t * 2 + (i & 1) if i < 4 else t * 2 + (i & 1) + 8,
    ),
    ("m16n8k16", 64): lambda g, t, i: (
        g if i % 2 == 0 else g + 8,
        i * 2 + t if i % 2 == 0 else i * 2 - 2 + t,
    ),
    ("m16n8k16", 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    ("m16n8k32", 8): lambda g, t, i: (
        g if 0 <= i < 4 or 8 <= i < 12 else g + 8,
        t * 4 + (i & 3) if i < 8 else t * 4 + (i & 3) + 16,
    ),
    ("m16n8k32", 4): lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)),
    ("m16n8k64", 4): lambda g, t, i: (
        g if 0 <= i < 8 or 16 <= i < 24 else g + 8,
        t * 8 + (i & 7) if i < 16 else t * 8 + (i & 7) + 32,
    ),
    ("m16n8k128", 1): lambda g, t, i: (g if i < 32 else g + 8, t * 32 + (i & 31)),
    ("m16n8k256", 1): lambda g, t, i: (
        g if i < 32 or 64 <= i < 96 else g + 8,
        t * 32 + (i & 31) if i < 64 else t * 32 + (i & 31) + 128,
    ),
}
_OF_B = {
    ("m8n8k4", 64): lambda g, t, _: (t, g),
    ("m8n8k16", 8): lambda g, t, i: (t * 4 + i, g),
    ("m8n8k32", 4): lambda g, t, i: (t * 8 + i, g),
    ("m8n8k128", 1): lambda g, t, i: (t * 32 + i, g),
    ("m16n8k4", 32): lambda g, t, _: (t, g),
    ("m16n8k4", 64): lambda g, t, _: (t, g),
    ("m16n8k8", 16): lambda g, t, i: (t * 2 + i, g),
    ("m16n8k8", 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    ("m16n8k8", 64): lambda g, t, i: (t if i == 0 else t + 4, g),
    ("m16n8k16", 16): lambda g, t, i: (t * 2 + (i & 1) if i < 2 else t * 2 + (i & 1) + 8, g),
    ("m16n8k16", 64): lambda g, t, i: (t + i * 4, g),
    ("m16n8k16", 8): lambda g, t, i: (t * 4 + i, g),
    ("m16n8k32", 8): lambda g, t, i: (t * 4 + (i & 3) if i < 4 else t * 4 + (i & 3) + 16, g),
    ("m16n8k32", 4): lambda g, t, i: (t * 8 + i, g),
    ("m16n8k64", 4): lambda g, t, i: (t * 8 + (i & 7) if i < 8 else t * 8 + (i & 7) + 32, g),
    ("m16n8k128", 1): lambda g, t, i: (t * 32 + i, g),
    ("m16n8k256", 1): lambda g, t, i: (t * 32 + (i & 31) if i < 32 else t * 32 + (i & 31) + 128, g),
}


def _place(part, shape, element, lane, i):
    """Return the row and column of a lane's i-th element."""
    group, thread = lane >> 2, lane % 4
    if part == "a":
        return _OF_A[shape, WIDTHS[element]](group, thread, i)
    if part == "b":
        return _OF_B[shape, WIDTHS[element]](group, thread, i)
    if shape.startswith("m8"):
        return group, thread * 2 + i
    return group if i < 2 else group + 8, thread * 2 + (i & 1)


def _quad_place(part, major, element, lane, i):
    """Return the same for m8n8k4 of f16, with the number of one of its four products."""
    high = 0 if lane < 16 else 4
    if part == "a":
        row, column = (lane % 4 + high, i) if major == "row" else (i % 4 + high, lane % 4)
    elif part == "b":
        row, column = (lane % 4, i + high) if major == "row" else (i, lane % 4 + high)
    elif element == "f16":
        row, column = lane % 4 + high, i
    else:
        row, column = (lane & 0b1) + (i & 0b10) + high, (i & 0b100) + (lane & 0b10) + (i & 0b1)
    return lane % 16 // 4, row, column


def dealt(matrix, element, place):
    """Return the registers of all lanes that hold a matrix."""
    count = matrix.size // LANES
    words = words_of(matrix, element)
    if element == "tf32":  # the bits that its mantissa lacks are ignored
        words |= np.arange(1, words.size + 1, dtype=np.uint64).reshape(words.shape) * 97 & 0x1FFF
    lanes = [[words[place(lane, i)] for i in range(count)] for lane in range(LANES)]
    return packed(np.array(lanes), element)


# Matrices


def _floats(rng, shape, element):
    """Return values whose products' sums are exact in double precision."""
    dtype = DTYPES[element]
    bits = {"f16": 10, "bf16": 7, "tf32": 10, "f32": 23, "f64": 52, "e4m3": 3, "e5m2": 2}[element]
    mantissa = rng.integers(1 << bits, 2 << bits, shape) * rng.choice([-1, 1], shape)
    exponents = rng.integers(-3, 4, shape) - bits
    return np.ldexp(mantissa.astype("f8"), exponents).astype(dtype)


#: Where rounding to f16 changes: near the largest value, halfway between two, below the least.
EDGES_OF_HALVES = (65504, 65519.99, 65520, 2049, -2051, 2.0**-25, 3 * 2.0**-25, 1.01 * 2.0**-25)


def matrices(key, m, n, k, elements):
    """Return random a, b and c with special values in the first rows of a and columns of b."""
    rng = np.random.default_rng(crc32(key.encode()))
    a_element, b_element, c_element = elements
    if c_element == "s32":
        operands = [
            rng.integers(*RANGES[element], shape).astype(DTYPES[element])
            for element, shape in ((a_element, (m, k)), (b_element, (k, n)))
        ]
        c = rng.integers(-(2**31), 2**31, (m, n)).astype(np.int32)
        c[0], c[1] = 2**31 - 1, -(2**31)
        return *operands, c
    a, b = _floats(rng, (m, k), a_element), _floats(rng, (k, n), b_element)
    c = _floats(rng, (m, n), c_element)
    info = ml_dtypes.finfo(DTYPES[a_element])
    a[0, k - 1] = np.nan
    if a_element != "e4m3":
        a[1, 1] = np.inf
        b[1, 2] = 0
    a[2], c[2] = info.smallest_subnormal if a_element != "tf32" else 2.0**-136, 0
    a[3, :2], a[3, 2:], c[3] = 2.0**126 if a_element == "tf32" else float(info.max) / 4, 0, 1
    a[4], c[4] = 0, -0.0
    c[5, 0], c[5, 1] = -np.inf, np.nan
    a[6], a[7] = 0, info.max if a_element != "tf32" else 2.0**127
    with np.errstate(over="ignore"):
        c[6] = np.resize(EDGES_OF_HALVES, n).astype(c.dtype)
    return a, b, c


def product(a, b, c, element, *, step=None, clamps=False):
    """Return a b + c, added up by ascending k, as an array of the element's dtype."""
    dtype = DTYPES[element]
    if dtype.kind == "i":
        terms = (a[:, :, None].astype("i8"), b[None].astype("i8"))
        sums = c + (terms[0] * terms[1] if step is None else step(*terms)).sum(1)
        return (np.clip(sums, -(2**31), 2**31 - 1) if clamps else sums).astype(dtype)
    with np.errstate(all="ignore"):
        sums = c.astype("f8")
        for k in range(a.shape[1]):
            left, right = a[:, k, None].astype("f8"), b[None, k].astype("f8")
            sums = _FUSED(left, right, sums) if element == "f64" else sums + left * right
        return sums.astype(dtype)


# mma.sync


def _extents(shape):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def _entry(name, counts, kind):
    """Return an entry in which each lane loads its registers, multiplies, and stores."""
    parts = "dabc"
    bits = int(kind[1:])
    lines = [f".visible .entry k({', '.join(f'.param .u64 p_{p}' for p in parts)})", "{"]
    lines += [".reg .b64 %at, %lane; .reg .b32 %t; mov.u32 %t, %tid.x; mul.wide.u32 %lane, %t, 1;"]
    names = {p: [f"%{p}{i}" for i in range(c)] for p, c in zip(parts, counts, strict=True)}
    lines += [f".reg .{kind} {', '.join(registers)};" for registers in names.values()]
    for part in "abcd":
        moves = {}
        for i, register in enumerate(names[part]):
            moves[register] = f"[%at + {i * bits // 8}]"
        size = len(moves) * bits // 8
        at = f"ld.param.u64 %at, [p_{part}]; mad.lo.u64 %at, %lane, {size}, %at;"
        if part == "d":
            lines.append(f"{name} {', '.join('{' + ', '.join(names[p]) + '}' for p in parts)};")
            lines += [at, *(f"st.global.{kind} {to}, {r};" for r, to in moves.items())]
        else:
            lines += [at, *(f"ld.global.{kind} {r}, {source};" for r, source in moves.items())]
    return "\n".join([*lines, "ret;", "}", ""])


def _parts_of(name):
    """Return shape and elements of a, b, c and d of a product's full name."""
    words = name.split(".")
    shape = next(word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word))
    kinds = [word for word in words if word in DTYPES]
    if len(kinds) == 2:  # wmma of f16
        kinds = [kinds[0], "f16", "f16", kinds[1]]
    d, a, b, c = kinds
    return shape, a, b, c, d


def _steps(name):
    if ".popc" not in name:
        return None
    return np.bitwise_xor if ".xor" in name else np.bitwise_and


def _registers(values, element):
    return values.size * WIDTHS[element] // max(32, WIDTHS[element]) // LANES


def _mma(name, words):
    """Return the entry's counts and type, arguments and answer of a spelling of mma.sync."""
    shape, *elements, d_element = _parts_of(name)
    m, n, k = _extents(shape)
    if "ROWS" in words:
        return _quads(name, words, elements, d_element)
    a, b, c = matrices(name, m, n, k, elements)
    answer = product(a, b, c, d_element, step=_steps(name), clamps=".satfinite" in name)
    given = [
        dealt(values, element, lambda lane, i, p=part, e=element: _place(p, shape, e, lane, i))
        for part, values, element in zip("abc", (a, b, c), elements, strict=True)
    ]
    wanted = dealt(answer, d_element, lambda lane, i: _place("c", shape, d_element, lane, i))
    return given, wanted, d_element


def _quads(name, words, elements, d_element):
    made = [matrices(f"{name} {q}", 8, 8, 4, elements) for q in range(4)]
    stacked = [np.stack(values) for values in zip(*made, strict=True)]
    answer = np.stack([product(*of, d_element) for of in made])
    majors = {"a": words["ROWS"], "b": words["COLUMNS"], "c": ""}
    given = [
        dealt(values, e, lambda lane, i, p=p, e=e: _quad_place(p, majors[p], e, lane, i))
        for p, values, e in zip("abc", stacked, elements, strict=True)
    ]
    wanted = dealt(answer, d_element, lambda lane, i: _quad_place("c", "", d_element, lane, i))
    return given, wanted, d_element


def _as_elements(words, element):
    """Return registers as what is compared: floats as floats, so that NaNs are equal."""
    return np.ascontiguousarray(words).view(DTYPES[element])


def mma(name, words):
    """Return the kernel of a spelling of mma.sync."""
    given, wanted, element = _mma(name, words)
    counts = [wanted.shape[1], *(registers.shape[1] for registers in given)]
    text = HEAD + _entry(name, counts, "b64" if wanted.dtype.itemsize == 8 else "b32")
    before = _as_elements(np.full_like(wanted, 0xA5A5A5A5), element)
    return KernelCase(text, (before, *given), {0: _as_elements(wanted, element)})


# ldmatrix, stmatrix, movmatrix: registers hold pairs of elements of 8 by 8 matrices


def _pairs(tiles, *, transposed):
    """Return the register of each lane for each tile: row g, columns 2 t and 2 t + 1."""
    found = np.swapaxes(tiles, 1, 2) if transposed else tiles
    return packed(found.reshape(len(tiles), LANES, 2).astype(np.uint64), "f16")[..., 0].T


def _row_addresses(count, name, opcode):
    """Return PTX that leaves in %row the address of the row of 16 bytes that a lane names.

    The rows lie in memory in reversed order, 32 bytes apart.
    """
    lines = [
        ".shared .align 16 .b8 s[1024]; .reg .b32 %row, %t; .reg .b64 %at, %lane, %generic;",
        "mov.u32 %t, %tid.x; mul.wide.u32 %lane, %t, 1; sub.u32 %row, 31, %t;",
        "shl.b32 %row, %row, 5; mov.u32 %t, s; add.u32 %row, %row, %t;",
        f".reg .b32 {', '.join(f'%r{i}' for i in range(count))};",
        "mul.wide.u32 %generic, %row, 1; cvta.shared.u64 %generic, %generic;",
    ]
    place = "%row" if ".shared" in name else "%generic"
    registers = "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"
    if opcode == "ldmatrix":
        return lines, f"{name} {registers}, [{place}];"
    return lines, f"{name} [{place}], {registers};"


def _moving_entry(name, count):
    """Return an entry that moves `count` matrices between shared memory and registers."""
    opcode = name.split(".")[0]
    lines, instruction = _row_addresses(count, name, opcode)
    rows = [f"[%row + {4 * i}]" for i in range(4)]
    given = [f"[%at + {4 * i}]" for i in range(4)]
    own = [f"[%at + {4 * i}]" for i in range(count)]

    def at(parameter, size):
        return f"ld.param.u64 %at, [{parameter}]; mad.lo.u64 %at, %lane, {size}, %at;"

    def copy(to, source, kind, other):
        return [
            f"ld.{other}.b32 %t, {a}; st.{kind}.b32 {b}, %t;"
            for a, b in zip(source, to, strict=True)
        ]

    if opcode == "ldmatrix":
        lines += [at("p_x", 16), *copy(rows, given, "shared", "global"), "bar.warp.sync -1;"]
        lines += [instruction, at("p_out", 4 * count)]
        lines += [f"st.global.b32 {to}, %r{i};" for i, to in enumerate(own)]
    else:
        lines += [at("p_x", 4 * count)]
        lines += [f"ld.global.b32 %r{i}, {source};" for i, source in enumerate(own)]
        lines += [*(f"st.shared.b32 {row}, -1;" for row in rows), "bar.warp.sync -1;", instruction]
        lines += ["bar.warp.sync -1;", at("p_out", 16), *copy(given, rows, "global", "shared")]
    head = ".visible .entry k(.param .u64 p_out, .param .u64 p_x)"
    return "\n".join([head, "{", *lines, "ret;", "}", ""])


def _count(name):
    return next(int(word[1:]) for word in name.split(".") if word in {"x1", "x2", "x4"})


def moves(name, _):
    """Return the kernel of a spelling of ldmatrix or stmatrix."""
    count = _count(name)
    rng = np.random.default_rng(crc32(name.encode()))
    tiles = rng.integers(0, 2**16, (4, 8, 8)).astype(np.uint16)
    registers = _pairs(tiles[:count], transposed=".trans" in name)
    if name.startswith("ldmatrix"):
        arguments, answer = (poison((LANES, count), "u4"), tiles), registers
    else:
        answer = np.full((4, 8, 8), 2**16 - 1, np.uint16)
        answer[:count] = tiles[:count]
        arguments = (poison(answer.shape, "u2"), np.ascontiguousarray(registers))
    return KernelCase(HEAD + _moving_entry(name, count), arguments, {0: answer})


def movmatrix(name, _):
    """Return the kernel of movmatrix."""
    tile = np.random.default_rng(0).integers(0, 2**16, (1, 8, 8)).astype(np.uint16)
    text = f"""{HEAD}
.visible .entry k(.param .u64 p_out, .param .u64 p_x)
{{
.reg .b64 %at; .reg .b32 %r, %t; .reg .b64 %lane;
mov.u32 %t, %tid.x; mul.wide.u32 %lane, %t, 4;
ld.param.u64 %at, [p_x]; add.u64 %at, %at, %lane; ld.global.b32 %r, [%at];
{name} %r, %r;
ld.param.u64 %at, [p_out]; add.u64 %at, %at, %lane; st.global.b32 [%at], %r;
ret;
}}
"""
    return KernelCase(
        text,
        (poison((LANES, 1), "u4"), _pairs(tile, transposed=False)),
        {0: _pairs(tile, transposed=True)},
    )


# wmma: loads, products and stores together, since the layout of fragments is unspecified

_REGISTERS = {  # 9.7.14.4.1, of a and b: by element, then by shape
    "f16": {"m16n16k16": (8, 8), "m8n32k16": (8, 8), "m32n8k16": (8, 8)},
    "bf16": {"m16n16k16": (4, 4), "m8n32k16": (2, 8), "m32n8k16": (8, 2)},
    "tf32": {"m16n16k8": (4, 4)},
    "f64": {"m8n8k4": (1, 1)},
    "s8": {"m16n16k16": (2, 2), "m8n32k16": (1, 4), "m32n8k16": (4, 1)},
    "u8": {"m16n16k16": (2, 2), "m8n32k16": (1, 4), "m32n8k16": (4, 1)},
    "s4": {"m8n8k32": (1, 1)},
    "u4": {"m8n8k32": (1, 1)},
    "b1": {"m8n8k128": (1, 1)},
}
_MAJORS = {"a": "ROWS", "b": "COLUMNS", "c": "C", "d": "D"}
_MULTIPLIED = {
    "f16": "wmma.mma.sync.aligned.{ROWS}.{COLUMNS}.{SHAPE}.{DTYPE}.{CTYPE}",
    "bf16": "wmma.mma.sync.aligned.{ROWS}.{COLUMNS}.{SHAPE}.f32.bf16.bf16.f32",
    "tf32": "wmma.mma.sync.aligned.{ROWS}.{COLUMNS}.{SHAPE}.f32.tf32.tf32.f32",
    "f64": "wmma.mma.sync.aligned.{ROWS}.{COLUMNS}.{SHAPE}.f64.f64.f64.f64",
    "s8": "wmma.mma.sync.aligned.{ROWS}.{COLUMNS}.{SHAPE}.s32.{ATYPE}.{ATYPE}.s32",
    "s4": "wmma.mma.sync.aligned.row.col.{SHAPE}.s32.{ATYPE}.{ATYPE}.s32",
    "b1": "wmma.mma.xor.popc.sync.aligned.row.col.{SHAPE}.s32.b1.b1.s32",
}


def _element_for(shape, c_element):
    """Return an element of a and b that goes with a shape and an element of c."""
    by_shape = {"m16n16k8": "tf32", "m8n8k4": "f64", "m8n8k32": "s4", "m8n8k128": "b1"}
    return by_shape.get(shape, "s8" if c_element == "s32" else "f16")


def _choices(name, words):
    """Return the choices for a kernel of this spelling: elements, layouts, the part that varies."""
    opcode = name.split(".")
    made = {"ROWS": "row", "COLUMNS": "col", "SPACE": "none", "C": "row", "D": "row", "mma": None}
    if opcode[1] == "mma":
        shape, a, b, c, d = _parts_of(name)
        made |= {"shape": shape, "elements": (a, b, c, d), "part": "", "mma": name}
        return made | {key: words[key] for key in ("ROWS", "COLUMNS") if key in words}
    part = opcode[2]
    shape, element = words["SHAPE"], opcode[-1]
    if part in "ab":
        c = {"f16": "f16", "bf16": "f32", "tf32": "f32", "f64": "f64"}.get(element, "s32")
        made |= {"elements": (element, element, c, c)}
    else:
        of = _element_for(shape, element)
        made |= {"elements": (of, of, element, element)}
    made |= {"shape": shape, "part": part, "SPACE": words["SPACE"], _MAJORS[part]: words["MAJOR"]}
    a, _, c, d = made["elements"]
    spelled = _MULTIPLIED[{"u8": "s8", "u4": "s4"}.get(a, a)]
    fields = {"SHAPE": shape, "ATYPE": a, "CTYPE": c, "DTYPE": d}
    return made | {"mma": spelled.format(**fields, ROWS=made["ROWS"], COLUMNS=made["COLUMNS"])}


def _memory(values, element, major, stride):
    """Return a matrix as memory: lines of ``stride`` elements, padded at the end."""
    lines = values if major == "row" else values.T
    padded = np.zeros((len(lines), stride), np.uint64)
    padded[:, : lines.shape[1]] = words_of(lines, element)
    return packed(padded, element)


def _stride_of(values, element, major, *, padded):
    length = values.shape[1] if major == "row" else values.shape[0]
    return length + (2 * 128 // WIDTHS[element] if padded else 0)


def _counts(chosen):
    shape, (a, _, c, d) = chosen["shape"], chosen["elements"]
    m, n, _ = _extents(shape)
    sums = {part: m * n // LANES * min(32, WIDTHS[e]) // 32 for part, e in (("c", c), ("d", d))}
    of_a, of_b = _REGISTERS[a][shape]
    return {"a": of_a, "b": of_b, **sums}


def _wmma_entry(chosen, majors, memory, strides):
    counts, elements = _counts(chosen), dict(zip("abcd", chosen["elements"], strict=True))
    kind = "b64" if elements["d"] == "f64" else "b32"
    lines = [f".visible .entry k({', '.join(f'.param .u64 p_{p}' for p in 'dabc')})", "{"]
    lines += [".reg .b64 %at, %lane; .reg .b32 %t; .shared .align 128 .b8 s[16384];"]
    registers = {p: [f"%{p}{i}" for i in range(n)] for p, n in counts.items()}
    lines += [f".reg .{kind} {', '.join(found)};" for found in registers.values()]
    for part in "abcd":
        is_varied = part == chosen["part"]
        space = chosen["SPACE"] if is_varied else "none"
        in_shared = space.startswith("shared")
        place, size = "[%at]", memory[part].nbytes
        if part == "d":
            written = ", ".join("{" + ", ".join(registers[p]) + "}" for p in "dabc")
            lines.append(f"{chosen['mma']} {written};")
        lines.append(f"ld.param.u64 %at, [p_{part}];")
        if in_shared:
            place = "[s]"
            lines += [*_copied(size, "shared", "global"), "bar.warp.sync -1;"]
        stride = f", {strides[part]}" if is_varied and chosen["has_stride"] else ""
        operands = "{" + ", ".join(registers[part]) + "}"
        word = "" if space == "none" else f".{space}"
        verb = "store.d" if part == "d" else f"load.{part}"
        spelled = (
            f"wmma.{verb}.sync.aligned.{majors[part]}.{chosen['shape']}{word}.{elements[part]}"
        )
        if part == "d":
            lines.append(f"{spelled} {place}, {operands}{stride};")
            lines += ["bar.warp.sync -1;", *_copied(size, "global", "shared")] if in_shared else []
        else:
            lines.append(f"{spelled} {operands}, {place}{stride};")
    return "\n".join([*lines, "ret;", "}", ""])


def _copied(size, to, source):
    """Yield PTX that copies ``size`` bytes between s and %at; each lane copies four at a time."""
    ends = {"shared": "[%t]", "global": "[%lane]"}
    for first in range(0, size, 4 * LANES):
        yield "mov.u32 %t, %tid.x; shl.b32 %t, %t, 2;"
        yield f"add.u32 %t, %t, {first}; .reg .pred %p{first}_{to}; .reg .b32 %v{first}_{to};"
        yield f"setp.lt.u32 %p{first}_{to}, %t, {size}; mul.wide.u32 %lane, %t, 1;"
        yield f"add.u64 %lane, %lane, %at; .reg .b32 %s{first}_{to}; mov.u32 %s{first}_{to}, s;"
        yield f"add.u32 %t, %t, %s{first}_{to};"
        yield f"@%p{first}_{to} ld.{source}.b32 %v{first}_{to}, {ends[source]};"
        yield f"@%p{first}_{to} st.{to}.b32 {ends[to]}, %v{first}_{to};"


def wmma(form):
    """Return a function that makes the kernel of a spelling of wmma."""

    def kernel(name, words):
        chosen = _choices(name, words) | {"has_stride": form.pattern.endswith("s:s32")}
        elements, multiplied = chosen["elements"], chosen["mma"]
        a, b, c = matrices(name, *_extents(chosen["shape"]), elements[:3])
        clamps = ".satfinite" in multiplied
        d = product(a, b, c, elements[3], step=_steps(multiplied), clamps=clamps)
        majors = {part: chosen[key] for part, key in _MAJORS.items()}
        memory, strides = {}, {}
        for part, values, element in zip("abcd", (a, b, c, d), elements, strict=True):
            padded = chosen["has_stride"] and part == chosen["part"]
            strides[part] = _stride_of(values, element, majors[part], padded=padded)
            memory[part] = _memory(values, element, majors[part], strides[part])
        wanted = _as_elements(memory["d"], elements[3])
        before = np.zeros_like(wanted)
        own = _own_columns(chosen["shape"], majors["d"])
        before[:, :own] = poison(wanted[:, :own].shape, wanted.dtype)
        text = HEAD + _wmma_entry(chosen, majors, memory, strides)
        return KernelCase(text, (before, memory["a"], memory["b"], memory["c"]), {0: wanted})

    return kernel


def _own_columns(shape, major):
    m, n, _ = _extents(shape)
    return n if major == "row" else m


KERNELS = answers_by(
    {
        "mma": lambda _: mma,
        "ldmatrix": lambda _: moves,
        "stmatrix": lambda _: moves,
        "movmatrix": lambda _: movmatrix,
        "wmma": wmma,
    },
    FORMS,
)
