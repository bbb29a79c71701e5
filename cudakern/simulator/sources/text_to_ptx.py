"""Kernels to PTX through NVRTC: the package's own as for a GPU, users' as CuPy compiles them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cudakern.compilation import nvrtc
from cudakern.compilation.cache import report_exhaustion
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.process.lazy import load
from cudakern.simulator.ptx.header_files import is_header
from cudakern.simulator.sources import cupy_options, standard_headers
from cudakern.simulator.sources.includes import (
    as_shown,
    digest_of,
    find_includes,
    includes_in,
    join_lines,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from cudakern.simulator.sources.includes import Includes

_ARCHITECTURE = re.compile(r"(?:sm_|compute_)?(\d+[a-z]?)")
_PTX = re.compile(r"(?:\s|//[^\n]*\n|(?>/\*.*?\*/))*+\.version\b", re.DOTALL)
#: A folder that does not exist. NVRTC takes a text to lie there, so that it looks for
#: ``#include "..."`` in the folders that options name and, as with CuPy, nowhere else.
_NOWHERE = "/.cudakern"
_LINE = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?\d+[ \t]+"([^"\n]+)"', re.MULTILINE)
_FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]+)"', re.MULTILINE)
_ERROR = re.compile(r"^(?:.*(?:: |-line ))?(?:[Cc]atastrophic )?error\b.*", re.MULTILINE)
_WARNING = re.compile(r".+\(\d+\): (?:warning|remark)\b|Remark: |\s*$")
_REFUSED = re.compile("--(gpu-architecture|nv_arch)")  # as 80a is
_MISSING_FILE = re.compile(r'open source file "([^"]+)"')
_LATER_STANDARD = re.compile(r"requires at least C\+\+")
_EXPRESSION = re.compile(
    r"^__nv_name_map\(\d+\): (.*)\n *#pragma nv_mangled_name (.*)", re.MULTILINE
)
#: nvcc's setting of libcu++: without it NVRTC takes 0.5 s longer for most standard headers.
_LIGHTER = "-D_CCCL_META_UNROLL_LIMIT=10"
#: What follows NVRTC's last errors of a file in a log.
_OF_WHOLE_FILE = "What NVRTC said of the whole file:"
#: Headers that may be missing, and what to do about it.
_BROUGHT = (
    (re.compile("cupy/"), "it comes with CuPy"),
    (re.compile("curand"), "run: pip install 'cuda-toolkit[curand]'"),
    (re.compile("crt/"), "it comes with the extra simulator where CUDA is 13"),
    (
        re.compile(r"cuda|cub/|thrust/|nv/|cooperative_groups|cuComplex|mma\.h|vector_"),
        "run: pip install 'cudakern[simulator]'",
    ),
)
#: Headers that NVRTC refuses, at least in some versions, and what to include instead.
_INSTEAD = (
    (
        re.compile(r"cub/(?:cub\.cuh|device/)"),
        "NVRTC does not take {}: include such as cub/block/block_reduce.cuh instead",
    ),
    (
        re.compile(r"thrust/complex\.h"),
        "include cuda/std/complex instead of {}, which NVRTC takes from CuPy, with jitify=True",
    ),
)


@dataclass(frozen=True, slots=True)
class Ptx:
    """A PTX module, which need not be compiled yet."""

    key: str  # differs for each module
    source: str  # what errors call it
    text: Callable[[], str]  # returns it, compiling it unless the cache folder has it
    code: str  # its source text, whose lines reports name


@dataclass(frozen=True, slots=True)
class Code:
    """A user's kernels, as they are given to CuPy."""

    source: str  # what errors and reports call the text
    text: str  # CUDA C++
    options: tuple[str, ...] = ()  # for NVRTC
    expressions: tuple[str, ...] = ()  # names of kernels and variables whose symbols are wanted
    path: Path | None = None  # the file of the text, whose folder #include "..." counts from
    translate_cucomplex: bool = False  # as CuPy's argument
    #: Whose standard headers it has: jitify's; or nvcc's, with those that nvcc always includes.
    headers_of: Literal["", "jitify", "nvcc"] = ""


def find_target() -> str:
    """Return the architecture whose PTX is executed, ``CUDAKERN_ARCH`` or ``compute_90``."""
    wanted = os.environ.get("CUDAKERN_ARCH") or "90"
    match = _ARCHITECTURE.fullmatch(wanted)
    if match is None:
        message = "cudakern: CUDAKERN_ARCH must be an architecture such as 90, sm_90 or compute_90,"
        message += f" at least {nvrtc.MIN_CAPABILITY} for cudakern's own kernels; "
        message += f"got {wanted!r:.60}"
        raise EngineUnavailableError(message)
    return f"compute_{match[1]}"


def is_ptx(text: str) -> bool:
    """Return whether a text is PTX."""
    return _PTX.match(text) is not None


def ptx_of_program(source: str, text: str, stem: str = "kernel") -> Ptx:
    """Return the PTX of a text, made as that of the package's kernels."""
    program = nvrtc.Program(source, text, find_target(), lines=True)
    return _make_module(stem, source, program, code=text)


def ptx_of_text(text: str, source: str) -> Ptx:
    """Return PTX that is given as a text."""
    text = text.rstrip("\0")  # that of Triton ends with one
    key = hashlib.sha256(f"{source}\0{text}".encode()).hexdigest()
    return Ptx(key, source, lambda: text, text)


@report_exhaustion()
def ptx_of_code(code: Code) -> Ptx:
    """Return the PTX of a user's kernels."""
    shown = as_shown(code.text)
    if code.path is not None:
        code = replace(code, text=join_lines(code.text))
    nvrtc.version()  # EngineUnavailableError without NVRTC: no other error matters then
    folders = cupy_options.find_values(code.options, "--include-path", "-I")
    names = cupy_options.find_values(code.options, "--pre-include", "-include")
    beside = None if code.path is None else code.path.absolute().parent
    searched = [Path(folder).absolute() for folder in folders]
    included = partial(find_includes, code.text, names, searched, beside)
    digests = [
        f"{path} {hashlib.sha256(file.text.encode(errors='surrogateescape')).hexdigest()}"
        for path, file in included().files.items()
    ]
    depends = [*cupy_options.describe_headers(), *digests]
    if code.headers_of:
        depends.append(standard_headers.describe_state())
    stem = re.sub(r"\W+", "_", Path(code.source).stem) or "kernel"
    program = program_of(code)
    compiling = None
    if code.path is not None:
        # Its patterns take milliseconds to compile, and only files have host code.
        host_code = load("cudakern.simulator.sources.host_code")
        depends.append(host_code.digest_code())
        compiling = partial(_compile_file, host_code, code, code.path, included)
    more = "\n".join(depends)
    return _make_module(stem, code.source, program, more, compiling, code=shown)


def _compile_file(
    host_code: ModuleType,
    code: Code,
    path: Path,
    included: Callable[[], Includes],
    program: nvrtc.Program,
) -> tuple[bytes, str]:
    """Compile the program of a file, which may have code for the host."""

    def attempt(text: str, headers: Mapping[str, str]) -> tuple[bytes, str]:
        other = program_of(replace(code, text=text), host_code.HEAD)
        return nvrtc.compile(replace(other, texts=tuple(headers.items())))

    try:
        whole = nvrtc.compile(program)
        if not host_code.holds_kernels(whole[0].decode(errors="replace")):
            return whole
        log = "error: variables must not hold addresses of kernels"
        first = KernelCompileError(code.source, program.options, log)
    except KernelCompileError as error:
        first = error
    try:
        result: tuple[bytes, str] = host_code.compile_device_code(
            code.source, path, included(), attempt, first
        )
    except KernelCompileError as last:
        log = f"{last.log}\n\n{_OF_WHOLE_FILE}\n{first.log}" if last.summary else last.log
        raise KernelCompileError(last.source, last.options, log, last.summary) from None
    return result


def program_of(code: Code, more: str = "") -> nvrtc.Program:
    """Return NVRTC's input for a user's kernels: that of CuPy, and ``-lineinfo``.

    ``more`` are lines before the text, behind what nvcc includes by itself.
    """
    arch = find_target()
    source = code.source.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    head, text = "", code.text
    if code.translate_cucomplex:
        head, text = cupy_options.translate_complex(text)
    standard: tuple[str, ...] = (
        (f"-I{standard_headers.FOLDER}", _LIGHTER) if code.headers_of else ()
    )
    if code.headers_of == "nvcc":
        head += standard_headers.AS_NVCC
        standard += ("--device-int128",)
    options = (*cupy_options.make_options(code.options, arch), *standard, "-lineinfo")
    name = str(code.path.absolute()) if code.path else f"{_NOWHERE}/{Path(code.source).name}"
    text = f'{head}{more}#line 1 "{source}"\n{text}'
    return nvrtc.Program(
        name, text, arch, lines=True, own_options=options, expressions=code.expressions
    )


def _make_module(
    stem: str,
    source: str,
    program: nvrtc.Program,
    depends: str = "",
    compiling: Callable[[nvrtc.Program], tuple[bytes, str]] | None = None,
    *,
    code: str,
) -> Ptx:
    more = f"simulator\n{_digest_own_text()}\n{depends}"
    finish = partial(_strip_current_folder, frozenset(_LINE.findall(program.text)))

    def text() -> str:
        try:
            file = nvrtc.cached_file(stem, program, more, finish, compiling)
        except KernelCompileError as error:
            _require_architecture(program, error.log)
            log = error.log.replace(f"{_NOWHERE}/", "")
            last = log.partition(_OF_WHOLE_FILE)[0]
            summary = "; ".join(filter(None, (_summarize(last, program), error.summary)))
            raise KernelCompileError(source, error.options, log, summary) from None
        return file.content.decode(errors="replace")

    return Ptx(nvrtc.file_name(stem, program, more), source, text, code)


@cache
def _digest_own_text() -> str:
    """Return a digest that changes with what is made of NVRTC's result."""
    return digest_of(Path(str(file)) for file in (__file__, nvrtc.__file__))


def _require_architecture(program: nvrtc.Program, log: str) -> None:
    """Raise EngineUnavailableError if NVRTC has refused the architecture of a program."""
    known = nvrtc.supported_capabilities() if program.own_options else nvrtc.capabilities()
    number = int(re.sub(r"\D", "", program.target))
    if number not in known or _REFUSED.search(log):
        whose = "" if program.own_options else " for cudakern's own kernels"
        message = f"cudakern: CUDAKERN_ARCH must be at least {min(known)}{whose}, one of "
        message += f"{', '.join(map(str, known))} with NVRTC {nvrtc.version()}; "
        message += f"got {program.target.removeprefix('compute_')}"
        raise EngineUnavailableError(message)


def _strip_current_folder(names: frozenset[str], ptx: bytes) -> bytes:
    """Remove the current folder, which NVRTC has added, from the files that a text names."""
    try:
        folder = f"{Path.cwd()}/".replace("//", "/")  # of the root, too
    except FileNotFoundError:
        return ptx

    def shorten(match: re.Match[str]) -> str:
        name = match[2].removeprefix(folder)
        is_named = name in names or name.startswith("__nv_")  # NVRTC's own
        return f'{match[1]}"{name}"' if is_named else match[0]

    text = ptx.decode(errors="surrogateescape")
    return _FILE.sub(shorten, text).encode(errors="surrogateescape")


def _summarize(log: str, program: nvrtc.Program) -> str:
    """Return NVRTC's first error of a program, with advice, in one line."""
    error = _ERROR.search(log)
    first = (error[0] if error else _describe_later_failure(log)).strip()
    expression = _EXPRESSION.search(log)
    if expression is not None and expression[0].startswith(first):
        first = f"{expression[1]} in the name expression {expression[2].strip()}"
    advice = []
    if is_header(first.partition("(")[0]):
        included = (name for _, name in includes_in(program.text))
        advice = [a.format(name) for name in included for a in _find_advice(_INSTEAD, name)]
    if _LATER_STANDARD.search(first):
        given = next((option for option in program.options if "-std=" in option), "")
        advice.insert(0, f"drop the option {given}: the standard is C++17 without it")
    missing = _MISSING_FILE.search(first)
    if missing is not None:
        is_standard = missing[1] in standard_headers.list_names()
        advice += ["jitify=True brings it"] if is_standard else _find_advice(_BROUGHT, missing[1])
    return "; ".join((first, *advice[:1]))


def _describe_later_failure(log: str) -> str:
    """Return what a log without an error says, but for warnings."""
    said = next((block for block in log.split("\n\n") if not _WARNING.match(block)), "nothing")
    return f"NVRTC failed behind its front end and said: {said.strip()[:200].splitlines()[0]}"


def _find_advice(table: tuple[tuple[re.Pattern[str], str], ...], name: str) -> list[str]:
    return [advice for pattern, advice in table if pattern.match(name)]
