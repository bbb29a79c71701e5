"""Atomics: ``atom`` and ``red``, in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import rows

if TYPE_CHECKING:
    from cudakern.simulator.ptx.forms import Form

HEADER = "atomics.hpp"
#: A hint for the cache, its operand, and the spaces of atomics that may have it.
HINTS = (
    {"hint": "", "policy": "", "spaces": "global shared shared::cta shared::cluster"},
    {"hint": ".L2::cache_hint", "policy": ", policy:b64", "spaces": "global"},
)
#: An order and a scope: the host's atomics are ordered, for all threads.
ORDER = """
SEM: relaxed acquire release acq_rel
SCOPE: cta cluster gpu sys
"""
#: The orders of those without a result.
RED_ORDER = "\nSEM: relaxed release\n"
_ATOM = (
    ORDER
    + """
SPACE: $spaces
TYPE: $types
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.$op$hint.$type d, [a], $operands$policy
    ($effects, atomic, returns, relaxed gpu) = $code
"""
)
_RED = (
    RED_ORDER
    + """
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.$op$hint.$type [a], $operands$policy
    ($effects, atomic, relaxed gpu) = (void)$code
"""
)


def atomics(op: str, types: str, code: str, operands: str = "b") -> tuple[Form, ...]:
    """Return the rows of an operation: with and without a result, and with a hint for the cache.

    The C++ carries it out and gives what was there before; ``operands`` follow the address.
    """
    fields = {
        "op": op,
        "types": types,
        "type": "TYPE" if " " in types else types,
        "operands": operands,
        "effects": "writes" if op == "exch" else "reads, writes",
        "code": code,
    }
    rows_of_op = _ATOM if op in {"exch", "cas"} else _ATOM + _RED
    return rows(rows_of_op, *(fields | hint for hint in HINTS[: 1 if op == "cas" else 2]))


_BITS = "b32 b64"
_INTEGERS = "u32 s32 u64 s64"

FORMS = (
    *atomics("add", "u32 s32 u64", "atomic_add<{T}>({a}, {b}, {site})"),
    *atomics("add", "f32", 'atomic_add_f32({a}, {b}, flushes(me, {a}, "{SPACE}"), {site})'),
    *atomics("add", "f64", "atomic_add_f64({a}, {b}, {site})"),
    *atomics("inc", "u32", "atomic_inc<u32>({a}, {b}, {site})"),
    *atomics("dec", "u32", "atomic_dec<u32>({a}, {b}, {site})"),
    *atomics("min", _INTEGERS, "atomic_min<{T}>({a}, {b}, {site})"),
    *atomics("max", _INTEGERS, "atomic_max<{T}>({a}, {b}, {site})"),
    *atomics("and", _BITS, "atomic_and<{T}>({a}, {b}, {site})"),
    *atomics("or", _BITS, "atomic_or<{T}>({a}, {b}, {site})"),
    *atomics("xor", _BITS, "atomic_xor<{T}>({a}, {b}, {site})"),
    *atomics("exch", f"{_BITS} b128", "atomic_exchange<{T}>({a}, {b}, {site})"),
    *atomics("cas", f"b16 {_BITS} b128", "atomic_cas<{T}>({a}, {b}, {c}, {site})", "b, c"),
    *rows(
        ORDER
        + """
SPACE: global
VECTOR: v2 v4
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.VECTOR.f32 d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = each_add_f32(me, {d}, {a}, {b}, {site});
"""
        + RED_ORDER
        + """
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.VECTOR.f32 [a], b (reads, writes, atomic, relaxed gpu) =
    each_add_f32(me, {b}, {a}, {b}, {site});
"""
    ),
)
