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

_INSTALL = "run: pip install 'cudakern[test]'"
_FUNCTION = re.compile(r"^\s*Function ([^\s:]+):\s*$")
_FIGURE = re.compile(r"\b(REG|STACK|SHARED|LOCAL):(\d+)")
_SECTION = re.compile(r"^\.text\.(\S+):$")
# The tool may put a remark behind the operands, such as (*"SpillRefill"*).
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*(?:\(\*.*\*\)\s*)?;")
_PREDICATE = re.compile(r"^@!?U?PT?\d*\s+")
_REGISTER = re.compile(r"(?<![A-Z])R(\d+)")
# What a call goes to, such as __cuda_sm20_div_u64. Votes, shuffles and __syncwarp are calls as
# well, on sm_75 where a warp may have diverged.
_DIVISION = re.compile(r"__cuda_\w+_(div|rem)_")


class CompilationError(Exception):
    """NVRTC refused a kernel, or had something to say about it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a kernel occupies: registers of a thread, the rest in bytes."""

    registers: int
    stack: int
    local: int
    shared: int


def _nvrtc() -> ModuleType:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415  only these tests need it
    except ImportError as error:
        message = f"cuda.bindings must be installed to compile kernels; {_INSTALL}"
        raise FileNotFoundError(message) from error
    module: ModuleType = nvrtc
    return module


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

    def checked(answer: tuple[Any, ...]) -> Any:
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
        cubin = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
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


def sass(cubin: bytes) -> dict[str, list[str]]:
    """Return the instructions of each entry point, without addresses and labels."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.cubin"
        path.write_bytes(cubin)
        output = _run("nvdisasm", "-c", str(path))
    code: dict[str, list[str]] = {}
    current: list[str] = []
    for line in output.splitlines():
        section = _SECTION.match(line)
        instruction = _INSTRUCTION.match(line)
        if section:
            current = code.setdefault(section[1], [])
        elif instruction:
            current.append(instruction[1])
    return code


def opcode(instruction: str) -> str:
    """Return the opcode of an instruction with its modifiers, such as ``LDG.E.128.CONSTANT``."""
    return _PREDICATE.sub("", instruction).split(maxsplit=1)[0]


def matches(instruction: str, name: str, *modifiers: str) -> bool:
    """Return whether an instruction is of this name and has these modifiers, in any order."""
    first, *rest = opcode(instruction).split(".")
    return first == name and set(modifiers) <= set(rest)


def loads_in_flight(code: Iterable[str], bits: int = 128, *modifiers: str) -> list[int]:
    """Return how many loads are issued, each time until one of them is waited for.

    Loads of 64 or 128 bits with these modifiers count. One is waited for by the first instruction
    that names one of its registers, be it as a source or to overwrite it; they are as many as fit,
    the first one a multiple of that. The code is read in the order of its addresses: a branch ends
    none.
    """
    each = bits // 32
    groups: list[int] = []
    pending: set[int] = set()  # by their first registers
    count = 0
    for instruction in code:
        registers = [int(number) for number in _REGISTER.findall(instruction)]
        if any(number // each * each in pending for number in registers):
            groups.append(count)
            pending.clear()
            count = 0
        if matches(instruction, "LDG", str(bits), *modifiers):
            pending.add(registers[0])
            count += 1
    return groups + [count] * (count > 0)


def divides(instruction: str) -> bool:
    """Return whether an instruction belongs to an integer division, written out or called.

    A call of something else does not: from sm_80 to sm_89, some branches within a kernel are calls.
    """
    name = opcode(instruction)
    converts = name.split(".")[0] in {"I2F", "I2FP", "UI2F", "F2I"} or name.startswith("MUFU.RCP")
    return converts or _DIVISION.search(instruction) is not None
