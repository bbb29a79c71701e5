"""Bytes of registers: section 9.7.9 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "moves.hpp"

FORMS = rows("""
MODE: f4e b4e rc8 ecl ecr rc16
9.7.9 prmt.b32{.MODE} d, a, b, c = prmt({a}, {b}, selector_{MODE}({c}))
""")
