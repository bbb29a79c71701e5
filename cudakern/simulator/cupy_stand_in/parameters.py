"""Parameters of ElementwiseKernel and ReductionKernel: their text, types and arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.arrays import (
    make_empty,
    ndarray,
    require_device,
    require_here,
)
from cudakern.simulator.cupy_stand_in.memory import view_as_numpy
from cudakern.values.dtypes import narrow_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What C++ calls the elements of arrays, with the classes of our headers.
_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``raw T x`` or ``float32 y``."""

    name: str
    placeholder: str  # of its type, or ""
    dtype: np.dtype[Any] | None  # if it has no placeholder
    raw: bool

    @property
    def ctype(self) -> str:
        """The name of its type in the text."""
        return self.placeholder or c_type(self.dtype)


def c_type(dtype: np.dtype[Any] | None) -> str:
    """Return what C++ calls a dtype; TypeError if kernels have no such elements."""
    name = _TYPES.get(str(dtype))
    if name is None:
        message = f"cupy: a kernel's elements must be one of {', '.join(_TYPES)}; got {dtype}"
        raise TypeError(message)
    return name


def parse_parameters(text: str) -> tuple[Parameter, ...]:
    """Return the parameters that a text declares; ValueError or TypeError for a wrong one."""
    return tuple(map(_parse, text.split(","))) if text.strip() else ()


def _parse(declaration: str) -> Parameter:
    words = declaration.split()
    if len(words) < 2:  # noqa: PLR2004  a type and a name
        message = f"cupy: a parameter must be a type and a name, as 'T x'; got {declaration!r}"
        raise ValueError(message)
    *keywords, type_, name = words
    unknown = [word for word in keywords if word != "raw"]
    if unknown:
        message = f"cupy: a parameter must be 'raw T x' or 'T x'; got {declaration!r}"
        raise ValueError(message)
    if name == "i" or not _IDENTIFIER.fullmatch(name) or name.startswith("_"):
        message = f"cupy: a parameter must have a name of its own; got {name!r}"
        raise ValueError(message)
    if len(type_) == 1:
        return Parameter(name, type_, None, bool(keywords))
    dtype = (narrow_floats().get(type_) if type_ == "bfloat16" else None) or np.dtype(type_)
    c_type(dtype)
    return Parameter(name, "", dtype, bool(keywords))


@dataclass(frozen=True)
class Types:
    """The dtypes of parameters, and of their placeholders."""

    inputs: tuple[np.dtype[Any], ...]
    outputs: tuple[np.dtype[Any], ...]
    placeholders: tuple[tuple[str, np.dtype[Any]], ...]


def decide_types(
    kernel: str,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    values: Sequence[Any],
    given: Sequence[np.ndarray],
) -> Types:
    """Return the types of parameters, from those of outputs that are given, then from inputs.

    A scalar takes the type of its parameter.
    """
    known: dict[str, np.dtype[Any]] = {}
    pairs = [*zip(outputs, given, strict=False), *zip(inputs, values, strict=True)]
    for parameter, value in pairs:
        if not isinstance(value, np.ndarray):
            continue
        dtype = value.dtype
        wanted = parameter.dtype or known.setdefault(parameter.placeholder, dtype)
        if wanted != dtype:
            message = f"{kernel}: {parameter.name} must be an array of {wanted}; got {dtype}"
            if parameter.placeholder:
                message += f": all that is {parameter.placeholder} has one type"
            raise TypeError(message)
    for parameter in (*inputs, *outputs):
        if parameter.placeholder and parameter.placeholder not in known:
            message = f"{kernel}: the type {parameter.placeholder} of {parameter.name} must follow "
            raise TypeError(message + "from an array that is given; give the output")
    types = [p.dtype or known[p.placeholder] for p in (*inputs, *outputs)]
    return Types(tuple(types[: len(inputs)]), tuple(types[len(inputs) :]), tuple(known.items()))


def as_arguments(kernel: str, values: Sequence[Any]) -> list[Any]:
    """Return arguments as plain arrays, and scalars; TypeError for what is neither."""
    result: list[Any] = []
    for value in values:
        require_device(kernel, value)
        require_here(value)
        if isinstance(value, ndarray):
            result.append(view_as_numpy(value))
        elif isinstance(value, bool | int | float | complex | np.generic):
            result.append(value)
        elif isinstance(value, np.ndarray):  # of no dimensions
            result.append(value[()])
        else:
            message = f"{kernel}: arguments must be cupy.ndarray or scalars; "
            raise TypeError(message + f"got {type(value).__name__}")
    return result


def make_outputs(types: Sequence[np.dtype[Any]], shape: tuple[int, ...]) -> list[np.ndarray]:
    """Return new arrays for outputs, whose elements count as unwritten."""
    return [view_as_numpy(make_empty(shape, dtype)) for dtype in types]


def broadcast_shape(
    kernel: str, parameters: Sequence[Parameter], values: Sequence[Any]
) -> tuple[int, ...] | None:
    """Return the common shape of the arrays that are not raw; None without such an array."""
    shapes = [
        value.shape
        for parameter, value in zip(parameters, values, strict=False)
        if isinstance(value, np.ndarray) and not parameter.raw
    ]
    if not shapes:
        return None
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        message = f"{kernel}: arrays must have shapes that broadcast; got {listed}"
        raise ValueError(message) from None
