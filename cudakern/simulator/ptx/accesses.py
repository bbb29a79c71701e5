"""What instructions do to memory, by their names: section 9.7 of the PTX ISA manual.

Where a name leaves the order or the scope out, the manual's defaults hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import (
    ACQUIRES,
    ATOMIC,
    READS,
    RELEASES,
    SCOPES,
    SPACES,
    STRONG,
    VOLATILE,
    WRITES,
)
from cudakern.simulator.ptx.model import TYPE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ORDERS = {
    "relaxed": 0,
    "acquire": ACQUIRES,
    "release": RELEASES,
    "acq_rel": ACQUIRES | RELEASES,
    "sc": ACQUIRES | RELEASES,
}
_LANES = {"v2": 2, "v4": 4, "v8": 8}
_WORD_BYTES, _MBARRIER_BYTES, _ROW_BYTES = 4, 8, 16
#: How a copy tells an mbarrier that it has happened.
_COMPLETES = "mbarrier::complete_tx::bytes"


def access_of(name: str) -> int:
    """Return what an instruction, by its full name, or a built-in function does to memory.

    It is 0 for nothing, and for what is not checked.
    """
    opcode, *words = name.split(".")
    told = _OPCODES.get(opcode)
    return told(words) if told is not None else 0


def _first(words: Sequence[str], known: Mapping[str, int], default: int) -> int:
    return next((known[word] for word in words if word in known), default)


def _order(words: Sequence[str], default: int | None, scope: str) -> int:
    """Return strength, order and scope; weak if there is no order and no default."""
    if "volatile" in words:
        return STRONG | VOLATILE | SCOPES["sys"]
    order = next((_ORDERS[word] for word in words if word in _ORDERS), default)
    if order is None:
        return 0
    return STRONG | order | _first(words, SCOPES, SCOPES[scope])


def _space(words: Sequence[str]) -> int:
    return _first(words, SPACES, 0)


def _bytes(words: Sequence[str]) -> int:
    """Return the size of an access: of all elements of a vector."""
    size = next((TYPE_BYTES[word] for word in reversed(words) if word in TYPE_BYTES), _WORD_BYTES)
    return size * _first(words, _LANES, 1)


def _is_parameter(words: Sequence[str]) -> bool:
    return any(word.partition("::")[0] == "param" for word in words)


def _load(words: Sequence[str]) -> int:
    if _is_parameter(words):
        return 0
    return _bytes(words) | READS | _order(words, None, "gpu") | _space(words)


def _store(words: Sequence[str]) -> int:
    if _is_parameter(words):
        return 0
    told = _bytes(words) | WRITES | _space(words)
    return told | _order(words, None, "gpu")


def _atomic(words: Sequence[str]) -> int:
    told = _bytes(words) | WRITES | ATOMIC | _order(words, 0, "gpu") | _space(words)
    return told if "exch" in words else told | READS


def _mbarrier(words: Sequence[str]) -> int:
    told = _MBARRIER_BYTES | _space(words)
    if words[0] in {"init", "inval"}:
        return told | WRITES
    told |= ATOMIC | READS
    if words[0] in {"test_wait", "try_wait"}:
        return told | _order(words, ACQUIRES, "cta")
    if words[0] in {"arrive", "arrive_drop"}:
        return told | WRITES | _order(words, RELEASES, "cta")
    if words[0] in {"expect_tx", "complete_tx"}:
        return told | WRITES | _order(words, 0, "cta")
    return 0  # pending_count


def _copy(words: Sequence[str]) -> int:
    """Return what ``cp.async`` does, whose size is an operand: to its mbarrier, if it has one."""
    if "mbarrier" in words:
        return _mbarrier([*words[words.index("mbarrier") + 1 :]])
    if not {"global", "shared::cta"} & {*words} or "prefetch" in words:
        return 0  # of groups
    if _COMPLETES in words:
        return _mbarrier(["complete_tx", "cluster"]) | _space(words)
    return READS | WRITES | _space(words)


def _matrix(words: Sequence[str]) -> int:
    """Return what a lane's access of ``wmma`` does: an element, or a register of small ones."""
    if words[0] not in {"load", "store"}:
        return 0
    return _bytes(words) | (READS if words[0] == "load" else WRITES) | _space(words)


def _fence(words: Sequence[str]) -> int:
    if "proxy" in words:
        return 0
    return _order(words, _ORDERS["acq_rel"], "gpu") & ~STRONG  # gl of membar: the GPU


def _barrier(words: Sequence[str]) -> int:
    """Return what the barrier of a cluster does; that of a block is no access."""
    if words[0] != "cluster":
        return 0
    return _order(words, RELEASES if "arrive" in words else ACQUIRES, "cluster") & ~STRONG


_OPCODES: dict[str, Callable[[Sequence[str]], int]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "mbarrier": _mbarrier,
    "cp": _copy,
    "ldmatrix": lambda words: _ROW_BYTES | READS | _space(words),
    "stmatrix": lambda words: _ROW_BYTES | WRITES | _space(words),
    "wmma": _matrix,
    "fence": _fence,
    "membar": _fence,
    "barrier": _barrier,
    "memcpy": lambda _: READS | WRITES,
    "memset": lambda _: WRITES,
}
