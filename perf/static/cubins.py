"""Machine code without a GPU: what the CUDA engine loads, read with NVIDIA's tools."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.compilation import nvrtc
from cudakern.engines import kernel_files
from cudakern.errors import EngineUnavailableError, KernelCompileError
from perf.static.occupancy import LIMITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import KernelSpec

_INSTALL = "from a clone run: pip install '.[perf]'"
_USAGE = re.compile(r" Function ([^\s:]+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+) ")
_SECTION = re.compile(r"^\.text\.(\S+):$")
RESERVED_SHARED = 1024  # bytes that sm_90 and later take for themselves
#: NVRTC 12's remark on machine code that NVRTC 13 does not make any more.
_DEPRECATED = re.compile(r"nvrtc: warning: Architectures prior to .* are deprecated .*\n?")
#: Architectures that nvdisasm reads up to a release: a later one says that they are deprecated.
_READ_UNTIL = {"sm_70": (13, 0)}
_RELEASE = re.compile(r"release (\d+)\.(\d+)")
# The tool may put a remark behind the operands, such as (*"SpillRefill"*).
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*(?:\(\*.*\*\)\s*)?;")
_LABEL = re.compile(r"^(\.L_x_\d+):")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a kernel occupies: registers of a thread, the rest in bytes."""

    registers: int
    stack: int
    shared: int
    local: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The instructions of a kernel, and the place of the one behind each label."""

    code: list[str]
    labels: dict[str, int]


def require(arch: str | None) -> None:
    """Raise an error that says what to install if kernels cannot be compiled and read here."""
    nvrtc.library_path()
    for name in ("cuobjdump", "nvdisasm"):
        tools(name)
    if arch and arch not in architectures():
        message = (
            f"perf static: NVRTC {nvrtc.version()} and nvdisasm must serve the architecture: "
            f"{', '.join(architectures())}; got {arch}"
        )
        raise EngineUnavailableError(message)


def tools(name: str) -> list[Path]:
    """Return the paths of a tool of NVIDIA's: in its package on PyPI, in Triton (3.4: of 12.8)."""
    paths: list[Path] = []
    for package, pattern in (("nvidia", f"*/bin/{name}"), ("triton", f"backends/*/bin/{name}")):
        spec = util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            paths += sorted(Path(folder).glob(pattern), reverse=True)
    if not paths:
        message = f"{name} must be installed (package nvidia-cuda-{name}); {_INSTALL}"
        raise FileNotFoundError(message)
    return paths


@cache
def architectures() -> tuple[str, ...]:
    """Return the architectures that NVRTC compiles for and nvdisasm reads here."""
    releases = [_RELEASE.search(_run(path, "--version")) for path in tools("nvdisasm")]
    oldest = min((int(release[1]), int(release[2])) for release in releases if release)
    known = nvrtc.capabilities()
    return tuple(
        arch
        for arch in LIMITS
        if int(arch[3:]) in known and oldest <= _READ_UNTIL.get(arch, oldest)
    )


def _run(tool: Path, option: str, cubin: bytes = b"") -> str:
    """Return what a tool prints, of machine code in a file."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(tool), option, *([file.name] if cubin else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = f"{tool.name} ended with {done.returncode}: {done.stderr or done.stdout}"
        raise RuntimeError(message)
    return done.stdout


def compile_kernels(specs: Sequence[KernelSpec], arch: str) -> bytes:
    """Return one cubin with many kernels of one source, which takes 25 % less time than many."""
    parts: list[str] = []
    for spec in specs:
        parts += [f"namespace only_{spec.entry} {{", kernel_files.text_of(spec), "}"]
        parts += [f"#undef {macro}" for macro, _ in spec.macros]
    program = kernel_files.program_of(specs[0], arch)
    return cubin_of(replace(program, text="\n".join(parts) + "\n"))


def cubin_of(program: nvrtc.Program) -> bytes:
    """Return the cubin of a program; KernelCompileError is raised if NVRTC fails or warns."""
    cubin, log = nvrtc.compile(program)
    if warnings := _DEPRECATED.sub("", log):
        summary = f"without a warning: {warnings}"
        raise KernelCompileError(program.name, program.options, warnings, summary)
    return cubin


def resource_usage(cubin: bytes) -> dict[str, Usage]:
    """Return what each entry point occupies."""
    output = _run(tools("cuobjdump")[0], "-res-usage", cubin)
    return {entry: Usage(*map(int, numbers)) for entry, *numbers in _USAGE.findall(output)}


def sass(cubin: bytes) -> dict[str, Listing]:
    """Return the machine code of each entry point."""
    newest, *others = tools("nvdisasm")
    try:
        return parse(_run(newest, "-c", cubin))
    except RuntimeError as error:
        if not others or "is deprecated" not in str(error):
            raise
        return parse(_run(others[-1], "-c", cubin))


def parse(text: str) -> dict[str, Listing]:
    """Return the machine code in a text of nvdisasm, by entry point."""
    listings: dict[str, Listing] = {}
    current = Listing([], {})
    for line in text.splitlines():
        section = _SECTION.match(line)
        instruction = _INSTRUCTION.match(line)
        label = _LABEL.match(line)
        if section:
            current = listings.setdefault(section[1], Listing([], {}))
        elif instruction:
            current.code.append(instruction[1])
        elif label:
            current.labels[label[1]] = len(current.code)
    return listings
