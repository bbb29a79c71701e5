"""Functions of CuPy: NumPy's, called with plain arrays, and those that CuPy has of its own."""

from __future__ import annotations

from functools import lru_cache, wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.arrays import (
    compute,
    device,
    host,
    ndarray,
    require_as_cupy,
    require_device,
    require_dtype,
    require_here,
    unwritten,
)
from cudakern.simulator.cupy_stand_in.devices import Device, get_device_id
from cudakern.simulator.cupy_stand_in.registry import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from numpy.typing import DTypeLike

#: Functions whose result is a bool of Python's in NumPy, an array in CuPy.
_TRUTHS = frozenset({"allclose", "array_equal", "array_equiv"})
#: Which functions have a method, where not all do.
_METHODS = {
    "accumulate": ("add", "multiply"),
    "at": ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "subtract"),
    "reduce": ("add", "multiply"),
    "reduceat": ("add",),
}
#: How many results of a memoized function are kept.
_MOST_KEPT = 1024


class ufunc:  # noqa: N801  CuPy's name
    """A function of NumPy's for each element, which takes CuPy's arrays and scalars."""

    def __init__(self, function: np.ufunc) -> None:
        self._function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Compute."""
        return self._computed("__call__", args, kwargs)

    def _computed(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        if self.__name__ not in _METHODS.get(method, (self.__name__,)):
            message = f"CuPy has no cupy.{self.__name__}.{method}, nor has in_place_of_cupy"
            raise NotImplementedError(message)
        if method != "at":
            for value in args[: self._function.nin]:
                require_device(f"cupy.{self.__name__}", value)
        return compute(getattr(self._function, method), args, kwargs)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name in {"accumulate", "at", "outer", "reduce", "reduceat"}:
            return lambda *args, **kwargs: self._computed(name, args, kwargs)
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return f"<ufunc 'cupy_{self.__name__}'>"


class _Indexed:
    """What NumPy makes arrays of by an index, such as ``r_``."""

    def __init__(self, maker: Any) -> None:  # noqa: ANN401
        self._maker = maker

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401
        """Return an array of the stand-in."""
        return device(self._maker[host(key)])


def from_numpy(name: str, value: Any) -> Any:  # noqa: ANN401  whatever NumPy has
    """Return what NumPy has under a name, as a name of the stand-in."""
    if isinstance(value, np.ufunc):
        return ufunc(value)
    if name in {"c_", "mgrid", "ogrid", "r_"}:
        return _Indexed(value)
    if isinstance(value, type | ModuleType) or not callable(value):
        return value
    return _function(name, value)


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        require_as_cupy(name, args, kwargs)
        result = compute(function, tuple(map(_called_back, args)), kwargs)
        if name in _TRUTHS:
            result = device(np.bool_(result))
        return result

    return call


def _called_back(value: Any) -> Any:  # noqa: ANN401
    """Return a function that NumPy is to call, which gets the stand-in's arrays."""
    if not callable(value) or isinstance(value, type):
        return value
    return lambda *args, **kwargs: host(value(*device(args), **kwargs))


def array(
    obj: Any,  # noqa: ANN401
    dtype: DTypeLike | None = None,
    copy: bool | None = True,  # noqa: FBT001, FBT002
    order: str = "K",
    subok: bool = False,  # noqa: FBT001, FBT002
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """Return an array of the stand-in, which shares no memory with one of NumPy's."""
    del subok, blocking
    of_device = isinstance(obj, ndarray)
    if isinstance(obj, list | tuple) and len({*_are_device(obj)}) > 1:
        message = "cupy.array: a list must hold arrays of CuPy's alone, or none; use x.item()"
        raise TypeError(message)
    elsewhere = of_device and obj.data.device_id != get_device_id()
    if not of_device:
        require_here(obj)
    if not of_device or copy is None or elsewhere:
        copy = None if of_device and not elsewhere else True
    made = np.array(host(obj), dtype, copy=copy, order=order or "K", ndmin=ndmin)  # type: ignore[call-overload]
    require_dtype(made.dtype)
    if (
        of_device
        and made.ndim == obj.ndim
        and made.dtype == obj.dtype
        and np.may_share_memory(made, host(obj))
    ):
        return obj  # type: ignore[no-any-return]
    result: ndarray = device(made)
    return result


def _are_device(obj: Any) -> Iterator[bool]:  # noqa: ANN401
    """Yield whether elements of nested lists are arrays of the stand-in."""
    if isinstance(obj, list | tuple):
        for element in obj:
            yield from _are_device(element)
    else:
        yield isinstance(obj, ndarray)


def asarray(
    a: Any,  # noqa: ANN401
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
) -> ndarray:
    """Return an array of the stand-in: the same if it is one already."""
    del blocking
    return array(a, dtype, copy, order or "K")


def asanyarray(
    a: Any,  # noqa: ANN401
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
) -> ndarray:
    """Return what `asarray` does."""
    return asarray(a, dtype, order, copy=copy, blocking=blocking)


def ascontiguousarray(a: Any, dtype: DTypeLike | None = None) -> ndarray:  # noqa: ANN401
    """Return an array in row-major order."""
    require_device("cupy.ascontiguousarray", a)
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a: Any, dtype: DTypeLike | None = None) -> ndarray:  # noqa: ANN401
    """Return an array in column-major order."""
    require_device("cupy.asfortranarray", a)
    return array(a, dtype, None, "F")


def asfarray(a: Any, dtype: DTypeLike = np.float64) -> ndarray:  # noqa: ANN401
    """Return an array of floats."""
    dtype = np.dtype(dtype)
    return array(a, dtype if dtype.kind in "fc" else np.float64, None)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002
    """Return whether each element is in another array."""
    given = np.ravel(host(ar1)), host(ar2)
    return compute(np.isin, given, {"assume_unique": assume_unique, "invert": invert})


def frombuffer(*args: Any, **kwargs: Any) -> ndarray:  # noqa: ANN401
    """Return an array of the bytes of a buffer: a copy."""
    return array(np.frombuffer(*args, **kwargs))


def msort(a: Any) -> Any:  # noqa: ANN401
    """Return an array sorted along its first axis."""
    return compute(np.sort, (a,), {"axis": 0})


def asnumpy(
    a: Any,  # noqa: ANN401
    stream: object = None,
    order: str = "C",
    out: np.ndarray | None = None,
    *,
    blocking: bool = True,
) -> np.ndarray:
    """Return an array of NumPy's: a copy of one of the stand-in."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    if out is not None:
        out[...] = a
        return out
    return np.asarray(host(a), order=order)  # type: ignore[call-overload,no-any-return]


def empty(shape: Any, dtype: DTypeLike = float, order: str = "C") -> ndarray:  # noqa: ANN401
    """Return a new array whose elements count as unwritten."""
    return unwritten(shape, dtype, order)


def empty_like(
    prototype: Any,  # noqa: ANN401
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool | None = None,  # noqa: FBT001
    shape: Any = None,  # noqa: ANN401
) -> ndarray:
    """Return a new array like another, whose elements count as unwritten."""
    del subok
    like = np.empty_like(host(prototype), dtype, order, shape=host(shape))  # type: ignore[call-overload]
    is_fortran = like.flags.f_contiguous and not like.flags.c_contiguous
    made = unwritten(like.shape, like.dtype, "F" if is_fortran else "C")
    if made.strides == like.strides or not like.size:
        return made
    axes = sorted(range(like.ndim), key=lambda axis: -like.strides[axis])
    made = unwritten(tuple(like.shape[axis] for axis in axes), like.dtype)
    result: ndarray = made.transpose(np.argsort(axes))
    return result


def get_array_module(*args: object) -> ModuleType:
    """Return cupy if an argument is an array of it, else numpy."""
    return MODULES["cupy"] if any(isinstance(value, ndarray) for value in args) else np


def from_dlpack(array: Any, device: object = None, copy: bool | None = None) -> ndarray:  # noqa: ANN401, FBT001
    """Return an array that shares memory with one of another library, on the host."""
    del device
    given = host(array)  # NumPy before 2.1 gives its own arrays back as read-only ones
    made: np.ndarray = given.view() if isinstance(given, np.ndarray) else np.from_dlpack(given)
    return np.ndarray.view(made.copy() if copy else made, ndarray)


def fuse(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    """Return a function as it is: its steps run one by one."""
    if len(args) == 1 and callable(args[0]):
        return args[0]
    del kwargs
    return lambda function: function


def memoize(for_each_device: bool = False) -> Callable[[Any], Any]:  # noqa: FBT001, FBT002
    """Return a decorator for functions that compute once for equal arguments."""

    def decorate(function: Any) -> Any:  # noqa: ANN401
        kept = lru_cache(maxsize=_MOST_KEPT)(lambda _, *args, **kwargs: function(*args, **kwargs))
        _memoized.append(kept.cache_clear)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            return kept(get_device_id() if for_each_device else None, *args, **kwargs)

        return call

    return decorate


_memoized: list[Callable[[], None]] = []


def clear_memo() -> None:
    """Forget what memoized functions have computed."""
    for clear in _memoized:
        clear()


class vectorize:  # noqa: N801  CuPy's name
    """A function of scalars, called for each element by Python."""

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,  # noqa: ANN401
        doc: str | None = None,
        excluded: Any = None,  # noqa: ANN401
        cache: bool = False,  # noqa: FBT001, FBT002
        signature: str | None = None,
    ) -> None:
        del cache
        if any(option is not None for option in (otypes, excluded, signature)):
            message = "cupy.vectorize supports neither otypes nor excluded nor signature"
            raise NotImplementedError(message)
        self.pyfunc = pyfunc
        self.__doc__ = doc or pyfunc.__doc__

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401
        """Compute."""
        for value in args:
            require_device("cupy.vectorize", value)
        arrays = np.broadcast_arrays(*host(args))
        results = [self.pyfunc(*each) for each in zip(*(a.flat for a in arrays), strict=True)]
        if results and isinstance(results[0], tuple):
            return tuple(
                _of_one_type(column, arrays[0].shape) for column in zip(*results, strict=True)
            )
        return _of_one_type(results, arrays[0].shape)


def _of_one_type(results: Sequence[Any], shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    """Return results as an array; TypeError unless they are of one type, Python's numbers apart."""
    dtypes = {result.dtype for result in results if isinstance(result, np.generic)}
    if len(dtypes) > 1:
        message = f"cupy.vectorize: results must be of one type; got {', '.join(map(str, dtypes))}"
        raise TypeError(message)
    return device(np.array(results, *dtypes).reshape(shape))


class _Archive:
    """Arrays of a file that ``savez`` has written."""

    def __init__(self, archive: Any) -> None:  # noqa: ANN401
        self.npz_file = archive
        self.files = archive.files

    def __enter__(self) -> Self:
        """Be open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return device(self.npz_file[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def close(self) -> None:
        """Close the file."""
        self.npz_file.close()


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool | None = None) -> Any:  # noqa: ANN401, FBT001
    """Return the array of a file, or an archive of arrays."""
    loaded = np.load(file, mmap_mode, allow_pickle=bool(allow_pickle))
    return array(loaded) if isinstance(loaded, np.ndarray) else _Archive(loaded)


def show_config(*, _full: bool = False) -> None:
    """Print what this is."""
    arch = Device(0).compute_capability
    print(f"cudakern's stand-in for CuPy, NumPy {np.__version__}, PTX for {arch}")  # noqa: T201


# Of cupyx.


def empty_like_pinned(
    a: Any,  # noqa: ANN401
    dtype: DTypeLike | None = None,
    order: Any = "K",  # noqa: ANN401
    subok: object = None,
    shape: Any = None,  # noqa: ANN401
) -> np.ndarray:
    """Return a new array of NumPy's."""
    del subok
    return np.empty_like(host(a), dtype, order, shape=shape)


def zeros_like_pinned(
    a: Any,  # noqa: ANN401
    dtype: DTypeLike | None = None,
    order: Any = "K",  # noqa: ANN401
    subok: object = None,
    shape: Any = None,  # noqa: ANN401
) -> np.ndarray:
    """Return a new array of NumPy's, of zeros."""
    del subok
    return np.zeros_like(host(a), dtype, order, shape=shape)


def scatter_add(a: ndarray, slices: Any, value: Any) -> None:  # noqa: ANN401
    """Add to elements, once for each time that they are named."""
    a.scatter_add(slices, value)


def scatter_max(a: ndarray, slices: Any, value: Any) -> None:  # noqa: ANN401
    """Take the greater of elements and values."""
    a.scatter_max(slices, value)


def scatter_min(a: ndarray, slices: Any, value: Any) -> None:  # noqa: ANN401
    """Take the less of elements and values."""
    a.scatter_min(slices, value)


def rsqrt(x: Any, out: Any = None) -> Any:  # noqa: ANN401
    """Return one over the square root."""
    require_device("cupyx.rsqrt", x)
    result = compute(lambda y: 1 / np.sqrt(y), (x,), {})
    if out is None:
        return result
    out[...] = result
    return out


def comparing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an assertion of NumPy's that takes arrays of both."""

    @wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return function(*host(args), **host(kwargs))

    return compare
