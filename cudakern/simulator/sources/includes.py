"""Files that a text of CUDA C++ includes, and digests of files that a result depends on."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What stands before the name, the mark that begins it, and the name.
INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)([<"])([^>"\n]+)[>"]', re.MULTILINE)
#: Byte order marks.
_MARKS = {codecs.BOM_UTF8: "utf-8-sig"}
_MARKS |= dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16")


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the texts of files."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


@dataclass(slots=True)
class File:
    """A text that NVRTC reads, the user's own."""

    text: str
    names: set[str] = field(default_factory=set)  # what includes call it; none of the file itself
    included: dict[str, Path] = field(default_factory=dict)  # by what it calls them
    is_changed: bool = False  # whether it differs from the file, as without host code


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
    main = File(text)
    pending = [(main, [*(('"', name) for name in names), *includes_in(text)], beside)]
    while pending:
        file, included, near = pending.pop()
        for mark, name in included:
            searched = folders if mark == "<" or near is None else [near, *folders]
            path = next((p for folder in searched if (p := folder / name).is_file()), None)
            if path is None:
                result.others.add(name)
                continue
            real = path.resolve()
            if real not in result.files:
                content = path.read_bytes()
                new = result.files[real] = File(decode(content))
                new.is_changed = content.startswith((*_MARKS,))  # which NVRTC refuses
                pending.append((new, list(includes_in(new.text)), path.parent))
            result.files[real].names.add(name)
            file.included[name] = path
    return result


def decode(content: bytes) -> str:
    """Return the text of a file in UTF-8, or what its byte order mark says, or else in Latin-1.

    So a text in any other encoding that extends ASCII has its code, with other letters in comments.
    """
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


@lru_cache(maxsize=64)
def includes_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return what a text includes: ``"`` or ``<``, and a name."""
    return tuple((match[2], match[3]) for match in INCLUDE.finditer(text))
