"""Arrays of NumPy and CuPy: their device and layout, and how to make, fill and copy one."""

from __future__ import annotations

import ctypes
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines import HOST, engine_for, require_own_process
from cudakern.engines.cuda.library import import_cupy
from cudakern.errors import ArgumentError, BindingError
from cudakern.process.lazy import is_cupy
from cudakern.values.dtypes import conversion_hint, copyable_dtypes
from cudakern.values.layout import MAX_DIMENSIONS, WORD_BYTES, Layout, overlaps_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from cudakern.engines.base import T

#: numpy.ndarray or cupy.ndarray. CuPy has no types, so this is as precise as it gets.
Array = Any
MAX_BYTES = 2**63 - 1  # of an array
#: Dtype, shape, strides (or True: no gaps), address modulo 16 and device of each array, one after
#: another: all that a plan depends on.
Facts = tuple[Any, ...]

_READ_ONLY = HOST - 1  # instead of the device, among the facts of an array on the host
_DEVICE_TO_DEVICE = 3  # cudaMemcpyDeviceToDevice

#: Steps of NumPy's search for a shared byte. Its stubs before 2.5 know two values.
_OVERLAP_WORK: Any = 100_000


def _cupy() -> Any:  # noqa: ANN401
    require_own_process()
    return import_cupy()


def require_rank(operator: str, name: str, array: Array, least: int) -> None:
    """Raise ArgumentError unless an array has ``least`` to MAX_DIMENSIONS dimensions."""
    if not least <= array.ndim <= MAX_DIMENSIONS:
        requirement = f"must have {least} to {MAX_DIMENSIONS} dimensions; got {array.ndim}"
        raise ArgumentError(operator, name, requirement)


def require_size(
    operator: str, name: str, shape: Sequence[int], itemsize: int, found: str = ""
) -> None:
    """Raise ArgumentError, which shows ``found``, if a result would have more than MAX_BYTES."""
    if prod(n for n in shape if n) * itemsize > MAX_BYTES:
        requirement = "must give a result of less than 2^63 bytes"
        raise ArgumentError(operator, name, f"{requirement}; got {found or f'shape {shape}'}")


def device_of(array: Array) -> int:
    """Return the device of an array: `HOST` or an ordinal."""
    return HOST if type(array) is np.ndarray else int(array.data.device_id)


def device_name(device: int) -> str:
    """Return the name of a device in messages."""
    return "the host" if device == HOST else f"CUDA device {device}"


def common_device(operator: str, names: Sequence[str], arrays: Sequence[Array | None]) -> int:
    """Return the device of all arrays, or raise BindingError; the first array is not None."""
    first = device_of(arrays[0])
    for name, array in zip(names, arrays, strict=False):
        if array is not None and (device := device_of(array)) != first:
            requirement = f"must be where {names[0]} is, on {device_name(first)}"
            raise BindingError(operator, name, f"{requirement}; got {device_name(device)}")
    return first


# NumPy's public ways to an address cost 1.5 us. The address is the first field behind the object
# header in every release. That is verified once, here; if it fails, the public way is used.
_HEADER = object.__basicsize__
_ndarray = np.ndarray
_read_pointer = ctypes.c_void_p.from_address


_probe = np.arange(8)
_FAST = sys.implementation.name == "cpython" and all(
    _read_pointer(id(view) + _HEADER).value == view.__array_interface__["data"][0]
    for view in (_probe, _probe[1:], _probe[::-1])
)


def address_of(array: Array) -> int:
    """Return the address of an array's first element."""
    if type(array) is not np.ndarray:
        return int(array.data.ptr)
    if _FAST:
        return _read_pointer(id(array) + _HEADER).value or 0
    return int(array.__array_interface__["data"][0])


def owner_address(array: Array) -> int:
    """Return the address of the memory that an array is a view of."""
    if is_cupy(array):
        return int(array.data.mem.ptr)
    owner = array
    while (base := owner.base) is not None:
        if isinstance(base, np.ndarray):
            owner = base
        elif isinstance(getattr(base, "base", None), np.ndarray):
            owner = base.base  # NumPy's as_strided has a helper in between
        else:
            with suppress(TypeError, ValueError):  # bytes, a map of a file: where that starts
                owner = np.frombuffer(base, np.uint8)
            break
    return address_of(owner)


#: CuPy's class of arrays, once one was seen, if these tell by an attribute that takes half of the
#: time of their strides, and is not documented, whether they are C-contiguous.
cupy_array: Any = type("NoArray", (), {})
#: The classes of arrays that are no subclass of another: NumPy's, and CuPy's once one was seen.
_own = {np.ndarray}


def are_own(values: Sequence[object]) -> bool:
    """Return whether all values are arrays of NumPy's or CuPy's classes, and of no subclass."""
    global cupy_array  # noqa: PLW0603
    if _own.issuperset(map(type, values)):
        return True
    kind = getattr(sys.modules.get("cupy"), "ndarray", np.ndarray)
    if kind in _own:
        return False
    _own.clear()
    _own.update((np.ndarray, kind))
    if hasattr(kind, "_c_contiguous"):
        cupy_array = kind
    return _own.issuperset(map(type, values))


def describe(arrays: Sequence[Array]) -> tuple[list[int], Facts]:
    """Return the addresses of arrays, any of which may be None, and the facts of plans.

    Raises AttributeError if a value is neither a NumPy nor a CuPy array.
    """
    addresses: list[int] = []
    facts: list[Any] = []
    for array in arrays:  # the hot path of calls with arrays of NumPy's
        if type(array) is _ndarray:
            address = _read_pointer(id(array) + _HEADER).value if _FAST else address_of(array)
            address = address or 0
            device = HOST if array.flags.writeable else _READ_ONLY
        elif array is None:
            addresses.append(0)
            facts.append(None)
            continue
        else:
            data = array.data
            device, address = data.device_id, data.ptr
        addresses.append(address)
        packed = type(array) is cupy_array and array._c_contiguous  # noqa: SLF001
        facts += (array.dtype, array.shape, packed or array.strides, address & 15, device)
    return addresses, tuple(facts)


def is_read_only(array: Array) -> bool:
    """Return whether an array must not be written to."""
    return type(array) is np.ndarray and not array.flags.writeable


def layout_of(array: Array | None, address: int) -> Layout:
    """Return an array's layout; None has no elements."""
    if array is None:
        return Layout((0,), (1,), 1)
    return Layout(array.shape, array.strides, array.dtype.itemsize, address & 15)


def use_device(device: int) -> AbstractContextManager[Any]:
    """Return a context in which CuPy works on a device; nothing is to do for `HOST`."""
    return nullcontext() if device == HOST else _cupy().cuda.Device(device)


def maker(shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Callable[[], Array]:
    """Return what makes an uninitialised C-contiguous array, where the device is current.

    Equal dtypes give equal arrays: none has metadata.
    """
    dtype = copyable_dtypes().get(dtype, dtype)
    if device == HOST:
        return partial(np.empty, shape, dtype)
    cupy = _cupy()
    if dtype.isbuiltin == 1:
        return partial(cupy.ndarray, shape, dtype)
    # CuPy refuses new arrays of dtypes for which it has no kernels; over memory all are legal.
    nbytes = prod(shape) * dtype.itemsize
    return lambda: cupy.ndarray(shape, dtype, cupy.cuda.alloc(nbytes))


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Array:
    """Return an uninitialised C-contiguous array from the device's current allocator."""
    with use_device(device):
        return maker(shape, dtype, device)()


def arange(size: int, device: int) -> Array:
    """Return the integers from 0 on as int64 on a device."""
    with use_device(device):
        return (np if device == HOST else _cupy()).arange(size, dtype=np.int64)


def view_of(array: Array, shape: tuple[int, ...], start: int = 0) -> Array:
    """Return a C-contiguous view of a contiguous array's memory, from a byte on."""
    if type(array) is np.ndarray:
        return np.ndarray(shape, array.dtype, array, start)
    return type(array)(shape, array.dtype, array.data + start if start else array.data)


def copy_to_device(operator: str, name: str, array: Array, device: int) -> Array:
    """Return a copy on a device of an array on the host, with its strides, none of them negative.

    It is made on CuPy's current stream, through pinned memory; nobody waits for it. A graph would
    copy what that memory holds when it runs: so it is an ArgumentError while one is captured.
    """
    requirement = f"must be an array, as numbers are copied to {device_name(device)},"
    require_eager(operator, name, requirement, device)
    address = address_of(array)
    memory = (ctypes.c_uint8 * layout_of(array, address).span[1]).from_address(address)
    with use_device(device):  # bytes, since CuPy does not take all dtypes
        cupy = _cupy()
        copy = cupy.asarray(np.frombuffer(memoryview(memory), np.uint8))
        return cupy.ndarray(array.shape, array.dtype, copy.data, array.strides)


def as_strided(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return a view of an array's memory, from its first element on, with byte strides."""
    library = np if type(array) is np.ndarray else _cupy()
    return library.lib.stride_tricks.as_strided(array, shape, strides)


# Kernels of CuPy move whole elements on their natural alignment, which an array need not have: a
# misaligned access ends the process's use of the device. Also, a fill with -0.0 writes +0.0. So
# CuPy moves unsigned integers here, as narrow as the arrays demand.


def _words(array: Array, width: int) -> Array:
    """Return an array as unsigned integers of a width; the last axis has those of an element."""
    itemsize = array.dtype.itemsize
    raw = array.view(f"V{itemsize}")  # NumPy's as_strided takes no float8_e5m2
    words = as_strided(raw, (1,), (itemsize,)).view(f"u{width}")
    return as_strided(words, (*array.shape, itemsize // width), (*array.strides, width))


def _alignment(array: Array) -> int:
    return layout_of(array, address_of(array)).alignment


def fill_elements(target: Array, element: bytes) -> None:
    """Write the bytes of one element to all elements of an array, on any alignment."""
    if target.size == 0:
        return
    width = min(_alignment(target), len(element), WORD_BYTES)
    words, pattern = _words(target, width), np.frombuffer(element, f"u{width}")
    with use_device(device_of(target)):
        if (pattern == pattern[0]).all():
            words.fill(pattern[0])
            return
        for k, word in enumerate(pattern):
            words[..., k].fill(word)


def copy_elements(target: Array, source: Array) -> None:
    """Copy the bytes of all elements to an array of the same shape and dtype, on any alignment."""
    if target.size == 0:
        return
    width = min(_alignment(target), _alignment(source), target.dtype.itemsize, WORD_BYTES)
    with use_device(device_of(target)):
        _words(target, width)[...] = _words(source, width)


def copy_spans(source: Array, spans: int, wanted: int) -> Array:
    """Return a copy of the first ``wanted`` elements of each span of a contiguous array.

    On a GPU, the current stream of the current device copies them, with no kernel.
    """
    device, size = device_of(source), source.itemsize
    copy = empty((spans, wanted), source.dtype, device)
    if device == HOST:
        copy[...] = source.reshape(spans, -1)[:, :wanted]
    elif wanted:
        cuda, to, start = _cupy().cuda, copy.data.ptr, source.data.ptr
        width, pitch, stream = wanted * size, source.size // spans * size, cuda.get_current_stream()
        kind = _DEVICE_TO_DEVICE
        cuda.runtime.memcpy2DAsync(to, width, start, pitch, width, spans, kind, stream.ptr)
    return copy


def require_eager(operator: str, name: str, requirement: str, device: int) -> None:
    """Raise ArgumentError if a call that waits for the GPU is being captured into a graph."""
    if engine_for(device).is_captured(device):
        raise ArgumentError(operator, name, f"{requirement} while a CUDA graph is captured")


def temporary(device: int, make: Callable[[], T]) -> T:
    """Return memory that a call makes for itself; a graph that captures the call keeps it."""
    with use_device(device):
        return engine_for(device).temporary(device, make)


def copy_array(array: Array) -> Array:
    """Return a C-contiguous copy of an array on its device."""
    device = device_of(array)
    result = temporary(device, lambda: empty(array.shape, array.dtype, device))
    copy_elements(result, array)
    return result


def convert(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array's values in another dtype. CuPy makes subnormal float32 zero."""
    source = array if _alignment(array) >= array.dtype.itemsize else copy_array(array)
    return temporary(device_of(array), lambda: source.astype(dtype))


def check_output(
    operator: str,
    name: str,
    array: Array,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: int,
    reason: str,
    options: Collection[np.dtype[Any]] = (),
) -> None:
    """Raise BindingError unless an array can receive a result; ``reason`` is the shape's.

    The call's ``dtype`` may be any of ``options``.
    """
    actual = device_of(array)
    if actual != device:
        requirement = f"must be where the inputs are, on {device_name(device)}"
        raise BindingError(operator, name, f"{requirement}; got {device_name(actual)}")
    if array.shape != shape:
        requirement = f"must have shape {shape} {reason}".rstrip()
        raise BindingError(operator, name, f"{requirement}; got {array.shape}")
    require_own_dtype(operator, name, array, dtype, options)
    require_writeable(operator, name, array)
    if overlaps_itself(array.shape, array.strides, dtype.itemsize):
        requirement = f"must give each element an address of its own; got strides {array.strides}"
        raise BindingError(operator, name, requirement)


def require_own_dtype(
    operator: str,
    name: str,
    array: Array,
    dtype: np.dtype[Any],
    options: Collection[np.dtype[Any]] = (),
) -> None:
    """Raise BindingError unless an array has the dtype that follows from the other arguments.

    One of these is ``dtype``, which may be any of ``options``.
    """
    if array.dtype != dtype:
        hint = conversion_hint(name, array.dtype, (dtype,))
        hint = f'; use dtype="{array.dtype}"' if array.dtype in options else hint
        raise BindingError(operator, name, f"must have dtype {dtype}; got {array.dtype}{hint}")


def require_writeable(operator: str, name: str, array: Array | None, kind: str = "array") -> None:
    """Raise BindingError for an array that must not be written to, or None, which is a ``kind``."""
    if array is None or is_read_only(array):
        raise BindingError(operator, name, f"must be writeable; got a read-only {kind}")


def _footprint(layout: Layout, address: int) -> Array:
    """Return an array over the same memory, for NumPy's exact overlap test; no byte is read."""
    typestr, data = f"|V{layout.itemsize}", (address, True)
    facts = {"data": data, "shape": layout.shape, "strides": layout.strides, "typestr": typestr}
    return np.asarray(SimpleNamespace(__array_interface__={**facts, "version": 3}))


def share_memory(a: Layout, a_address: int, b: Layout, b_address: int) -> bool:
    """Return whether two arrays share a byte; True if that cannot be decided quickly."""
    try:
        footprints = _footprint(a, a_address), _footprint(b, b_address)
        return np.shares_memory(*footprints, max_work=_OVERLAP_WORK)
    except np.exceptions.TooHardError:
        return True
