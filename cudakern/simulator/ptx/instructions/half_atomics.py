"""Atomics on half-precision floats: in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows
from cudakern.simulator.ptx.instructions.atomics import ORDER, RED_ORDER, atomics

HEADER = "half_atomics.hpp"

FORMS = (
    *atomics("add.noftz", "f16 bf16 f16x2 bf16x2", "atomic_half<{T}>({a}, {b}, half_add, {site})"),
    *rows(
        ORDER
        + """
SPACE: global
OP: add min max
VECTOR: v2 v4 v8
PAIRS: v2 v4
TYPE: $types
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.OP.noftz.$vector.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = each_half({d}, {a}, {b}, half_{OP}, {site});
"""
        + RED_ORDER
        + """
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.OP.noftz.$vector.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = each_half({b}, {a}, {b}, half_{OP}, {site});
""",
        {"vector": "VECTOR", "types": "f16 bf16"},
        {"vector": "PAIRS", "types": "f16x2 bf16x2"},
    ),
)
