"""Logic, shifts and permutations of bytes: sections 9.7.8 and 9.7.9 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "logic.hpp"

FORMS = rows("""
UNDEFINED: whole
# Expressions alone.
HEADER: ptx.hpp
TYPE: pred b16 b32 b64
9.7.8.1 and.TYPE d, a, b (cheap, and) = {a} & {b}
9.7.8.2 or.TYPE d, a, b (cheap, or) = {a} | {b}
9.7.8.3 xor.TYPE d, a, b (cheap, bytes) = {a} ^ {b}
9.7.8.4 not.pred d, a (cheap, bytes) = !{a}
TYPE: b16 b32 b64
9.7.8.4 not.TYPE d, a (cheap, bytes) = ({T})~{a}
9.7.8.5 cnot.TYPE d, a = ({T})({a} == 0)
9.7.8.8 shl.TYPE d, a, b:u32 (cheap, shift_left) = shl({T}, {a}, {b})
TYPE: b16 b32 b64 u16 u32 u64
9.7.8.9 shr.TYPE d, a, b:u32 (cheap, shift_right) = shr({T}, {a}, {b})
TYPE: s16 s32 s64
9.7.8.9 shr.TYPE d, a, b:u32 (cheap, shift_right) = shr_signed({T}, {a}, {b})
# Functions.
HEADER: logic.hpp
9.7.8.6 lop3.b32 d, a, b, c, lut:u32 = lop3({a}, {b}, {c}, {lut})
9.7.8.6 lop3.or.b32 d|p:pred, a, b, c, lut:u32, q:pred =
    {d} = lop3({a}, {b}, {c}, {lut}); {p} = ({d} != 0) | {q};
9.7.8.6 lop3.and.b32 d|p:pred, a, b, c, lut:u32, q:pred =
    {d} = lop3({a}, {b}, {c}, {lut}); {p} = ({d} != 0) & {q};
MODE: clamp wrap
9.7.8.7 shf.l.MODE.b32 d, a, b, c:u32 = shf_l({a}, {b}, {MODE}32({c}))
9.7.8.7 shf.r.MODE.b32 d, a, b, c:u32 = shf_r({a}, {b}, {MODE}32({c}))
MODE: f4e b4e rc8 ecl ecr rc16
9.7.9 prmt.b32{.MODE} d, a, b, c (permute) = prmt({a}, {b}, selector_{MODE}({c}))
""")
