"""Atomics on half-precision floats: ``atom`` and ``red``, in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.engines.simulator.ptx.forms import form
from cudakern.engines.simulator.ptx.instructions.atomics import ORDER, PREFIX, atomics

HEADER = "half_atomics.hpp"
_TYPES = "f16 bf16 f16x2 bf16x2"
_VECTORS = {
    **ORDER,
    "SPACE": "global",
    "OP": "add min max",
    "VECTOR": "v2 v4 v8",
    "TYPE": _TYPES,
}

FORMS = (
    *atomics("add.noftz.TYPE", "atomic_half<{T}>({a}, {b}, half_add<{T}>, {site})", TYPE=_TYPES),
    form("9.7.13.5", f"atom{PREFIX}.OP.noftz.VECTOR.TYPE d, [a], b",
         "each_half({d}, {a}, {b}, half_{OP}<{T}>, {site});", **_VECTORS),
    form("9.7.13.6", f"red{PREFIX}.OP.noftz.VECTOR.TYPE [a], b",
         "each_half({b}, {a}, {b}, half_{OP}<{T}>, {site});", **_VECTORS),
)  # fmt: skip
