"""Anybody's kernels in the simulator: CuPy's RawKernel and RawModule on NumPy arrays."""

from __future__ import annotations

import ctypes
import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cudakern._arguments import as_flag, as_integer, integer_of
from cudakern._forks import Lock
from cudakern.engines import nvrtc
from cudakern.engines.cache import one_line
from cudakern.errors import (
    BindingError,
    EngineUnavailableError,
    KernelCompileError,
    dtype_error,
    reason,
    shown,
)
from cudakern.simulator import observation
from cudakern.simulator.arguments import pack
from cudakern.simulator.guarded_arrays import guarded
from cudakern.simulator.limits import MAX_SHARED_BYTES, MAX_STATIC_SHARED_BYTES
from cudakern.simulator.loading import ModuleLoader
from cudakern.simulator.parameter_types import pointed
from cudakern.simulator.ptx import compile as compiling
from cudakern.simulator.ptx.compile import Code
from cudakern.simulator.ptx.loaded import address_of
from cudakern.simulator.ptx.names import (
    called,
    declared_parameters,
    entry_parameters,
    parameter_names,
    qualified,
)
from cudakern.simulator.ways import is_fast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from cudakern.simulator.limits import Grid
    from cudakern.simulator.parameter_types import Numbers
    from cudakern.simulator.ptx.loaded import LoadedKernel, LoadedModule

_FUNCTION = re.compile(r"[A-Za-z_$][\w$]*(?:::[A-Za-z_$][\w$]*)*")

#: What text must be that NVRTC is given.
_PLAIN = "must be text that UTF-8 can hold, without NUL"

_LOADER = ModuleLoader()
#: Characters of parameters or names that are shown at most.
_MOST_SHOWN = 300
#: What PTX was made for.
_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)


class _Library:
    """Kernels compiled together, at first use: for plain and for observed launches, of one PTX.

    Errors name ``owner``, RawKernel or RawModule. The text of the code may be PTX.
    """

    def __init__(self, owner: str, code: Code) -> None:
        self.owner = owner
        self.code = code
        self._lock = Lock()
        self._ptx: compiling.Ptx | None = None
        self._target: str | None = None  # the architecture that it was compiled for
        self._symbols: dict[str, str] = {}  # of name expressions
        self._modules: dict[tuple[bool, bool], LoadedModule] = {}  # checked ones, fast ones
        self._kernels: dict[tuple[str, bool, bool], LoadedKernel] = {}
        self._pointed: dict[str, list[Numbers | None]] = {}

    def module(self, *, checked: bool = False, fast: bool = False) -> LoadedModule:
        """Return the module for plain, large or observed launches, compiled at first use."""
        with self._lock, self._with_text():
            if (checked, fast) not in self._modules:
                if self._ptx is None:
                    self._ptx = self._compiled()
                module = _LOADER.load(self._ptx, checked=checked, fast=fast)
                if self._target is not None and self.code.expressions:
                    self._symbols = nvrtc.lowered_names(self._ptx.text())
                self._modules[checked, fast] = module
            return self._modules[checked, fast]

    @contextmanager
    def _with_text(self) -> Iterator[None]:
        """Have errors of compilers bring the text, for who shows lines of it."""
        try:
            yield
        except KernelCompileError as error:
            error.text = self.code.text
            raise

    def _compiled(self) -> compiling.Ptx:
        code = self.code
        if compiling.is_ptx(code.text):
            return compiling.ptx_of_text(code.text, code.source)
        self._target = compiling.target()
        return compiling.ptx_of_code(code)

    def _any_module(self) -> LoadedModule:
        """Return a module that is there, or else the one that the next launch takes."""
        module = next(iter(self._modules.values()), None)
        return module or self.module(checked=bool(observation.active))

    def kernel(self, name: str, *, checked: bool = False, fast: bool = False) -> LoadedKernel:
        """Return a kernel for plain, large or observed launches, which errors call by this name.

        BindingError tells that there is no such kernel, KernelCompileError that it has what the
        simulator does not execute.
        """
        kernel = self._kernels.get((name, checked, fast))
        if kernel is None:
            module, symbol = self.module(checked=checked, fast=fast), self.symbol(name)
            with self._with_text():
                kernel = module.kernel(symbol, self.code.source).under(name)
            kernel = self._kernels.setdefault((name, checked, fast), kernel)
        return kernel

    def any_kernel(self, name: str) -> LoadedKernel:
        """Return a kernel that is there, or else the one that the next launch takes."""
        known = (kernel for key, kernel in [*self._kernels.items()] if key[0] == name)
        return next(known, None) or self.kernel(name, checked=bool(observation.active))

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel; BindingError if there is no such one."""
        _require_text("RawModule", "name", name)
        module = self._any_module()
        entries = [*module.kernels, *module.refused]
        symbols = [self._symbols[name]] if name in self._symbols else called(name, entries)
        if len(symbols) == 1:
            return symbols[0]
        expressions = {symbol: name for name, symbol in self._symbols.items()}
        names = [expressions.get(symbol, qualified(symbol)) for symbol in entries]
        what = "module" if self.owner == "RawModule" else "text"
        known = ", ".join(names) or "none"
        requirement = f"must be one of the {what}'s kernels ({known}); got {shown(name)}"
        raise BindingError(self.owner, "name", requirement)

    def described(self, name: str) -> str:
        """Return a kernel and its parameters, as far as they are known without compiling it."""
        text = self.code.text
        find = entry_parameters if compiling.is_ptx(text) else declared_parameters
        parameters = find(text, qualified(name))
        compiled = [kernel for key, kernel in [*self._kernels.items()] if key[0] == name]
        if parameters is None and compiled:
            sizes = zip(compiled[0].parameter_kinds, compiled[0].parameter_sizes, strict=True)
            parameters = ", ".join(f"{kind.name.lower()} of {size} bytes" for kind, size in sizes)
        parameters = "..." if parameters is None else parameters
        return f"{one_line(name)}({one_line(parameters):.{_MOST_SHOWN}})"

    def overview(self) -> str:
        """Return the code's name and its kernels: those asked for, until it is compiled."""
        names = list(self.code.expressions)
        for module in [*self._modules.values()][:1]:
            expressions = {symbol: name for name, symbol in self._symbols.items()}
            entries = [*module.kernels, *module.refused]
            names = [expressions.get(symbol, qualified(symbol)) for symbol in entries]
        listed = one_line(", ".join(names))
        return one_line(self.code.source) + (f" with {listed:.{_MOST_SHOWN}}" if names else "")

    def place(self) -> str:
        """Return the architecture that this is compiled for, and whether it is, to be shown."""
        target = _TARGET.search(self.code.text) if compiling.is_ptx(self.code.text) else None
        architecture = target[1] if target else self._target
        if architecture is None:
            try:
                architecture = compiling.target()
            except EngineUnavailableError:  # the variable that names it is wrong
                architecture = "?"
        return f"for {architecture}" + ("" if self._modules else ", not compiled yet")

    def parameter_names(self, name: str) -> tuple[str, ...]:
        """Return what the text calls a kernel's parameters, as far as that is found."""
        text = self.code.text
        return () if compiling.is_ptx(text) else parameter_names(text, qualified(name))

    def pointed(self, name: str, count: int) -> list[Numbers | None]:
        """Return what each of so many parameters of a kernel points to, as far as that is known."""
        known = self._pointed.get(name)
        if known is None:
            text = "" if compiling.is_ptx(self.code.text) else self.code.text
            known = pointed(self.symbol(name), text, self.code.options, count)
            self._pointed[name] = known
        return known

    def variable(self, name: str) -> np.ndarray:
        """Return the bytes of a variable."""
        _require_text("RawModule", "name", name)
        variables = self._any_module().variables
        symbol = self._symbols.get(name)
        symbols = called(name, list(variables)) if symbol is None else [symbol]
        if len(symbols) != 1:
            known = ", ".join(map(qualified, variables)) or "none"
            requirement = f"must be one of the module's variables ({known}); got {shown(name)}"
            if symbols:
                requirement = (
                    f"must be that of one variable; {len(symbols)} are called {shown(name)}"
                )
            raise BindingError("RawModule", "name", requirement)
        variable = variables[symbols[0]]
        memory = (ctypes.c_uint8 * variable.bytes).from_address(address_of(variable).value)
        return np.ctypeslib.as_array(memory)


def _check_constructor(
    owner: str, code: object, options: object, names: object, backend: object
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return options and names that are given to one of CuPy's constructors.

    DTypeError or BindingError tells what cannot be.
    """
    _require_text(owner, "code", code)
    if not (isinstance(backend, str) and backend in {"nvrtc", "nvcc"}):
        raise BindingError(owner, "backend", f"must be nvrtc or nvcc; got {shown(backend)}")
    argument = "name" if owner == "RawKernel" else "name_expressions"
    texts = _lines(owner, "options", options), _lines(owner, argument, names)
    if "" in texts[1]:
        raise BindingError(owner, argument, "must not be empty")
    if not _is_plain(str(code)):
        raise BindingError(owner, "code", _PLAIN)
    return texts


def _headers_of(owner: str, jitify: object, *, as_nvcc: bool) -> Literal["", "jitify", "nvcc"]:
    """Return whose standard headers a text has; DTypeError or BindingError if jitify is no flag."""
    is_jitify = as_flag(owner, "jitify", jitify)
    return "nvcc" if as_nvcc else "jitify" if is_jitify else ""


def _require_text(owner: str, argument: str, value: object) -> None:
    if not isinstance(value, str):
        raise dtype_error(owner, argument, f"must be a str; got {shown(value)}")


def _lines(owner: str, argument: str, values: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return strings of one line each; BindingError tells what is none."""
    try:
        lines = None if isinstance(values, str) else tuple(values)
    except TypeError:
        lines = None
    if lines is None:
        requirement = f"must be a sequence of strings; got {shown(values)}"
        raise BindingError(owner, argument, requirement)
    for line in lines:
        if not isinstance(line, str):
            raise BindingError(owner, argument, f"must be strings; got {shown(line)}")
        if not _is_plain(line) or "\n" in line:
            raise BindingError(owner, argument, f"{_PLAIN} or line breaks")
    return lines


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _triple(name: str, argument: str, sizes: Any) -> Grid:  # noqa: ANN401
    try:
        triple = tuple(map(integer_of, sizes if isinstance(sizes, tuple | list) else (sizes,)))
    except Exception:  # noqa: BLE001  whatever the class of a size raises
        triple = ()
    if not 1 <= len(triple) <= len("xyz"):
        requirement = f"must be a tuple of one to three integers; got {shown(sizes)}"
        raise BindingError(name, argument, requirement)
    x, y, z = (*triple, 1, 1)[:3]
    return x, y, z


class RawKernel:
    """A kernel given as CUDA C++, which runs on NumPy arrays as cupy.RawKernel does on CuPy's.

    Parameters
    ----------
    code : str
        CUDA C++, or PTX.
    name : str
        Name of the ``__global__`` function, or an expression such as ``"scale<float>"``.
    options : sequence of str, optional
        NVRTC's.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy. NVRTC compiles for either backend. ``jitify`` gives it the headers of C and C++;
        with ``backend="nvcc"`` it has them, and what nvcc includes unasked.

    Raises
    ------
    DTypeError
        The code or the name is no string, or what is true or false is neither.
    BindingError
        An option is no string, or another argument is not supported.

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

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        _require_text("RawKernel", "name", name)
        self.options, _ = _check_constructor("RawKernel", code, options, (name,), backend)
        self.name = name
        self.code = code
        cooperative = as_flag("RawKernel", "enable_cooperative_groups", enable_cooperative_groups)
        self.enable_cooperative_groups = cooperative
        translate_cucomplex = as_flag("RawKernel", "translate_cucomplex", translate_cucomplex)
        # What is no function's name must be an instance of a template.
        expressions = () if _FUNCTION.fullmatch(name) else (name,)
        source = f"{_plain(name)}.cu"
        headers = _headers_of("RawKernel", jitify, as_nvcc=backend == "nvcc")
        self._library = _Library(
            "RawKernel",
            Code(source, code, self.options, expressions, None, translate_cucomplex, headers),
        )

    _max_shared: int | None = None
    #: Whether it is told the strides of arrays, so that these explain no finding.
    takes_strides = False

    def __repr__(self) -> str:
        """Show name, parameters and architecture; nothing is compiled for that."""
        return f"<RawKernel {self._library.described(self.name)} {self._library.place()}>"

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        from cudakern.simulator.reports.notebook import box  # noqa: PLC0415  notebooks alone

        return box(self._library.described(self.name), more=f"RawKernel {self._library.place()}")

    @classmethod
    def of_module(cls, module: RawModule, library: _Library, name: str) -> Self:
        """Return a kernel of a module."""
        kernel = cls.__new__(cls)
        kernel.name, kernel.code, kernel.options = name, module.code, module.options
        kernel.enable_cooperative_groups = module.enable_cooperative_groups
        kernel._library = library  # noqa: SLF001
        return kernel

    def compile(self) -> None:
        """Compile for plain launches, with the errors of a call."""
        self._library.kernel(self.name)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory that a launch may ask for.

        By default it is what static shared memory leaves of 48 KiB, as on a GPU.
        """
        if self._max_shared is not None:
            return self._max_shared
        kernel = self._library.any_kernel(self.name)
        return max(0, MAX_STATIC_SHARED_BYTES - kernel.static_shared)

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value: int) -> None:
        value = as_integer(self.name, "max_dynamic_shared_size_bytes", value)
        if not 0 <= value <= MAX_SHARED_BYTES:
            requirement = f"must lie in [0, {MAX_SHARED_BYTES}]; got {shown(value)}"
            raise BindingError(self.name, "max_dynamic_shared_size_bytes", requirement)
        self._max_shared = value

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Iterable[Any],
        *,
        shared_mem: int = 0,
    ) -> None:
        """Run the kernel.

        Parameters
        ----------
        grid, block : tuple of int
            Blocks of the grid and threads of a block, in one to three dimensions.
        args : iterable
            For pointers NumPy arrays, whose addresses the kernel gets, addresses or None. Else
            scalars: NumPy's of the parameter's size, Python's integers for integers of any size,
            bool, float for double. For structures by value NumPy's records, or arrays of one.
        shared_mem : int, optional
            Dynamic shared memory of a block, in bytes.

        Raises
        ------
        BindingError
            No GPU could run the launch, or an argument does not fit its parameter.
        DTypeError
            An argument is no NumPy array and no scalar, or ``shared_mem`` no integer.
        KernelCompileError
            The kernel does not compile, or has what the simulator does not execute.
        EngineUnavailableError
            NVRTC or a C++ compiler is missing.
        SimulatorError
            The kernel misbehaved. What it has written into its arrays until then is there.
        """
        grid = _triple(self.name, "grid", grid)
        block = _triple(self.name, "block", block)
        observed = bool(observation.active)
        fast = not observed and is_fast(grid, block)
        kernel = self._library.kernel(self.name, checked=observed, fast=fast)
        size = (grid, block, self._checked_shared(shared_mem))
        names = self._library.parameter_names(self.name) if observed else None
        types = self._library.pointed(self.name, len(kernel.parameter_sizes))
        packed = pack(self.name, kernel, self._checked_arguments(args), types, names)
        if self.takes_strides:
            operands = (replace(operand, is_strided=False) for operand in packed.operands)
            packed = replace(packed, operands=tuple(operands))
        cooperative = bool(self.enable_cooperative_groups)
        if observed:
            observation.observe(kernel, size, packed, cooperative=cooperative)
        else:
            launch = kernel.launcher(*size, packed.offsets, cooperative=cooperative)
            launch(packed.data, guarded(packed, kernel.module))

    def _checked_shared(self, shared_mem: int) -> int:
        """Return the dynamic shared memory of a launch; an error for what it cannot ask for."""
        shared_mem = as_integer(self.name, "shared_mem", shared_mem)
        most = self.max_dynamic_shared_size_bytes
        if shared_mem < 0:
            requirement = f"must be at least 0; got {shown(shared_mem)}"
            raise BindingError(self.name, "shared_mem", requirement)
        if shared_mem > most:
            requirement = (
                f"must be at most max_dynamic_shared_size_bytes, {most}, which can be set; "
                f"got {shown(shared_mem)}"
            )
            raise BindingError(self.name, "shared_mem", requirement)
        return shared_mem

    def _checked_arguments(self, args: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Return the arguments of a launch; DTypeError for what has none."""
        try:
            return tuple(args)
        except TypeError:
            requirement = f"must be a tuple of the kernel's arguments; got {shown(args)}"
            raise dtype_error(self.name, "args", requirement) from None


def _plain(name: str) -> str:
    """Return the part of a name expression that can name a file."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name.split("<", 1)[0]) or "kernel"


class RawModule:
    """Kernels given as CUDA C++ or PTX, as cupy.RawModule.

    Parameters
    ----------
    code : str, optional
        CUDA C++, or PTX, such as ``numba.cuda.compile_ptx`` gives; this or ``path``.
    path : str or Path, optional
        A file with PTX or, unlike in CuPy, with CUDA C++. Of a whole program NVRTC gets what is for
        kernels: where it refuses functions, classes, variables or headers without a mark such as
        ``__device__``, they are left out, unless a kernel needs them. What NVRTC does not take so
        can be given as PTX, of ``nvcc -ptx x.cu -o x.ptx``.
    options : sequence of str, optional
        As of `RawKernel`.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As of `RawKernel`. A file of CUDA C++ has the headers of C and C++ as with nvcc.
    name_expressions : sequence of str, optional
        Instances of templates that are wanted, such as ``"scale<float>"``, and variables
        (``"&ns::table"``).

    Raises
    ------
    BindingError
        Neither or both of ``code`` and ``path`` were given, the file holds no text, or an argument
        is not supported.
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

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | Path | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise BindingError("RawModule", "code", "must be given, or path; exactly one of them")
        text = code if path is None else _read(path)
        names = () if name_expressions is None else name_expressions
        self.options, expressions = _check_constructor("RawModule", text, options, names, backend)
        self.code = str(text)
        self.name_expressions = expressions
        cooperative = as_flag("RawModule", "enable_cooperative_groups", enable_cooperative_groups)
        self.enable_cooperative_groups = cooperative
        translate_cucomplex = as_flag("RawModule", "translate_cucomplex", translate_cucomplex)
        as_nvcc = backend == "nvcc" or path is not None
        headers = _headers_of("RawModule", jitify, as_nvcc=as_nvcc)
        self._library = _Library(
            "RawModule",
            Code(
                "module.cu" if path is None else str(path),
                self.code,
                self.options,
                expressions,
                None if path is None else Path(path),
                translate_cucomplex,
                headers,
            ),
        )

    def __repr__(self) -> str:
        """Show the code's name, the kernels that are known, and the architecture, as they are."""
        return f"<RawModule {self._library.overview()} {self._library.place()}>"

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        from cudakern.simulator.reports.notebook import box  # noqa: PLC0415  notebooks alone

        return box(self._library.overview(), more=f"RawModule {self._library.place()}")

    def compile(self) -> None:
        """Compile for plain launches, with the errors of a kernel's call."""
        self._library.module()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name, by its symbol, or by one of the ``name_expressions``.

        A function in a namespace is found by its qualified name, and by its own if only one has it.

        Raises
        ------
        BindingError
            The module has no such kernel.
        KernelCompileError
            It has NVRTC's first error.
        """
        self._library.symbol(name)
        return RawKernel.of_module(self, self._library, name)

    def get_global(self, name: str) -> np.ndarray:
        """Return the bytes of a ``__device__`` or ``__constant__`` variable, to read and to write.

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


def _read(path: str | Path) -> str:
    """Return the text of a file."""
    try:
        content = Path(path).read_bytes().rstrip(b"\0")
    except (TypeError, ValueError) as error:
        requirement = f"must be a str or a Path; got {shown(path)} ({reason(error)})"
        raise dtype_error("RawModule", "path", requirement) from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        what = "machine code" if content.startswith(b"\x7fELF") else "other bytes"
        requirement = f"must be a file of CUDA C++ or PTX in UTF-8; got {what}"
        raise BindingError("RawModule", "path", requirement) from None
