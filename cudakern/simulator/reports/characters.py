"""Texts in which every character can be seen, as HTML may have them."""

from __future__ import annotations

import re

#: Characters that HTML must not have, or that would have a line look like another: some change the
#: direction of text.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufdd0-\ufdef\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
_PICTURES = 0x2400
_FIRST_PRINTED = 0x20


def visible(text: str) -> str:
    r"""Return a text in which every character can be seen.

    Examples
    --------
    >>> from cudakern.simulator.reports.characters import visible
    >>> visible("a\x00b\u202e")
    'a␀b[U+202E]'
    """
    return _UNSEEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(_PICTURES + code) if code < _FIRST_PRINTED else f"[U+{code:04X}]"
