"""Arrays of other libraries: operands and outputs that share the memory of a caller's object.

Not its class decides but its protocols: DLPack, the CUDA array interface, ``__array__``, a buffer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines import HOST
from cudakern.engines.cuda.library import translate
from cudakern.errors import (
    BindingError,
    CudakernError,
    describe_class,
    describe_error,
    describe_value,
    dtype_error,
)
from cudakern.operators.arrays import native
from cudakern.operators.arrays.native import Array, address_of, is_read_only
from cudakern.process.lazy import is_cupy
from cudakern.values.dtypes import narrow_floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Device types of DLPack: those whose memory the processor reads, and those of CUDA.
_HOST_TYPES = (1, 3)  # kDLCPU, kDLCUDAHost
_CUDA_TYPES = (2, 13)  # kDLCUDA, kDLCUDAManaged

#: Attributes of which arrays of all libraries have at least one.
_OFFERS = ("__dlpack__", "__cuda_array_interface__", "__array__", "__array_interface__")
_NUMBERS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
_MAX_SHOWN = 128  # bits of an integer that is too large
_MAX_DEPTH = 64  # of nested lists; NumPy takes no more


def as_array(operator: str, name: str, value: object) -> Array:
    """Return an operand as a NumPy or CuPy array, without a copy where it is an array already."""
    if type(value) is np.ndarray or is_cupy(value):
        return value
    with _reading(operator, name, value):
        if isinstance(value, list | tuple):
            _require_no_arrays(operator, name, value)
        return _view_of(operator, name, value)


def is_of_numbers(value: object) -> bool:
    """Return whether an operand is a number, of NumPy or not, or a sequence of numbers."""
    if isinstance(value, list | tuple):
        return not any(_is_array(element) for element, _ in _leaves(value))
    if isinstance(value, np.generic):
        return True
    if is_cupy(value) or any(hasattr(value, offer) for offer in _OFFERS):
        return False
    try:
        memoryview(value)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        return True
    return False


def send_numbers(
    operator: str,
    names: Sequence[str],
    arrays: Sequence[Array],
    of_numbers: Iterable[bool],
    outputs: Mapping[str, object] | None = None,
) -> list[Array]:
    """Return a call's inputs; those that are ``of_numbers`` are copied to the other arrays' device.

    That is the device of the first other input in binding order; without one, of the first output.
    None stands for a missing array.
    """
    loose = [alone and a is not None for a, alone in zip(arrays, of_numbers, strict=True)]
    if not any(loose):
        return [*arrays]
    others = [a for a, alone in zip(arrays, loose, strict=True) if not (alone or a is None)]
    given = ((name, out) for name, out in (outputs or {}).items() if out is not None)
    others = others or [as_output(operator, name, out) for name, out in given]
    device = native.device_of(others[0]) if others else HOST
    if device == HOST:
        return [*arrays]
    return [
        native.copy_to_device(operator, name, array, device) if alone else array
        for name, array, alone in zip(names, arrays, loose, strict=True)
    ]


def as_output(operator: str, name: str, value: object) -> Array:
    """Return an output as a NumPy or CuPy array that shares the memory of what the caller gave."""
    if type(value) is np.ndarray or is_cupy(value):
        return value
    with _reading(operator, name, value):
        if isinstance(value, np.ndarray):
            return value.view(np.ndarray)
        exported = hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")
        array = _writeable_view_of(operator, name, value) if exported else None
    if not exported:
        requirement = f"must be a numpy.ndarray or cupy.ndarray; got {describe_class(value)}"
        raise BindingError(operator, name, requirement)
    native.require_writeable(operator, name, array, describe_class(value))
    return array


@contextmanager
def _reading(operator: str, name: str, value: object) -> Iterator[None]:
    """Raise an error of this package for a value that cannot be read."""
    try:
        _require_plain(operator, name, value)
        yield
    except (CudakernError, MemoryError):
        raise
    except Exception as error:
        translated = translate(error) if isinstance(error, RuntimeError) else None
        if translated is not None:
            raise translated from error
        text = describe_error(error)
        found = describe_class(value) + (f" ({text})" if text else _way_to_array(name, value))
        requirement = f"must be an array; got {found}"
        if isinstance(value, list | tuple) and "inhomogeneous" in text:  # NumPy's word
            requirement = "must be an array, or have rows of one length; got rows of several"
        if isinstance(error, ValueError):
            raise BindingError(operator, name, requirement) from error
        raise dtype_error(operator, name, requirement) from error


def _way_to_array(name: str, value: object) -> str:
    """Return the end of a message: how to make an array of a sparse one, or of an iterable."""
    with suppress(Exception):  # whatever the class of the value raises
        if hasattr(value, "toarray"):
            return f"; use {name}.toarray()"
        if isinstance(value, Iterable):
            return f"; use list({name}{'.values()' if isinstance(value, Mapping) else ''})"
    return ""


def _require_plain(operator: str, name: str, value: object) -> None:
    """Raise BindingError for a masked array, whose mask NumPy would lose, and for a lazy one."""
    masked = sys.modules.get("numpy.ma")  # NumPy imports it at first use, for 20 ms
    if isinstance(value, getattr(masked, "MaskedArray", ())):
        requirement = "must not be a masked array: the mask would be lost"
        way = "; use .filled(value), or .data without the mask"
        raise BindingError(operator, name, requirement + way)
    if _is_lazy(value):
        requirement = f"must be computed; got a lazy {describe_class(value)}; use its compute(), "
        requirement += "or cudakern.dask for dask arrays"
        raise BindingError(operator, name, requirement)


def _is_lazy(value: object) -> bool:
    # Collections of Dask have a graph, and those of xarray if Dask has their elements.
    graph = getattr(type(value), "__dask_graph__", None)
    return graph is not None and graph(value) is not None


def _require_no_arrays(operator: str, name: str, value: list[Any] | tuple[Any, ...]) -> None:
    """Raise DTypeError for a sequence with arrays in a tuple, on a GPU or of Dask.

    For NumPy, a tuple of arrays holds an array for each axis if it is an index, and rows elsewhere.
    A list always holds rows. For gather_nd that would be the transpose of what nonzero returns, if
    that is put into a list, so a list of arrays is an error there.
    """
    is_tuples = operator == "gather_nd" and name.startswith("indices")
    by_axis = is_tuples and len(value) > 0 and all(map(_is_array, value))
    for element, in_tuple in _leaves(value):
        if is_cupy(element) or _is_array(element):
            if (
                in_tuple
                or is_cupy(element)
                or _device_type(element) not in _HOST_TYPES
                or _is_lazy(element)
            ):
                requirement = _one_array(operator, name, value, by_axis=in_tuple or by_axis)
                raise dtype_error(operator, name, requirement)
            _require_plain(operator, name, element)
    if by_axis:
        raise dtype_error(operator, name, _one_array(operator, name, value, by_axis=True))


def _leaves(value: list[Any] | tuple[Any, ...]) -> Iterator[tuple[Any, bool]]:
    """Yield elements of nested sequences that are not numbers, and whether each is in a tuple."""
    sequences: list[tuple[Any, bool]] = [(value, isinstance(value, tuple))]
    depth = 0
    while sequences and depth < _MAX_DEPTH:
        inner: list[tuple[Any, bool]] = []
        for sequence, in_tuple in sequences:
            if _NUMBERS.issuperset(map(type, sequence)):
                continue
            for element in sequence:
                if isinstance(element, list | tuple):
                    inner.append((element, in_tuple or isinstance(element, tuple)))
                elif type(element) not in _NUMBERS:
                    yield element, in_tuple
        sequences, depth = inner, depth + 1


def _is_array(value: object) -> bool:
    """Return whether a value is an array of at least one dimension."""
    rank = getattr(value, "ndim", None)
    return any(hasattr(value, offer) for offer in _OFFERS) if rank is None else rank != 0


def _one_array(operator: str, name: str, value: object, *, by_axis: bool) -> str:
    """Return the requirement for an operand of several arrays, and how to make one of these."""
    kind = type(value).__name__
    if kind == "NonzeroCoordinates":
        use = f"{name}.coordinates, whose rows from {name}.count on are undefined"
        return f"must be one array; got {kind}; use {use}"
    use = f"np.stack({name})"
    if by_axis and name.startswith("indices"):
        use = f"np.stack({name}, axis=-1), or argwhere instead of nonzero"
        use = f"gather_nd with {use}" if operator == "gather" else use
    return f"must be one array; got a {kind} of arrays; use {use}"


def _view_of(operator: str, name: str, value: Any) -> Array:  # noqa: ANN401  whatever the caller gave
    """Return a value as an array, over the same memory if possible."""
    narrow = _narrow_float(value)
    if narrow is not None:
        return _view_of(operator, name, _as_unsigned(value)).view(narrow)
    device_type = _device_type(value)
    if device_type in _CUDA_TYPES:
        from cudakern.engines.cuda.loans import borrow  # noqa: PLC0415  3 ms of each first call

        # PyTorch exports a tensor that shows its elements negated as if it did not.
        if getattr(value, "is_neg", bool)():
            raise BufferError("its negative bit is set; use resolve_neg()")
        return borrow(operator, name, value)
    if device_type not in _HOST_TYPES:
        message = f"it is on a device of DLPack's type {device_type}"
        raise ValueError(message)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype.kind == "O":
        _require_64_bits(operator, name, array)
        if array.ndim == 0:  # NumPy makes that of any object that it does not know
            raise TypeError
    return array


def _require_64_bits(operator: str, name: str, array: np.ndarray[Any, Any]) -> None:
    """Raise DTypeError if NumPy has made objects of integers because one has more than 64 bits."""
    for element in array.flat:
        if isinstance(element, int) and not -(2**63) <= element < 2**64:
            bits = element.bit_length() + (element < 0)
            found = describe_value(element) if bits <= _MAX_SHOWN else f"one of {bits} bits"
            raise dtype_error(operator, name, f"must hold integers of at most 64 bits; got {found}")


def _writeable_view_of(operator: str, name: str, value: Any) -> Array | None:  # noqa: ANN401
    """Return a value as an array over the same memory; None unless it says that it is writeable.

    Arrays of JAX share their memory, but never change. Their CUDA array interface says so, which
    CuPy ignores. DLPack before version 1 cannot say it; NumPy takes its arrays for read-only.
    """
    narrow = _narrow_float(value)
    if narrow is not None:
        words = _writeable_view_of(operator, name, _as_unsigned(value))
        return None if words is None else words.view(narrow)
    array = _view_of(operator, name, value)
    if is_cupy(array):
        interface = getattr(value, "__cuda_array_interface__", None)
        return None if interface is None or interface["data"][1] else array
    if is_read_only(array):
        return None
    shared = np.from_dlpack(value)
    if not array.size or address_of(shared) == address_of(array):
        return array
    return None if is_read_only(shared) else shared  # the library's __array__ made a copy


def _device_type(value: Any) -> int:  # noqa: ANN401
    """Return the device type of a value, as DLPack numbers them."""
    device = getattr(value, "__dlpack_device__", None)
    if device is not None:
        return int(device()[0])
    return _CUDA_TYPES[0] if hasattr(value, "__cuda_array_interface__") else _HOST_TYPES[0]


# bfloat16 and the 8-bit floats of PyTorch have no counterpart in NumPy, the latter none in CuPy.


def _narrow_float(value: object) -> np.dtype[Any] | None:
    """Return the dtype of ml_dtypes with the name of a dtype of another library, or None."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype):
        return None
    name = str(dtype).rpartition(".")[2]
    if not name.startswith(("bfloat16", "float8_")):
        return None
    narrow = narrow_floats().get(name)
    if narrow is None:
        message = f"{name} needs the package ml_dtypes"
        raise TypeError(message)
    return narrow


def _as_unsigned(value: Any) -> Any:  # noqa: ANN401
    """Return a tensor of another library as unsigned integers of that library."""
    if getattr(value, "requires_grad", False):
        raise TypeError("it requires grad; use detach()")
    library = sys.modules[type(value.dtype).__module__.partition(".")[0]]
    return value.view(getattr(library, f"uint{8 * value.dtype.itemsize}"))
