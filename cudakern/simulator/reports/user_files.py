"""Where findings lie in the user's files.

A kernel that is a string in a Python file has lines of its own, ``total.cu:6``. This module finds
them again in that file.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

    from cudakern.simulator.reports.findings import Finding
    from cudakern.simulator.sources.source_texts import Sources

_PACKAGE = Path(__file__).parents[2]
#: A line is a copy if it and its neighbours have at least so many characters of the original.
_LEAST = 8
#: How many neighbours count, before and behind.
_AROUND = 16
_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".inl")
#: Folders of other people's files, and how many other folders are searched.
_FOREIGN = {"build", "dist", "node_modules", "site-packages", "venv"}
_MOST_FOLDERS = 1000
#: Larger files are not searched.
_MOST_BYTES = 2**22


#: A file, a line and a column.
_Place = tuple[Path, int, int | None]


class FileLine(NamedTuple):
    """A line of a file."""

    file: str  # below the repository's folder, if it is
    line: int
    column: int | None
    is_own: bool  # the finding's line, and not the first one of the test


class UserFiles:
    """The files that may have the kernels of a test: its own, then those that it calls."""

    def __init__(self, item: pytest.Item, sources: Sources, called: Iterable[str]) -> None:
        self._item = item
        self._sources = sources
        own = [item.path, *map(Path, called)]
        self._near = [*dict.fromkeys(path for path in own if _may_have_kernels(path))]

    def place(self, finding: Finding) -> FileLine:
        """Return where a finding lies, or where the test begins if that is not known."""
        found = self._find_file(finding) or self._find_copy(finding)
        if found is not None:
            path, line, column = found
            return FileLine(_below_root(path, self._item), line, column, is_own=True)
        test, first, _ = self._item.reportinfo()
        return FileLine(_below_root(Path(test), self._item), (first or 0) + 1, None, is_own=False)

    def _find_file(self, finding: Finding) -> _Place | None:
        """Return the finding's line if the compiler read it from a file."""
        if finding.source is None:
            return None
        name, number = finding.source
        for path in (Path(name), self._item.config.rootpath / name):
            lines = _read(path).split("\n")
            if len(lines) >= number and finding.code.strip() in lines[number - 1]:
                return path.absolute(), number, finding.column
        return None

    def _find_copy(self, finding: Finding) -> _Place | None:
        """Return the line that has the finding's text, found by the lines around it."""
        if not finding.code.strip() or finding.source is None:
            return None
        name, number = finding.source
        kernel = self._sources.get((finding.library, name), "").split("\n")
        if len(kernel) < number:
            kernel = [""] * number
        kernel[number - 1] = finding.code
        for paths in (self._near, self._list_beside(), self._list_imported(), self._list_below()):
            found = [(*_find_line(kernel, number - 1, _read(path)), path) for path in paths]
            likeness, i, path = max(found, key=lambda f: f[0], default=(0, 0, Path()))
            if likeness:
                code, line = finding.code.strip(), _read(path).split("\n")[i]
                if finding.column is None or code not in line:
                    return path, i + 1, None
                shift = line.index(code) - finding.code.index(code)
                return path, i + 1, finding.column + shift
        return None

    def _list_beside(self) -> Iterator[Path]:
        """Yield files of CUDA C++ beside the test and what it calls."""
        for folder in dict.fromkeys(path.parent for path in self._near):
            yield from sorted(path for path in folder.glob("*.*") if path.suffix in _SUFFIXES)

    def _list_imported(self) -> Iterator[Path]:
        """Yield the other files below the repository's folder that are imported."""
        files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        for path in map(Path, filter(None, files)):
            if path.is_relative_to(self._item.config.rootpath) and _may_have_kernels(path):
                yield path

    def _list_below(self) -> Iterator[Path]:
        """Yield the files of CUDA C++ below the repository's folder, unless that is large."""
        walked = os.walk(self._item.config.rootpath)
        for folder, folders, files in islice(walked, _MOST_FOLDERS):
            folders[:] = sorted(f for f in folders if f not in _FOREIGN and f[0] != ".")
            yield from (Path(folder, file) for file in sorted(files) if file.endswith(_SUFFIXES))


def _may_have_kernels(path: Path) -> bool:
    is_foreign = _PACKAGE in path.parents or "site-packages" in path.parts
    return path.suffix != ".pyc" and not is_foreign


def _find_line(kernel: list[str], k: int, text: str) -> tuple[int, int]:
    """Return the line of a text that is most likely line k of a kernel, after how likely that is.

    Each neighbour that is found votes, with its characters, for where the kernel begins. A template
    that is filled in changes lines: if line k differs, more than half of its neighbours must vote.
    """
    begins: Counter[int] = Counter()
    lines: list[str] = []
    around = [*enumerate(map(str.strip, kernel))][max(0, k - _AROUND) : k + _AROUND + 1]
    for j, part in around:
        if part and part in text:  # in few files
            lines = lines or text.split("\n")
            begins.update({i - j: len(part) for i, line in enumerate(lines) if part in line})
    most = sum(len(part) for _, part in around)
    found = [
        (votes, begin + k)
        for begin, votes in begins.items()
        if votes >= _LEAST
        and 0 <= begin + k < len(lines)
        and (votes > most // 2 or kernel[k].strip() in lines[begin + k])
    ]
    return max(found, key=lambda pair: (pair[0], -pair[1]), default=(0, 0))


def _read(path: Path) -> str:
    """Return the text of a file; nothing for a file that cannot be read or is large."""
    try:
        status = path.absolute().stat()
        is_small = status.st_size <= _MOST_BYTES
        return _read_at(path.absolute(), status.st_mtime_ns) if is_small else ""
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=64)
def _read_at(path: Path, _: int) -> str:
    """Return the text of a file as it was at a time."""
    return path.read_text(encoding="utf-8", errors="replace")


def _below_root(path: Path, item: pytest.Item) -> str:
    """Return a path as GitHub knows it: below the repository's folder, if it is there."""
    for root in (os.environ.get("GITHUB_WORKSPACE"), item.config.rootpath):
        if root and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()
