"""Where lines of kernels stand in the user's files.

A kernel that is a string in a Python file has lines of its own, ``total.cu:6``. This module finds
them again in that file, the line's *origin*: in the files of the calls that launch the kernel, in
cells of notebooks, in other modules, and in files of CUDA C++.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections import Counter
from contextlib import suppress
from difflib import SequenceMatcher, get_close_matches
from enum import Enum, auto
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from traceback import walk_stack, walk_tb
from typing import TYPE_CHECKING

from cudakern.errors import is_inside
from cudakern.simulator.sources.source_lines import SourceLine, describe_stack
from cudakern.simulator.sources.source_texts import find_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cudakern.simulator.sources.source_texts import Sources

_PACKAGE = Path(__file__).parents[2]
_LIBRARY = Path(os.__file__).parent
#: A line is a copy if it and its neighbours have at least so many characters of the original.
_LEAST = 8
#: So many neighbouring lines, with so many characters, are a part of a text.
_RUN_LINES, _RUN = 3, 32
#: A line of so many characters may be found by its likeness, from 0 to 1, alone.
_LONG, _ALIKE = 40, 0.7
#: A line of a template is at least so like what is made of it, if that stands elsewhere.
_SLIGHTLY_ALIKE = 0.4
#: How many neighbours count, before and behind.
_AROUND = 16
_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".inl")
#: Folders of other people's files, and how many other folders are searched.
_FOREIGN = {"build", "dist", "node_modules", "site-packages", "venv"}
_MOST_FOLDERS = 1000
#: No more lines of a text are searched if so many are not found.
_MOST_LACKING = 20
#: Larger files are not searched.
_MOST_BYTES = 2**22


class Origins:
    """Finds the origins of lines of kernels, each once.

    The first files are those of the calls that led to an error, by default to `find`.
    """

    def __init__(self, sources: Sources, error: Exception | None = None) -> None:
        self._sources, self._error = sources, error
        self.files: list[str] = []  # that are likely to have kernels, besides those of the calls
        self._known: dict[tuple[str, SourceLine, int | None], SourceLine | None] = {}
        self._homes: dict[tuple[str, str], list[str]] = {}  # files that have a text, none or one
        self._lacking: Counter[tuple[str, str]] = Counter()  # lines of a text that are not found

    def find(
        self, library: str, source: SourceLine | None, column: int | None = None
    ) -> SourceLine | None:
        """Return the line of the user's file that a line of a text given as a string is.

        None if it is not found, or the text was read from that file. The column is that of a
        statement.
        """
        if source is None or "/" in source[0]:  # then it is a file that the compiler has read
            return None
        key = library, source, column
        if key not in self._known:
            self._known[key] = self._search(library, source, column)
        return self._known[key]

    def _search(self, library: str, source: SourceLine, column: int | None) -> SourceLine | None:
        code = find_line(self._sources, library, source)
        text = library, source[0]
        if not code.strip() or self._lacking[text] >= _MOST_LACKING:
            return None
        if has_line(Path(source[0]), source, code):
            return None
        kernel = [_unescape(line).strip() for line in self._sources[text].split("\n")]
        near = [*dict.fromkeys((*_list_callers(self._error), *self.files))]
        found = _find_in(self._homes.get(text, ()), kernel, source[1], _Need.EITHER)
        # A copy anywhere comes before a text that is alike, which may be another version.
        others = (_list_imported, partial(_list_beside, near), _list_below)
        groups: list[Callable[[], Iterable[str]]] = [near.copy]
        groups += [cache(lambda of=of: [*of()]) for of in others]  # listed once at most
        for need in (_Need.BOTH, _Need.MOST):
            for list_files in groups:
                found = found or _find_in(list_files(), kernel, source[1], need)
        # A text that is made of many parts may have few lines that stand in a file.
        found = found or _find_in(near, kernel, source[1], _Need.EITHER)
        found = found or _find_part(near, kernel, source[1], code, column)
        self._homes.setdefault(text, [found[0]] if found else [])
        self._lacking[text] += found is None
        return found


class _Need(Enum):
    """What makes a line of a file that of a kernel.

    It is the same line, and more than half of its neighbours are there or those without a gap; or
    three quarters of them are, for a template that is filled in changes lines; or one is enough:
    the same line, or half of the neighbours.
    """

    BOTH = auto()
    MOST = auto()
    EITHER = auto()


def _find_in(files: Iterable[str], kernel: list[str], line: int, need: _Need) -> SourceLine | None:
    """Return the line of the files that is most likely a line of a kernel."""
    texts = ((_read_plain(file), file) for file in files)
    found = [(*_find_line(kernel, line - 1, text, need), file) for text, file in texts]
    likeness, number, file = max(found, key=lambda f: f[0], default=(0, 0, ""))
    return (file, number + 1) if likeness else None


def _find_part(
    files: Iterable[str], kernel: list[str], line: int, code: str, column: int | None
) -> SourceLine | None:
    """Return a line of the files that has the statement at a column, or is like the whole line."""
    at = (column or 1) - 1
    start = max(code.rfind(mark, 0, at) for mark in ";{}") + 1
    end = min((i for mark in ";{}" if (i := code.find(mark, at)) >= 0), default=len(code))
    statement = _unescape(code[start:end].strip() if column else "")
    quoted = re.compile(rf"""['"]\s*{re.escape(statement)}\s*;?\s*['"]""")
    for file in files:
        lines = _read_plain(file).split("\n")
        for number, text in enumerate(lines, 1) if statement else ():
            if statement in text and (len(statement) >= _LEAST or quoted.search(text)):
                return file, number
        if len(code) >= _LONG and (alike := get_close_matches(code, lines, 1, _ALIKE)):
            return file, lines.index(alike[0]) + 1
        if number := _find_alike(kernel, line - 1, lines):
            return file, number
    return None


def _find_alike(kernel: list[str], k: int, lines: list[str]) -> int:
    """Return the number of the line that is like line k of a kernel, as lines around are, or 0."""
    around = [j for j in range(max(0, k - 2), min(len(kernel), k + 3)) if kernel[j]]
    if len(around) < _RUN_LINES:
        return 0
    best, number = _ALIKE, 0
    for i in range(k - around[0], len(lines) - (around[-1] - k)):
        if not lines[i].strip() or _likeness(kernel[k], lines[i]) < _ALIKE:
            continue
        likeness = [_likeness(kernel[j], lines[i + j - k]) for j in around]
        mean = sum(likeness) / len(around)
        if mean > best:
            best, number = mean, i + 1
    return number


def _likeness(line: str, other: str) -> float:
    matcher = SequenceMatcher(None, line, other.strip())
    return matcher.ratio() if matcher.real_quick_ratio() >= _SLIGHTLY_ALIKE else 0.0


def _list_callers(error: Exception | None) -> Iterator[str]:
    """Yield the files of calls, the innermost first: the user's, and the one that called us."""
    walked = walk_stack(None) if error is None else reversed([*walk_tb(error.__traceback__)])
    outer = (frame for frame, _ in walked if not is_inside(frame))
    for i, frame in enumerate(outer):
        file = frame.f_code.co_filename
        if file.startswith("<") and name_cell(file) == file:  # made by exec, as of a doctest
            file = str(frame.f_globals.get("__file__", file))
        if i == 0 or not is_foreign(file):
            yield file


def _list_beside(files: Iterable[str]) -> Iterator[str]:
    """Yield files of CUDA C++ beside others."""
    with suppress(FileNotFoundError):
        files = [str(Path(file).absolute()) for file in files]
    for folder in dict.fromkeys(Path(file).parent for file in files):
        yield from sorted(str(path) for path in folder.glob("*.*") if path.suffix in _SUFFIXES)


def _list_imported() -> Iterator[str]:
    """Yield the user's other modules, and cells of a notebook, the latest first."""
    yield from (file for file in [*linecache.cache][::-1] if name_cell(file) != file)
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and not is_foreign(file):
            yield file


def _list_below() -> Iterator[str]:
    """Yield the files of CUDA C++ below the current folder, unless that is large."""
    root = _find_current_folder()
    if root is None:
        return
    for folder, folders, files in islice(os.walk(root), _MOST_FOLDERS):
        folders[:] = sorted(f for f in folders if f not in _FOREIGN and f[0] != ".")
        named = (Path(folder, file) for file in sorted(files) if file.endswith(_SUFFIXES))
        yield from map(str, named)


@lru_cache(maxsize=4096)
def is_foreign(file: str) -> bool:
    """Return whether a file is one of this package, of Python, or of another installed package."""
    path = Path(file)
    is_installed = not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
    return is_installed or path.is_relative_to(_PACKAGE) or path.is_relative_to(_LIBRARY)


def describe_place(
    source: SourceLine | None, origin: SourceLine | None, stack: tuple[SourceLine, ...] = ()
) -> str:
    """Return a line of a kernel, or a stack that it begins, and which line of a file it is."""
    place = describe_stack(stack or ((source,) if source else ()))
    return place if origin is None else f"{place} is {shorten(origin[0])}:{origin[1]}"


def name_cell(file: str) -> str:
    """Return IPython's name for a cell, or the name of the file."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    names = None if shell is None else shell.compile.format_code_name(file)
    return file if names is None else " ".join(names)


def shorten(file: str, root: Path | None = None) -> str:
    """Return a file as GitHub knows it: below the repository's folder, if it is there."""
    path, cell = Path(file), name_cell(file)
    if cell != file:
        return cell
    for folder in (os.environ.get("GITHUB_WORKSPACE"), root or _find_current_folder()):
        if folder and path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _find_current_folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def has_line(path: Path, source: SourceLine, code: str) -> bool:
    """Return whether a file has a line of the source."""
    lines = read_file(str(path)).split("\n")
    return len(lines) >= source[1] and code.strip() in lines[source[1] - 1]


def _find_line(kernel: list[str], k: int, text: str, need: _Need) -> tuple[int, int]:
    """Return the line of a text that is most likely line k of a kernel, after how likely that is.

    Each neighbour that is found votes, with its characters, for where the kernel begins.
    """
    if need is _Need.BOTH and kernel[k] not in text:
        return 0, 0
    begins: Counter[int] = Counter()
    lines: list[str] = []
    around = [*enumerate(kernel)][max(0, k - _AROUND) : k + _AROUND + 1]
    for j, part in around:
        if part and part in text:  # in few files
            lines = lines or text.split("\n")
            begins.update({i - j: len(part) for i, line in enumerate(lines) if part in line})
    most = sum(len(part) for _, part in around)

    def fits(begin: int, votes: int) -> bool:
        is_there = kernel[k] in lines[begin + k]
        if need is _Need.MOST or (need is _Need.EITHER and not is_there):
            enough = votes > most * (3 if need is _Need.MOST else 2) // 4
            return enough and _may_become(kernel, k, lines, begin)
        return is_there and (
            need is _Need.EITHER or votes > most // 2 or _has_run(kernel, k, lines, begin)
        )

    found = [
        (votes, begin + k)
        for begin, votes in begins.items()
        if votes >= _LEAST and 0 <= begin + k < len(lines) and fits(begin, votes)
    ]
    return max(found, key=lambda pair: (pair[0], -pair[1]), default=(0, 0))


def _may_become(kernel: list[str], k: int, lines: list[str], begin: int) -> bool:
    """Return whether a line of a template may be filled in to line k of a kernel.

    It may not be blank. If line k stands elsewhere in the text, the line is at least a little like
    it, or the lines before and behind are there.
    """
    line = lines[begin + k].strip()
    if not line or len(kernel[k]) < _LEAST or not any(kernel[k] in other for other in lines):
        return bool(line)
    between = [j for j in (k - 1, k + 1) if 0 <= begin + j < len(lines) and kernel[j : j + 1]]
    return _likeness(kernel[k], line) >= _SLIGHTLY_ALIKE or all(
        kernel[j] and kernel[j] in lines[begin + j] for j in between
    )


def _has_run(kernel: list[str], k: int, lines: list[str], begin: int) -> bool:
    """Return whether line k of a kernel is in a text with lines before and behind: a part."""
    run: list[str] = []
    for numbers in (range(k, len(kernel)), range(k - 1, -1, -1)):
        for j in numbers:
            if not 0 <= begin + j < len(lines) or kernel[j] not in lines[begin + j]:
                break
            run += [kernel[j]] if kernel[j] else []
    return len(run) >= _RUN_LINES and sum(map(len, run)) >= _RUN


def _read_plain(file: str) -> str:
    return _unescape(read_file(file))


@lru_cache(maxsize=512)
def _unescape(text: str) -> str:
    """Return a text without what strings and f-strings of Python escape characters with."""
    return text.replace("\\", "").replace("{{", "{").replace("}}", "}")


def read_file(file: str) -> str:
    """Return the text of a file or a cell; nothing for one that cannot be read or is large."""
    try:
        path = Path(file).absolute()  # an error if the current folder has been removed
        status = path.stat()
        return _read_at(path, status.st_mtime_ns) if status.st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return "" if name_cell(file) == file else "".join(linecache.getlines(file))


@lru_cache(maxsize=512)
def _read_at(path: Path, _: int) -> str:
    """Return the text of a file as it was at a time."""
    return path.read_text(encoding="utf-8", errors="replace")
