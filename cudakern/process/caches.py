"""What a process keeps from call to call: each cache has a name, an owner and a bound."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ENTRIES = 1024  # of a table
_random = Random()  # noqa: S311  no secrets; its own, so that a seed of the caller's stays as it is


#: Keeps values that can be computed again: its length, ``limit`` and ``clear`` are the cache's.
Cache: TypeAlias = "Table[Any] | Family"
C = TypeVar("C", bound="Cache")
V = TypeVar("V")


class Table(Generic[V]):
    """Values by the facts that they were computed for. Beyond the limit, a random entry is dropped.

    So a loop over slightly more facts than fit finds nearly all of them again. A table that is
    emptied when it is full would find none of them. There is no lock: each step is one operation of
    the dictionary. Whoever uses an entry can go on using it after it is dropped.
    """

    limit = MAX_ENTRIES

    def __init__(self) -> None:
        self._entries: dict[Any, V] = {}
        self.find: Callable[[Any], V | None] = self._entries.get
        self.generation = 0  # how often it was cleared

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Drop all entries; what was begun before adds none."""
        self.generation += 1
        self._entries.clear()

    def add(self, key: object, value: V, generation: int | None = None) -> V:
        """Keep a value for some facts; return it, or the one that is kept already.

        One that was begun in a generation is not kept in a later one.
        """
        added = self._entries.setdefault(key, value)
        if generation not in {None, self.generation}:
            self._entries.pop(key, None)
        while len(keys := list(self._entries)) > self.limit:
            other = _random.choice(keys)
            if other != key:
                self._entries.pop(other, None)
        return added


class Family:
    """Caches that come and go, such as those of compiled operators, counted as one cache."""

    def __init__(self) -> None:
        self._members: WeakValueDictionary[int, Cache] = WeakValueDictionary()

    def add(self, member: C) -> C:
        """Add a cache, which belongs to the family as long as it is alive, and return it."""
        self._members[id(member)] = member
        return member

    def _alive(self) -> list[Cache]:
        members = (reference() for reference in self._members.valuerefs())
        return [member for member in members if member is not None]

    @property
    def limit(self) -> int:
        """The most entries that all members keep together."""
        return sum(member.limit for member in self._alive())

    def __len__(self) -> int:
        return sum(map(len, self._alive()))

    def clear(self) -> None:
        """Clear every member."""
        for member in self._alive():
            member.clear()


class Size(NamedTuple):
    """How many entries a cache has, and how many it may have."""

    entries: int
    limit: int


_caches: dict[str, Cache] = {}


def register(name: str, cache: C) -> C:
    """Have `sizes` and `clear_caches` know a cache by a name, and return it."""
    _caches[name] = cache
    return cache


def sizes() -> dict[str, Size]:
    """Return the sizes of all caches by their names."""
    return {name: Size(len(cache), cache.limit) for name, cache in sorted(_caches.items())}


def clear_caches() -> None:
    """Empty every cache of known calls and bound launches, those of compiled operators included.

    Notes
    -----
    Results do not change; the next call of each kind is checked and planned anew. It may be called
    at any time, also while other threads call operators. Kernels stay loaded, since a process has
    no more of them than the package. The memory by which the blocks of a launch exchange results
    stays, too, and so do files in the cache folder. Synchronization: none.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.clear_caches()
    """
    for cache in list(_caches.values()):
        cache.clear()
