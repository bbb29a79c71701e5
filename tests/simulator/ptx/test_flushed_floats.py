"""Instructions that flush subnormal floats to zero, in kernels with only such and in others.

If all instructions of a kernel do, the processor does it for them: see FloatControl.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from cudakern.simulator import RawModule
from cudakern.simulator.libraries.execution_mode import ExecutionMode
from cudakern.simulator.ptx.instructions import compare, conversions, floats
from cudakern.simulator.ptx.parse import parse
from cudakern.simulator.ptx.translate import translate
from tests.helpers.execution_modes import force
from tests.helpers.rows import each
from tests.simulator.ptx import oracles_compare, oracles_conversions, oracles_floats
from tests.simulator.ptx.harness import (
    BLOCK,
    DTYPES,
    HEAD,
    Batch,
    Oracle,
    Spelling,
    check_spelling,
    poison,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTROL = "FloatControl control(true)"
#: Enough threads for the library that runs fast.
LARGE = 1 << 15
#: Ways to launch a kernel: the forced execution mode, and the least number of threads.
LAUNCHES = {"few": (None, 1), "many": (None, LARGE)}
LAUNCHES |= {mode.value: (mode, 1) for mode in ExecutionMode}

NAMES = """
add.ftz.f32 add.rn.ftz.f32 add.rz.ftz.f32 add.ftz.sat.f32 sub.ftz.f32 sub.rm.ftz.f32
mul.ftz.f32 mul.rn.ftz.f32 mul.rp.ftz.f32 mul.ftz.sat.f32
fma.rn.ftz.f32 fma.rz.ftz.f32 fma.rn.ftz.sat.f32 mad.rn.ftz.f32
div.approx.ftz.f32 div.full.ftz.f32 div.rn.ftz.f32 div.rp.ftz.f32
rcp.approx.ftz.f32 rcp.rn.ftz.f32 rcp.rm.ftz.f32
sqrt.approx.ftz.f32 sqrt.rn.ftz.f32 sqrt.rp.ftz.f32 rsqrt.approx.ftz.f32
sin.approx.ftz.f32 cos.approx.ftz.f32 lg2.approx.ftz.f32 ex2.approx.ftz.f32
abs.ftz.f32 neg.ftz.f32
min.ftz.f32 min.ftz.NaN.f32 min.ftz.xorsign.abs.f32 min.ftz.NaN.xorsign.abs.f32
max.ftz.f32 max.ftz.NaN.f32 max.ftz.xorsign.abs.f32 max.ftz.NaN.xorsign.abs.f32
setp.eq.ftz.f32 setp.ne.ftz.f32 setp.lt.ftz.f32 setp.le.ftz.f32 setp.gt.ftz.f32 setp.ge.ftz.f32
setp.equ.ftz.f32 setp.neu.ftz.f32 setp.ltu.ftz.f32 setp.geu.ftz.f32 setp.num.ftz.f32
setp.nan.ftz.f32 set.lt.ftz.f32.f32 set.gtu.ftz.u32.f32 slct.ftz.f32.f32
cvt.rzi.ftz.s32.f32 cvt.rzi.ftz.u32.f32 cvt.rpi.ftz.s64.f32 cvt.rmi.ftz.f32.f32 cvt.ftz.f32.f32
cvt.ftz.sat.f32.f32
"""
#: Instructions with three operands.
EXTREMES = "min.ftz.f32 min.ftz.NaN.abs.f32 max.ftz.f32 max.ftz.abs.f32"


def of_bits(bits) -> np.ndarray:
    """Return floats, with both signs."""
    some = np.array(bits, np.uint32)
    return np.concatenate([some, some | np.uint32(1 << 31)]).view(np.float32)


#: Bits of zero, subnormal and the least normal numbers; then some around the least one's root, ...
TINY = [0, 1, 2, 0x3FFFFF, 0x400000, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x1000001]
ROOTS = [0x1FFFFFFE, 0x1FFFFFFF, 0x20000000, 0x20000001, 0x1FB504F3, 0x0D800000, 0x32800000]
ONES = [0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40000000]
LARGEST = [0x7E800000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC12345]
VALUES = of_bits([*TINY, *ROOTS, *ONES, *LARGEST])
#: All combinations of these are tried.
FACTORS = of_bits([0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x1FFFFFFF, 0x20000000, 0x3F800000])
FACTORS = np.concatenate([FACTORS, np.array([np.inf, np.nan], np.float32)])

FORMS = (*floats.FORMS, *compare.FORMS, *conversions.FORMS)
ORACLES = {
    **oracles_floats.ORACLES, **oracles_compare.ORACLES, **oracles_conversions.ORACLES,
}  # fmt: skip


SELECTIONS = [f"selp.{sign}{size}" for sign in "bus" for size in (16, 32, 64)]
SELECTIONS += ["selp.f32", "selp.f64"]


def selection(name: str, immediates=None) -> Spelling:
    """Return a selection of any bits, perhaps with constant operands."""
    form = next(form for form in compare.FORMS if form.match(name) is not None)
    oracle = Oracle(ORACLES[form.pattern], immediates=immediates or {})
    return Spelling(form, name, form.match(name), oracle)


def spelling(name: str, count: int | None = None) -> Spelling:
    """Return an instruction with its oracle, with ``count`` operands if that is given."""
    found = ((form, form.match(name)) for form in FORMS if name.startswith(f"{form.opcode}."))
    form, words = next(
        (form, words)
        for form, words in found
        if words is not None and count in {None, len(form.operands) - 1}
    )
    oracle = ORACLES[form.pattern]
    if not isinstance(oracle, Oracle):
        values = FACTORS if len(form.operands) > 3 else VALUES
        names = [operand.name for position in form.operands[1:] for operand in position]
        oracle = Oracle(oracle, dict.fromkeys(names, values))
    answers = []

    def answer(*operands):  # computed once
        if not answers:
            answers.append(oracle.answer(*operands))
        return answers[0]

    return Spelling(form, name, words, replace(oracle, answer=answer))


class Launched(Batch):
    """A module of entries that are launched in each mode."""

    def __init__(self, spellings: Iterable[Spelling]) -> None:
        self.spellings = [*spellings]
        super().__init__(self.spellings)
        self.text = HEAD + "".join(self.texts.values())

    def check(self, launch: str) -> None:
        """Raise AssertionError where a result is not the oracle's."""
        mode, self.least = LAUNCHES[launch]
        with force(mode):
            self.module = RawModule(code=self.text)
            for some in self.spellings:
                check_spelling(self, some)

    def run(self, spelling: Spelling) -> tuple[np.ndarray, ...]:
        """Return what an entry stores; with more threads, it does the same several times."""
        inputs = self.arrays[spelling.key].values()
        times = -(-self.least // len(next(iter(inputs))))
        inputs = [np.tile(x, times) for x in inputs]
        dtypes = [np.dtype("u1") if k == "pred" else DTYPES[k] for k in spelling.results.values()]
        outputs = [poison(inputs[0].shape, dtype) for dtype in dtypes]
        self.module.get_function(self.symbols[spelling.key])(
            (len(inputs[0]) // BLOCK,), (BLOCK,), (*outputs, *inputs)
        )
        copies = [x.view(f"u{x.itemsize}").reshape(times, -1) for x in outputs]
        assert all((x == x[0]).all() for x in copies)
        return tuple(x.reshape(times, -1)[:1] for x in outputs)


@cache
def launched() -> tuple[Launched, Launched]:
    """Return two modules: flushed floats and any bits; selections with a constant operand."""
    flushed = [*map(spelling, NAMES.split()), *(spelling(name, 3) for name in EXTREMES.split())]
    known_first = (selection(name, {"a": (7,)}) for name in SELECTIONS if "f" not in name)
    return Launched([*flushed, *map(selection, SELECTIONS)]), Launched(known_first)


@each("launch", LAUNCHES)
def test_special_values_and_selections_of_any_bits(launch):
    for module in launched():
        module.check(launch)


# Kernels for which the processor flushes floats

TWICE = ".func (.reg .f32 %y) twice(.reg .f32 %x) { add.ftz.f32 %y, %x, %x; ret; }\n"
ENTRY = """.visible .entry NAME(.param .u64 p) {
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;
.reg .pred %p<9>; .shared .f32 s;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 16; add.u64 %rd1, %rd1, %rd2;
ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f64 %d1, [%rd1+8];
setp.neu.ftz.f32 %p1, %f1, 0f00000000;
mul.ftz.f32 %f3, %f1, %f2;
BODY
st.global.f32 [%rd1], %f3; st.global.f32 [%rd1+4], %f4;
ret;
}
"""
START = np.array([(1e-40, 1e30, 1e-310)] * LARGE, "f4, f4, f8")
#: More that a kernel computes, as %f4, with the result for 1e-40, 1e30 and 1e-310, which is not 0.
MIXED = {
    "add.f32 %f4, %f1, 0f00000000;": np.float32(1e-40),
    "mul.f32 %f4, %f1, %f2;": np.float32(1e-40) * np.float32(1e30),
    "add.f64 %d2, %d1, %d1; mov.b64 {%r1, %r2}, %d2; cvt.rn.f32.u32 %f4, %r1;": np.float32(
        np.float64(2e-310).view("u8") & np.uint64(0xFFFFFFFF)
    ),
    "cvt.f64.f32 %d2, %f1; mul.f64 %d2, %d2, 0d41D0000000000000; cvt.rn.f32.f64 %f4, %d2;": (
        np.float32(1e-40) * np.float32(2**30)
    ),
    "mov.b32 {%h1, %h2}, 0x10001; add.f16 %h1, %h1, %h2; cvt.f32.f16 %f4, %h1;": np.float32(2**-23),
    "st.shared.f32 [s], %f1; atom.shared.add.f32 %f4, [s], 0f00000000; ld.shared.f32 %f4, [s];": (
        np.float32(1e-40)
    ),
    "atom.global.add.f32 %f4, [%rd1], 0f00000000;": np.float32(1e-40),
    "call (%f3), twice, (%f1); mov.f32 %f4, %f1;": np.float32(1e-40),
    "testp.subnormal.f32 %p2, %f1; selp.f32 %f4, %f1, %f2, %p2;": np.float32(1e-40),
    "tanh.approx.f32 %f4, %f1;": np.float32(1e-40),
    "copysign.f32 %f4, %f2, %f1; sub.f32 %f4, %f4, 0f00000000;": np.float32(1e-40),
}
#: The same with constants, with which a compiler could compute without a flush: the result is 0.
KNOWN = {
    "mul.ftz.f32 %f4, 0f7149F2CA, 0f00000005;",
    "mov.f32 %f5, 0f00000005; mov.f32 %f6, 0f7149F2CA; mul.ftz.f32 %f4, %f5, %f6;",
    "mov.f32 %f5, 0f80000005; mov.f32 %f6, 0f7149F2CA; fma.rn.ftz.f32 %f4, %f5, %f6, 0f00000000;",
    "mov.b32 %r2, 5; mov.b32 %f5, %r2; mul.ftz.f32 %f4, %f5, 0f7149F2CA;",
    "selp.f32 %f5, %f2, 0f00000005, %p1; mov.f32 %f6, %f5; mul.ftz.f32 %f4, %f6, 0f7149F2CA;",
}
#: Kernels for which the processor flushes operands, but not those of moves; the result is 0, too.
ALONE = {
    "mul.ftz.f32 %f4, %f1, %f2;",
    "mov.b32 %r2, 5; mov.b32 %f5, %r2; st.shared.f32 [s], %f5; mul.ftz.f32 %f4, %f1, %f2;",
    "shfl.sync.bfly.b32 %f5, %f1, 5, 31, -1; mul.ftz.f32 %f4, %f5, %f2;",
    "bar.sync 0; mul.ftz.f32 %f4, %f1, %f2;",
    "cvt.rn.f32.u32 %f5, %r1; cvt.rzi.ftz.s32.f32 %r2, %f1; cvt.rn.f32.s32 %f4, %r2;",
    "selp.f64 %d2, %d1, %d1, %p1; st.global.f64 [%rd1+8], %d2; mul.ftz.f32 %f4, %f1, %f2;",
}


BODIES = [*MIXED, *sorted(KNOWN | ALONE)]
ENTRIES = [ENTRY.replace("NAME", f"k{n}").replace("BODY", body) for n, body in enumerate(BODIES)]
TEXT = HEAD + TWICE + "".join(ENTRIES)


@each("body", BODIES)
@each("count", [3, LARGE])
def test_kernels_of_flushed_floats_alone(count, body):
    """In other kernels, instructions that do not flush compute with subnormal floats."""
    x = START[:count].copy()
    RawModule(code=TEXT).get_function(f"k{BODIES.index(body)}")((count,), (1,), (x,))
    assert (x["f0"] == 0).all()
    assert (x["f1"] == MIXED.get(body, 0)).all()
    assert (x["f2"] == 1e-310).all()


def test_the_processor_flushes_floats_of_such_kernels():
    for fast in (False, True):
        assert translate(parse(TEXT, "k"), "k", fast=fast).count(CONTROL) == len(ALONE)
