"""Arguments of a kernel: from Python's values to the bytes of its parameters."""

from __future__ import annotations

import operator
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from cudakern.errors import (
    BindingError,
    describe_class,
    describe_error,
    describe_value,
    dtype_error,
)
from cudakern.simulator.launching.operands import Operand
from cudakern.simulator.runtime.abi import ParameterKind
from cudakern.simulator.runtime.limits import POINTER_BYTES
from cudakern.values.dtypes import conversion_hint
from cudakern.values.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from cudakern.simulator.libraries.loaded import LoadedKernel
    from cudakern.simulator.sources.parameters import Numbers

#: What arrays made by `empty` hold: bytes that still hold it count as unwritten.
_PATTERN = np.frombuffer(bytes.fromhex("a75bc3e91d6f8a35"), np.uint8)
_MAX_ALIGNMENT = 16
#: Of a CArray of no dimensions, and of each dimension.
_CARRAY_BYTES = 16
_INTEGER_BYTES = (1, 2, 4, 8)
#: Sizes of elements, in bytes, too short for an address. One byte is missing: arrays of bytes often
#: are memory for other types.
_SHORT = (2, 4)
#: Python's numbers. CuPy takes none of a class that is derived from them, such as an IntEnum.
_SCALARS = (int, bool, float, complex)
#: What a parameter takes, by its kind, and the kinds of dtypes that it refuses; A stands for
#: arrays and None.
_KINDS = {
    ParameterKind.OTHER: ("", ""),
    ParameterKind.POINTER: ("an array or an address, since the parameter is a pointer", "bfc"),
    ParameterKind.INTEGER: ("an integer, since the parameter is one", "fcA"),
    ParameterKind.FLOATING: ("a floating-point number, since the parameter is one", "biucA"),
    ParameterKind.WORD: (
        "an array, an address or an integer, since the parameter is a pointer or an integer",
        "bfc",
    ),
}

#: Owners of memory made by `empty`, by their ids; and where they lie, with those that are gone.
_unwritten: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()
_spans: dict[int, tuple[int, int]] = {}
#: A new object for each array that is made; and what `live_empties` returned last, for which one.
_latest = object()
_table: tuple[object, list[int], np.ndarray] | None = None


@dataclass(frozen=True)
class PackedArguments:
    """The parameters of a launch."""

    data: bytes  # all of them
    offsets: tuple[int, ...]  # where each parameter starts
    operands: tuple[Operand, ...]  # the arrays whose addresses are among them, if asked for
    #: The same arrays: position among the arguments, offset among the bytes, address.
    arrays: tuple[tuple[int, int, int, np.ndarray], ...] = ()
    pointers_alone: bool = False  # whether no bytes but those of the operands are an address


def empty(
    shape: SupportsIndex | Sequence[SupportsIndex], dtype: DTypeLike = np.float32
) -> np.ndarray:
    """Return a new array whose elements count as uninitialized until something writes them.

    Parameters
    ----------
    shape : int or sequence of int
        Sizes.
    dtype : dtype, optional
        Data type.

    Returns
    -------
    numpy.ndarray
        In row-major order. It holds a pattern; inside of `checked`, a kernel that reads an element
        whose bytes still do is reported.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = 'extern "C" __global__ void f(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x+1]; }'
    >>> shift = ck.simulator.RawKernel(code, "f")
    >>> x, y = ck.simulator.empty(64, np.int32), np.zeros(32, np.int32)
    >>> with ck.simulator.checked():
    ...     shift((1,), (32,), (x, y))
    Traceback (most recent call last):
    cudakern.errors.SimulatorError: f: uninitialized: f.cu:1: ...
    """
    try:
        # NumPy before 2.5 takes None for ().
        array = np.empty(operator.index(shape) if shape is None else shape, dtype)
    except (TypeError, ValueError) as error:
        given = f"{describe_value(shape)} and {describe_value(dtype)}"
        requirement = f"must be what NumPy takes; got {given} ({describe_error(error)})"
        raise dtype_error("simulator.empty", "shape and dtype", requirement) from None
    if array.dtype.hasobject or not array.itemsize:
        requirement = f"must hold what a GPU can; got {describe_value(array.dtype, str)}"
        raise dtype_error("simulator.empty", "dtype", requirement)
    _fill_pattern(_bytes_of(array))
    make_known(array)
    return array.view()


def make_known(array: np.ndarray) -> None:
    """Let launches reach an array by its address, from any source, while it lives.

    It must own its memory. Bytes of it that hold the pattern of `empty` count as unwritten.
    """
    global _latest  # noqa: PLW0603
    if _unwritten.get(id(array)) is not array:
        _spans[id(array)], _unwritten[id(array)] = span_of(array), array
        _latest = object()


def live_empties() -> tuple[list[int], np.ndarray]:
    """Return the ids of the arrays in use that `empty` has made, and where they lie."""
    global _table  # noqa: PLW0603
    latest, table = _latest, _table  # other threads may make arrays meanwhile
    if len(_spans) != len(_unwritten):
        for key in [key for key in [*_spans] if key not in _unwritten]:
            _spans.pop(key, None)
            if (array := _unwritten.get(key)) is not None:  # made meanwhile
                _spans[key] = span_of(array)
        table = None
    if table is None or table[0] is not latest:
        spans = _spans.copy()
        table = latest, [*spans], np.array([*spans.values()], np.uint64).reshape(-1, 2)
        _table = table
    return table[1:]


def empty_array(key: int) -> np.ndarray | None:
    """Return the array of an id of `live_empties`; None if it is no longer in use."""
    return _unwritten.get(key)


def _bytes_of(owner: np.ndarray) -> np.ndarray:
    return np.ndarray.view(owner, np.ndarray).reshape(-1).view(np.uint8)


def _fill_pattern(flat: np.ndarray) -> None:
    whole = flat.size - flat.size % _PATTERN.size
    flat[:whole].reshape(-1, _PATTERN.size)[...] = _PATTERN
    flat[whole:] = _PATTERN[: flat.size - whole]


def owner_of(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of an array, through `as_strided` views, too."""
    while isinstance(base := _base(array.base), np.ndarray):
        array = base
    return array


def _base(base: object) -> object:
    return base if isinstance(base, np.ndarray) else getattr(base, "base", None)


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's first element."""
    return int(array.__array_interface__["data"][0])


def span_of(array: np.ndarray) -> tuple[int, int]:
    """Return the lowest address of an array's elements, and one past the highest."""
    address = address_of(array)
    low, high = Layout(array.shape, array.strides, array.itemsize).span
    return address + low, address + high


def _find_unwritten(held: np.ndarray, unit: int) -> np.ndarray:
    """Return which bytes of memory nothing has written since `empty` made it, as 0 and 1.

    A byte may hold the pattern by chance, but hardly all bytes of a word. A word next to one that
    is not written, or at an end of the memory, may be written in part.
    """
    words = -(-held.size // unit)
    pattern = np.empty(words * unit, np.uint8)
    _fill_pattern(pattern)
    flat = pattern.copy()
    flat[: held.size] = held
    same, values = (array.reshape(words, unit) for array in (flat == pattern, flat))
    whole = same.all(1)
    unwritten = np.repeat(whole, unit).reshape(words, unit)
    beside = np.concatenate(([True], whole, [True]))
    for step, neighbour in ((-1, beside[2:]), (1, beside[:-2])):
        edges = np.flatnonzero(neighbour & ~whole)
        found = np.logical_and.accumulate(same[edges, ::step], 1)  # from that side on
        least = 1 if found.any() and _is_one_exception(values[~whole, ::step][:, 0]) else 2
        found[found.sum(1) < least] = False
        unwritten[edges, ::step] |= found
    return unwritten.reshape(-1)[: held.size].astype(np.uint8)


def _is_one_exception(values: np.ndarray) -> bool:
    """Return whether all values but one are the same, of at least eight."""
    return values.size >= 8 and sorted(np.unique(values, return_counts=True)[1])[:-1] == [1]  # noqa: PLR2004


def operand_of(
    name: int | str,
    array: np.ndarray,
    parameter_offset: int | None,
    parameter: str = "",
    *,
    looks: bool = True,
) -> Operand:
    """Return an array as the checker lays it out: as far from its allocation's start as it is.

    Unless ``looks`` is false, it looks for bytes that nothing has written.
    """
    owner = owner_of(array)
    address = address_of(array)
    layout = Layout(array.shape, array.strides, array.itemsize)
    phase = (address - address_of(owner)) % 512
    if (phase - address) % _MAX_ALIGNMENT:
        phase = address % _MAX_ALIGNMENT
    unwritten: np.ndarray | bool = False
    is_known = owner.flags.c_contiguous and _unwritten.get(id(owner)) is owner
    if looks and owner.size and is_known:
        low, high = layout.span
        first = address + low - address_of(owner)
        held = _bytes_of(owner)
        unit = _PATTERN.size if array.itemsize % 4 else 4
        unwritten = _find_unwritten(held, unit)[first : first + high - low]
    return Operand(
        name,
        address,
        layout,
        phase,
        parameter_offset,
        read_only=not array.flags.writeable,
        unwritten=unwritten,
        parameter=parameter,
        no_addresses=array.dtype.kind in "fc" or array.itemsize in _SHORT,
        is_strided=not array.flags.forc,
        dtype=array.dtype,
    )


def pack_arguments(
    kernel: LoadedKernel,
    arguments: Sequence[Any],
    targets: Sequence[Numbers | None],
    parameter_names: Sequence[str] | None = None,
    *,
    has_values: bool = True,
) -> PackedArguments:
    """Return arguments, one for each parameter of a kernel, as its parameters.

    A NumPy array stands for one of CuPy's, whose address the kernel gets. Where a structure is
    passed by value it stands for itself: an array of one element that has the structure's size.
    ``targets`` are the types that the parameters point to, as far as they are known. Unless
    ``has_values``, no array stands for a structure. Operands are made only if ``parameter_names``
    are given, as many as are known.
    """
    name, sizes, kinds = kernel.name, kernel.parameter_sizes, kernel.parameter_kinds
    packed = bytearray()
    offsets: list[int] = []
    operands: list[Operand] = []
    arrays: list[tuple[int, int, int, np.ndarray]] = []
    for i, (argument, size, kind) in enumerate(zip(arguments, sizes, kinds, strict=True)):
        _check_kind(name, i, argument, size, kind)
        # As far apart as any of their types may need; the runtime takes each by its offset.
        packed += bytes(-len(packed) % _MAX_ALIGNMENT)
        offsets.append(len(packed))
        if not isinstance(argument, np.ndarray):
            packed += _pack_scalar(name, i, argument, size, kind)
            continue
        if argument.dtype.hasobject or not argument.dtype.isnative:
            native = argument.dtype.newbyteorder("=")
            given = describe_value(argument.dtype, str)
            given += conversion_hint(f"args[{i}]", argument.dtype, (native,))
            requirement = f"must hold what a GPU can; got {given}"
            raise dtype_error(name, f"args[{i}]", requirement)
        is_structure = kind is ParameterKind.OTHER
        if is_structure and has_values and _is_value(argument, size):
            packed += argument.tobytes()
            continue
        is_whole = is_structure and _is_carray(name, i, argument, size)
        if size != POINTER_BYTES and not is_whole:
            raise _misfit_error(name, i, "an array", size)
        _check_numbers(name, i, argument.dtype, targets[i])
        if parameter_names is not None:
            parameter = parameter_names[i] if len(parameter_names) == len(sizes) else ""
            operands.append(operand_of(i, argument, len(packed), parameter))
        address = address_of(argument)
        if not is_whole:  # those of structures are used in place
            arrays.append((i, len(packed), address, argument))
        packed += address.to_bytes(POINTER_BYTES, "little")
        if is_whole:
            words = argument.size, *argument.shape, *argument.strides
            packed += np.array(words, np.int64).tobytes()
    return PackedArguments(bytes(packed), tuple(offsets), tuple(operands), tuple(arrays))


def _is_value(array: np.ndarray, size: int) -> bool:
    """Return whether an array stands for a structure of so many bytes that is passed by value."""
    return (
        array.size == 1
        and array.itemsize == size
        and (size != POINTER_BYTES or array.dtype.fields is not None)
    )


def _is_carray(kernel: str, position: int, array: np.ndarray, size: int) -> bool:
    """Return whether an array is passed as a CArray: address, size, shape and strides, by value.

    As in CuPy, whose ``CArray<T, n>`` has 16 (n + 1) bytes.
    """
    dimensions, rest = divmod(size - _CARRAY_BYTES, _CARRAY_BYTES)
    if rest or size < _CARRAY_BYTES:
        return False
    if array.ndim != dimensions:
        requirement = f"must have {dimensions} dimensions for a CArray; got shape {array.shape}"
        raise BindingError(kernel, f"args[{position}]", requirement)
    return True


def _check_kind(
    kernel: str,
    position: int,
    argument: Any,  # noqa: ANN401
    size: int,
    kind: ParameterKind,
) -> None:
    """Raise BindingError for an argument whose bits the kernel would take for something else."""
    requirement, unfit = _KINDS[kind]
    if argument is None or isinstance(argument, np.ndarray):
        sort, what = "A", "None" if argument is None else "an array"
    elif isinstance(argument, bool | int | float | complex | np.generic):
        sort = np.asarray(argument).dtype.kind
        what = f"the {type(argument).__name__} {describe_value(argument, str)}"
    else:
        return
    if sort in unfit:
        name = f"args[{position}]"
        if argument is not None and np.ndim(argument) == 0:
            number = f"{name}.item()" if sort == "A" else name
            what += _cast_hint(number, np.asarray(argument).dtype, size, kind)
        raise BindingError(kernel, name, f"must be {requirement}; got {what}")


def _cast_hint(name: str, dtype: np.dtype[Any], size: int, kind: ParameterKind) -> str:
    """Return the end of a message: what makes a scalar of a parameter's type of another one."""
    if kind is ParameterKind.FLOATING and dtype.kind in "biuf":
        return f"; use np.float{8 * size}({name})"
    if kind in {ParameterKind.INTEGER, ParameterKind.WORD} and dtype.kind in "biu":
        return f"; use np.{'uint' if dtype.kind == 'u' else 'int'}{8 * size}({name})"
    return ""


def _check_numbers(
    kernel: str, position: int, dtype: np.dtype[Any], wanted: Numbers | None
) -> None:
    """Raise BindingError for floats whose bits the kernel would take for other numbers."""
    if wanted is None or dtype.kind != "f":
        return
    if wanted.kind == "f" and dtype.itemsize == np.dtype(wanted.dtype).itemsize:
        return
    argument, size = f"args[{position}]", np.dtype(wanted.dtype).itemsize
    sort = "integers" if wanted.kind == "i" else f"numbers of {size} bytes"
    why = f"since the parameter is a pointer to {wanted.name}"
    requirement = f"must hold {sort}, {why}; got {dtype}; "
    requirement += f"its bits are {argument}.view(np.{wanted.dtype})"
    if wanted.dtype.startswith("f"):
        requirement += f", its values {argument}.astype(np.{wanted.dtype})"
    raise BindingError(kernel, argument, requirement)


def _misfit_error(
    kernel: str, position: int, argument: object, size: int, hint: str = ""
) -> BindingError:
    """Return the error for an argument that does not fit a parameter of so many bytes."""
    requirement = f"must fit a parameter of {size} bytes; got {describe_value(argument, str)}{hint}"
    return BindingError(kernel, f"args[{position}]", requirement)


def _pack_scalar(
    kernel: str,
    position: int,
    argument: Any,  # noqa: ANN401
    size: int,
    kind: ParameterKind,
) -> bytes:
    if argument is None and size == POINTER_BYTES:
        argument = 0
    if type(argument) is int:
        try:
            if size in _INTEGER_BYTES:
                return argument.to_bytes(size, "little", signed=argument < 0)
        except OverflowError:
            pass
        raise _misfit_error(kernel, position, argument, size)
    is_scalar = type(argument) in _SCALARS or isinstance(argument, np.generic)
    if not is_scalar or isinstance(argument, np.str_):
        requirement = f"must be an array or a scalar; got {describe_class(argument)}"
        raise dtype_error(kernel, f"args[{position}]", requirement)
    value = np.asarray(argument)
    if value.itemsize != size:
        hint = _cast_hint(f"args[{position}]", value.dtype, size, kind)
        raise _misfit_error(kernel, position, value.dtype, size, hint)
    return value.tobytes()
