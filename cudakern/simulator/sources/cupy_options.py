"""How CuPy 14 compiles a RawKernel: the options and headers that it adds, without importing it.

Read from CuPy 14.2: ``assemble_cupy_compiler_options`` and ``compile_with_cache`` of
``cupy/_core/core.pyx``, ``_compile_with_cache_cuda`` of ``cupy/cuda/compiler.py``. CuPy 14.1 adds
``--device-c``, which matters to linkers alone, to cooperative kernels, and is the same otherwise. A
test compares with the CuPy that is installed.
"""

from __future__ import annotations

import hashlib
import re
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.simulator.sources.toolkit import MARKS, find_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Below CuPy's folder of headers, in the order in which they are searched.
_CCCL = ("cupy/_cccl/cub", "cupy/_cccl/thrust", "cupy/_cccl/libcudacxx")
#: Headers of ours for some of its own, where it is not installed.
_IN_ITS_PLACE = Path(__file__).resolve().parents[1] / "cupy_stand_in/include"
#: What it puts in front of a text whose complex numbers it translates.
_IN_FRONT = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
#: Leading bytes of a header that have its version. In images all files may have one time.
_HEAD_BYTES = 1 << 14
_CU_COMPLEX = re.compile(r"\s*#\s*include\s*<\s*cuComplex\.h\s*>")


def make_options(own: tuple[str, ...], arch: str) -> tuple[str, ...]:
    """Return all of NVRTC's options for a kernel with its own; ``arch`` is as ``compute_90``."""
    cupy = _find_cupy()
    standard = () if any("-std=" in option for option in own) else ("--std=c++17",)
    first = [cupy / folder for folder in _CCCL] if cupy else [find_headers("cccl")]
    last = [cupy or _IN_ITS_PLACE, find_headers("cudart")]
    return (
        *(f"-I{folder}" for folder in first if folder),
        *own,
        *standard,
        *(f"-I{folder}" for folder in last if folder),
        "-ftz=true",
        f"-arch={arch}",
        "--device-as-default-execution-space",
    )


def translate_complex(text: str) -> tuple[str, str]:
    """Return what comes before a text, and the text with CuPy's complex numbers for CUDA's."""
    bridge = "#include <cupy/cuComplex_bridge.h>  // translate_cucomplex\n"
    lines = (bridge if _CU_COMPLEX.match(line) else line for line in text.splitlines(keepends=True))
    return "".join(f"#include <cupy/{name}>\n" for name in _IN_FRONT), "".join(lines)


def describe_headers() -> list[str]:
    """Return texts that change with CuPy's and CUDA's headers."""
    cupy = _find_cupy()
    marks = [cupy.parents[1] / "_version.py"] if cupy else [*sorted(_IN_ITS_PLACE.rglob("*.cuh"))]
    parts = ("cudart",) if cupy else ("cudart", "cccl")  # which CuPy brings
    marks += [folder / MARKS[part] for part in parts if (folder := find_headers(part))]
    return [*map(_describe_state, marks)]


def find_values(user_options: Sequence[str], *names: str) -> list[str]:
    """Return the values of options with some names, such as ``-I``."""
    rest, values = iter(user_options), []
    for option in rest:
        name = next((name for name in names if option.startswith(name)), None)
        if name is not None:
            value = option.removeprefix(name).removeprefix("=").strip()
            values.append(value or next(rest, ""))
    return values


def _describe_state(mark: Path) -> str:
    try:
        status = mark.stat()
        with mark.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return str(mark)
    return f"{mark} {status.st_size} {status.st_mtime_ns} {hashlib.sha256(head).hexdigest()}"


def _find_cupy() -> Path | None:
    """Return CuPy's folder of headers."""
    spec = PathFinder.find_spec("cupy")
    for package in (spec and spec.submodule_search_locations) or ():
        folder = Path(package).absolute() / "_core/include"
        if folder.is_dir():
            return folder
    return None
