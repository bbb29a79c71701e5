"""Functions of CuPy: NumPy's, called with plain arrays, and CuPy's own ones."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache, wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.arrays import (
    compute,
    make_empty,
    ndarray,
    require_as_cupy,
    require_device,
    require_dtype,
    require_here,
    to_cupy,
    to_numpy,
)
from cudakern.simulator.cupy_stand_in.cupyx_scipy import is_sparse
from cudakern.simulator.cupy_stand_in.devices import Device, get_device_id
from cudakern.simulator.cupy_stand_in.names import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import DTypeLike

#: Functions whose result is Python's bool in NumPy and an array in CuPy.
_TRUTHS = frozenset({"allclose", "array_equal", "array_equiv"})
#: Functions that NumPy leaves to a method of a sparse matrix, whose arguments CuPy's have not.
_OF_ARRAYS = "all amax amin any argmax argmin max mean min prod std sum var"
#: The functions that have a method, if only some do.
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute."""
        return self._compute("__call__", args, kwargs)

    def _compute(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.__name__ not in _METHODS.get(method, (self.__name__,)):
            message = f"CuPy has no cupy.{self.__name__}.{method}, nor has in_place_of_cupy"
            raise NotImplementedError(message)
        if method != "at":
            for value in args[: self._function.nin]:
                require_device(f"cupy.{self.__name__}", value)
        return compute(getattr(self._function, method), args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in {"accumulate", "at", "outer", "reduce", "reduceat"}:
            return lambda *args, **kwargs: self._compute(name, args, kwargs)
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return f"<ufunc 'cupy_{self.__name__}'>"


class _Indexed:
    """An object of NumPy's that makes arrays of an index, such as ``r_``."""

    def __init__(self, maker: Any) -> None:
        self._maker = maker

    def __getitem__(self, key: Any) -> Any:
        return to_cupy(self._maker[to_numpy(key)])


def adapt_from_numpy(name: str, value: Any) -> Any:
    """Return an object of NumPy's, adapted for the stand-in."""
    if isinstance(value, np.ufunc):
        return ufunc(value)
    if name in {"c_", "mgrid", "ogrid", "r_"}:
        return _Indexed(value)
    if isinstance(value, type | ModuleType) or not callable(value):
        return value
    return _wrap_function(name, value)


def _wrap_function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        require_as_cupy(name, args, kwargs)
        if name in _OF_ARRAYS.split() and any(map(is_sparse, args)):
            message = f"cupy.{name}: CuPy takes no sparse matrix; use its method, or x.toarray()"
            raise TypeError(message)
        result = compute(function, tuple(map(_wrap_callback, args)), kwargs)
        if name in _TRUTHS:
            result = to_cupy(np.bool_(result))
        return result

    return call


def _wrap_callback(value: Any) -> Any:
    """Return a function that NumPy calls, so that it gets the stand-in's arrays."""
    if not callable(value) or isinstance(value, type):
        return value
    return lambda *args, **kwargs: to_numpy(value(*to_cupy(args), **kwargs))


def array(
    obj: Any,
    dtype: DTypeLike | None = None,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """Return an array of the stand-in, which shares no memory with one of NumPy's."""
    of_device = isinstance(obj, ndarray)
    if isinstance(obj, list | tuple) and len({*_find_kinds(obj)}) > 1:
        message = "cupy.array: a list must hold arrays of CuPy's alone, or none; use x.item()"
        raise TypeError(message)
    if not of_device:
        require_here(obj)
    if not of_device or obj.data.device_id != get_device_id():
        copy = True
    made = np.array(to_numpy(obj), dtype, copy=copy, order=order or "K", ndmin=ndmin)  # type: ignore[call-overload]
    require_dtype(made.dtype)
    is_alike = of_device and (made.ndim, made.dtype) == (obj.ndim, obj.dtype)
    is_same = is_alike and np.may_share_memory(made, to_numpy(obj))
    result: ndarray = obj if is_same else to_cupy(made)
    return result


def _find_kinds(obj: Any) -> Iterator[bool]:
    """Yield whether elements of nested lists are arrays of the stand-in."""
    if isinstance(obj, list | tuple):
        for element in obj:
            yield from _find_kinds(element)
    else:
        yield isinstance(obj, ndarray)


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    blocking: bool = False,
) -> ndarray:
    """Return an array of the stand-in: the same if it is one already."""
    return array(a, dtype, copy, order or "K")


def ascontiguousarray(a: Any, dtype: DTypeLike | None = None) -> ndarray:
    """Return an array in row-major order."""
    require_device("cupy.ascontiguousarray", a)
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a: Any, dtype: DTypeLike | None = None) -> ndarray:
    """Return an array in column-major order."""
    require_device("cupy.asfortranarray", a)
    return array(a, dtype, None, "F")


def asfarray(a: Any, dtype: DTypeLike = np.float64) -> ndarray:
    """Return an array of floats."""
    dtype = np.dtype(dtype)
    return array(a, dtype if dtype.kind in "fc" else np.float64, None)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return whether each element is in another array."""
    given = np.ravel(to_numpy(ar1)), to_numpy(ar2)
    return compute(np.isin, given, {"assume_unique": assume_unique, "invert": invert})


def frombuffer(*args: Any, **kwargs: Any) -> ndarray:
    """Return an array of the bytes of a buffer: a copy."""
    return array(np.frombuffer(*args, **kwargs))


def msort(a: Any) -> Any:
    """Return an array sorted along its first axis."""
    return compute(np.sort, (a,), {"axis": 0})


def asnumpy(
    a: Any,
    stream: object = None,
    order: str = "C",
    out: np.ndarray | None = None,
    *,
    blocking: bool = True,
) -> np.ndarray:
    """Return an array of NumPy's, which is a copy of the stand-in's."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    if out is not None:
        out[...] = a
        return out
    return np.asarray(to_numpy(a), order=order)  # type: ignore[call-overload,no-any-return]


def empty_like(
    prototype: Any,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool | None = None,
    shape: Any = None,
) -> ndarray:
    """Return a new array like another, whose elements count as unwritten."""
    like = np.empty_like(to_numpy(prototype), dtype, order, shape=to_numpy(shape))  # type: ignore[call-overload]
    axes = sorted(range(like.ndim), key=lambda axis: -like.strides[axis])
    made = make_empty(tuple(like.shape[axis] for axis in axes), like.dtype)
    result: ndarray = made.transpose([axes.index(axis) for axis in range(like.ndim)])
    return result


def get_array_module(*args: object) -> ModuleType:
    """Return cupy if an argument is an array or a sparse matrix of it, else numpy."""
    is_cupys = any(isinstance(value, ndarray) or is_sparse(value) for value in args)
    return MODULES["cupy"] if is_cupys else np


def from_dlpack(array: Any, device: object = None, copy: bool | None = None) -> ndarray:
    """Return an array that shares memory with one of another library, on the host."""
    given = to_numpy(array)  # NumPy before 2.1 gives its own arrays back as read-only ones
    made: np.ndarray = given.view() if isinstance(given, np.ndarray) else np.from_dlpack(given)
    return np.ndarray.view(made.copy() if copy else made, ndarray)


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Return a function as it is: its steps run one by one."""
    if len(args) == 1 and callable(args[0]):
        return args[0]
    return lambda function: function


def memoize(for_each_device: bool = False) -> Callable[[Any], Any]:
    """Return a decorator for functions that compute once for equal arguments."""

    def decorate(function: Any) -> Any:
        kept = lru_cache(maxsize=_MOST_KEPT)(lambda _, *args, **kwargs: function(*args, **kwargs))
        _memoized.append(kept.cache_clear)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
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
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        if any(option is not None for option in (otypes, excluded, signature)):
            message = "cupy.vectorize supports neither otypes nor excluded nor signature"
            raise NotImplementedError(message)
        self.pyfunc = pyfunc
        self.__doc__ = doc or pyfunc.__doc__

    def __call__(self, *args: Any) -> Any:
        """Compute."""
        for value in args:
            require_device("cupy.vectorize", value)
        arrays = np.broadcast_arrays(*to_numpy(args))
        results = [self.pyfunc(*each) for each in zip(*(a.flat for a in arrays), strict=True)]
        shape = arrays[0].shape
        if results and isinstance(results[0], tuple):
            return tuple(_combine_results(part, shape) for part in zip(*results, strict=True))
        return _combine_results(results, shape)


def _combine_results(results: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return results as an array; TypeError unless all but Python's numbers have one type."""
    dtypes = {result.dtype for result in results if isinstance(result, np.generic)}
    if len(dtypes) > 1:
        message = f"cupy.vectorize: results must be of one type; got {', '.join(map(str, dtypes))}"
        raise TypeError(message)
    return to_cupy(np.array(results, *dtypes).reshape(shape))


class _Archive(AbstractContextManager["_Archive"]):
    """Arrays of a file that ``savez`` has written."""

    def __init__(self, archive: Any) -> None:
        self.npz_file, self.files, self.close = archive, archive.files, archive.close

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> Any:
        return to_cupy(self.npz_file[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool | None = None) -> Any:
    """Return the array of a file, or an archive of arrays."""
    loaded = np.load(file, mmap_mode, allow_pickle=bool(allow_pickle))
    return array(loaded) if isinstance(loaded, np.ndarray) else _Archive(loaded)


def describe(*, full: bool = False) -> str:
    """Return a description of the stand-in."""
    del full
    arch = Device(0).compute_capability
    return f"cudakern's stand-in for CuPy, NumPy {np.__version__}, PTX for {arch}"


def show_config(*, _full: bool = False) -> None:
    """Print a description of the stand-in."""
    print(describe())  # noqa: T201


def _make_pinned(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return a function that makes an array of NumPy's like another one."""
    return lambda a, dtype=None, order="K", subok=None, shape=None: function(
        to_numpy(a), dtype, order, shape=shape
    )


empty_like_pinned = _make_pinned(np.empty_like)
zeros_like_pinned = _make_pinned(np.zeros_like)


def _call_method(name: str) -> Callable[..., None]:
    """Return a function that calls a method of an array with indices and values."""
    return lambda a, slices, value: getattr(a, name)(slices, value)


scatter_add = _call_method("scatter_add")
scatter_max = _call_method("scatter_max")
scatter_min = _call_method("scatter_min")


def rsqrt(x: Any, out: Any = None) -> Any:
    """Return one over the square root."""
    require_device("cupyx.rsqrt", x)
    result = compute(lambda y: 1 / np.sqrt(y), (x,), {})
    if out is None:
        return result
    out[...] = result
    return out


def wrap_assertion(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an assertion of NumPy's that also takes the stand-in's arrays."""

    @wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, list | tuple) and any(isinstance(x, ndarray) for x in value):
                message = f"cupy.testing.{function.__name__}: CuPy takes no lists of its arrays; "
                message += "use assert_array_list_equal, or cupy.stack"
                raise TypeError(message)
        return function(*to_numpy(args), **to_numpy(kwargs))

    return compare
