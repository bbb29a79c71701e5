"""Machine code without a GPU: kernels compiled by NVRTC and read back with NVIDIA's tools."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudakern.engines.sources import load_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from cudakern.engines.base import KernelSpec

_INSTALL = "run: pip install 'cudakern[perf]'"
_FUNCTION = re.compile(r"^\s*Function ([^\s:]+):\s*$")
_FIGURE = re.compile(r"\b(REG|STACK|SHARED|LOCAL):(\d+)")
_SECTION = re.compile(r"^\.text\.(\S+):$")
# The tool may put a remark behind the operands, such as (*"SpillRefill"*).
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*(?:\(\*.*\*\)\s*)?;")
_LABEL = re.compile(r"^(\.L_x_\d+):")


class CompilationError(Exception):
    """NVRTC refused a kernel, or had something to say about it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a kernel occupies: registers of a thread, the rest in bytes."""

    registers: int
    stack: int
    local: int
    shared: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The instructions of a kernel, and which of them each label stands in front of."""

    code: list[str]
    labels: dict[str, int]


def _nvrtc() -> ModuleType:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415  it may be missing
    except ImportError as error:
        message = f"cuda.bindings must be installed to compile kernels; {_INSTALL}"
        raise FileNotFoundError(message) from error
    module: ModuleType = nvrtc
    return module


def require() -> None:
    """Check that what kernels are compiled and read with is installed.

    Raises
    ------
    FileNotFoundError
        Something is missing; says what to install.
    """
    try:
        _nvrtc().nvrtcVersion()
    except RuntimeError as error:
        message = f"NVRTC must be installed (package nvidia-cuda-nvrtc); {_INSTALL}"
        raise FileNotFoundError(message) from error
    for name in ("cuobjdump", "nvdisasm"):
        tool(name)


def tool(name: str) -> Path:
    """Return the path of one of NVIDIA's command-line tools, from its package on PyPI."""
    package = util.find_spec("nvidia")
    folders = list(package.submodule_search_locations or ()) if package else []
    for folder in folders:
        for path in sorted(Path(folder).glob(f"*/bin/{name}"), reverse=True):
            return path
    message = f"{name} must be installed (package nvidia-cuda-{name}); {_INSTALL}"
    raise FileNotFoundError(message)


def _run(name: str, *arguments: str) -> str:
    command = [str(tool(name)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = f"{name} ended with {done.returncode}: {done.stderr or done.stdout}"
        raise RuntimeError(message)
    return done.stdout


def _compile_text(name: str, text: str, arch: str, options: Iterable[str]) -> bytes:
    nvrtc = _nvrtc()

    def checked(answer: tuple[Any, ...]) -> Any:  # noqa: ANN401  of any function
        if answer[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            message = f"NVRTC: {answer[0]}"
            raise CompilationError(message)
        return answer[1] if len(answer) > 1 else None

    flags = [f"--gpu-architecture={arch}", "-std=c++17", *options]
    program = checked(nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], []))
    try:
        encoded = [flag.encode() for flag in flags]
        status = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)[0]
        # NVRTC writes into it. One byte more: bytes of length one are shared by all of Python.
        log = b" " * (checked(nvrtc.nvrtcGetProgramLogSize(program)) + 1)
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        said = log.decode().strip("\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS or said:
            message = f"{name} for {arch} with {' '.join(flags)}: {status}\n{said}"
            raise CompilationError(message)
        cubin: bytes = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
        checked(nvrtc.nvrtcGetCUBIN(program, cubin))
        return cubin
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def compile_kernel(spec: KernelSpec, arch: str) -> bytes:
    """Return the cubin of a kernel, compiled with the options of the CUDA engine.

    Raises
    ------
    CompilationError
        NVRTC failed or warned.
    """
    source = load_source(spec.source)
    options = [f"-D{name}={value}" for name, value in spec.macros]
    options.append(f"-DCK_SOURCE_DIGEST=0x{source.digest[:16]}")
    return _compile_text(spec.source, source.text, arch, options)


def compile_kernels(specs: Sequence[KernelSpec], arch: str) -> bytes:
    """Return one cubin with many kernels of one source; compiled together they take 25 % less time.

    Each kernel has the whole source in a namespace of its own, so the macros may differ.

    Raises
    ------
    CompilationError
        NVRTC failed or warned.
    """
    (name,) = {spec.source for spec in specs}
    source = load_source(name)
    parts: list[str] = []
    for spec in specs:
        parts += [f"#define {macro} {value}" for macro, value in spec.macros]
        parts += [f"namespace only_{spec.entry} {{", source.text, "}"]
        parts += [f"#undef {macro}" for macro, _ in spec.macros]
    options = [f"-DCK_SOURCE_DIGEST=0x{source.digest[:16]}"]
    return _compile_text(name, "\n".join(parts) + "\n", arch, options)


def resource_usage(cubins: Iterable[bytes]) -> dict[str, Usage]:
    """Return what each entry point of the cubins occupies. Entry points must differ in name."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, cubin in enumerate(cubins):
            path = Path(folder) / f"{number}.cubin"
            path.write_bytes(cubin)
            paths.append(str(path))
        output = _run("cuobjdump", "-res-usage", *paths)
    usage: dict[str, Usage] = {}
    entry = ""
    for line in output.splitlines():
        function = _FUNCTION.match(line)
        figures = dict(_FIGURE.findall(line))
        if function:
            entry = function[1]
        elif entry and "REG" in figures:
            numbers = (int(figures[key]) for key in ("REG", "STACK", "LOCAL", "SHARED"))
            usage[entry] = Usage(*numbers)
            entry = ""
    return usage


def sass(cubin: bytes) -> dict[str, Listing]:
    """Return the machine code of each entry point."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.cubin"
        path.write_bytes(cubin)
        return parse(_run("nvdisasm", "-c", str(path)))


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
