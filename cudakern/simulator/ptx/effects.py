"""What an instruction does besides its results, as its row says it in a few words.

Words are separated by commas::

    reads, writes                what is at its address, or at each of its addresses
    atomic                       ... in one step
    16 bytes, n bytes            of one access, if no type in the name tells; or the operand n tells
    relaxed gpu, acq_rel gpu     order and scope, which words of the name override; an atomic must
                                 have them; without them it is weak
    fences                       orders other accesses, as its order says
    mbarrier                     an object at which accesses of the whole cluster meet
    returns                      its result is what was in memory
    moves                        what it loads, stores or moves stays as it is
    copies                       its result is its operand, in registers of the same type
    cheap                        a thread computes it anew rather than keep its result
    waits                        others may run meanwhile; a thread is a fiber, unless all meet
    yields                       others may run after it, in whose turn the thread can be left
    tells                        others may wait for it
    fails                        it can end the launch
    matrix                       vectors of registers have any length, which the runtime compares
    aligned                      all lanes of a warp must come to it together
    noncoherent                  it reads what nobody may write while the kernel runs
    proxy                        it is of the asynchronous proxy, or a fence between that and others
    ends                         its basic block
    calls                        ... since it calls a function
    jumps                        ... since the thread goes on at a label
    leaves                       ... since the thread leaves the function
    exits                        ... and ends
    adds                         its result is the sum of its operands
    points                       its result is an address of what its operand is an address of
    nothing                      of all this

What becomes of undefined values is told in a word, too, which lines ``UNDEFINED: word`` tell for
all rows after them::

    whole                        any undefined byte makes all of the result undefined
    bytes, halves                ... makes that byte, or that half of 16 bits, undefined
    and, or                      likewise, unless another operand decides the result
    compare, select              a predicate may decide the result
    shift_left, shift_right, narrow, extract, insert, permute    bytes go to other places
    move                         bytes stay as they are, also in vectors
    pass                         they go through parameters or results of functions
    load, store                  they come from memory, or go there
    lane, lanes, fragments       they come from another lane, or from all of the warp
    use                          operands must be defined, and results are
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import BITS, SCOPES, SPACES, VECTORS
from cudakern.simulator.ptx.model import LANES, TYPE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

_ACCESSING = ("reads", "writes", "atomic", "mbarrier", "aligned", "noncoherent", "proxy")
_OTHERS = """
fences returns moves copies adds points cheap waits yields tells fails matrix
ends calls jumps leaves exits nothing
"""
_WORDS = {**{word: BITS[word] for word in _ACCESSING}, **dict.fromkeys(_OTHERS.split(), 0)}
#: What an instruction that only computes results can be, besides.
_COMPUTING = frozenset({"nothing", "moves", "copies", "adds", "points", "cheap"})
_RULES = """
whole bytes halves and or compare select shift_left shift_right narrow extract insert permute move
pass load store lane lanes fragments use
"""
#: What can become of undefined values.
UNDEFINED = frozenset(_RULES.split())
_NAME_WORDS = {"nc": BITS["noncoherent"], "cas": BITS["compares"], "inval": BITS["invalidates"]}
_ORDERS = {
    "relaxed": 0,
    "acquire": BITS["acquires"],
    "release": BITS["releases"],
    "acq_rel": BITS["acquires"] | BITS["releases"],
    "sc": BITS["acquires"] | BITS["releases"] | BITS["sequential"],
}
_SPACES = {"global", "shared", "const", "local", "param"}
_BYTES = re.compile(r"(\d+|[a-z]) bytes")
_ORDER = re.compile(rf"({'|'.join(_ORDERS)}) ({'|'.join(SCOPES)})")


class Effects(frozenset[str]):
    """The words that a row says, but for those of ``size`` and ``order``."""

    size: int | None  # in bytes; 0 if an operand tells
    order: tuple[str, str] | None  # and scope

    def __new__(
        cls, words: Iterable[str], size: int | None = None, order: tuple[str, str] | None = None
    ) -> Self:
        """Take up words, size and order."""
        self = super().__new__(cls, words)
        self.size, self.order = size, order
        return self

    @cached_property
    def accesses_memory(self) -> bool:
        """Whether it reads or writes."""
        return not self.isdisjoint({"reads", "writes"})

    @cached_property
    def involves_others(self) -> bool:
        """Whether others may run meanwhile, or see what it does. Moves have to say so."""
        if self <= {"fences", "proxy"}:  # it lets nobody run, and nobody waits for it
            return False
        told = self & {"waits", "yields", "tells", "fails"}
        return bool(told or ("moves" not in self and self.needs_site))

    @cached_property
    def is_seen(self) -> bool:
        """Whether others can see what it does, or do something meanwhile."""
        return self.involves_others or "writes" in self

    @cached_property
    def computes(self) -> bool:
        """Whether it only computes results."""
        return self <= _COMPUTING

    @cached_property
    def needs_site(self) -> bool:
        """Whether the runtime is asked, or the checker."""
        return not self <= _COMPUTING | {"ends", "jumps", "leaves", "exits"}

    @cached_property
    def updates(self) -> bool:
        """Whether it is an atomic operation on a variable of the user's."""
        return "atomic" in self and self.order == ("relaxed", "gpu")

    def access(self, name_words: Sequence[str]) -> int:
        """Return the bits of `Site.access` for an instruction whose name has these words."""
        access = 0
        for word in self:
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


def spaces_in(name_words: Iterable[str]) -> tuple[str, ...]:
    """Return the state spaces that an instruction's name tells of."""
    return tuple(word for word in name_words if word.partition("::")[0] in _SPACES)


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
    return Effects(words, size, order)


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
