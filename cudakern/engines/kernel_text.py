"""Kernel sources: their folder, their text with includes resolved, and its digest.

Includes are resolved here, so a compiler reads one text alone: an edited header gives another text,
and the keys of all caches hold the text's digest.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"\s*$')
_PRAGMA_ONCE = re.compile(r"^\s*#\s*pragma\s+once\s*$")


class KernelSource(NamedTuple):
    """The text of a kernel with its includes in place."""

    text: str  # ``#line`` directives keep the file names and line numbers of the parts
    digest: str  # SHA-256 of the text, in hexadecimal


@lru_cache(maxsize=1)
def kernel_folder() -> Path:
    """Return the folder of the kernel sources: inside the installed package, or beside it."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "kernels", package.parent / "kernels"):
        if (folder / "common").is_dir():
            return folder
    message = (
        f"cudakern: the kernel sources must lie in {package / 'kernels'}; the folder is missing"
    )
    raise FileNotFoundError(message)


def line_info() -> bool:
    """Return whether ``CUDAKERN_LINEINFO=1`` asks for source lines in the machine code."""
    return os.environ.get("CUDAKERN_LINEINFO", "0") == "1"


@lru_cache(maxsize=64)
def _load(name: str, folder: Path, prefix: str) -> KernelSource:
    lines: list[str] = []
    _append(name, folder, prefix, lines, set())
    text = "\n".join(lines) + "\n"
    return KernelSource(text, hashlib.sha256(text.encode()).hexdigest())


def _append(name: str, folder: Path, prefix: str, lines: list[str], seen: set[str]) -> None:
    if name in seen:
        return
    seen.add(name)
    lines.append(f'#line 1 "{prefix}{name}"')
    text = (folder / name).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if "#" not in line:
            lines.append(line)
        elif include := _INCLUDE.match(line):
            _append(include[1], folder, prefix, lines, seen)
            lines.append(f'#line {number + 1} "{prefix}{name}"')
        else:
            lines.append("" if _PRAGMA_ONCE.match(line) else line)


def load_source(name: str) -> KernelSource:
    """Return a kernel source, such as ``"gather.cu"``, with its includes resolved.

    With ``CUDAKERN_LINEINFO=1`` the ``#line`` directives hold absolute paths, which Nsight Compute
    needs to find the files; without it they read ``kernels/...``, the same everywhere.
    """
    folder = kernel_folder()
    prefix = f"{folder.as_posix()}/" if line_info() else "kernels/"
    return _load(name, folder, prefix)
