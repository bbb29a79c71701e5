"""Where findings lie in the files of who wrote the kernels.

A kernel that is a string in a Python file has lines of its own, ``total.cu:6``. Here they are found
again in that file.
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
#: Fewer characters in common, and a line is no likely copy of another.
_LEAST = 8
#: How many lines before and behind it tell which one is.
_AROUND = 16
_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".inl")
#: Folders of other people's files, and how many others are looked into.
_FOREIGN = {"build", "dist", "node_modules", "site-packages", "venv"}
_MOST_FOLDERS = 1000
#: Larger files hold no kernels.
_MOST_BYTES = 2**22


class FileLine(NamedTuple):
    """A line of a file."""

    file: str  # below the repository's folder, if it is
    line: int
    column: int | None
    is_own: bool  # of the finding; else the line where the test begins


class UserFiles:
    """The files that the kernels of a test may be written in: its own, then those that it calls."""

    def __init__(self, item: pytest.Item, sources: Sources, called: Iterable[str]) -> None:
        self._item = item
        self._sources = sources
        own = [item.path, *map(Path, called)]
        self._near = [*dict.fromkeys(path for path in own if _may_have_kernels(path))]

    def place(self, finding: Finding) -> FileLine:
        """Return where a finding lies, or where the test begins if nobody knows."""
        found = self._file(finding) or self._copy(finding)
        if found is not None:
            path, line, column = found
            return FileLine(_below_root(path, self._item), line, column, is_own=True)
        test, first, _ = self._item.reportinfo()
        return FileLine(_below_root(Path(test), self._item), (first or 0) + 1, None, is_own=False)

    def _file(self, finding: Finding) -> tuple[Path, int, int | None] | None:
        """Return the line of the file that the compiler read, if it is one."""
        if finding.source is None:
            return None
        name, number = finding.source
        for path in (Path(name), self._item.config.rootpath / name):
            lines = _text(path).split("\n")
            if len(lines) >= number and finding.code.strip() in lines[number - 1]:
                return path.absolute(), number, finding.column
        return None

    def _copy(self, finding: Finding) -> tuple[Path, int, int | None] | None:
        """Return the line that the finding's is a copy of, by the lines around it."""
        if not finding.code.strip() or finding.source is None:
            return None
        name, number = finding.source
        kernel = self._sources.get((finding.library, name), "").split("\n")
        if len(kernel) < number:
            kernel = [""] * number
        kernel[number - 1] = finding.code
        for paths in (self._near, self._beside(), self._imported(), self._below()):
            found = [(*_copied(kernel, number - 1, _text(path)), path) for path in paths]
            likeness, i, path = max(found, key=lambda f: f[0], default=(0, 0, Path()))
            if likeness:
                code, line = finding.code.strip(), _text(path).split("\n")[i]
                if finding.column is None or code not in line:
                    return path, i + 1, None
                shift = line.index(code) - finding.code.index(code)
                return path, i + 1, finding.column + shift
        return None

    def _beside(self) -> Iterator[Path]:
        """Yield files of CUDA C++ beside the test and what it calls."""
        for folder in dict.fromkeys(path.parent for path in self._near):
            yield from sorted(path for path in folder.glob("*.*") if path.suffix in _SUFFIXES)

    def _imported(self) -> Iterator[Path]:
        """Yield the other files below the repository's folder that are imported."""
        files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        for path in map(Path, filter(None, files)):
            if path.is_relative_to(self._item.config.rootpath) and _may_have_kernels(path):
                yield path

    def _below(self) -> Iterator[Path]:
        """Yield the files of CUDA C++ below the repository's folder, unless that is large."""
        walked = os.walk(self._item.config.rootpath)
        for folder, folders, files in islice(walked, _MOST_FOLDERS):
            folders[:] = sorted(f for f in folders if f not in _FOREIGN and f[0] != ".")
            yield from (Path(folder, file) for file in sorted(files) if file.endswith(_SUFFIXES))


def _may_have_kernels(path: Path) -> bool:
    return (
        path.suffix != ".pyc" and _PACKAGE not in path.parents and "site-packages" not in path.parts
    )


def _copied(kernel: list[str], k: int, text: str) -> tuple[int, int]:
    """Return how sure it is which line of a text is a copy of one of a kernel, and that line.

    Each line around it that is found tells where the kernel begins. Where something was filled in,
    a line is another one: then others tell, if they are more than half of the text.
    """
    begins: Counter[int] = Counter()
    lines: list[str] = []
    around = [*enumerate(map(str.strip, kernel))][max(0, k - _AROUND) : k + _AROUND + 1]
    for j, part in around:
        if part and part in text:  # few files have any
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


def _text(path: Path) -> str:
    """Return the text of a file, none of one that has no text."""
    try:
        path = path.absolute()
        status = path.stat()
        return _read(path, status.st_mtime_ns) if status.st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=64)
def _read(path: Path, _: int) -> str:
    """Return the text of a file as it was at a time."""
    return path.read_text(encoding="utf-8", errors="replace")


def _below_root(path: Path, item: pytest.Item) -> str:
    """Return a path as GitHub knows it, from the repository's folder on."""
    for root in (os.environ.get("GITHUB_WORKSPACE"), item.config.rootpath):
        if root and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()
