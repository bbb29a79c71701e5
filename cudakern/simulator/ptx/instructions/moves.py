"""Bytes of registers, and kinds of addresses: section 9.7.9 of the PTX ISA manual.

Constant memory and parameters are no memory of their own here: ``isspacep`` of them is refused, and
a constant's generic address counts as global.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import form

HEADER = "moves.hpp"
_ADDRESS = "(const char*){a}"

FORMS = (
    form(
        "9.7.9",
        "prmt.b32{.MODE} d, a, b, c",
        "prmt({a}, {b}, selector_{MODE}({c}))",
        MODE="f4e b4e rc8 ecl ecr rc16",
    ),
    form(
        "9.7.9",
        "isspacep.SPACE p:pred, a:u64",
        f"is_shared(me, {_ADDRESS})",
        SPACE="shared shared::cta",
    ),
    form("9.7.9", "isspacep.shared::cluster p:pred, a:u64", f"shared_rank(me, {_ADDRESS}) >= 0"),
    form("9.7.9", "isspacep.local p:pred, a:u64", f"ck_sim_is_local({_ADDRESS}) != 0"),
    form(
        "9.7.9",
        "isspacep.global p:pred, a:u64",
        f"shared_rank(me, {_ADDRESS}) < 0 && ck_sim_is_local({_ADDRESS}) == 0",
    ),
)
