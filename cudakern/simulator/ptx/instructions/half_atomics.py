"""Atomics on half-precision floats: in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import form
from cudakern.simulator.ptx.instructions.atomics import ORDER, PREFIX, atomics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.ptx.forms import Form

HEADER = "half_atomics.hpp"
_TYPES = "f16 bf16 f16x2 bf16x2"


def _vectors(vector: str, vectors: str, types: str) -> Iterator[Form]:
    """Yield the forms for vectors, whose lengths have this name in the pattern."""
    sets = {**ORDER, "SPACE": "global", "OP": "add min max", vector: vectors, "TYPE": types}
    yield form(
        "9.7.13.5",
        f"atom{PREFIX}.OP.noftz.{vector}.TYPE d, [a], b",
        "each_half({d}, {a}, {b}, half_{OP}<{T}>, {site});",
        **sets,
    )
    yield form(
        "9.7.13.6",
        f"red{PREFIX}.OP.noftz.{vector}.TYPE [a], b",
        "each_half({b}, {a}, {b}, half_{OP}<{T}>, {site});",
        **sets,
    )


FORMS = (
    *atomics("add.noftz.TYPE", "atomic_half<{T}>({a}, {b}, half_add<{T}>, {site})", TYPE=_TYPES),
    *_vectors("VECTOR", "v2 v4 v8", "f16 bf16"),
    *_vectors("PAIRS", "v2 v4", "f16x2 bf16x2"),
)  # fmt: skip
