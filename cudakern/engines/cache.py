"""The folder of compiled kernels: where it lies, when it is trusted, how files get into it."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.errors import EngineUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> Path:
    """Return the folder of compiled kernels (``CUDAKERN_CACHE_DIR``), creating it.

    The default is ``cudakern`` below ``XDG_CACHE_HOME`` or ``~/.cache``; where that cannot be
    written, a folder of this user below the system's temporary folder. What lies there is loaded
    and run, so a default folder that somebody else owns or can write is not used.

    Raises EngineUnavailableError if the folder cannot be written, or must not be trusted.
    """
    named = os.environ.get("CUDAKERN_CACHE_DIR")
    if named:
        folder = Path(named).expanduser().absolute()
        problem = _problem(folder)
        if problem:
            message = f"cudakern: CUDAKERN_CACHE_DIR must be a writable folder; {folder}: {problem}"
            raise EngineUnavailableError(message)
        return folder
    problems = []
    for folder in _defaults():
        problem = _problem(folder) or _distrust(folder)
        if not problem:
            return folder
        problems.append(f"{folder}: {problem}")
    message = (
        "cudakern: compiled kernels need a folder that this user alone can write, "
        f"set CUDAKERN_CACHE_DIR to one; {'; '.join(problems)}"
    )
    raise EngineUnavailableError(message)


@contextmanager
def building(target: Path) -> Iterator[Path]:
    """Give a folder to make a file of the target's name in, which is renamed in the end.

    So two processes can share the cache, and nothing is left of what fails.

    Raises EngineUnavailableError if the target's folder cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as folder:
            yield Path(folder)
            (Path(folder) / target.name).replace(target)
    except OSError as error:
        message = f"cudakern: compiled kernels must be written to {target.parent}; {error}"
        raise EngineUnavailableError(message) from error


def _defaults() -> list[Path]:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    temporary = Path(tempfile.gettempdir()) / f"cudakern-{os.getuid()}"
    return [Path(base).absolute() / "cudakern", temporary]


def _problem(folder: Path) -> str:
    """Return why nothing can be written into a folder, or an empty string."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(folder, os.W_OK | os.X_OK) else "not writable"


def _distrust(folder: Path) -> str:
    """Return why what lies in a folder may come from somebody else, or an empty string."""
    target = folder.stat()
    if {folder.lstat().st_uid, target.st_uid} != {os.getuid()}:  # the link's owner, if it is one
        return "belongs to somebody else"
    return "others can write it" if target.st_mode & _OTHERS_WRITE else ""
