"""What is said about names that the stand-in does not have."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from cudakern.errors import is_inside

if TYPE_CHECKING:
    from collections.abc import Callable

_ELSEWHERE = "move that part out, to where a GPU is"
#: What to do without a name, by the first pattern that is found in it.
_HINTS = (
    (r"^cupy\.core\b", "it is cupy._core by now: import from there"),
    (r"ynchroniz|^cupyx\.(optimizing|tools)|\btesting\.(attr|gpu)$", "leave it out"),
    (r"cuda\.(memory\.)?\w*(Memory|Allocator|memory_hook)", "nothing is pooled: leave it out"),
    (r"[tT]exture|cuda(Address|Filter|Read)Mode|cudaResourceType|cudaChannel|CUDAarray",
     "textures are not executed: have the kernel read the array itself"),
    (r"[gG]raph", "launch without a graph"),
    (r"nccl|distributed", f"{_ELSEWHERE}: there is one process"),
    (r"cublas|cudnn|cufft|curand|cusolver|cusparse|cutensor|\bcub\b|thrust",
     f"it is a library for GPUs: {_ELSEWHERE}"),
    (r"\bjit\b", "write the kernel as CUDA C++, for RawKernel"),
    (r"[pP]ath$", "there is no CUDA here: leave the path out"),
    (r"\._", "it is no public name of CuPy's: take a public one"),
    (r"cupy(x)?\.cuda\.runtime|\.cuda[A-Z]\w*$", f"it is about a GPU: {_ELSEWHERE}"),
    (r"\.[A-Z]\w*$", f"{_ELSEWHERE}; an annotation needs no class if it is a text"),
    (r"^cupy(\.(cuda|prof)\b|_backends)", _ELSEWHERE),
    ("", f"{_ELSEWHERE}, or compute it on cupy.asnumpy(x)"),
)  # fmt: skip
#: Called with each name that is asked for and not there, and with the file and line that asked.
listeners: list[Callable[[str, str, int], None]] = []


def absent(name: str, instead: str = "") -> str:
    """Return the message about a name of CuPy, such as ``cupy.fft.config``, that is not there."""
    if listeners:
        _tell(name)
    instead = instead or next(hint for pattern, hint in _HINTS if re.search(pattern, name))
    page = "cudakern/simulator/cupy_stand_in/README.md"
    return f"in_place_of_cupy has no {name}; {instead}; {page} lists what it has"


def _tell(name: str) -> None:
    frame = sys._getframe(2)  # noqa: SLF001  whoever asked
    while frame.f_back is not None and is_inside(frame, "importlib"):
        frame = frame.f_back
    if not name.rpartition(".")[2].startswith("__"):
        for listener in [*listeners]:
            listener(name, frame.f_code.co_filename, frame.f_lineno)
