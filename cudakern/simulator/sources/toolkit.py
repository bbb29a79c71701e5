"""Where the headers of the CUDA toolkit are: answers of `cuda.pathfinder`, which are kept.

To import it takes 20 to 40 ms, more than everything else that a compiled kernel needs. Therefore
its answers are kept in the cache folder, by the state of the folders that they depend on.
"""

from __future__ import annotations

import hashlib
import os
import site
import time
from contextlib import suppress
from importlib.machinery import PathFinder
from itertools import chain
from pathlib import Path

from cudakern.compilation.cache import find_file, keep_hint
from cudakern.errors import EngineUnavailableError
from cudakern.process.lazy import load

#: A header of each part, which differs between versions.
MARKS = {"cudart": "cuda_runtime_api.h", "cccl": "cuda/std/version"}
#: Variables that name folders where the toolkit may be, besides those of Python's packages.
_VARIABLES = ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX")
#: Below them: folders that change when a package comes or goes.
_BELOW = ("nvidia/*", "targets/*")
#: Seconds within which two changes of a folder may leave the same time.
_TICK = 2.0

#: The folders that this process knows, as `cuda.pathfinder` remembers them.
_known: dict[str, Path] = {}


def find_headers(part: str) -> Path | None:
    """Return the folder of the headers of a part of the toolkit; None if it is not found."""
    folder = _known.get(part) or _find_folder(part)
    return folder and _known.setdefault(part, folder)


def _find_folder(part: str) -> Path | None:
    with suppress(OSError, EngineUnavailableError):
        folders, digest, changed = _read_state()
        name = f"headers-{part}-{digest}.txt"
        kept = find_file(name)
        if kept is not None and Path(os.fsdecode(kept.content), MARKS[part]).is_file():
            return Path(os.fsdecode(kept.content))
        folder = _ask_pathfinder(part)
        # Elsewhere another folder may come before it, which is not part of the state.
        is_seen = folder and any(folder.is_relative_to(f.resolve()) for f in folders)
        if folder and is_seen and changed < time.time() - _TICK:
            keep_hint(name, os.fsencode(folder))
        return folder
    return _ask_pathfinder(part)


def _ask_pathfinder(part: str) -> Path | None:
    try:
        pathfinder = load("cuda.pathfinder")
    except ImportError:
        return None
    folder = pathfinder.find_nvidia_header_directory(part)
    return None if folder is None else Path(folder)


def _read_state() -> tuple[list[Path], str, float]:
    """Return folders where answers may lie, a digest of their state, and when they last changed."""
    spec = PathFinder.find_spec("cuda")
    own = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    packages = map(Path, (*site.getsitepackages(), site.getusersitepackages()))
    named = {name: Path(os.environ[name]).absolute() for name in _VARIABLES if os.environ.get(name)}
    folders = [*packages, *named.values()]
    below = (sorted(folder.glob(pattern)) for folder in folders for pattern in _BELOW)
    lines, changed = [repr((site.ENABLE_USER_SITE, folders, named))], 0.0
    for path in [*(folder / "pathfinder" for folder in own), *folders, *chain(*below)]:
        with suppress(FileNotFoundError):
            status = path.stat()
            lines.append(f"{path} {status.st_mtime_ns}")
            changed = max(changed, status.st_mtime)
    return folders, hashlib.sha256(os.fsencode("\n".join(lines))).hexdigest()[:32], changed
