"""Nearest names: what somebody may have meant who misspelt a word, or knows it from elsewhere."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Words longer than this are no misspelt names.
_LONGEST = 40
#: How much of a word must be right.
_LIKENESS = 0.7


def did_you_mean(
    given: object, names: Iterable[str], others: Mapping[str, str] | None = None
) -> str:
    """Return the end of a message, such as ``"; did you mean 'average'?"``.

    Parameters
    ----------
    given : object
        What stands where a name was expected.
    names : iterable of str
        The names that are known there.
    others : mapping of str to str, optional
        Names of other libraries, in lower case without underscores, and what to show for them.

    Returns
    -------
    str
        Empty where nothing is near.
    """
    if not isinstance(given, str) or len(given) > _LONGEST:
        return ""
    word = _plain(given)
    known = {_plain(name): repr(name) for name in names}
    near = get_close_matches(word, known, n=1, cutoff=_LIKENESS)
    found = known.get(word) or (others or {}).get(word) or (known[near[0]] if near else None)
    return f"; did you mean {found}?" if found else ""


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())
