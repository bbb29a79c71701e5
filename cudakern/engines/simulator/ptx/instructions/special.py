"""Special registers: section 10 of the PTX ISA manual."""

from __future__ import annotations

_VECTORS = {
    "tid": "me->thread",
    "ntid": "me->group->block_size",
    "ctaid": "me->group->block",
    "nctaid": "me->group->grid_size",
}


def special_register(name: str) -> tuple[str, str] | None:
    """Return the C++ type and value of a special register, or None for another name."""
    stem, _, axis = name[1:].partition(".")
    if stem in _VECTORS and axis in {"x", "y", "z"}:
        return "u32", f"{_VECTORS[stem]}.{axis}"
    return ("u32", "me->lane") if name == "%laneid" else None
