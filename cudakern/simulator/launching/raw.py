"""Users' kernels in the simulator: CuPy's RawKernel and RawModule on NumPy arrays."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import ceil
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from cudakern.compilation import nvrtc
from cudakern.compilation.cache import one_line
from cudakern.display.notebook import render_box
from cudakern.errors import (
    BindingError,
    EngineUnavailableError,
    KernelCompileError,
    describe_error,
    describe_value,
    dtype_error,
)
from cudakern.process.forks import Lock
from cudakern.simulator.launching import observation
from cudakern.simulator.launching.guarded_arrays import pack_guarded_arrays
from cudakern.simulator.launching.launch_parameters import pack_arguments
from cudakern.simulator.libraries.execution_mode import is_fast
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.ptx.symbols import demangle, find_symbols
from cudakern.simulator.runtime.limits import MAX_SHARED_BYTES, MAX_STATIC_SHARED_BYTES
from cudakern.simulator.sources import text_to_ptx as compiling
from cudakern.simulator.sources.includes import as_shown, decode
from cudakern.simulator.sources.parameters import (
    find_declared_parameters,
    find_entry_parameters,
    find_parameter_names,
    find_pointer_targets,
)
from cudakern.simulator.sources.text_to_ptx import Code
from cudakern.values.validation import as_integer, integer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from cudakern.simulator.libraries.loaded import LoadedKernel, LoadedModule
    from cudakern.simulator.runtime.limits import Grid
    from cudakern.simulator.sources.parameters import Numbers

#: What NVRTC's texts must be.
_PLAIN_TEXT = "must be text that UTF-8 can hold, without NUL"

_LOADER = ModuleLoader()
#: Characters of parameters or names that are shown at most.
_MOST_SHOWN = 300
_COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
#: What PTX was made for.
_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)
#: Attributes of kernels that a program has set: by PTX, symbol and name. As with CUDA, all kernels
#: of this process that are the same function of the same module share them.
_attributes: dict[tuple[str, str, str], int] = {}
#: Attributes that only a GPU's machine code has.
ONLY_ON_GPU = frozenset(
    ("binary_version", "cache_mode_ca", "const_size_bytes", "local_size_bytes", "num_regs")
)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of one of CuPy's constructors, which pickles hold."""

    owner: str  # RawKernel or RawModule, as errors call it
    source: str  # what errors and reports call the text
    code: str | None
    file_path: str | None
    options: tuple[str, ...]
    backend: str
    translate_cucomplex: bool
    enable_cooperative_groups: bool
    jitify: bool
    name_expressions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Raise DTypeError or BindingError for what CuPy refuses, or does not compile."""
        owner, path = self.owner, self.file_path
        _require_text(owner, *("code", self.code) if path is None else ("path", path))
        if not (isinstance(self.backend, str) and self.backend in {"nvrtc", "nvcc"}):
            requirement = f"must be nvrtc or nvcc; got {describe_value(self.backend)}"
            raise BindingError(owner, "backend", requirement)
        if type(self.options) is not tuple:
            requirement = f"must be a tuple; got {describe_value(self.options)}"
            raise dtype_error(owner, "options", requirement + _options_hint(self.options))
        _check_lines(owner, "options", self.options)
        _check_lines(owner, "name_expressions", self.name_expressions or ())
        if not _is_plain(self.code or ""):
            raise BindingError(owner, "code", _PLAIN_TEXT)
        if self.jitify and path is not None:
            raise BindingError(owner, "jitify", "must go with code; got path")
        if self.backend == "nvcc" and path is None:
            given = {"jitify": self.jitify, "name_expressions": self.name_expressions is not None}
            for argument in filter(given.get, given):
                raise BindingError(owner, argument, "must go with backend='nvrtc'; got 'nvcc'")

    def library(self) -> _Library:
        """Return the kernels; BindingError or OSError if a file cannot be read."""
        path = self.file_path
        text = str(self.code) if path is None else _read_text(path)
        code = Code(
            self.source,
            text,
            self.options,
            self.name_expressions or (),
            None if path is None else Path(path),
            self.translate_cucomplex,
            "nvcc" if self.backend == "nvcc" else "jitify" if self.jitify else "",
        )
        library = _Library(self.owner, code)
        if path is not None and library.is_ptx and self.name_expressions is not None:
            requirement = "must go with CUDA C++; got a path of PTX"
            raise BindingError(self.owner, "name_expressions", requirement)
        return library


class _Library:
    """Kernels compiled together, at first use: for plain and for observed launches, of one PTX.

    Errors name ``owner``, RawKernel or RawModule. The text of the code may be PTX. The kernels of a
    file of CUDA C++, which CuPy does not take, have C++'s names besides their symbols.
    """

    def __init__(self, owner: str, code: Code) -> None:
        self.owner = owner
        self.code = code
        self.text = as_shown(code.text)
        self.is_ptx = compiling.is_ptx(code.text)
        self.is_file = code.path is not None and not self.is_ptx
        self._lock = Lock()
        self._ptx: compiling.Ptx | None = None
        self._target: str | None = None  # the architecture that it was compiled for
        self._symbols: dict[str, str] = {}  # of name expressions
        self._modules: dict[tuple[bool, bool], LoadedModule] = {}  # checked ones, fast ones
        self._kernels: dict[tuple[str, bool, bool], LoadedKernel] = {}
        self._pointer_targets: dict[str, list[Numbers | None]] = {}

    def module(self, *, checked: bool = False, fast: bool = False) -> LoadedModule:
        """Return the module for plain, large or observed launches, compiled at first use."""
        with self._lock, self._add_text_to_errors():
            if (checked, fast) not in self._modules:
                if self._ptx is None and self.is_ptx:
                    self._ptx = compiling.ptx_of_text(self.code.text, self.code.source)
                elif self._ptx is None:
                    self._target = compiling.find_target()
                    self._ptx = compiling.ptx_of_code(self.code)
                module = _LOADER.load(self._ptx, checked=checked, fast=fast)
                if self._target is not None and self.code.expressions:
                    self._symbols = nvrtc.lowered_names(self._ptx.text())
                self._modules[checked, fast] = module
            return self._modules[checked, fast]

    @contextmanager
    def _add_text_to_errors(self) -> Iterator[None]:
        """Give errors of compilers the text, so that its lines can be shown."""
        try:
            yield
        except KernelCompileError as error:
            error.text = self.text
            raise

    def _any_module(self) -> LoadedModule:
        """Return a module that is loaded, or else the one that the next launch takes."""
        module = next(iter(self._modules.values()), None)
        return module or self.module(checked=bool(observation.active))

    def kernel(self, name: str, *, checked: bool = False, fast: bool = False) -> LoadedKernel:
        """Return a kernel for plain, large or observed launches, which errors call by this name."""
        kernel = self._kernels.get((name, checked, fast))
        if kernel is None:
            module, symbol = self.module(checked=checked, fast=fast), self.symbol(name)
            with self._add_text_to_errors():
                kernel = module.kernel(symbol, self.code.source).under(name)
            kernel = self._kernels.setdefault((name, checked, fast), kernel)
        return kernel

    def any_kernel(self, name: str) -> LoadedKernel:
        """Return a kernel that is loaded, or else the one that the next launch takes."""
        known = (kernel for key, kernel in [*self._kernels.items()] if key[0] == name)
        return next(known, None) or self.kernel(name, checked=bool(observation.active))

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel; BindingError if there is no such kernel."""
        _require_text("RawModule", "name", name)
        module = self._any_module()
        entries = module.entries
        symbols = [self._symbols[name]] if name in self._symbols else find_symbols(name, entries)
        if len(symbols) == 1 and (name in {symbols[0], *self._symbols} or self.is_file):
            return symbols[0]
        what = "module" if self.owner == "RawModule" else "text"
        known = ", ".join(self._list_names(entries)) or "none"
        requirement = f"must be one of the {what}'s kernels ({known}); got {describe_value(name)}"
        raise BindingError(self.owner, "name", requirement + self._suggest(name, symbols))

    def _list_names(self, symbols: Iterable[str]) -> list[str]:
        expressions = {symbol: name for name, symbol in self._symbols.items()}
        plain = demangle if self.is_file else str
        names = {symbol: expressions.get(symbol, plain(symbol)) for symbol in symbols}
        counts = Counter(names.values())
        return [name if counts[name] == 1 else symbol for symbol, name in names.items()]

    def _suggest(self, name: str, symbols: list[str]) -> str:
        """Return advice that makes a name one of a kernel, if any does for certain."""
        if len(symbols) > 1:
            return f", which is ambiguous: take {' or '.join(symbols)}"
        if symbols and self.is_ptx:
            return f", which may be {symbols[0]}"
        expression = demangle(symbols[0]) if symbols else name
        advice = f"RawModule(code=..., name_expressions=[{describe_value(expression)}])"
        if symbols:
            return f', which C++ calls {symbols[0]}: declare it extern "C", or take {advice}'
        is_text = not (self.is_file or self.is_ptx)
        return f": take {advice}" if "<" in name and is_text else ""

    def describe_kernel(self, name: str) -> str:
        """Return a kernel and its parameters, as far as they are known without compiling it."""
        return one_line(name) + self.describe_parameters(name)

    def describe_parameters(self, name: str) -> str:
        """Return the parameters of a kernel, as far as they are known without compiling it."""
        text = self.text
        find = find_entry_parameters if self.is_ptx else find_declared_parameters
        parameters = find(text, demangle(name))
        compiled = [kernel for key, kernel in [*self._kernels.items()] if key[0] == name]
        if parameters is None and compiled:
            sizes = zip(compiled[0].parameter_kinds, compiled[0].parameter_sizes, strict=True)
            parameters = ", ".join(f"{kind.name.lower()} of {size} bytes" for kind, size in sizes)
        parameters = "..." if parameters is None else parameters
        return f"({one_line(parameters):.{_MOST_SHOWN}})"

    def describe_module(self) -> str:
        """Return the code's name and its kernels: those asked for, until it is compiled."""
        names = list(self.code.expressions)
        for module in [*self._modules.values()][:1]:
            names = self._list_names(module.entries)
        listed = one_line(", ".join(names))
        return one_line(self.code.source) + (f" with {listed:.{_MOST_SHOWN}}" if names else "")

    def architecture(self) -> str:
        target = _TARGET.search(self.code.text) if self.is_ptx else None
        return target[1] if target else self._target or compiling.find_target()

    def describe_state(self) -> str:
        """Return the architecture, and whether this is compiled, to be shown."""
        try:
            architecture = self.architecture()
        except EngineUnavailableError:  # the variable that names it is wrong
            architecture = "?"
        return f"for {architecture}" + ("" if self._modules else ", not compiled yet")

    def parameter_names(self, name: str) -> tuple[str, ...]:
        """Return the names of a kernel's parameters in the text, as far as they are found."""
        return () if self.is_ptx else find_parameter_names(self.text, demangle(name))

    def pointer_targets(self, name: str, count: int) -> list[Numbers | None]:
        """Return what each of so many parameters of a kernel points to, as far as that is known."""
        targets = self._pointer_targets.get(name)
        if targets is None:
            text = "" if self.is_ptx else self.text
            targets = find_pointer_targets(self.symbol(name), text, self.code.options, count)
            self._pointer_targets[name] = targets
        return targets

    def variable(self, name: str) -> np.ndarray:
        _require_text("RawModule", "name", name)
        module = self._any_module()
        variables = module.variables
        symbols = find_symbols(name, variables)
        if len(symbols) != 1 or not (name == symbols[0] or self.is_file):
            known = ", ".join(self._list_names(variables)) or "none"
            given = describe_value(name)
            given += f", which may be {', '.join(symbols)}" if symbols else ""
            requirement = f"must be one of the module's variables ({known}); got {given}"
            raise BindingError("RawModule", "name", requirement)
        variable = module.variable(symbols[0])
        memory = (ctypes.c_uint8 * variable.bytes).from_address(variable.start)
        return np.ctypeslib.as_array(memory)


def _require_text(owner: str, argument: str, value: object) -> None:
    """Raise DTypeError for anything but a str; CuPy refuses derived classes, too."""
    if type(value) is not str:
        found = f"a {type(value).__name__}" if isinstance(value, str) else describe_value(value)
        raise dtype_error(owner, argument, f"must be a str; got {found}")


def _options_hint(options: object) -> str:
    """Return the end of a message: the tuple that a list of strings, or one, is meant for."""
    listed = tuple(options) if isinstance(options, list) else (options,)
    if not all(isinstance(option, str) for option in listed):
        return ""
    return f"; did you mean {describe_value(listed)}?"


def _as_flags(owner: str, *values: object) -> tuple[bool, bool, bool]:
    """Return which are true in Python; BindingError if the truth of one is unknown."""
    names = ("translate_cucomplex", "enable_cooperative_groups", "jitify")
    flags = []
    for name, value in zip(names, values, strict=True):
        try:
            flags.append(bool(value))
        except Exception:  # noqa: BLE001  whatever the value's class raises
            requirement = f"must be True or False; got {describe_value(value)}"
            raise BindingError(owner, name, requirement) from None
    return flags[0], flags[1], flags[2]


def _as_names(values: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Return name expressions as a tuple; DTypeError unless they are a sequence other than text."""
    with suppress(TypeError):
        if not isinstance(values, str):
            return tuple(values)
    hint = f"; did you mean {describe_value([values])}?" if isinstance(values, str) else ""
    requirement = f"must be a sequence of strings; got {describe_value(values)}{hint}"
    raise dtype_error("RawModule", "name_expressions", requirement)


def _check_lines(owner: str, argument: str, lines: tuple[object, ...]) -> None:
    """Raise an error for anything but strings of one line."""
    for line in lines:
        if not isinstance(line, str):
            raise dtype_error(owner, argument, f"must be strings; got {describe_value(line)}")
        if not _is_plain(line) or "\n" in line:
            raise BindingError(owner, argument, f"{_PLAIN_TEXT} or line breaks")
        if not line and argument != "options":
            raise BindingError(owner, argument, "must not be empty")


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _as_extents(name: str, argument: str, sizes: Any) -> Grid:  # noqa: ANN401
    """Return numbers of blocks or threads; those below 1 count as 1, as in CuPy."""
    try:
        counts = tuple(max(1, integer_of(n)) for n in sizes) if type(sizes) is tuple else None
    except Exception:  # noqa: BLE001  whatever the class of a size raises
        counts = None
    if counts is None or not 1 <= len(counts) <= len("xyz"):
        requirement = f"must be a tuple of one to three integers; got {describe_value(sizes)}"
        error = dtype_error if counts is None else BindingError
        raise error(name, argument, requirement + _extents_hint(sizes))
    x, y, z = (*counts, 1, 1)[:3]
    return x, y, z


def _extents_hint(sizes: Any) -> str:  # noqa: ANN401
    """Return the end of a message: the tuple that a number, a list or floats are meant for."""
    with suppress(Exception):  # whatever the class of a size raises
        counts = tuple(map(ceil, sizes if hasattr(sizes, "__len__") else (sizes,)))
        return f"; did you mean {counts}?" if 1 <= len(counts) <= len("xyz") else ""
    return ""


class _Raw:
    """What RawKernel and RawModule have in common: arguments that stay as they were given."""

    __slots__ = ("_given", "_library")
    _kind: str
    _given: _Arguments
    _library: _Library

    code = property(attrgetter("_given.code"), doc="The text; None of a file.")
    file_path = property(attrgetter("_given.file_path"), doc="The file of a module; else None.")
    options = property(attrgetter("_given.options"), doc="NVRTC's options.")
    backend = property(attrgetter("_given.backend"), doc="``nvrtc``, or ``nvcc``, as of a file.")
    enable_cooperative_groups = property(
        attrgetter("_given.enable_cooperative_groups"), doc="Whether its blocks wait for others."
    )

    def _describe(self) -> str:
        """Return what it is, as far as that is known; nothing is compiled for that."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self._kind} {self._describe()} {self._library.describe_state()}>"

    def _repr_html_(self) -> str:
        return render_box(self._describe(), more=f"{self._kind} {self._library.describe_state()}")


class RawKernel(_Raw):
    """A kernel given as CUDA C++, which runs on NumPy arrays as cupy.RawKernel does on CuPy's.

    Parameters
    ----------
    code : str
        CUDA C++, or PTX.
    name : str
        Name of the ``__global__`` function, which is declared ``extern "C"``, or its symbol.
    options : tuple of str, optional
        NVRTC's.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy. NVRTC compiles for either backend. ``jitify`` gives it the headers of C and C++;
        with ``backend="nvcc"`` it has them, and what nvcc includes unasked.

    Raises
    ------
    DTypeError
        The code, the name or an option is not a string, or the options are not a tuple.
    BindingError
        Another argument is not supported.

    Notes
    -----
    It is compiled at the first call, or by `compile`, with the options and headers that CuPy
    gives NVRTC. A launch ends before the call returns.

    Outside of `checked` and `traffic`, a launch works on copies of arrays in allocations of NumPy's
    of up to 1 MiB, with a guard around them: an overrun is an error. It works in place on larger
    ones, and on those in memory that is not NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = '''extern "C" __global__ void add(const float* x, float* y, float a) {
    ...   y[threadIdx.x] = x[threadIdx.x] + a;
    ... }'''
    >>> add = ck.simulator.RawKernel(code, "add")
    >>> x, y = np.arange(4, dtype=np.float32), np.empty(4, np.float32)
    >>> add((1,), (4,), (x, y, np.float32(0.5)))
    >>> y
    array([0.5, 1.5, 2.5, 3.5], dtype=float32)
    """

    __slots__ = ("_label", "_name", "takes_strides")
    _kind = "RawKernel"
    _has_values = True  # whether an array of one element can stand for a structure
    _label: str  # what errors and reports call it
    _name: str
    takes_strides: bool  # whether it gets the strides of arrays, so that they explain no finding

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        _require_text("RawKernel", "name", name)
        if "__global__" in name:
            requirement = "must be a kernel's name; got a text: code and name are swapped"
            raise BindingError("RawKernel", "name", requirement)
        _check_lines("RawKernel", "name", (name,))
        flags = _as_flags("RawKernel", translate_cucomplex, enable_cooperative_groups, jitify)
        source = re.sub(r"\W", "_", name.partition("<")[0]) or "kernel"
        given = _Arguments("RawKernel", f"{source}.cu", code, None, options, backend, *flags)
        observation.note_kernel()
        self.__setstate__((given, name, name, False))

    name = property(attrgetter("_name"), doc="Its symbol, as in CuPy.")
    __name__ = name

    def __getstate__(self) -> tuple[_Arguments, str, str, bool]:
        """Return what makes this again, without compiled code."""
        return self._given, self._name, self._label, self.takes_strides

    def __setstate__(self, state: tuple[_Arguments, str, str, bool]) -> None:
        self._given, self._name, self._label, self.takes_strides = state
        self._library = self._given.library()

    def _describe(self) -> str:
        return self._library.describe_kernel(self._label)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Raise AttributeError, which says why an attribute of CuPy's is missing."""
        why = "; only a GPU's machine code has one" if name in ONLY_ON_GPU else ""
        message = f"RawKernel: {name} is not there{why}"
        raise AttributeError(message, name=name, obj=self)

    @classmethod
    def of_module(cls, given: _Arguments, library: _Library, name: str) -> Self:
        """Return a kernel of a module."""
        kernel = cls.__new__(cls)
        kernel._name, kernel._label = library.symbol(name), name  # noqa: SLF001  of this class
        kernel._given, kernel._library = given, library  # noqa: SLF001
        kernel.takes_strides = False
        return kernel

    def compile(self, log_stream: object = None) -> None:
        """Compile for plain launches, with the errors of a call; nothing is written to a stream."""
        del log_stream
        self._library.kernel(self._label)

    @property
    def attributes(self) -> dict[str, int]:
        """CUDA's attributes of a kernel, without those that only a GPU's machine code has."""
        names = ["max_threads_per_block", "shared_size_bytes", "ptx_version"]
        names += ["max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout"]
        return {name: getattr(self, name) for name in names}

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block can have."""
        return self._library.any_kernel(self._label).max_threads

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block."""
        return self._library.any_kernel(self._label).static_shared

    @property
    def ptx_version(self) -> int:
        """The architecture that the PTX is for."""
        return int("".join(filter(str.isdigit, self._library.architecture())))

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory that a launch may ask for.

        By default it is what static shared memory leaves of 48 KiB, as on a GPU.
        """
        left = MAX_STATIC_SHARED_BYTES - self.shared_size_bytes
        return _attributes.get(self._attribute_key("max_dynamic_shared_size_bytes"), max(0, left))

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value: SupportsIndex) -> None:
        self._set_attribute("max_dynamic_shared_size_bytes", value, 0, MAX_SHARED_BYTES)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """Shared memory that a GPU should keep, in percent; it changes nothing here."""
        return _attributes.get(self._attribute_key("preferred_shared_memory_carveout"), -1)

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, value: SupportsIndex) -> None:
        self._set_attribute("preferred_shared_memory_carveout", value, -1, 100)

    def _attribute_key(self, attribute: str) -> tuple[str, str, str]:
        module = self._library.any_kernel(self._label).module
        return module.ptx.key, self._library.symbol(self._label), attribute

    def _set_attribute(self, attribute: str, value: object, low: int, high: int) -> None:
        """Set an attribute for all kernels that are the function, as CUDA does."""
        value = as_integer(self._label, attribute, value)
        if not low <= value <= high:
            requirement = f"must lie in [{low}, {high}]; got {describe_value(value)}"
            raise BindingError(self._label, attribute, requirement)
        _attributes[self._attribute_key(attribute)] = value

    def __call__(
        self,
        grid: tuple[SupportsIndex, ...],
        block: tuple[SupportsIndex, ...],
        args: Sequence[Any],
        *,
        shared_mem: SupportsIndex = 0,
        stream: object = None,
    ) -> None:
        """Run the kernel.

        Parameters
        ----------
        grid, block : tuple of int
            Blocks of the grid and threads of a block, in one to three dimensions. Numbers below 1
            count as 1, as in CuPy.
        args : tuple
            For pointers NumPy arrays, whose addresses the kernel gets, addresses or None. For
            structures by value NumPy's records, or arrays of one. Otherwise scalars: NumPy's of
            the parameter's size, Python's integers for integers of any size, bool, or float for
            double.
        shared_mem : int, optional
            Dynamic shared memory of a block, in bytes.
        stream : object, optional
            A stream, as CuPy's; the launch ends before the call returns in any case.

        Raises
        ------
        BindingError
            There is no such kernel, no GPU could run the launch, or the arguments are not as many
            as the parameters, or do not fit them.
        DTypeError
            ``grid`` or ``block`` is not a tuple, an argument is neither a NumPy array nor a scalar,
            or ``shared_mem`` is not an integer.
        KernelCompileError
            The kernel does not compile, or the simulator does not execute it.
        EngineUnavailableError
            NVRTC or a C++ compiler is missing.
        SimulatorError
            The kernel misbehaved. Its arrays keep what it wrote until then.
        """
        grid = _as_extents(self._label, "grid", grid)
        block = _as_extents(self._label, "block", block)
        if stream is not None and not hasattr(stream, "ptr"):
            requirement = f"must be None or a stream; got {describe_value(stream)}"
            raise dtype_error(self._label, "stream", requirement)
        observed = bool(observation.active)
        fast = not observed and is_fast(grid, block)
        kernel = self._library.kernel(self._label, checked=observed, fast=fast)
        size = (grid, block, self._checked_shared(shared_mem))
        names = self._library.parameter_names(self._label) if observed else None
        targets = self._library.pointer_targets(self._label, len(kernel.parameter_sizes))
        given = self._checked_arguments(args, len(kernel.parameter_sizes))
        packed = pack_arguments(kernel, given, targets, names, has_values=self._has_values)
        if self.takes_strides:
            operands = (replace(operand, is_strided=False) for operand in packed.operands)
            packed = replace(packed, operands=tuple(operands))
        cooperative = self.enable_cooperative_groups
        if observed:
            observation.observe(kernel, size, packed, cooperative=cooperative)
        else:
            launch = kernel.launcher(*size, packed.offsets, cooperative=cooperative)
            launch(packed.data, pack_guarded_arrays(packed, kernel))

    def _checked_shared(self, shared_mem: object) -> int:
        """Return the dynamic shared memory of a launch; an error if a launch cannot have it."""
        shared_mem = as_integer(self._label, "shared_mem", shared_mem)
        if not shared_mem:
            return 0
        most = self.max_dynamic_shared_size_bytes
        if not 0 <= shared_mem <= most:
            requirement = f"must be at most max_dynamic_shared_size_bytes, {most}, which can be set"
            if shared_mem > MAX_SHARED_BYTES:
                requirement = f"must be at most {MAX_SHARED_BYTES}"
            requirement = "must be at least 0" if shared_mem < 0 else requirement
            requirement += f"; got {describe_value(shared_mem)}"
            raise BindingError(self._label, "shared_mem", requirement)
        return shared_mem

    def _checked_arguments(self, args: Any, count: int) -> tuple[Any, ...]:  # noqa: ANN401
        """Return the arguments of a launch; an error if they are not so many in a sequence."""
        try:
            len(args)  # CuPy asks for it
            given = tuple(args)
        except TypeError:
            requirement = f"must be a tuple of the kernel's arguments; got {describe_value(args)}"
            raise dtype_error(self._label, "args", requirement) from None
        if len(given) != count:
            parameters = self._library.describe_parameters(self._label)
            found = "an array" if hasattr(args, "ndim") else len(given)
            requirement = f"must have {count} entr{'y' if count == 1 else 'ies'}, for {parameters}"
            raise BindingError(self._label, "args", f"{requirement}; got {found}")
        return given


class RawModule(_Raw):
    """Kernels given as CUDA C++ or PTX, as cupy.RawModule.

    Parameters
    ----------
    code : str, optional
        CUDA C++, or PTX, such as ``numba.cuda.compile_ptx`` gives; this or ``path``.
    path : str, optional
        A file with PTX or, unlike in CuPy, with CUDA C++, whose kernels and variables have C++'s
        names, too. Of a whole program NVRTC gets what is for kernels; "Whole .cu files" in
        ``cudakern/simulator/reference.md`` says what is left out.
    options : tuple of str, optional
        As of `RawKernel`.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As of `RawKernel`. A file of CUDA C++ has the headers of C and C++ as with nvcc.
    name_expressions : sequence of str, optional
        Kernels that are not declared ``extern "C"``, and instances of templates, such as
        ``"scale<float>"``.

    Raises
    ------
    DTypeError
        Neither or both of ``code`` and ``path`` were given, or an argument is of another type.
    BindingError
        The file holds no text, or an argument is not supported.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = "template <typename T> __global__ void fill(T* x, T a) { x[threadIdx.x] = a; }"
    >>> module = ck.simulator.RawModule(code=code, name_expressions=["fill<int>"])
    >>> x = np.empty(3, np.int32)
    >>> module.get_function("fill<int>")((1,), (3,), (x, np.int32(7)))
    >>> x
    array([7, 7, 7], dtype=int32)
    """

    __slots__ = ()
    _kind = "RawModule"

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise dtype_error("RawModule", "code", "must be given, or path; exactly one of them")
        flags = _as_flags("RawModule", translate_cucomplex, enable_cooperative_groups, jitify)
        source = path or "module.cu"
        names = None if name_expressions is None else _as_names(name_expressions)
        backend = backend if path is None else "nvcc"  # as in CuPy
        given = _Arguments("RawModule", source, code, path, options, backend, *flags, names)
        observation.note_kernel()
        self.__setstate__(given)
        if path is not None and not self._library.is_file:
            self._given = replace(given, options=())  # as in CuPy: nothing is compiled

    name_expressions = property(attrgetter("_given.name_expressions"), doc="None without any.")

    def __getstate__(self) -> _Arguments:
        return self._given

    def __setstate__(self, given: _Arguments) -> None:
        self._given, self._library = given, given.library()

    def _describe(self) -> str:
        return self._library.describe_module()

    def compile(self, log_stream: object = None) -> None:
        """Compile all kernels for plain launches; nothing is written to a stream.

        Without this call, a kernel is compiled when it is launched first.
        """
        del log_stream
        self._library.module().compile()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its symbol or by one of the ``name_expressions``.

        The symbol is the name if the kernel is declared ``extern "C"``. In a file of CUDA C++ the
        qualified name does, too, and the kernel's own if only one has it.

        Raises
        ------
        BindingError
            The module has no such kernel.
        KernelCompileError
            It has NVRTC's first error.
        """
        return RawKernel.of_module(self._given, self._library, name)

    def get_global(self, name: str) -> np.ndarray:
        """Return the bytes of a ``__device__`` or ``__constant__`` variable, to read and to write.

        It goes by its symbol, which is the name unless it is in a namespace or static.

        Returns
        -------
        numpy.ndarray
            Of dtype uint8; a view of the variable, which ``.view(dtype)`` gives its type.

        Raises
        ------
        BindingError
            The module has no such variable.
        """
        return self._library.variable(name)


def _blank_zeros(match: re.Match[str]) -> str:
    """Return a comment without the zeros that gcc ignores; strings keep theirs."""
    return match[0].replace("\0", " ") if match[0][0] == "/" else match[0]


def _read_text(path: str) -> str:
    try:
        content = Path(path).read_bytes()
    except ValueError as error:
        requirement = f"must name a file; got {describe_value(path)} ({describe_error(error)})"
        raise BindingError("RawModule", "path", requirement) from None
    with suppress(UnicodeDecodeError):  # of UTF-16
        text = decode(content).rstrip("\0")
        if "\0" in text:
            text = _COMMENT_OR_STRING.sub(_blank_zeros, text)
        if "\0" not in text:
            return text
    what = "machine code" if content.startswith(b"\x7fELF") else "other bytes"
    requirement = f"must be a file of CUDA C++ or PTX in UTF-8; got {what}"
    raise BindingError("RawModule", "path", requirement)
