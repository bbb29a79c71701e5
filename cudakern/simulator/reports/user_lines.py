"""Where findings lie in the files of who wrote the kernels.

A kernel that is a string in a Python file has lines of its own, ``total.cu:6``. Here they are found
again in that file.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

    from cudakern.simulator import Finding
    from cudakern.simulator.source_lines import Sources

_PACKAGE = Path(__file__).parents[2]
#: Fewer characters in common, and a line is no likely copy of another.
_LEAST = 8
#: Larger files hold no kernels.
_MOST_BYTES = 2**22


class Place(NamedTuple):
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

    def place(self, finding: Finding) -> Place:
        """Return where a finding lies, or where the test begins if nobody knows."""
        found = self._file(finding) or self._copy(finding)
        if found is not None:
            path, line, column = found
            return Place(_below_root(path, self._item), line, column, is_own=True)
        test, first, _ = self._item.reportinfo()
        return Place(_below_root(Path(test), self._item), (first or 0) + 1, None, is_own=False)

    def _file(self, finding: Finding) -> tuple[Path, int, int | None] | None:
        """Return the line of the file that the compiler read, if it is one."""
        if finding.source is None:
            return None
        name, number = finding.source
        for path in (Path(name), self._item.config.rootpath / name):
            lines = _lines(path)
            if len(lines) >= number and finding.code.strip() in lines[number - 1]:
                return path.absolute(), number, finding.column
        return None

    def _copy(self, finding: Finding) -> tuple[Path, int, int | None] | None:
        """Return the line that the finding's is a copy of, by the lines around it."""
        code = finding.code.strip()
        if not code or finding.source is None:
            return None
        name, number = finding.source
        text = self._sources.get((finding.library, name), "").split("\n")
        kernel = [line.strip() for line in text] if len(text) >= number else [""] * number
        kernel[number - 1] = code
        best: tuple[int, Path, int, str] | None = None
        for paths in (self._near, self._beside(), self._imported()):
            for path in paths:
                lines = _lines(path)
                for i, line in enumerate(lines):
                    if code not in line:
                        continue
                    likeness = _likeness(kernel, number - 1, lines, i)
                    if likeness >= _LEAST and (best is None or likeness > best[0]):
                        best = likeness, path, i, line
            if best is not None:
                break
        if best is None:
            return None
        _, path, i, line = best
        column = finding.column
        if column is not None:
            column += line.index(code) - (len(finding.code) - len(finding.code.lstrip()))
        return path, i + 1, column

    def _beside(self) -> Iterator[Path]:
        """Yield files of CUDA C++ beside the test and what it calls."""
        for folder in dict.fromkeys(path.parent for path in self._near):
            for pattern in ("*.cu", "*.cuh", "*.h", "*.hpp"):
                yield from sorted(folder.glob(pattern))

    def _imported(self) -> Iterator[Path]:
        """Yield the other files below the repository's folder that are imported."""
        files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        for path in map(Path, filter(None, files)):
            if path.is_relative_to(self._item.config.rootpath) and _may_have_kernels(path):
                yield path


def _may_have_kernels(path: Path) -> bool:
    return (
        path.suffix != ".pyc" and _PACKAGE not in path.parents and "site-packages" not in path.parts
    )


def _likeness(kernel: list[str], k: int, lines: list[str], i: int) -> int:
    """Return how many characters around a line are those around another."""
    count = len(kernel[k])
    for step in (-1, 1):
        at = 1
        while 0 <= k + at * step < len(kernel) and 0 <= i + at * step < len(lines):
            text = kernel[k + at * step]
            if text not in lines[i + at * step]:
                break
            count += len(text)
            at += 1
    return count


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, none of one that has no text."""
    try:
        path = path.absolute()
        status = path.stat()
        return _read(path, status.st_mtime_ns) if status.st_size <= _MOST_BYTES else []
    except (OSError, ValueError):
        return []


@lru_cache(maxsize=64)
def _read(path: Path, _: int) -> list[str]:
    """Return the lines of a file as it was at a time."""
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def _below_root(path: Path, item: pytest.Item) -> str:
    """Return a path as GitHub knows it, from the repository's folder on."""
    for root in (os.environ.get("GITHUB_WORKSPACE"), item.config.rootpath):
        if root and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()
