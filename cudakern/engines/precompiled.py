"""Headers that NVRTC compiles once for the programs of a process that begin with the same ones.

NVRTC has precompiled headers since 12.8. They serve the process that made them, and forks of it.
PTX is the same with and without them if they hold no instances of templates, which would come first
in it. Where anything fails, a program is compiled without them.

While NVRTC makes or uses them, its memory is a file below ``TMPDIR``, of a hundred megabytes or
more. When a file system in memory is full, the process dies. And NVRTC 12.9 takes a file of its
file's name that is there already. So headers are precompiled where neither can be.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cudakern._trust import distrust
from cudakern.errors import KernelCompileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from cudakern._forks import Cancelled
    from cudakern.engines.nvrtc import Program

T = TypeVar("T")
#: Seconds that a program takes whose headers are worth it.
_LONG = 0.25
#: Beginnings of programs that are remembered, and files of headers, of up to 350 MB each.
_MOST, _MOST_FILES = 64, 4
#: Bytes that a disk has for them, at least.
_ROOM_BYTES = 4 << 30
#: Bytes of addresses for them. NVRTC's own 256 MiB are too few for CUB.
_HEAP_BYTES = 1 << 30
_TMPFS_MAGIC = 0x01021994
_NO_INSTANCES = "--instantiate-templates-in-pch=false"
#: What may stand before all that is compiled: includes, comments, the line that names the text.
_START = re.compile(
    r"[ \t\r]*(?:#[ \t]*include[ \t]*<(?P<header>[^>\n]+)>[ \t\r]*)?(?://[^\n\\]*)?\n"
    r"|[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t\r]*\n"
    r'|#line 1 (?P<file>"(?:[^"\\\n]|\\.)*")\n'
)


class _File:
    """A file that has lost its name; it goes with the last process that has it open."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._status = os.fstat(self._descriptor)
        self.path = f"/proc/self/fd/{self._descriptor}"

    def is_there(self) -> bool:
        """Return whether it is open still: programs close what they do not know."""
        try:
            return os.path.samestat(self._status, Path(self.path).stat())
        except OSError:
            return False

    def __del__(self) -> None:
        """Give it up."""
        if self.is_there():
            os.close(self._descriptor)


#: By beginnings of programs: their headers, or the seconds that the first one took.
_known: dict[tuple[str, ...], _File | float] = {}


def compiled(
    nvrtc: ModuleType,
    program: Program,
    attempt: Callable[[str, tuple[str, ...]], tuple[T, bool]],
    cancelled: Cancelled,
) -> T:
    """Return what an attempt returns for a program's text, or for one that comes to the same.

    An attempt takes a text and more options. It also tells whether NVRTC has made headers, if they
    say so. Raises what it raises for the program's own text.
    """
    parts = None if program.headers is None else _parts(program.text)
    if parts is None:
        return attempt(program.text, ())[0]
    key = (*program.options, str(program.headers), parts[0])
    known, has_failed = _known.get(key), False
    try:
        if isinstance(known, _File) and known.is_there() and _is_safe():
            return attempt("".join(parts), (f"--use-pch={known.path}", _NO_INSTANCES))[0]
        if isinstance(known, float) and known > _LONG and _is_safe():
            return _making(nvrtc, key, lambda *options: attempt("".join(parts), options))
    except (KernelCompileError, OSError, RuntimeError, AttributeError):
        if cancelled:
            raise
        has_failed = True
    begun = time.monotonic()
    result, _ = attempt(program.text, ())
    if has_failed or not isinstance(known, float):
        _know(key, 0.0 if has_failed else time.monotonic() - begun)
    return result


def _making(nvrtc: ModuleType, key: tuple[str, ...], attempt: Callable[..., tuple[T, bool]]) -> T:
    """Return the result of an attempt that also makes headers, for others to use."""
    if nvrtc.nvrtcGetPCHHeapSize()[1] < _HEAP_BYTES:
        nvrtc.nvrtcSetPCHHeapSize(_HEAP_BYTES)
    with tempfile.TemporaryDirectory(prefix="cudakern-process-") as folder:
        path = f"{folder}/headers.pch"
        result, is_made = attempt(f"--create-pch={path}", _NO_INSTANCES)
        _know(key, _File(path) if is_made else 0.0)
    return result


def _know(key: tuple[str, ...], what: _File | float) -> None:
    _known.pop(key, None)
    _known[key] = what
    for most, kinds in ((_MOST_FILES, _File), (_MOST, object)):
        for old in [k for k, value in list(_known.items()) if isinstance(value, kinds)][:-most]:
            _known.pop(old, None)


def _parts(text: str) -> tuple[str, str] | None:
    """Return the headers that a text begins with, and the rest as it is compiled after them."""
    headers, file, first, end = [], None, 0, 0
    while match := _START.match(text, end):
        if match["file"]:
            if file is not None:
                break
            file, first = match["file"], match.end()
        if match["header"]:
            headers.append(f"#include <{match['header']}>\n")
        end = match.end()
    if file is None or not headers:
        return None
    line = 1 + text.count("\n", first, end)
    return "".join((*headers, "#pragma nv_hdrstop\n")), f"#line {line} {file}\n{text[end:]}"


def _is_safe() -> bool:
    """Return whether NVRTC's file can neither fill a memory nor be somebody else's."""
    folder = Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108  as NVRTC chooses
    status = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(folder), status):
        return False
    kind = int.from_bytes(status.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder)
    guards = (Path(f"/proc/sys/fs/protected_{files}") for files in ("regular", "symlinks"))
    try:
        is_own = all(guard.read_text() != "0\n" for guard in guards) or not distrust(folder)
        return kind != _TMPFS_MAGIC and is_own and shutil.disk_usage(folder).free > _ROOM_BYTES
    except OSError:
        return False
