"""Where lines of kernels stand in the user's files.

A kernel that is a string in a Python file has lines of its own, ``total.cu:6``. This module finds
them again in that file, the line's *origin*: in the files of the calls that launch the kernel, in
cells of notebooks, in other modules, and in files of CUDA C++.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections import Counter
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path
from traceback import walk_stack, walk_tb
from typing import TYPE_CHECKING

from cudakern.errors import is_inside
from cudakern.simulator.sources.source_lines import SourceLine, describe_stack
from cudakern.simulator.sources.source_texts import find_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.simulator.sources.source_texts import Sources

_PACKAGE = Path(__file__).parents[2]
_LIBRARY = Path(os.__file__).parent
#: A line is a copy if it and its neighbours have at least so many characters of the original.
_LEAST = 8
#: So many neighbouring lines, with so many characters, are a part of a text.
_RUN_LINES, _RUN = 3, 32
#: A line of so many characters may be found by its likeness, from 0 to 1, alone.
_LONG, _ALIKE = 40, 0.7
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
        found = None
        if text in self._homes:
            found = _find_in(self._homes[text], kernel, source[1], needs_most=False)
            others: tuple[Iterable[str], ...] = near, _list_imported()
        else:
            others = near, _list_beside(near), _list_imported(), _list_below()
        for files in others:
            found = found or _find_in(files, kernel, source[1])
        # A text that is made of many parts may have few lines that stand in a file.
        found = found or _find_in(near, kernel, source[1], needs_most=False)
        found = found or _find_part(near, code, column)
        self._homes.setdefault(text, [found[0]] if found else [])
        self._lacking[text] += found is None
        return found


def _find_in(
    files: Iterable[str], kernel: list[str], line: int, *, needs_most: bool = True
) -> SourceLine | None:
    """Return the line of the files that is most likely a line of a kernel."""
    texts = ((_read_plain(file), file) for file in files)
    found = [
        (*_find_line(kernel, line - 1, text, needs_most=needs_most), file) for text, file in texts
    ]
    likeness, number, file = max(found, key=lambda f: f[0], default=(0, 0, ""))
    return (file, number + 1) if likeness else None


def _find_part(files: Iterable[str], code: str, column: int | None) -> SourceLine | None:
    """Return a line of the files that has the statement at a column, or is like the whole line."""
    at = (column or 1) - 1
    start = max(code.rfind(mark, 0, at) for mark in ";{}") + 1
    end = min((i for mark in ";{}" if (i := code.find(mark, at)) >= 0), default=len(code))
    statement = _unescape(code[start:end].strip() if column else "")
    for file in files:
        lines = _read_plain(file).split("\n")
        has = [number for number, line in enumerate(lines, 1) if statement in line]
        if len(statement) >= _LEAST and has:
            return file, has[0]
        if len(code) >= _LONG and (alike := get_close_matches(code, lines, 1, _ALIKE)):
            return file, lines.index(alike[0]) + 1
    return None


def _list_callers(error: Exception | None) -> Iterator[str]:
    """Yield the files of calls, the innermost first: the user's, and the one that called us."""
    walked = walk_stack(None) if error is None else reversed([*walk_tb(error.__traceback__)])
    outer = (frame for frame, _ in walked if not is_inside(frame))
    for i, frame in enumerate(outer):
        file = frame.f_code.co_filename
        if file.startswith("<") and name_cell(file) == file:  # made by exec, as of a doctest
            file = str(frame.f_globals.get("__file__", file))
        if i == 0 or not _is_foreign(Path(file)):
            yield file


def _list_beside(files: Iterable[str]) -> Iterator[str]:
    """Yield files of CUDA C++ beside others."""
    for folder in dict.fromkeys(Path(file).absolute().parent for file in files):
        yield from sorted(str(path) for path in folder.glob("*.*") if path.suffix in _SUFFIXES)


def _list_imported() -> Iterator[str]:
    """Yield the user's other modules, and cells of a notebook, the latest first."""
    yield from (file for file in [*linecache.cache][::-1] if name_cell(file) != file)
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and not _is_foreign(Path(file)):
            yield file


def _list_below() -> Iterator[str]:
    """Yield the files of CUDA C++ below the current folder, unless that is large."""
    for folder, folders, files in islice(os.walk(Path()), _MOST_FOLDERS):
        folders[:] = sorted(f for f in folders if f not in _FOREIGN and f[0] != ".")
        named = (Path(folder, file) for file in sorted(files) if file.endswith(_SUFFIXES))
        yield from (str(path.absolute()) for path in named)


def _is_foreign(path: Path) -> bool:
    """Return whether a file is one of this package, of Python, or of another installed package."""
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


def _find_line(kernel: list[str], k: int, text: str, *, needs_most: bool) -> tuple[int, int]:
    """Return the line of a text that is most likely line k of a kernel, after how likely that is.

    Each neighbour that is found votes, with its characters, for where the kernel begins. Line k
    must be there, and more than half vote or be its neighbours without a gap; or three quarters
    vote for another line: a template that is filled in changes lines. Unless it `needs_most`, that
    line k is there or more than half vote is enough.
    """
    begins: Counter[int] = Counter()
    lines: list[str] = []
    around = [*enumerate(kernel)][max(0, k - _AROUND) : k + _AROUND + 1]
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
        and (votes > most // 2 or _has_run(kernel, k, lines, begin))
        + (votes > most * 3 // 4)
        + (kernel[k] in lines[begin + k])
        > needs_most
    ]
    return max(found, key=lambda pair: (pair[0], -pair[1]), default=(0, 0))


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


@lru_cache(maxsize=64)
def _unescape(text: str) -> str:
    """Return a text without what strings and f-strings of Python escape characters with."""
    return text.replace("\\", "").replace("{{", "{").replace("}}", "}")


def read_file(file: str) -> str:
    """Return the text of a file or a cell; nothing for one that cannot be read or is large."""
    path = Path(file).absolute()
    try:
        status = path.stat()
        return _read_at(path, status.st_mtime_ns) if status.st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return "" if name_cell(file) == file else "".join(linecache.getlines(file))


@lru_cache(maxsize=64)
def _read_at(path: Path, _: int) -> str:
    """Return the text of a file as it was at a time."""
    return path.read_text(encoding="utf-8", errors="replace")
