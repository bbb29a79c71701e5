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
    from collections.abc import Collection, Iterable

#: An include, or a macro that may be the name of one.
_INCLUDE = re.compile(
    r"^(?P<head>[ \t]*#[ \t]*(?:include|define[ \t]+(?P<macro>\w+)[ \t])[ \t]*)"
    r'(?P<mark>[<"])(?P<name>[^>"\n]+)[>"]',
    re.MULTILINE,
)
_OF_MACRO = re.compile(r"^[ \t]*#[ \t]*include[ \t]+([^\W\d]\w*)", re.MULTILINE)
_RAW = r'(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?s:.*?)\)(?P=mark)"'
#: Blanks behind a backslash that splices lines, as gcc takes it.
_BLANKS = re.compile(rf"{_RAW}|\\[ \t\f\v]+(?=\r?\n)")
#: A backslash in a token or in the mark of a comment, and what follows it in the spliced line.
_SPLIT = re.compile(
    rf"{_RAW}|(?<=[\w/*:])\\(?P<end>\r?\n)(?=[\w/*:])"
    r"(?P<rest>(?:[^\n]*\\\r?\n)*[^\r\n]*)"
)
#: How texts begin that NVRTC refuses.
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the texts of files."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def decode(content: bytes) -> str:
    """Return a text in UTF-8, or in UTF-16 with a byte order mark; marks go.

    Bytes of other encodings become surrogates, which NVRTC gets as the bytes that they were.
    """
    if content.startswith(_MARKS[1:]):
        return content.decode("utf-16")
    return content.decode("utf-8-sig", "surrogateescape")


def join_lines(text: str) -> str:
    """Return a text in which no token is on two lines, and only ends of lines follow a backslash.

    As gcc does it, but for raw strings, which stay. Other lines keep their numbers.
    """
    if "\\" not in text:
        return text
    text = _BLANKS.sub(lambda match: match[0] if match["mark"] is not None else "\\", text)
    return _SPLIT.sub(_join, text)


def _join(match: re.Match[str]) -> str:
    if match["mark"] is not None:
        return match[0]
    parts = re.split(r"\\\r?\n", match["rest"])
    return "".join(parts) + match["end"] * len(parts)


def as_shown(text: str) -> str:
    """Return a text that can be printed: what `decode` made of other encodings is replaced."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


@dataclass(slots=True)
class File:
    """A text that NVRTC reads, the user's own."""

    text: str
    #: The user's own files that it includes, by ``"`` or ``<`` and the name that it calls them.
    included: dict[tuple[str, str], Path] = field(default_factory=dict)
    is_changed: bool = False  # whether it differs from what is in the folder

    def text_with(self, given: Collection[Path]) -> str:
        """Return the text, which includes some files by their paths, as NVRTC is given them."""

        def name(match: re.Match[str]) -> str:
            path = self.included.get((match["mark"], match["name"]))
            is_given = path in given and match["macro"] in macros
            return f'{match["head"]}"{path}"' if is_given else match[0]

        macros = {None, *_OF_MACRO.findall(self.text)}
        return _INCLUDE.sub(name, self.text)


class Includes(NamedTuple):
    """What a file includes, however deep."""

    main: File
    files: dict[Path, File]  # the user's own
    others: set[str]  # names of all other headers


def find_includes(
    text: str, names: Iterable[str], folders: list[Path], beside: Path | None
) -> Includes:
    """Return the caller's files that a text includes, however deep.

    They are those that a result may depend on: some may be unused, and others missing.
    """
    result = Includes(File(text), {}, set())
    pending = [(result.main, [*(('"', name) for name in names), *includes_in(text)], beside)]
    while pending:
        file, included, near = pending.pop()
        for mark, name in included:
            searched = folders if mark == "<" or near is None else [near, *folders]
            searched = [Path()] if Path(name).is_absolute() else searched
            path = next((p for folder in searched if (p := folder / name).is_file()), None)
            if path is None:
                result.others.add(name)
                continue
            real = file.included[mark, name] = path.resolve()
            if real not in result.files:
                content = path.read_bytes()
                other = result.files[real] = File(join_lines(found := decode(content)))
                other.is_changed = content.startswith(_MARKS) or other.text != found
                pending.append((other, [*includes_in(other.text)], path.parent))
    return result


@lru_cache(maxsize=64)
def includes_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return what a text includes: ``"`` or ``<``, and a name."""
    macros = {None, *_OF_MACRO.findall(text)}
    found = (match for match in _INCLUDE.finditer(text) if match["macro"] in macros)
    return tuple((match["mark"], match["name"]) for match in found)
