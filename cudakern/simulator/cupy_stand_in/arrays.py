"""Arrays that are NumPy's and look like CuPy's.

They are a class of their own for three reasons. They have the methods of CuPy's (`get`, `set`,
`data.ptr`). Results that are scalars in NumPy stay arrays. And an array of NumPy's cannot be mixed
with one of CuPy's, as on a GPU. NumPy never computes with this class: it gets plain views, and its
results become this class again.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.devices import (
    CUDARuntimeError,
    Device,
    device_count,
    get_device_id,
)
from cudakern.simulator.cupy_stand_in.memory import (
    MemoryPointer,
    assign_device,
    device_id_of,
    pointer_to,
    view_as_numpy,
)
from cudakern.simulator.cupy_stand_in.names import (
    MODULES,
    NO_LISTS,
    ONLY_IN_NUMPY,
    SHAPED,
    STRICT,
    STRICT_OF_MANY,
)
from cudakern.simulator.launching.launch_parameters import address_of, empty
from cudakern.values.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike

#: Methods whose results become arrays of the stand-in. Others give views, or no arrays.
_COMPUTED = (
    "all any argmax argmin argpartition argsort astype choose clip compress conj conjugate cumprod "
    "cumsum diagonal dot max mean min nonzero partition prod put repeat round searchsorted sort "
    "std sum take trace var"
)
#: Functions that give views or facts of arrays, on whatever device they are.
_ANYWHERE = "as_strided broadcast_arrays broadcast_to diagonal expand_dims moveaxis ndim ravel "
_ANYWHERE += "reshape result_type rollaxis shape size squeeze swapaxes transpose"
#: The `dtype.isbuiltin` of a dtype that another package has added to NumPy's.
_REGISTERED = 2
#: Whether CuPy has kernels for bfloat16: with this NumPy.
_HAS_BFLOAT16 = np.lib.NumpyVersion(np.__version__) >= "2.1.2"
#: Characters of dtypes of which CuPy makes arrays unasked; that of an 8-bit float is an L, too.
_MADE = "?bhilqBHILQefdFD"
_VIEWS = frozenset(_ANYWHERE.split())
#: Methods and attributes of NumPy's arrays that CuPy's do not have.
_NOT_IN_CUPY = ("ctypes", "getfield", "resize", "setfield", "setflags", "to_device")
_INTERFACE = "__cuda_array_interface__"
_NO_INTERFACE = "other libraries would take the address for a GPU's; x.data.ptr is the host's"


def to_numpy(value: Any) -> Any:
    """Return arguments with NumPy's arrays for the stand-in's, on the same memory."""
    if isinstance(value, ndarray):
        return view_as_numpy(value)
    if type(value) in {tuple, list}:
        return type(value)(map(to_numpy, value))
    if type(value) is dict:
        return {key: to_numpy(element) for key, element in value.items()}
    if type(value) is slice:
        return slice(to_numpy(value.start), to_numpy(value.stop), to_numpy(value.step))
    return value


def to_cupy(value: Any) -> Any:
    """Return a result with the stand-in's arrays for NumPy's, on the same memory, and scalars."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        require_dtype(value.dtype)
        if isinstance(value, ndarray):
            return value
        assign_device(value)
        if not value.flags.writeable:
            value = view_as_numpy(value)
            with suppress(ValueError):  # of memory that is read-only itself
                value.flags.writeable = True  # as are all views in CuPy
        return np.ndarray.view(value, ndarray)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(to_cupy, value))
    if type(value) in {tuple, list}:
        return type(value)(map(to_cupy, value))
    return value


def require_dtype(dtype: np.dtype[Any]) -> None:
    """Raise ValueError for a dtype that CuPy's arrays cannot have."""
    if dtype.hasobject or dtype.kind in "SUMm" or dtype.type in {np.longdouble, np.clongdouble}:
        message = f"Unsupported dtype {dtype}"
        raise ValueError(message)


def compute(function: Any, args: Any, kwargs: Any) -> Any:
    """Return what a function of NumPy's gives for plain views, without its warnings, as CuPy.

    An array that it was given and returns, an output above all, is the same object.
    """
    if getattr(function, "__name__", "") not in _VIEWS:
        require_here(args, kwargs)
    passed, keywords = [*map(to_numpy, args)], {key: to_numpy(kwargs[key]) for key in kwargs}
    with np.errstate(all="ignore"):
        result = function(*passed, **keywords)
    if isinstance(result, np.ndarray) and result.base is None:
        require_new(result.dtype)
    pairs = zip((*args, *kwargs.values()), (*passed, *keywords.values()), strict=True)
    return next((given for given, plain in pairs if plain is result), to_cupy(result))


def require_device(owner: str, value: object, error: type[Exception] = TypeError) -> None:
    """Raise an error, as CuPy does, for anything but its own arrays and scalars."""
    is_foreign = isinstance(value, np.ndarray) and not isinstance(value, ndarray)
    if (is_foreign and np.ndim(value)) or isinstance(value, list | tuple):  # type: ignore[arg-type]
        what = "a NumPy array" if is_foreign else f"a {type(value).__name__}"
        message = f"{owner}: CuPy takes its own arrays and scalars; got {what}; use cupy.asarray"
        raise error(message)


def require_new(dtype: np.dtype[Any]) -> None:
    """Raise ValueError for a dtype of which CuPy makes no new array, as of 8-bit floats."""
    if _is_foreign(dtype) and dtype.char not in _MADE:
        message = f"Unsupported dtype {dtype}"
        raise ValueError(message)


def _is_foreign(dtype: np.dtype[Any]) -> bool:
    """Return whether another package has added a dtype, and CuPy has no kernels for it."""
    return dtype.isbuiltin == _REGISTERED and (dtype.name != "bfloat16" or not _HAS_BFLOAT16)


def require_here(*values: Any) -> None:
    """Raise an error for arrays that no kernel of CuPy's takes on the current device."""
    for value in values:
        if isinstance(value, ndarray):
            require_current(value)
            if _is_foreign(value.dtype):
                message = f"Unsupported dtype {value.dtype}"
                raise ValueError(message)
            layout = Layout(value.shape, value.strides, value.itemsize, address_of(value) & 15)
            if value.dtype.isbuiltin and layout.alignment < value.itemsize:
                message = "cudaErrorMisalignedAddress: a kernel of CuPy's needs addresses that are "
                message += f"multiples of {value.itemsize} for {value.dtype}"
                raise CUDARuntimeError(message)
        elif isinstance(value, list | tuple):
            require_here(*value)
        elif isinstance(value, dict):
            require_here(*value.values())


def require_current(array: ndarray) -> None:
    """Raise ValueError for an array that is not on the current device."""
    if device_count() > 1 and (there := device_id_of(array)) != get_device_id():
        message = f"an array on device {there} must not be used on the current device, "
        message += f"{get_device_id()}: peer access is unavailable; use cupy.asarray"
        raise ValueError(message)


def require_integers(name: str, shape: object) -> None:
    """Raise TypeError if a shape is, or contains, an array of the stand-in."""
    sizes = shape if isinstance(shape, list | tuple) else [shape]
    if any(isinstance(size, ndarray) for size in sizes):
        message = f"cupy.{name}: CuPy takes integers for a shape; got a cupy.ndarray; use int(n)"
        raise TypeError(message)


def require_as_cupy(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise TypeError for arguments that NumPy's function takes and CuPy's refuses."""
    strict = args[: STRICT.get(name, 0)]
    if args and name in STRICT_OF_MANY:
        strict = args[0]
    elif args and name in NO_LISTS and isinstance(args[0], list | tuple):
        strict = args[:1]
    for value in strict:
        require_device(f"cupy.{name}", value)
    if args and name in SHAPED:
        require_integers(name, args[0])
    for keyword in kwargs:
        if name in ONLY_IN_NUMPY.get(keyword, ()):
            message = f"CuPy has no {keyword} of cupy.{name}, nor has in_place_of_cupy"
            raise TypeError(message)


class ndarray(np.ndarray):  # noqa: N801  CuPy's name
    """An array of the stand-in: with NumPy's memory and results, and CuPy's methods.

    Parameters
    ----------
    shape, dtype, memptr, strides, order
        As in CuPy. New memory, without ``memptr``, counts as unwritten.
    """

    __module__ = "cupy"  # as programs look whose an array is

    def __new__(
        cls,
        shape: int | tuple[int, ...],
        dtype: DTypeLike = float,
        memptr: MemoryPointer | None = None,
        strides: tuple[int, ...] | None = None,
        order: str = "C",
    ) -> Any:
        """Return a new array, or a view of memory."""
        if memptr is None:
            return make_empty(shape, dtype, order).view(cls)
        if strides is None and 0 in np.atleast_1d(to_numpy(shape)):
            strides = (0,) * np.size(to_numpy(shape))  # as in CuPy
        return memptr.array(to_numpy(shape), dtype, strides, order).view(cls)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute as NumPy does; TypeError for operands that CuPy refuses."""
        outputs = kwargs.get("out", ())
        if method != "at":
            for value in (*inputs, *outputs):
                require_device(f"cupy.{ufunc.__name__}", value)
        result = compute(getattr(ufunc, method), inputs, kwargs)
        if not outputs:
            return result
        results = result if isinstance(result, tuple) else (result,)
        given = tuple(r if o is None else o for r, o in zip(results, outputs, strict=True))
        return given if isinstance(result, tuple) else given[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call CuPy's function of that name; TypeError if only NumPy has one, as in CuPy."""
        module = MODULES.get(f"cupy{func.__module__.removeprefix('numpy')}")
        function = getattr(module, func.__name__, None)
        return NotImplemented if function is None else function(*args, **kwargs)

    def __array_finalize__(self, obj: np.ndarray | None) -> None:
        """Assign a device to memory that NumPy has made for an array of this class."""
        if self.flags.owndata:
            assign_device(self)

    def __getitem__(self, key: Any) -> Any:
        """Return elements; a single one is a view of no dimensions instead of a scalar."""
        require_here(key)
        key, elements = to_numpy(key), view_as_numpy(self)
        value = elements[key]
        if isinstance(value, np.generic):
            value = elements[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        if value.size and not np.may_share_memory(value, elements):
            require_here(self)
        return to_cupy(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set elements to those of another array of CuPy's, or to a scalar."""
        require_device("cupy.ndarray.__setitem__", value, ValueError)
        elements = view_as_numpy(self)
        if key is ... and _is_memory_of(elements, value):
            require_current(self)
            require_current(value)
        else:
            require_here(self, key, value)
        elements[to_numpy(key)] = to_numpy(value)

    def fill(self, value: Any) -> None:
        """Set all elements to a scalar; -0.0 sets memory without gaps to +0.0, as in CuPy."""
        element = np.asarray(to_numpy(value), self.dtype)
        if element.ndim:
            message = f"cupy.ndarray.fill takes a scalar; got an array of shape {element.shape}"
            raise ValueError(message)
        if self.dtype.isbuiltin and self.flags.c_contiguous and element == 0:
            require_current(self)
            element = np.zeros_like(element)
        else:
            require_here(self, value)
        view_as_numpy(self).fill(element)

    def get(
        self,
        stream: object = None,
        order: str = "C",
        out: np.ndarray | None = None,
        blocking: bool = True,
    ) -> np.ndarray:
        """Return a copy as an array of NumPy's."""
        if out is None:
            return np.array(view_as_numpy(self), order=order)  # type: ignore[call-overload,no-any-return]
        out[...] = view_as_numpy(self)
        return out

    def set(self, arr: np.ndarray, stream: object = None) -> None:
        """Take the elements of an array of NumPy's, of the same dtype and shape."""
        if not isinstance(arr, np.ndarray) or isinstance(arr, ndarray):
            message = f"cupy.ndarray.set takes a numpy.ndarray; got {type(arr).__name__}"
            raise TypeError(message)
        if arr.dtype != self.dtype or arr.shape != self.shape:
            message = f"cupy.ndarray.set takes {self.dtype} of shape {self.shape}; "
            message += f"got {arr.dtype} of shape {arr.shape}"
            raise TypeError(message) if arr.dtype != self.dtype else ValueError(message)
        if not self.flags.forc:
            message = "cupy.ndarray.set: Cannot set to non-contiguous array"
            raise RuntimeError(message)
        view_as_numpy(self)[...] = arr

    @property
    def device(self) -> Device:  # type: ignore[override]
        """The device that the elements are on."""
        return Device(device_id_of(self))

    @property
    def data(self) -> MemoryPointer:  # type: ignore[override]
        """The pointer to the first element."""
        return pointer_to(self)

    @property
    def cstruct(self) -> ndarray:
        """What a kernel gets as a ``CArray`` by value: the array itself."""
        return self

    _c_contiguous = property(attrgetter("flags.c_contiguous"))

    def toDlpack(self) -> Any:  # noqa: N802  CuPy's name
        """Return a capsule that other libraries take as an array of the host."""
        return view_as_numpy(self).__dlpack__()

    def ptp(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the largest less the least element."""
        function: Any = np.ptp  # whose overloads are many
        return to_cupy(function(view_as_numpy(self), axis, to_numpy(out), keepdims))

    def reduced_view(self, dtype: DTypeLike | None = None) -> ndarray:
        """Return a view of one dimension if the elements are in row-major order, else of all."""
        shape = -1 if self.flags.c_contiguous else self.shape
        view: ndarray = to_cupy(view_as_numpy(self).reshape(shape))
        return view

    def __reduce__(self) -> tuple[Any, ...]:
        """Be unpickled without a module called cupy."""
        return to_cupy, (view_as_numpy(self),)

    def __int__(self) -> int:
        return int(_only(self))

    def __float__(self) -> float:
        return float(_only(self))

    def __complex__(self) -> complex:
        return complex(_only(self))

    def __index__(self) -> int:
        message = "cupy.ndarray cannot be interpreted as an integer; use int(x)"
        raise TypeError(message)

    def __repr__(self) -> str:
        return repr(view_as_numpy(self))

    def __str__(self) -> str:
        return str(view_as_numpy(self))


def _wrap_method(name: str) -> Callable[..., Any]:
    """Return a method of NumPy's arrays whose results become the stand-in's."""
    method = getattr(np.ndarray, name)

    @wraps(method, assigned=("__name__",))
    def call(*args: Any, **kwargs: Any) -> Any:
        require_as_cupy(name, args, kwargs)
        return compute(method, args, kwargs)

    call.__doc__ = f"Do what NumPy's ``ndarray.{name}`` does."
    return call


def _scatter_with(ufunc: np.ufunc) -> Callable[..., None]:
    """Return a method that combines elements with values, once for each time they are selected."""

    def scatter(self: ndarray, slices: Any, value: Any) -> None:
        require_here(self, slices, value)
        ufunc.at(view_as_numpy(self), to_numpy(slices), to_numpy(value))

    return scatter


def _is_memory_of(elements: np.ndarray, value: object) -> bool:
    """Return whether CuPy assigns one array to another by a copy of memory instead of a kernel."""
    return (
        isinstance(value, ndarray)
        and elements.flags.c_contiguous
        and (elements.dtype, elements.shape) == (value.dtype, value.shape)
        and elements.strides == value.strides
    )


def _only(array: ndarray) -> Any:
    """Return the number that an array of no dimensions holds; TypeError for another array."""
    if array.ndim:
        message = "CuPy converts arrays of no dimensions alone to Python's numbers; use x.item()"
        raise TypeError(message)
    return array.item()


def _refuse(name: str, instead: str = "CuPy's arrays have none either") -> property:
    def refuse(_: ndarray) -> None:
        raise AttributeError(absent(f"cupy.ndarray.{name}", instead))

    return property(refuse)


setattr(ndarray, _INTERFACE, _refuse(_INTERFACE, _NO_INTERFACE))
for _name in _COMPUTED.split():
    setattr(ndarray, _name, _wrap_method(_name))
for _name in _NOT_IN_CUPY:
    setattr(ndarray, _name, _refuse(_name))
for _name, _ufunc in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
    setattr(ndarray, f"scatter_{_name}", _scatter_with(_ufunc))


def make_empty(shape: Any, dtype: DTypeLike = float, order: str | None = "C") -> ndarray:
    """Return a new array whose elements count as unwritten."""
    if order not in {"C", "F", "c", "f", None}:
        message = f"order must be C or F; got {order!r}"
        raise ValueError(message)
    order = (order or "C").upper()
    require_integers("empty", shape)
    require_new(np.dtype(dtype))
    sizes = tuple(map(int, shape)) if np.ndim(shape) else (int(shape),)
    array = empty(sizes[::-1] if order == "F" else sizes, dtype)
    result: ndarray = to_cupy(array.T if order == "F" else array)
    return result
