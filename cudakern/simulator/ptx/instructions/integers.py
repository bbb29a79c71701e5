"""Integer arithmetic: sections 9.7.1 and 9.7.2 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "integers.hpp"

FORMS = rows("""
UNDEFINED: whole
# Expressions alone.
HEADER: ptx.hpp
OPERANDS: unsigned
TYPE: u16 u32 u64 s16 s32 s64
9.7.1.1 add.TYPE d, a, b (cheap, adds) = {a} + {b}
9.7.1.2 sub.TYPE d, a, b (cheap) = {a} - {b}
9.7.1.3 mul.lo.TYPE d, a, b (cheap) = {a} * {b}
9.7.1.4 mad.lo.TYPE d, a, b, c (cheap) = {a} * {b} + {c}
OPERANDS: typed
9.7.1.3 mul.wide.u16 d:u32, a, b (cheap) = (u32){a} * {b}
9.7.1.3 mul.wide.s16 d:s32, a, b (cheap) = (s32){a} * {b}
9.7.1.3 mul.wide.u32 d:u64, a, b (cheap) = (u64){a} * {b}
9.7.1.3 mul.wide.s32 d:s64, a, b (cheap) = (s64){a} * {b}
9.7.1.4 mad.wide.u16 d:u32, a, b, c:u32 (cheap) = (u32){a} * {b} + {c}
9.7.1.4 mad.wide.s16 d:s32, a, b, c:s32 (cheap) = (s32){a} * {b} + {c}
9.7.1.4 mad.wide.u32 d:u64, a, b, c:u64 (cheap) = (u64){a} * {b} + {c}
9.7.1.4 mad.wide.s32 d:s64, a, b, c:s64 (cheap) = (s64){a} * {b} + {c}
TYPE: s16 s32 s64
9.7.1.10 abs.TYPE d, a = ({T})({a} < 0 ? -{a} : {a})
9.7.1.11 neg.TYPE d, a = ({T})(-{a})
TYPE: u32 s32 u64 s64
9.7.2.2 addc.TYPE d, a, b = ({T})({a} + {b} + {carry})
9.7.2.4 subc.TYPE d, a, b = ({T})({a} - {b} - {carry})
# Functions.
HEADER: integers.hpp
9.7.1.1 add.sat.s32 d, a, b = sat_s32((s64){a} + {b})
TYPE: u16x2 s16x2
9.7.1.1 add.TYPE d, a, b (halves) = add_halves({a}, {b})
9.7.1.2 sub.sat.s32 d, a, b = sat_s32((s64){a} - {b})
TYPE: u16 u32 u64 s16 s32 s64
9.7.1.3 mul.hi.TYPE d, a, b = mul_hi<{T}>({a}, {b})
9.7.1.4 mad.hi.TYPE d, a, b, c = ({T})(mul_hi<{T}>({a}, {b}) + {c})
9.7.1.4 mad.hi.sat.s32 d, a, b, c = sat_s32((s64)mul_hi<s32>({a}, {b}) + {c})
TYPE: u32 s32
9.7.1.5 mul24.lo.TYPE d, a, b = ({T})mul24({a}, {b})
9.7.1.5 mul24.hi.TYPE d, a, b = ({T})(mul24({a}, {b}) >> 16)
9.7.1.6 mad24.lo.TYPE d, a, b, c = ({T})(mul24({a}, {b}) + {c})
9.7.1.6 mad24.hi.TYPE d, a, b, c = ({T})(({T})(mul24({a}, {b}) >> 16) + {c})
9.7.1.6 mad24.hi.sat.s32 d, a, b, c = sat_s32((mul24({a}, {b}) >> 16) + {c})
TYPE: u16 u32 u64 s16 s32 s64
9.7.1.7 sad.TYPE d, a, b, c = sad<{T}>({a}, {b}, {c})
9.7.1.8 div.TYPE d, a, b = divide<{T}>({a}, {b})
9.7.1.9 rem.TYPE d, a, b = modulo<{T}>({a}, {b})
9.7.1.12 min.TYPE d, a, b = lesser<{T}>({a}, {b})
9.7.1.12 min.relu.s32 d, a, b = greater<s32>(lesser<s32>({a}, {b}), 0)
9.7.1.12 min.u16x2 d, a, b (halves) = extreme_halves(lesser<u16>, {a}, {b})
9.7.1.12 min{.relu}.s16x2 d, a, b (halves) = extreme_halves(lesser<s16>, {a}, {b}, {relu})
9.7.1.13 max.TYPE d, a, b = greater<{T}>({a}, {b})
9.7.1.13 max.relu.s32 d, a, b = greater<s32>(greater<s32>({a}, {b}), 0)
9.7.1.13 max.u16x2 d, a, b (halves) = extreme_halves(greater<u16>, {a}, {b})
9.7.1.13 max{.relu}.s16x2 d, a, b (halves) = extreme_halves(greater<s16>, {a}, {b}, {relu})
TYPE: b32 b64
9.7.1.14 popc.TYPE d:u32, a = (u32)__builtin_popcountll({a})
9.7.1.15 clz.TYPE d:u32, a = clz<{T}>({a})
TYPE: u32 u64 s32 s64
9.7.1.16 bfind{.shiftamt}.TYPE d:u32, a = bfind<{T}>({a}, {shiftamt})
9.7.1.17 fns.b32 d, a, b:u32, c:s32 = fns({a}, {b}, {c})
TYPE: b32 b64
9.7.1.18 brev.TYPE d, a = brev<{T}>({a})
TYPE: u32 u64 s32 s64
9.7.1.19 bfe.TYPE d, a, b:u32, c:u32 (extract) = bfe<{T}>({a}, {b}, {c})
TYPE: b32 b64
9.7.1.20 bfi.TYPE d, a, b, c:u32, e:u32 (insert) = bfi<{T}>({a}, {b}, {c}, {e})
MODE: clamp wrap
9.7.1.21 szext.MODE.u32 d, a, b:u32 = {a} & low_{MODE}({b})
9.7.1.21 szext.MODE.s32 d, a, b:u32 = sign_{MODE}({a}, {b})
9.7.1.22 bmsk.MODE.b32 d, a, b = bmsk_{MODE}({a}, {b})
A: u32 s32
B: u32 s32
9.7.1.23 dp4a.A.B d:u32, a:u32, b:u32, c:u32 = dp4a<{A}, {B}>({a}, {b}, {c})
HALF: lo hi
9.7.1.24 dp2a.HALF.A.B d:u32, a:u32, b:u32, c:u32 = dp2a_{HALF}<{A}, {B}>({a}, {b}, {c})
TYPE: u32 s32 u64 s64
# With a carry.
9.7.2.1 add.cc.TYPE d, a, b = add_carry<{T}>({a}, {b}, 0, {overflow})
9.7.2.2 addc.cc.TYPE d, a, b = add_carry<{T}>({a}, {b}, {carry}, {overflow})
9.7.2.3 sub.cc.TYPE d, a, b = sub_borrow<{T}>({a}, {b}, 0, {overflow})
9.7.2.4 subc.cc.TYPE d, a, b = sub_borrow<{T}>({a}, {b}, {carry}, {overflow})
9.7.2.5 mad.HALF.cc.TYPE d, a, b, c = add_carry<{T}>(mul_{HALF}<{T}>({a}, {b}), {c}, 0, {overflow})
9.7.2.6 madc.HALF.TYPE d, a, b, c = ({T})(mul_{HALF}<{T}>({a}, {b}) + {c} + {carry})
9.7.2.6 madc.HALF.cc.TYPE d, a, b, c =
    add_carry<{T}>(mul_{HALF}<{T}>({a}, {b}), {c}, {carry}, {overflow})
""")
