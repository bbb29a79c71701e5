"""Check whether anybody else could write the files at a path."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = 0
_MAX_LINKS = 40  # as many as Linux follows


def reason_not_trusted(folder: Path, *, group: bool = False) -> str:
    """Return why the files of a folder may come from somebody else, or an empty string.

    The folder must belong to this user or root, and nobody else may write to it. Nobody else may be
    able to replace it either, which concerns all folders and links on the way to it. With
    ``group``, files of a group of this process may also belong to another member.
    """
    for step, status in _steps(folder):
        if problem := fault(status, group=group, above=True):
            return f"{step} {problem}"
    problem = fault(folder.stat(), group=group)
    return f"{folder} {problem}" if problem else ""


def fault(status: os.stat_result, *, group: bool = False, above: bool = False) -> str:
    """Return why somebody else could write a file or folder, or an empty string.

    In folders ``above`` the one in question, nobody else may rename entries.
    """
    mode, gid = status.st_mode, status.st_gid
    shared = group and gid in {os.getegid(), *os.getgroups()}
    # Root appears as nobody where a user namespace does not know it.
    owners = {_ROOT, os.getuid()} | ({Path("/").stat().st_uid} if above else set())
    if status.st_uid not in owners and not shared:
        return f"belongs to user {status.st_uid}"
    if stat.S_ISLNK(mode) or (above and mode & stat.S_ISVTX):  # its owner alone can rename
        return ""
    if mode & stat.S_IWOTH:
        return "can be written by everybody"
    if mode & stat.S_IWGRP and not shared and not (above and _has_one_member(gid)):
        return f"can be written by group {gid}"
    return ""


def _has_one_member(gid: int) -> bool:
    """Return whether a group is the private group of this user."""
    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    own = gid == user.pw_gid != _ROOT and group.gr_name == user.pw_name
    return own and {*group.gr_mem} <= {user.pw_name}


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield each folder and link on the way to a folder, with its status."""
    here, rest, links = Path("/"), [*path.parts[:0:-1]], 0
    while rest:
        status = here.lstat()
        yield here, status
        part = rest.pop()
        if part == "..":
            here = here.parent
            continue
        step = here / part
        status = step.lstat()
        if not stat.S_ISLNK(status.st_mode):
            here = step
            continue
        yield step, status
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = step.readlink()
        rest += [part for part in reversed(target.parts) if part != target.anchor]
        here = Path("/") if target.is_absolute() else here
