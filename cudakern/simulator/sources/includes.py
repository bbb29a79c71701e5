"""Files that a text of CUDA C++ includes, and digests of files that a result depends on."""

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
    """Return a digest of the texts of files."""
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


def find_includes(
    text: str, names: Iterable[str], folders: list[Path], beside: Path | None
) -> Includes:
    """Return the caller's files that a text includes, however deep.

    They are those that a result may depend on: some may be unused, and others missing.
    """
    result = Includes({}, set())
    pending = [([*(('"', name) for name in names), *includes_in(text)], beside)]
    while pending:
        included, near = pending.pop()
        for mark, name in included:
            searched = folders if mark == "<" or near is None else [near, *folders]
            path = next((p for folder in searched if (p := folder / name).is_file()), None)
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
