"""Arithmetic with a carry: section 9.7.2 of the PTX ISA manual. ``cc`` is the thread's flag."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "integers.hpp"

FORMS = rows("""
TYPE: u32 s32 u64 s64
9.7.2.1 add.cc.TYPE d, a, b = add_carry<{T}>({a}, {b}, 0, cc)
9.7.2.2 addc.TYPE d, a, b = ({T})({a} + {b} + cc)
9.7.2.2 addc.cc.TYPE d, a, b = add_carry<{T}>({a}, {b}, cc, cc)
9.7.2.3 sub.cc.TYPE d, a, b = sub_borrow<{T}>({a}, {b}, 0, cc)
9.7.2.4 subc.TYPE d, a, b = ({T})({a} - {b} - cc)
9.7.2.4 subc.cc.TYPE d, a, b = sub_borrow<{T}>({a}, {b}, cc, cc)
HALF: lo hi
9.7.2.5 mad.HALF.cc.TYPE d, a, b, c = add_carry<{T}>(mul_{HALF}<{T}>({a}, {b}), {c}, 0, cc)
9.7.2.6 madc.HALF.TYPE d, a, b, c = ({T})(mul_{HALF}<{T}>({a}, {b}) + {c} + cc)
9.7.2.6 madc.HALF.cc.TYPE d, a, b, c = add_carry<{T}>(mul_{HALF}<{T}>({a}, {b}), {c}, cc, cc)
""")
