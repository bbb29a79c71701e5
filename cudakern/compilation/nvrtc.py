"""Compile kernels for GPUs with NVRTC: text, macros and options to machine code or PTX.

Nothing else of the package compiles CUDA C++, and nothing adds to the options. So what is tested
and measured is what is launched. CuPy compiles with ``-ftz=true``, which would treat subnormal
numbers as zero. Without cuda.bindings or NVRTC, functions raise EngineUnavailableError.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from cudakern.compilation.cache import find_file, make, report_exhaustion
from cudakern.compilation.installation import INSTALL_NVRTC
from cudakern.compilation.waits import KERNELS, make_announcer
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.process.forks import PATIENCE, Lock, run_to_completion, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from cudakern.compilation.cache import CachedFile
    from cudakern.process.forks import Cancelled

#: The distributions on PyPI that have NVRTC, by the major version of cuda-bindings.
_DISTRIBUTIONS = {"12": "nvidia-cuda-nvrtc-cu12", "13": "nvidia-cuda-nvrtc"}
#: Compute capability of the oldest GPUs that the kernels run on: `__grid_constant__` begins there.
MIN_CAPABILITY = 70
_FIRST_WITHOUT_HANDLERS = (13, 1)  # the first NVRTC that leaves signals' handlers alone
_SIGACTION_BYTES = 256  # which hold a ``struct sigaction``
#: Held until NVRTC has parsed the first text of the process.
_first_parsing = Lock()
_VERSION = re.compile(r"^Version: (\S+)", re.MULTILINE)
#: Lines in front of PTX: the symbol of each name expression.
_LOWERED = re.compile(r"// (\S+) is (.*)\n")


@dataclass(frozen=True, slots=True)
class Program:
    """The input of NVRTC."""

    name: str  # what errors call the text
    text: str  # CUDA C++; surrogates are bytes that UTF-8 has not
    #: Architecture of the machine code, such as ``"sm_90"``, or of the PTX, ``"compute_90"``.
    target: str
    lines: bool  # whether the result keeps source lines, for profilers
    own_options: tuple[str, ...] = ()  # all options of a program that is not the package's own
    #: Names of kernels and variables whose symbols are wanted, such as ``"scale<float>"``.
    expressions: tuple[str, ...] = ()
    #: Texts of headers, by what includes call them; they come before files.
    texts: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The compiler's options, all of them."""
        if self.own_options:
            return self.own_options
        lines = ("-lineinfo",) if self.lines else ()
        return (f"--gpu-architecture={self.target}", "-std=c++17", *lines)

    @property
    def is_ptx(self) -> bool:
        """Whether the result is PTX."""
        return self.target.startswith("compute_")


def compile(program: Program) -> tuple[bytes, str]:  # noqa: A001  always nvrtc.compile
    """Return machine code or PTX, and NVRTC's log: warnings, or nothing. Safe on many threads.

    PTX begins with comments that hold the symbols of name expressions: see `lowered_names`.
    A fork waits for NVRTC, whose locks would stay held in the forked process.
    """
    late = make_announcer(KERNELS, f"compiling {PurePath(program.name).name}")
    with _first_parsing:
        _spend_handlers()
    return run_to_completion(lambda cancelled: _compile(program, cancelled), late)


@cache
def _spend_handlers() -> None:
    """Have NVRTC compile an empty text while signals are blocked in this thread.

    While NVRTC before 13.1 parses the first text of a process, it handles SIGINT and SIGTERM
    itself: it ends the process, with status 4 or a segmentation fault. So that text is short, and
    a thread restores the handlers, since a signal may come to another thread of the program.
    """
    if tuple(map(int, version().split(".")[:2])) >= _FIRST_WITHOUT_HANDLERS:
        return
    sigaction, handlers = ctypes.CDLL(None).sigaction, {}
    done: list[bool] = []
    ended = threading.Lock()
    ended.acquire()
    for number in (signal.SIGINT, signal.SIGTERM):
        handlers[number] = ctypes.create_string_buffer(_SIGACTION_BYTES)
        sigaction(number, None, handlers[number])

    def put_back() -> None:
        for number, handler in handlers.items():
            sigaction(number, handler, None)

    def keep_putting_back() -> None:
        while not done:
            put_back()
            time.sleep(1e-4)
        ended.release()

    nvrtc = run_to_completion(lambda _: _nvrtc())  # no handler interrupts the import

    def parse(_: object) -> None:
        handle = _answer(nvrtc.nvrtcCreateProgram(b"", b"nothing.cu", 0, [], []))
        nvrtc.nvrtcCompileProgram(handle, 0, [])
        nvrtc.nvrtcDestroyProgram(handle)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
    try:
        start(keep_putting_back)
        try:
            run_to_completion(parse)
        finally:
            done.append(True)
            ended.acquire(timeout=PATIENCE)  # a process that was forked has no such thread
            put_back()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _compile(program: Program, cancelled: Cancelled) -> tuple[bytes, str]:
    nvrtc = _nvrtc()
    options = [option.encode() for option in program.options]
    text, name = program.text.encode(errors="surrogateescape"), program.name.encode()
    headers, texts = (
        [pair[k].encode(errors="surrogateescape") for pair in program.texts] for k in (0, 1)
    )
    handle = _answer(nvrtc.nvrtcCreateProgram(text, name, len(headers), texts, headers))
    try:
        word = (ctypes.c_char * len(cancelled.word)).from_buffer(cancelled.word)
        # From 12.8 on, NVRTC asks from time to time whether the word says 1. It calls a function of
        # C, which does not need Python.
        says = ctypes.cast(ctypes.CDLL(None).atoi, ctypes.c_void_p).value
        with suppress(AttributeError, RuntimeError):
            nvrtc.nvrtcSetFlowCallback(handle, says, ctypes.addressof(word))
        for expression in program.expressions:
            _answer(nvrtc.nvrtcAddNameExpression(handle, expression.encode()))
        status = nvrtc.nvrtcCompileProgram(handle, len(options), options)[0]
        # NVRTC writes into it. One byte more: Python shares bytes objects of length one.
        log = b" " * (_answer(nvrtc.nvrtcGetProgramLogSize(handle)) + 1)
        _answer(nvrtc.nvrtcGetProgramLog(handle, log))
        said = log.decode(errors="replace").strip("\0 \n")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log_or_status = said or f"error: {status.name}"
            raise KernelCompileError(program.name, program.options, log_or_status)
        kind = "PTX" if program.is_ptx else "CUBIN"
        result = b" " * _answer(getattr(nvrtc, f"nvrtcGet{kind}Size")(handle))
        if len(result) < len("\0\0"):
            log = f"error: the options must let NVRTC make {kind}; it made none"
            raise KernelCompileError(program.name, program.options, log)
        _answer(getattr(nvrtc, f"nvrtcGet{kind}")(handle, result))
        lowered = b"".join(
            b"// %s is %s\n" % (_answer(nvrtc.nvrtcGetLoweredName(handle, name)), name)
            for name in map(str.encode, program.expressions)
        )
    finally:
        nvrtc.nvrtcDestroyProgram(handle)
    return lowered + result.rstrip(b"\0") if program.is_ptx else result, said


def lowered_names(ptx: str) -> dict[str, str]:
    """Return the symbols of the name expressions that PTX was compiled with."""
    symbols = {}
    position = 0
    while match := _LOWERED.match(ptx, position):
        symbols[match[2]] = match[1]
        position = match.end()
    return symbols


@report_exhaustion()
def cached_file(
    stem: str,
    program: Program,
    more: str = "",
    finish: Callable[[bytes], bytes] | None = None,
    compiling: Callable[[Program], tuple[bytes, str]] | None = None,
) -> CachedFile:
    """Return the file of a program's machine code or PTX, compiling it unless it is there.

    The file's name starts with ``stem``. ``more`` is what the result depends on besides the
    program; ``finish`` turns the result into the file's bytes. ``compiling`` replaces `compile`.
    """
    name = file_name(stem, program, more)
    file = find_file(name)
    if file is None:
        result, _ = (compiling or compile)(program)
        content = finish(result) if finish else result
        file = make(name, lambda folder, _: (folder / name).write_bytes(content))
    return file


@cache
def capabilities() -> tuple[int, ...]:
    """Return the compute capabilities, such as 90, for which NVRTC compiles our kernels."""
    return tuple(number for number in supported_capabilities() if number >= MIN_CAPABILITY)


def supported_capabilities() -> tuple[int, ...]:
    """Return the compute capabilities that NVRTC compiles any kernels for."""
    return tuple(_answer(_nvrtc().nvrtcGetSupportedArchs()))


def file_name(stem: str, program: Program, more: str = "") -> str:
    """Return the name of the file that `cached_file` keeps a program's machine code or PTX in."""
    key = "\0".join((version(), *program.options, program.text))
    if more or program.expressions:
        key = "\0".join((key, program.name, *program.expressions, more))
    digest = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
    suffix = "ptx" if program.is_ptx else "cubin"
    return f"{stem[:80]}-{program.target}-{digest[:32]}.{suffix}"


@cache
@report_exhaustion()
def version() -> str:
    """Return NVRTC's version, such as ``"13.5.37"``, which is loaded only if no package has it."""
    try:
        return _installed_version(_DISTRIBUTIONS[_installed_version("cuda-bindings").split(".")[0]])
    except (metadata.PackageNotFoundError, KeyError):
        nvrtc = _nvrtc()
        status, *numbers = nvrtc.nvrtcVersion()
        _answer((status,))
        short = ".".join(map(str, numbers))
        # A toolkit's library is a link to a file with the whole version, as libnvrtc.so.12.9.86.
        whole = Path(library_path()).resolve().name.partition(".so.")[2]
        return whole if whole.startswith(f"{short}.") else short


def _installed_version(distribution: str) -> str:
    """Return a distribution's version in 0.3 ms; `metadata.version` takes more than 1 ms."""
    text = metadata.distribution(distribution).read_text("METADATA") or ""
    match = _VERSION.search(text)
    if match is None:
        raise metadata.PackageNotFoundError(distribution)
    return match[1]


def library_path() -> str:
    """Return where the library of NVRTC lies."""
    _nvrtc()
    from cuda import pathfinder  # noqa: PLC0415  optional

    return str(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)


def require_driver(driver: int) -> None:
    """Raise EngineUnavailableError if a driver, such as 12080 for 12.8, may refuse machine code."""
    if driver // 1000 < int(version().split(".")[0]):
        message = (
            "cudakern: NVRTC must not be for a later major version of CUDA than the driver, "
            f"which is for {driver // 1000}.{driver % 1000 // 10}; got NVRTC {version()} "
            f"({library_path()}); update the driver, or install "
            "the extra of its version in a new environment"
        )
        raise EngineUnavailableError(message)


@cache
def _nvrtc() -> ModuleType:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415  optional

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        missing = "cuda.bindings" if isinstance(error, ImportError) else "NVRTC"
        message = f"cudakern: {missing} must be installed to compile kernels; {INSTALL_NVRTC}"
        raise EngineUnavailableError(message) from error
    module: ModuleType = nvrtc
    return module


def _answer(returned: tuple[Any, ...]) -> Any:  # noqa: ANN401  of any function
    """Return the result of a function of NVRTC, whose status must be success."""
    status, *values = returned
    if status != type(status)(0):
        message = f"NVRTC: {status.name}"
        raise RuntimeError(message)
    return values[0] if values else None
