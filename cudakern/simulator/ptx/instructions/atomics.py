"""Atomics: ``atom`` and ``red``, in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.ptx.forms import Form

HEADER = "atomics.hpp"
#: An order, a scope and a space: the host's atomics are ordered, for all threads, at any address.
PREFIX = "{.SEM}{.SCOPE}{.SPACE}"
ORDER = {
    "SEM": "relaxed acquire release acq_rel",
    "SCOPE": "cta cluster gpu sys",
    "SPACE": "global shared shared::cta shared::cluster",
}


def atomics(operation: str, code: str, operands: str = "b", **sets: str) -> Iterator[Form]:
    """Yield the forms of an operation: with and without a result, and with a hint for the cache.

    Parameters
    ----------
    operation : str
        What follows the space in the instruction's name, such as ``"add.TYPE"``.
    code : str
        C++ that carries it out and gives what was there before.
    operands : str, optional
        Those that follow the address.
    sets : str
        As for `form`.
    """
    first, _, last = operation.rpartition(".")
    for section, opcode, result in (("9.7.13.5", "atom", "d, "), ("9.7.13.6", "red", "")):
        if not result and first in {"exch", "cas"}:
            continue
        sem = {**ORDER, **({} if result else {"SEM": "relaxed release"})}
        value = code if result else f"(void){code}"
        for hint, policy in (("", ""), (".L2::cache_hint", ", policy:b64")):
            pattern = f"{opcode}{PREFIX}.{first}{hint}.{last} {result}[a], {operands}{policy}"
            yield form(section, pattern, value, **sem, **sets)


_VECTORS = {**ORDER, "SPACE": "global", "VECTOR": "v2 v4"}

FORMS = (
    *atomics("add.TYPE", "atomic_add<{T}>({a}, {b}, {site})", TYPE="u32 s32 u64 s64"),
    *atomics("add.f32", 'atomic_add_f32({a}, {b}, flushes(me, {a}, "{SPACE}"), {site})'),
    *atomics("add.f64", "atomic_add_f64({a}, {b}, {site})"),
    *atomics("inc.u32", "atomic_inc({a}, {b}, {site})"),
    *atomics("dec.u32", "atomic_dec({a}, {b}, {site})"),
    *atomics("min.TYPE", "atomic_min<{T}>({a}, {b}, {site})", TYPE="u32 s32 u64 s64"),
    *atomics("max.TYPE", "atomic_max<{T}>({a}, {b}, {site})", TYPE="u32 s32 u64 s64"),
    *atomics("and.TYPE", "atomic_and<{T}>({a}, {b}, {site})", TYPE="b32 b64"),
    *atomics("or.TYPE", "atomic_or<{T}>({a}, {b}, {site})", TYPE="b32 b64"),
    *atomics("xor.TYPE", "atomic_xor<{T}>({a}, {b}, {site})", TYPE="b32 b64"),
    *atomics("exch.TYPE", "atomic_exchange<{T}>({a}, {b}, {site})", TYPE="b32 b64 b128"),
    *atomics("cas.TYPE", "atomic_cas<{T}>({a}, {b}, {c}, {site})", "b, c",
             TYPE="b16 b32 b64 b128 u32 s32 u64 s64"),
    form("9.7.13.5", f"atom{PREFIX}.add.VECTOR.f32 d, [a], b",
         "each_add_f32(me, {d}, {a}, {b}, {site});", **_VECTORS),
    form("9.7.13.6", f"red{PREFIX}.add.VECTOR.f32 [a], b",
         "each_add_f32(me, {b}, {a}, {b}, {site});", **_VECTORS),
)  # fmt: skip
