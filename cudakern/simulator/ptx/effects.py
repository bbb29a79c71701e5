"""What an instruction does besides its results, as its row says it in a few words.

Words are separated by commas::

    reads, writes                what is at its address, or at each of its addresses
    atomic                       ... in one step
    16 bytes, n bytes            of one access, if no type in the name tells; or the operand n tells
    relaxed gpu, acq_rel gpu     order and scope, where the name has none; without them it is weak
    fences                       orders other accesses, as its order says
    mbarrier                     an object at which accesses of the whole cluster meet
    returns                      its result is what was in memory
    moves                        what it loads, stores or moves stays as it is
    waits                        others may run meanwhile
    fails                        it can end the launch
    aligned                      all lanes of a warp must come to it together
    noncoherent                  it reads what nobody may write while the kernel runs
    proxy                        it is of the asynchronous proxy, or a fence between that and others
    ends                         its basic block: the thread goes on elsewhere, or not at all
    nothing                      of all this
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import BITS, SCOPES, SPACES, VECTORS
from cudakern.simulator.ptx.model import LANES, TYPE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ACCESSING = ("reads", "writes", "atomic", "mbarrier", "aligned", "noncoherent", "proxy")
_WORDS = {
    **{word: BITS[word] for word in _ACCESSING},
    **dict.fromkeys(("fences", "returns", "moves", "waits", "fails", "ends", "nothing"), 0),
}
_NAME_WORDS = {"nc": BITS["noncoherent"], "cas": BITS["compares"], "inval": BITS["invalidates"]}
_ORDERS = {
    "relaxed": 0,
    "acquire": BITS["acquires"],
    "release": BITS["releases"],
    "acq_rel": BITS["acquires"] | BITS["releases"],
    "sc": BITS["acquires"] | BITS["releases"] | BITS["sequential"],
}
_BYTES = re.compile(r"(\d+|[a-z]) bytes")
_ORDER = re.compile(rf"({'|'.join(_ORDERS)}) ({'|'.join(SCOPES)})")


@dataclass(frozen=True)
class Effects:
    """What a row says; ``"waits" in effects`` asks for a word."""

    words: frozenset[str]
    size: int | None = None  # in bytes; 0 if an operand tells
    order: tuple[str, str] | None = None  # and scope

    def __contains__(self, word: str) -> bool:
        return word in self.words

    @cached_property
    def accesses_memory(self) -> bool:
        """Whether it reads or writes."""
        return not self.words.isdisjoint({"reads", "writes"})

    @cached_property
    def involves_others(self) -> bool:
        """Whether others may run meanwhile, or see what it does. Moves have to say so."""
        return bool(self.words & {"waits", "fails"} or ("moves" not in self and self.needs_site))

    @cached_property
    def needs_site(self) -> bool:
        """Whether the runtime is asked, or the checker."""
        return not self.words <= {"nothing", "ends", "moves"}

    def access(self, name_words: Sequence[str]) -> int:
        """Return the bits of `Site.access` for an instruction whose name has these words."""
        access = 0
        for word in self.words:
            access |= _WORDS[word]
        if "aligned" in name_words and self.needs_site:
            access |= BITS["aligned"]
        for word in name_words:
            access |= _NAME_WORDS.get(word, 0)
        if self.accesses_memory:
            lanes, size = _first(name_words, LANES, 1), size_in(name_words) or 0
            access |= lanes * size if self.size is None else self.size
            access |= _first(name_words, VECTORS, 0)
        if self.accesses_memory or "proxy" in self:
            access |= _first(name_words, SPACES, 0)
        if self.accesses_memory or self.order:
            access |= self._order_bits(name_words)
        return access

    def _order_bits(self, name_words: Sequence[str]) -> int:
        strong = BITS["strong"] if self.accesses_memory else 0
        if "volatile" in name_words:
            return strong | BITS["volatile"] | SCOPES["sys"]
        order, scope = self.order or ("", "gpu")
        order = next((word for word in name_words if word in _ORDERS), order)
        if not order:
            return 0
        return strong | _ORDERS[order] | _first(name_words, SCOPES, SCOPES[scope])


def _first(words: Iterable[str], known: Mapping[str, int], default: int) -> int:
    return next((known[word] for word in words if word in known), default)


@lru_cache(maxsize=4096)
def lanes_of(name: str) -> int:
    """Return the length of the vectors that an instruction's name tells of; 0 for none."""
    return _first(name.split("."), LANES, 0)


def size_in(name_words: Sequence[str]) -> int | None:
    """Return the bytes of an element, by the last type in an instruction's name."""
    return next((TYPE_BYTES[word] for word in reversed(name_words) if word in TYPE_BYTES), None)


def parse_effects(text: str) -> Effects:
    """Return what words say; ValueError at one that is not known."""
    words: set[str] = set()
    size, order = None, None
    for phrase in filter(None, text.split(", ")):
        if match := _BYTES.fullmatch(phrase):
            size = int(match[1]) if match[1].isdecimal() else 0
        elif match := _ORDER.fullmatch(phrase):
            order = match[1], match[2]
        elif phrase in _WORDS:
            words.add(phrase)
        else:
            known = f"{', '.join(_WORDS)}, 4 bytes, relaxed gpu"
            message = f"say what it does in known words ({known}); got {phrase!r}"
            raise ValueError(message)
    return Effects(frozenset(words), size, order)


#: Of functions that NVRTC's code calls without defining them; ptx.hpp has ``call_...`` for them.
BUILTINS = {
    name: parse_effects(words)
    for name, words in {
        "vprintf": "nothing",
        "__assertfail": "fails",
        "malloc": "nothing",
        "free": "nothing",
        "memcpy": "reads, writes, n bytes",
        "memset": "writes, n bytes",
    }.items()
}
