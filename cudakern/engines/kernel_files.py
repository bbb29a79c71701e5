"""The files of the package's kernels: machine code for GPUs, PTX for the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.compilation import nvrtc
from cudakern.compilation.cache import find_file, report_exhaustion
from cudakern.engines.kernel_text import line_info, load_source
from cudakern.errors import EngineUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from cudakern.engines.base import KernelSpec


def text_of(spec: KernelSpec) -> str:
    """Return a specialisation's text: its macros, then its source with includes in place."""
    macros = "".join(f"#define {name} {value}\n" for name, value in spec.macros)
    return macros + load_source(spec.source).text


def program_of(spec: KernelSpec, target: str) -> nvrtc.Program:
    """Return the input of NVRTC for a specialisation and a target."""
    return nvrtc.Program(spec.source, text_of(spec), target, line_info())


def cached_file(spec: KernelSpec, target: str) -> Path:
    """Return the file of a specialisation's machine code or PTX, compiled unless it is there."""
    return nvrtc.cached_file(spec.entry, program_of(spec, target)).path


@report_exhaustion()
def file_for_gpu(spec: KernelSpec, capability: int) -> Path:
    """Return the file for a GPU of a compute capability: PTX, if NVRTC does not know that yet."""
    native = f"sm_{capability}"
    file = find_file(nvrtc.file_name(spec.entry, program_of(spec, native)))
    if file is not None:
        return file.path
    known = nvrtc.capabilities()
    if capability in known:
        return cached_file(spec, native)
    if capability < min(known):
        is_known_to_others = capability >= nvrtc.MIN_CAPABILITY
        advice = "; install the extra cuda12 in a new environment" if is_known_to_others else ""
        message = (
            "cudakern: the GPU must have compute capability "
            f"{min(known) / 10} or later with NVRTC {nvrtc.version()}; "
            f"got {capability / 10}{advice}"
        )
        raise EngineUnavailableError(message)
    return cached_file(spec, f"compute_{max(capable for capable in known if capable < capability)}")
