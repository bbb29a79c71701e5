"""The CUDA C++ around the text of an ElementwiseKernel or a ReductionKernel.

Pointers are parameters of the kernel, under the names that the user gave their arrays, so that
findings call them so. Sizes and strides are one structure, by value. Inside of a block these names
become elements or arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.parameters import (
    as_arguments,
    c_type,
    parse_parameters,
    require_distinct_names,
)
from cudakern.simulator.launching.raw import RawKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.cupy_stand_in.parameters import Parameter

_INCLUDE = Path(__file__).resolve().parent / "include"
#: Texts that a kernel keeps compiled at most; then the oldest goes.
_MOST_KEPT = 64

Layout = tuple[tuple[int, ...], tuple[int, ...]]  # sizes, strides in bytes


@dataclass
class Sizes:
    """The numbers of a launch, in one structure."""

    words: list[int] = field(default_factory=list)

    def put(self, *values: int) -> str:
        """Add numbers; return the text of the pointer to the first."""
        self.words += values
        return f"(_sizes.words + {len(self.words) - len(values)})"

    def indexer(self, name: str, shape: tuple[int, ...]) -> str:
        """Return the declaration of an indexer, which counts through a shape."""
        shape = shape or (1,)
        return f"CIndexer<{len(shape)}> {name}{self.put(*shape)};"

    def structure(self) -> np.ndarray:
        """Return them as a record, which goes to the kernel by value."""
        return np.array([(self.words,)], [("words", np.int64, (len(self.words),))])


@dataclass
class Operands:
    """The arrays and scalars of a launch, and how the text declares and names them."""

    sizes: Sizes = field(default_factory=Sizes)
    arguments: list[Any] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)  # as parameters of the kernel
    pointers: list[str] = field(default_factory=list)  # their second names
    arrays: list[str] = field(default_factory=list)  # declarations of arrays, raw or not
    inputs: list[str] = field(default_factory=list)  # declarations of elements
    outputs: list[str] = field(default_factory=list)

    def add(
        self,
        parameter: Parameter,
        value: Any,  # noqa: ANN401  an array or a scalar
        dtype: np.dtype[Any],
        layout: Layout,
        index: str,
        *,
        is_output: bool,
    ) -> None:
        """Add one, which the kernel sees in a layout; its element is at the index so called."""
        name, type_ = parameter.name, parameter.ctype
        if not isinstance(value, np.ndarray):
            self.arguments.append(np.asarray(value).astype(dtype)[()])
            self.declared.append(f"const {type_} {name}")
            return
        const = "" if is_output else "const "
        self.arguments.append(value)
        self.declared.append(f"{const}{type_}* {name}")
        self.pointers.append(f"{const}{type_}* const _{name} = {name};")
        shape, strides = layout if layout[0] else ((1,), (value.itemsize,))
        contiguous = str(parameter.raw and value.flags.c_contiguous).lower()
        sizes = f"{self.sizes.put(*shape)}, {self.sizes.put(*strides)}"
        array = name if parameter.raw else f"_array_{name}"
        array_type = f"{const}CArray<{type_}, {len(shape)}, {contiguous}>"
        self.arrays.append(f"{array_type} {array}(_{name}, {sizes});")
        if not parameter.raw:
            elements = self.outputs if is_output else self.inputs
            elements.append(f"{const}{type_}& {name} = {array}[{index}.get()];")


def collapse_dimensions(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return a shape and arrays' strides, with neighbouring dimensions merged where possible."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(own[-1] == s[axis] * size for own, s in zip(steps, strides, strict=True)):
            sizes[-1] *= size
            for own, s in zip(steps, strides, strict=True):
                own[-1] = s[axis]
        else:
            sizes.append(size)
            for own, s in zip(steps, strides, strict=True):
                own.append(s[axis])
    return tuple(sizes), [tuple(own) for own in steps]


def write_preamble(
    placeholders: Sequence[tuple[str, np.dtype[Any]]], operands: Operands, *texts: str
) -> str:
    """Return the text before the kernel: headers, placeholders, the user's preamble.

    ``texts`` are all of the user's, the preamble first; they decide which headers are included.
    """
    types = [(name, c_type(dtype)) for name, dtype in placeholders]
    seen = " ".join((*texts, *operands.declared, *(type_ for _, type_ in types)))
    headers = ["cudakern_stand_in.cuh"]
    headers += ["cudakern_narrow_floats.cuh"] if "float16" in seen else []  # bfloat16, too
    headers += ["cudakern_complex.cuh"] if "complex" in seen else []
    lines = [f"#include <{header}>" for header in headers]
    lines += [f"typedef {type_} {name};" for name, type_ in types]
    lines.append(f"struct _Sizes {{ ptrdiff_t words[{len(operands.sizes.words)}]; }};")
    return "\n".join((*lines, texts[0]))


class Kernels:
    """The kernels that are made of one user's text, by their whole text."""

    def __init__(self, name: str, options: tuple[str, ...]) -> None:
        self._name, self._options = name, options
        self.kept: dict[str, RawKernel] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made again when unpickled."""
        return Kernels, (self._name, self._options)

    def find(self, text: str) -> RawKernel:
        """Return the kernel of a text, which is compiled if it has been called before."""
        kernel = self.kept.get(text)
        if kernel is None:
            while len(self.kept) >= _MOST_KEPT:
                self.kept.pop(next(iter(self.kept)), None)
            options = (*self._options, f"-I{_INCLUDE}")
            kernel = self.kept.setdefault(text, RawKernel(text, self._name, options))
            kernel.takes_strides = True
        return kernel


class TextKernel:
    """What an ElementwiseKernel and a ReductionKernel have in common: parameters, kept kernels."""

    name: str
    _kernels: Kernels

    def __init__(self, in_params: str, out_params: str) -> None:
        self.in_params, self.out_params = map(parse_parameters, (in_params, out_params))
        self.params = (*self.in_params, *self.out_params)
        require_distinct_names(self.params)
        self.nin, self.nout, self.nargs = map(len, (self.in_params, self.out_params, self.params))

    def _split(self, args: Sequence[Any]) -> tuple[list[Any], list[np.ndarray]]:
        """Return inputs and, if they are given, outputs; TypeError for a wrong number of them."""
        if len(args) not in {self.nin, self.nargs}:
            message = f"{self.name}: must have {self.nin} arguments, or {self.nargs} with outputs; "
            raise TypeError(message + f"got {len(args)}")
        values = as_arguments(self.name, args)
        given = values[self.nin :]
        if not all(isinstance(array, np.ndarray) for array in given):
            message = f"{self.name}: outputs must be cupy.ndarray"
            raise TypeError(message)
        return values[: self.nin], given

    def _require_shape(
        self, parameter: Parameter, array: np.ndarray, shape: tuple[int, ...]
    ) -> None:
        """Raise ValueError for an output of another shape."""
        if array.shape != shape:
            message = f"{self.name}: {parameter.name} must have shape {shape}; got {array.shape}"
            raise ValueError(message)

    @property
    def cached_codes(self) -> list[str]:
        """The texts that the simulator has run."""
        return [*self._kernels.kept]

    @property
    def cached_code(self) -> str:
        """The text that the simulator has run; ValueError if there are none or several."""
        texts = self.cached_codes
        if len(texts) != 1:
            requirement = "must have been called with one set of types"
            message = f"{self.name}: {requirement}; has {len(texts)} texts"
            raise ValueError(message)
        return texts[0]
