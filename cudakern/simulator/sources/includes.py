"""What a text of CUDA C++ includes, and digests of files that a result depends on."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def digest_of(files: Iterable[Path]) -> str:
    """Return what is another when a file's text is."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


@dataclass(slots=True)
class File:
    """A text that NVRTC reads, the user's own."""

    text: str
    names: set[str] = field(default_factory=set)  # what includes call it; none of the file itself
    is_changed: bool = False  # whether host code has been left out


class Includes(NamedTuple):
    """What a file includes, however deep."""

    files: dict[Path, File]  # the user's own
    others: set[str]  # names of all other headers


def included_by(
    text: str, names: Iterable[str], folders: list[Path], beside: Path | None
) -> Includes:
    """Return the caller's files that a text includes, however deep.

    They need not be all of a program's, nor does each have to be in use: they are what its result
    may depend on.
    """
    result = Includes({}, set())
    asked = [('"', name) for name in names]
    pending = [([*asked, *includes_in(text)], beside)]
    while pending:
        included, near = pending.pop()
        for mark, name in included:
            places = folders if mark == "<" or near is None else [near, *folders]
            path = next((p for place in places if (p := place / name).is_file()), None)
            if path is None:
                result.others.add(name)
                continue
            real = path.resolve()
            if real not in result.files:
                content = path.read_text(encoding="utf-8", errors="replace")
                result.files[real] = File(content)
                pending.append((list(includes_in(content)), path.parent))
            result.files[real].names.add(name)
    return result


@lru_cache(maxsize=64)
def includes_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return what a text includes: ``"`` or ``<``, and a name."""
    return tuple(_INCLUDE.findall(text))
