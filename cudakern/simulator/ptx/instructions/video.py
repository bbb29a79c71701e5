"""Video instructions on whole words: section 9.7.18 of the PTX ISA manual.

Operands with selectors of bytes or halves (``%r1.b0``) and masks of lanes are refused.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "video.hpp"

_SETS = """
UNDEFINED: whole
D: u32 s32
A: u32 s32
B: u32 s32
CMP: eq ne lt le gt ge
SECOND: add min max
"""
_NAMES = ("add", "sub", "absdiff", "min", "max")
_SATURATED = {"saturated": "saturated<{D}>(v_$name((s64){a}, (s64){b}), {sat})"}

FORMS = (
    rows(
        _SETS
        + """
9.7.18 v$name.D.A.B{.sat} d:D, a:A, b:B = ({D})$saturated
9.7.18 v$name.D.A.B{.sat}.SECOND d:D, a:A, b:B, c:D = ({D})v_{SECOND}($saturated, (s64){c})
""",
        *({"name": name} | _SATURATED for name in _NAMES),
    )
    + rows(
        _SETS
        + """
9.7.18 v$name$lanes.D.A.B{.sat} d:D, a:u32, b:u32, c:u32 =
    on_lanes<$lanes, {D}, {A}, {B}>(v_$name, {a}, {b}, {c}, {sat})
9.7.18 v$name$lanes.D.A.B.add d:D, a:u32, b:u32, c:u32 =
    on_lanes<$lanes, {D}, {A}, {B}>(v_$name, {a}, {b}, {c}, false, true)
""",
        *({"name": name, "lanes": lanes} for lanes in "24" for name in (*_NAMES, "avrg")),
    )
    + rows(
        _SETS
        + """
9.7.18 vset$lanes.A.B.CMP d:u32, a:u32, b:u32, c:u32 =
    on_lanes<$lanes, u32, {A}, {B}>(v_{CMP}, {a}, {b}, {c}, false)
9.7.18 vset$lanes.A.B.CMP.add d:u32, a:u32, b:u32, c:u32 =
    on_lanes<$lanes, u32, {A}, {B}>(v_{CMP}, {a}, {b}, {c}, false, true)
""",
        {"lanes": "2"},
        {"lanes": "4"},
    )
    + rows(
        _SETS
        + """
9.7.18 vset.A.B.CMP d:u32, a:A, b:B = (u32)v_{CMP}((s64){a}, (s64){b})
9.7.18 vset.A.B.CMP.SECOND d:u32, a:A, b:B, c:u32 =
    (u32)v_{SECOND}(v_{CMP}((s64){a}, (s64){b}), (s64){c})
"""
    )
)
