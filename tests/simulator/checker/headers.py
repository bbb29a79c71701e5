"""The rows of the tables that can be compiled here: those whose headers are installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from cudakern.simulator.sources import cupy_options
from tests.simulator.checker.tables import INCLUDE

#: A header, and a header that it includes from another package.
_BEHIND = {"mma.h": "crt/mma.h"}


def _folders() -> tuple[Path, ...]:
    """Return the folders of headers that users of CuPy must name, since CuPy does not."""
    if find_spec("cuda") is None:
        return ()
    from cuda import pathfinder  # noqa: PLC0415  optional

    found = (pathfinder.find_nvidia_header_directory(name) for name in ("curand", "cudart"))
    return tuple(Path(folder) for folder in found if folder)


#: Options for the rows of all tables.
OPTIONS = tuple(f"-I{folder}" for folder in (Path(__file__).parent, *_folders()))


def lacking(row) -> set[str]:
    """Return the headers of a row that are not installed."""
    options = cupy_options.make_options(OPTIONS, "compute_90")
    folders = [Path(one.removeprefix("-I")) for one in options if one.startswith("-I")]
    names = {_BEHIND.get(name, name) for name in INCLUDE.findall(row.code)}
    return {name for name in names if not any((f / name).is_file() for f in folders)}


def present(rows) -> list:
    """Return the rows whose headers are installed."""
    return [row for row in rows if not lacking(row)]
