"""What a process keeps from call to call: each cache has a name, an owner and a bound."""

from __future__ import annotations

from collections.abc import Callable, Sized
from random import Random
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

#: Entries of a table at most.
MAX_ENTRIES = 1024
_random = Random()  # noqa: S311  no secrets; its own, so that a seed of the caller's stays as it is


class Cache(Sized, Protocol):
    """Keeps what can be made again. Safe to use from many threads."""

    @property
    def limit(self) -> int:
        """Entries at most."""

    def clear(self) -> None:
        """Forget all of them; what uses one goes on using it."""


C = TypeVar("C", bound=Cache)


class Results:
    """The results of a function that ``functools.lru_cache`` decorates."""

    def __init__(self, function: _lru_cache_wrapper[Any]) -> None:
        self._function = function
        self.limit = function.cache_parameters()["maxsize"] or 0
        self.clear = function.cache_clear

    def __len__(self) -> int:
        """Return how many results are kept."""
        return self._function.cache_info().currsize


V = TypeVar("V")


class Table(Generic[V]):
    """What was made for some facts. Beyond the limit, one entry at random makes room.

    So a loop over slightly more facts than fit finds nearly all of them again. Emptied when full,
    the table would lose all of them each time.

    There is no lock: each step is one operation of the dictionary. Whoever uses an entry goes on
    using it when it is forgotten.
    """

    limit = MAX_ENTRIES

    def __init__(self) -> None:
        self._entries: dict[Any, V] = {}
        self.find: Callable[[Any], V | None] = self._entries.get
        self.clear = self._entries.clear

    def __len__(self) -> int:
        """Return how many entries are kept."""
        return len(self._entries)

    def add(self, key: object, value: V) -> V:
        """Keep a value for some facts and return it; if there is one already, return that."""
        added = self._entries.setdefault(key, value)
        while len(keys := list(self._entries)) > self.limit:
            other = _random.choice(keys)
            if other != key:
                self._entries.pop(other, None)
        return added


class Family:
    """Caches that come and go, such as one for each compiled operator, taken as one."""

    def __init__(self) -> None:
        self._members: WeakValueDictionary[int, Cache] = WeakValueDictionary()

    def add(self, member: C) -> C:
        """Return a cache, which belongs to the family as long as it is alive."""
        self._members[id(member)] = member
        return member

    def _alive(self) -> list[Cache]:
        members = (reference() for reference in self._members.valuerefs())
        return [member for member in members if member is not None]

    @property
    def limit(self) -> int:
        """Entries of all members together at most."""
        return sum(member.limit for member in self._alive())

    def __len__(self) -> int:
        """Return how many entries all members have together."""
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
    """Return a cache, which `sizes` and `clear_caches` know by a name from now on."""
    _caches[name] = cache
    return cache


def sizes() -> dict[str, Size]:
    """Return the sizes of all caches by their names."""
    return {name: Size(len(cache), cache.limit) for name, cache in sorted(_caches.items())}


def clear_caches() -> None:
    """Empty every cache of plans and bound launches, those of compiled operators included.

    Notes
    -----
    Results do not change; the next call of each kind plans anew. It may be called at any time, also
    while other threads call operators. Kernels stay loaded, since a process has no more of them
    than the package. The memory by which the blocks of a launch exchange results stays, too, and so
    do files in the cache folder. Synchronization: none.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.clear_caches()
    """
    for cache in list(_caches.values()):
        cache.clear()
