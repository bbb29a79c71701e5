"""Video instructions on whole words: section 9.7.18 of the PTX ISA manual.

Operands with selectors of bytes or halves (``%r1.b0``) and masks of lanes are refused.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import Form, form

HEADER = "video.hpp"
_KINDS = {"D": "u32 s32", "A": "u32 s32", "B": "u32 s32"}
_OPERANDS = {"A": "u32 s32", "B": "u32 s32", "CMP": "eq ne lt le gt ge"}
_SECOND = "add min max"


def _scalar(name: str) -> tuple[Form, Form]:
    one = f"saturated<{{D}}>(v_{name}((s64){{a}}, (s64){{b}}), {{sat}})"
    return (
        form("9.7.18", f"v{name}.D.A.B{{.sat}} d:D, a:A, b:B", f"({{D}}){one}", **_KINDS),
        form(
            "9.7.18",
            f"v{name}.D.A.B{{.sat}}.SECOND d:D, a:A, b:B, c:D",
            f"({{D}})v_{{SECOND}}({one}, (s64){{c}})",
            SECOND=_SECOND,
            **_KINDS,
        ),
    )


def _lanes(name: str, lanes: int) -> tuple[Form, Form]:
    code = f"on_lanes<{lanes}, {{D}}, {{A}}, {{B}}>(v_{name}, {{a}}, {{b}}, {{c}}"
    head = f"v{name}{lanes}.D.A.B"
    return (
        form("9.7.18", f"{head}{{.sat}} d:D, a:u32, b:u32, c:u32", f"{code}, {{sat}})", **_KINDS),
        form("9.7.18", f"{head}.add d:D, a:u32, b:u32, c:u32", f"{code}, false, true)", **_KINDS),
    )


def _set(lanes: int) -> tuple[Form, Form]:
    code = f"on_lanes<{lanes}, u32, {{A}}, {{B}}>(v_{{CMP}}, {{a}}, {{b}}, {{c}}"
    head = f"vset{lanes}.A.B.CMP"
    return (
        form("9.7.18", f"{head} d:u32, a:u32, b:u32, c:u32", f"{code}, false)", **_OPERANDS),
        form(
            "9.7.18", f"{head}.add d:u32, a:u32, b:u32, c:u32", f"{code}, false, true)", **_OPERANDS
        ),
    )


_COMPARE = "v_{CMP}((s64){a}, (s64){b})"

FORMS = (
    *(one for name in ("add", "sub", "absdiff", "min", "max") for one in _scalar(name)),
    form("9.7.18", "vset.A.B.CMP d:u32, a:A, b:B", f"(u32){_COMPARE}", **_OPERANDS),
    form(
        "9.7.18",
        "vset.A.B.CMP.SECOND d:u32, a:A, b:B, c:u32",
        f"(u32)v_{{SECOND}}({_COMPARE}, (s64){{c}})",
        SECOND=_SECOND,
        **_OPERANDS,
    ),
    *(
        one
        for lanes in (2, 4)
        for name in ("add", "sub", "avrg", "absdiff", "min", "max")
        for one in _lanes(name, lanes)
    ),
    *(one for lanes in (2, 4) for one in _set(lanes)),
)
