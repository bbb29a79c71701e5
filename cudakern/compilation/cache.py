"""Files of compiled kernels in the cache folder: find, check, write and delete them.

The files there are loaded and run. So a file is used only if nobody but this user and root could
have written it (see `trust`), and if it is whole: it ends in a checksum of its name and content.
Any other file of its name is made again and replaced. Where the cache folder is not trusted or
cannot be written, a folder of this process holds the files.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cudakern.compilation.trust import fault, reason_not_trusted
from cudakern.errors import CacheWarning, EngineUnavailableError
from cudakern.process.forks import Lock, run_to_completion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cudakern.process.forks import Cancelled

#: Errors of a process or machine that has no more to give, whatever file it asks for.
_EXHAUSTED = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
#: The last line of each file: loaders of machine code do not read it, in PTX it is a comment. It
#: guards against damage alone, so CRC-32 is enough, which takes 0.3 ms a megabyte.
_MARK = b"\n// cudakern: whole "
_MARK_BYTES = len(_MARK) + len(b"%08x\n" % 0)
_DAY = 86_400  # seconds
BUILD, _OF_PROCESS, _OF_COMPILER = "build-cudakern-", "cudakern-process-", "compiler-cudakern-"
#: Names of all that is written into the cache folder.
_OURS = re.compile(
    rf"[\w-]*[-_][0-9a-f]{{32}}\.(cubin|ptx|so|txt)|({BUILD}|{_OF_COMPILER})[a-z0-9_]+"
)


class CachedFile(NamedTuple):
    """A file that is whole and trusted."""

    path: Path
    marked: bytes  # the content and the last line

    @property
    def content(self) -> bytes:
        """The content, without the last line."""
        return self.marked[:-_MARK_BYTES]


class ClearedFolder(NamedTuple):
    """What `clear` has deleted from a folder."""

    folder: Path
    files: int
    nbytes: int
    problem: str  # why it was left alone or is not empty; else an empty string


@dataclass(slots=True)
class Choice:
    """The folders that serve, and why others do not."""

    candidates: list[Path]
    readable: list[Path] = field(default_factory=list)
    writable: Path | None = None
    distrusted: list[str] = field(default_factory=list)
    unwritable: list[str] = field(default_factory=list)

    @property
    def problem(self) -> str:
        """What to say about the folders that do not serve."""
        if self.distrusted:
            return (
                "cudakern: the cache folder must be this user's or root's, and nobody else may "
                f"write to it; {one_line('; '.join(self.distrusted))}, so it is not used: set "
                "CUDAKERN_CACHE_DIR to another folder, take the right to write from others (chmod "
                "go-w), or let CUDAKERN_CACHE_SHARED=group trust a group"
            )
        return (
            "cudakern: the cache folder must be writable to keep kernels for other processes; "
            f"{one_line('; '.join(self.unwritable))}: set CUDAKERN_CACHE_DIR to another folder"
        )


def find_file(name: str) -> CachedFile | None:
    """Return the file of a name, or None if none is there that is whole and trusted."""
    choice = survey()
    if choice.distrusted:
        _warn(choice.problem)
    kept = (_read_whole(folder / name) for folder in [*choice.readable, *_find_process_folder()])
    return next(filter(None, kept), None)


def make(
    name: str,
    write: Callable[[Path, Cancelled], object],
    late: Callable[[], None] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> CachedFile:
    """Return a new file of the cache, which ``write`` leaves in the folder that it is given.

    The finished file is moved to the cache folder. So processes can share that, and nothing is left
    of a file that fails. The other parameters are those of `run_to_completion`.
    """

    def work(cancelled: Cancelled) -> CachedFile:
        folder = _build_folder()
        try:
            with _writing_to(folder.parent):
                write(folder, cancelled)
                return keep(folder / name)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return run_to_completion(work, late, meanwhile)


def keep(made: Path) -> CachedFile:
    """Move a file from a build's folder to the cache folder, whole or not at all."""
    content = made.read_bytes()
    mark = _mark(made.name, content)
    folder = made.parent.parent
    with made.open("ab", buffering=0) as file:
        file.write(mark)
        os.fchmod(file.fileno(), 0o644)
        if _trusts_group():
            with suppress(PermissionError):  # then it is this user's alone
                os.fchown(file.fileno(), -1, folder.stat().st_gid)
        os.fsync(file.fileno())
    target = folder / made.name
    try:
        made.replace(target)
    except IsADirectoryError:
        target.replace(made.parent / "displaced")
        made.replace(target)
    with suppress(OSError):  # some file systems do not synchronise folders
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return CachedFile(target, content + mark)


def keep_hint(name: str, content: bytes) -> None:
    """Write a file that is not essential to the cache folder, if that can be written."""
    folder = survey().writable
    if folder is not None:
        with suppress(OSError):
            build = Path(tempfile.mkdtemp(prefix=BUILD, dir=folder))
            try:
                (build / name).write_bytes(content)
                keep(build / name)
            finally:
                shutil.rmtree(build, ignore_errors=True)


def cache_folder() -> Path:
    """Return the folder that compiled kernels are written to, creating it."""
    choice = survey()
    return choice.writable or _create_process_folder(choice.problem)


def compiler_folder(build: Path) -> Path:
    """Return a folder for a compiler's own files: at worst one that is deleted with the build."""
    folder = build.parent / f"{_OF_COMPILER}{os.getuid()}"
    problem = _create(folder) or _reason_not_trusted(folder)
    return build / _OF_COMPILER if problem else folder


def survey() -> Choice:
    """Return which folders serve, and create the one that will be written to."""
    choice = Choice(_candidates())
    for folder in choice.candidates:
        absent = _create(folder)
        if absent:
            choice.unwritable.append(f"{folder}: {absent}")
        elif problem := _reason_not_trusted(folder):
            choice.distrusted.append(problem)
        else:
            choice.readable.append(folder)
            if os.access(folder, os.W_OK | os.X_OK):
                choice.writable = folder
                break
            choice.unwritable.append(f"{folder}: not writable")
    return choice


def clear() -> Iterator[ClearedFolder]:
    """Delete compiled kernels and the remains of builds; files that a link leads to stay."""
    for folder in _candidates():
        if not os.path.lexists(folder):
            continue
        try:
            problem = reason_not_trusted(folder, group=_trusts_group())
            yield ClearedFolder(folder, 0, 0, problem) if problem else _clear_folder(folder)
        except OSError as error:
            yield ClearedFolder(folder, 0, 0, error.strerror or str(error))


def content_of(folder: Path) -> tuple[int, int]:
    """Return how many files lie in a folder, however deep, and their bytes."""
    nbytes = []
    for parent, _, names in os.walk(folder):  # which treats folders that vanish as empty
        for name in names:
            with suppress(FileNotFoundError):  # it was of a build that has ended meanwhile
                status = Path(parent, name).lstat()
                if stat.S_ISREG(status.st_mode):
                    nbytes.append(status.st_size)
    return len(nbytes), sum(nbytes)


@contextmanager
def report_exhaustion() -> Iterator[None]:
    """Raise EngineUnavailableError where there are no more files, memory or processes."""
    try:
        yield
    except OSError as error:
        if not is_exhausted(error):
            raise
        message = (
            "cudakern: the process must be able to open files and start programs; "
            f"got: {error.strerror}"
        )
        raise EngineUnavailableError(message) from error


def is_exhausted(error: OSError) -> bool:
    """Return whether an error is due to the process or the machine, not to the file."""
    return error.errno in _EXHAUSTED


def _candidates() -> list[Path]:
    """Return the folders that may serve, in the order of preference.

    That is ``CUDAKERN_CACHE_DIR``; without it ``cudakern`` below ``XDG_CACHE_HOME`` or
    ``~/.cache``, then a folder of this user below the system's temporary folder.
    """
    named = os.environ.get("CUDAKERN_CACHE_DIR")
    if named:
        try:
            return [Path(named).expanduser().absolute()]
        except (RuntimeError, OSError) as error:
            message = f"cudakern: CUDAKERN_CACHE_DIR must name a folder; got {named!r}: {error}"
            raise EngineUnavailableError(message) from error
    folders = []
    with suppress(RuntimeError, OSError):  # without a home folder
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        folders.append(Path(base).expanduser().absolute() / "cudakern")
    with suppress(OSError):  # without a temporary folder that can be written
        folders.append(Path(tempfile.gettempdir()).absolute() / f"cudakern-{os.getuid()}")
    if not folders:
        message = "cudakern: CUDAKERN_CACHE_DIR must name a folder where no default can be written"
        raise EngineUnavailableError(message)
    return folders


def _trusts_group() -> bool:
    """Return whether the members of a group trust each other in the folder that is named."""
    value = os.environ.get("CUDAKERN_CACHE_SHARED")
    if value and value != "group":
        message = f"cudakern: CUDAKERN_CACHE_SHARED must be 'group' or unset; got {value!r:.60}"
        raise EngineUnavailableError(message)
    return bool(value and os.environ.get("CUDAKERN_CACHE_DIR"))


def _reason_not_trusted(folder: Path) -> str:
    """Return why a folder is not trusted, or an empty string."""
    try:
        return reason_not_trusted(folder, group=_trusts_group())
    except OSError as error:
        return f"{folder}: {error.strerror}"


def _create(folder: Path) -> str:
    """Create a folder for this user alone; return why that fails, or an empty string."""
    try:
        for path in [path for path in (folder, *folder.parents) if not path.exists()][::-1]:
            with suppress(FileExistsError):  # another process was faster
                path.mkdir(0o700)
                path.chmod(0o700)  # whatever the mask takes
        return "" if folder.is_dir() else os.strerror(errno.ENOTDIR)
    except OSError as error:
        if is_exhausted(error):
            raise
        return error.strerror or str(error)


def _clear_folder(folder: Path) -> ClearedFolder:
    before = _contents(folder)
    for path in before:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    after = _contents(folder)
    files, nbytes = (
        sum(sizes[k] for sizes in before.values()) - sum(sizes[k] for sizes in after.values())
        for k in range(2)
    )
    left = f"{len(after)} cannot be deleted" if after else ""
    return ClearedFolder(folder, files, nbytes, left)


#: The folder of this process, if it needs one. A forked process uses it as long as it exists.
_process_folders: list[Path] = []
_creating = Lock()
_warned: set[str] = set()


def _find_process_folder() -> list[Path]:
    """Return a list of this process's folder, which is empty without one that is still ours."""
    for path in _process_folders[-1:]:
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and not fault(status):
                return [path]
    return []


def _create_process_folder(reason: str) -> Path:
    """Return a folder that is deleted when this process ends, and warn of the reason for it."""
    with _creating:
        if not _find_process_folder():
            with _writing_to("a folder"):
                temporary = Path(tempfile.gettempdir())
                _sweep(temporary, _OF_PROCESS)
                path = Path(tempfile.mkdtemp(prefix=_OF_PROCESS, dir=temporary))
            atexit.register(_delete_own, path, os.getpid())
            _process_folders.append(path)
    _warn(reason)
    return _process_folders[-1]


def _delete_own(folder: Path, pid: int) -> None:
    if pid == os.getpid():  # not in a forked process
        shutil.rmtree(folder, ignore_errors=True)


def _warn(text: str) -> None:
    """Warn once in a process."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, CacheWarning, stacklevel=2)


def _build_folder() -> Path:
    choice = survey()
    if choice.writable is not None:
        _sweep(choice.writable, BUILD)
        with _writing_to(choice.writable):
            try:
                return Path(tempfile.mkdtemp(prefix=BUILD, dir=choice.writable))
            except OSError as error:
                if error.errno not in _FORBIDDEN:
                    raise
                choice.unwritable.append(f"{choice.writable}: {error.strerror}")
    folder = _create_process_folder(choice.problem)
    with _writing_to(folder):
        return Path(tempfile.mkdtemp(prefix=BUILD, dir=folder))


def _sweep(folder: Path, prefix: str) -> None:
    """Delete folders that killed processes of this user have left."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.getuid() and status.st_mtime < time.time() - _DAY:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _read_whole(path: Path) -> CachedFile | None:
    """Return a file if it is whole and trusted. What is checked is the file that is read."""
    try:
        # It follows no link, and waits for nobody.
        flags = os.O_NOFOLLOW | os.O_NONBLOCK
        with open(path, "rb", 0, opener=lambda name, mode: os.open(name, mode | flags)) as file:
            status = os.fstat(file.fileno())
            start = status.st_size - _MARK_BYTES
            if not stat.S_ISREG(status.st_mode):
                return None
            problem = fault(status, group=_trusts_group())
            if problem:
                _warn(
                    "cudakern: files in the cache folder must be this user's or root's, and nobody "
                    f"else may write to them; {one_line(f'{path} {problem}')}, so it is not used"
                )
                return None
            # The end is read first: a file without the mark may be of any size.
            end = os.pread(file.fileno(), _MARK_BYTES, start) if start >= 0 else b""
            marked = file.readall() if end.startswith(_MARK) else b""
    except OSError as error:
        if is_exhausted(error):
            raise
        return None
    is_whole = marked.endswith(_mark(path.name, memoryview(marked)[:-_MARK_BYTES]))
    return CachedFile(path, marked) if is_whole else None


def _mark(name: str, content: bytes | memoryview) -> bytes:
    return _MARK + b"%08x\n" % zlib.crc32(content, zlib.crc32(os.fsencode(name)))


def _contents(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return the entries of a folder that are the cache's, and the size of each."""
    sizes = {}
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name):
            is_folder = path.is_dir() and not path.is_symlink()
            sizes[path] = content_of(path) if is_folder else (1, path.lstat().st_size)
    return sizes


@contextmanager
def _writing_to(folder: Path | str) -> Iterator[None]:
    """Raise EngineUnavailableError where a folder is the reason for an OSError."""
    try:
        yield
    except OSError as error:
        if is_exhausted(error):
            raise
        message = f"cudakern: compiled kernels must be written to {one_line(folder)}; "
        raise EngineUnavailableError(message + (error.strerror or str(error))) from error


def one_line(text: object) -> str:
    """Return a text with paths as messages show it: in one line, without control characters."""
    return repr(str(text))[1:-1]
