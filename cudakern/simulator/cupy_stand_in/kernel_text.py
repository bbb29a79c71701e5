"""The CUDA C++ around the text of an ElementwiseKernel or a ReductionKernel.

Pointers are parameters of the kernel, under the names that the user gave their arrays, so that
findings call them so. Sizes and strides are one structure, by value. Inside of a block these names
become elements or arrays. Reports count the lines of the user's texts alone, one text after the
other; those around them are of a header.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.parameters import as_arguments, c_type, parse_parameters
from cudakern.simulator.launching.raw import RawKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.cupy_stand_in.parameters import Parameter, Types

#: Headers of the stand-in.
INCLUDE = Path(__file__).resolve().parent / "include"
#: Texts that a kernel keeps compiled at most; then the oldest goes.
_MOST_KEPT = 64


@dataclass(frozen=True)
class UserText:
    """A part of a kernel's text that the user wrote."""

    text: str


@dataclass
class Operands:
    """The arrays and scalars of a launch, and how the text declares and names them."""

    sizes: list[int] = field(default_factory=list)  # and strides: the numbers of the structure
    arguments: list[Any] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)  # as parameters of the kernel
    pointers: list[str] = field(default_factory=list)  # their second names
    arrays: list[str] = field(default_factory=list)  # declarations of arrays, raw or not
    inputs: list[str] = field(default_factory=list)  # declarations of elements
    outputs: list[str] = field(default_factory=list)

    def put(self, *sizes: int) -> str:
        """Add numbers to the structure; return the text of the pointer to the first."""
        self.sizes += sizes
        return f"(_sizes.words + {len(self.sizes) - len(sizes)})"

    def indexer(self, name: str, shape: tuple[int, ...]) -> str:
        """Return the declaration of an indexer, which counts through a shape."""
        shape = shape or (1,)
        return f"CIndexer<{len(shape)}> {name}{self.put(*shape)};"

    def add(
        self,
        parameter: Parameter,
        value: Any,
        dtype: np.dtype[Any],
        index: str,
        layout: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
        *,
        is_output: bool,
    ) -> None:
        """Add one, whose element is at the index so called.

        ``layout`` are the sizes and strides that the kernel sees, an array's own by default.
        """
        name, type_ = parameter.name, parameter.ctype
        if not isinstance(value, np.ndarray):
            self.arguments.append(np.asarray(value).astype(dtype)[()])
            self.declared.append(f"const {type_} {name}")
            return
        const = "" if is_output else "const "
        self.arguments.append(value)
        self.declared.append(f"{const}{type_}* {name}")
        self.pointers.append(f"{const}{type_}* const _{name} = {name};")
        shape, strides = layout or (value.shape, value.strides)
        shape, strides = (shape, strides) if shape else ((1,), (value.itemsize,))
        contiguous = str(parameter.raw and value.flags.c_contiguous).lower()
        sizes = f"{self.put(*shape)}, {self.put(*strides)}"
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
    axes: list[int] = []  # the last one of each merged dimension, whose strides it has
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(own[axes[-1]] == own[axis] * size for own in strides):
            sizes[-1], axes[-1] = sizes[-1] * size, axis
        else:
            sizes.append(size)
            axes.append(axis)
    return tuple(sizes), [tuple(own[axis] for axis in axes) for own in strides]


class TextKernel:
    """What an ElementwiseKernel and a ReductionKernel have in common: parameters, kept kernels."""

    _kind: str  # what reports call the text around the user's

    def __init__(
        self, in_params: str, out_params: str, name: str, preamble: str, options: tuple[str, ...]
    ) -> None:
        self.in_params, self.out_params = map(parse_parameters, (in_params, out_params))
        self.params = (*self.in_params, *self.out_params)
        names = [parameter.name for parameter in self.params]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            message = f"cupy: parameters must have names of their own; {twice!r} is there twice"
            raise ValueError(message)
        self.nin, self.nout, self.nargs = map(len, (self.in_params, self.out_params, self.params))
        self.name, self.preamble, self._options = name, preamble, options
        self._kept: dict[str, RawKernel] = {}  # by their whole text

    def __getstate__(self) -> dict[str, Any]:
        """Return what makes this again, without compiled kernels."""
        return self.__dict__ | {"_kept": {}}

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
        if array.shape != shape:
            message = f"{self.name}: {parameter.name} must have shape {shape}; got {array.shape}"
            raise ValueError(message)

    def _run(
        self,
        operands: Operands,
        types: Types,
        texts: Sequence[str],
        body: Sequence[str | UserText],
        blocks: int,
        threads: int,
    ) -> None:
        """Launch the kernel whose function has a body.

        ``texts`` are the user's besides the preamble; all of them decide which headers there are.
        """
        names = [(name, c_type(dtype)) for name, dtype in types.placeholders]
        seen = " ".join((self.preamble, *texts, *operands.declared, *(type_ for _, type_ in names)))
        headers = ["cudakern_stand_in.cuh"]
        headers += ["cudakern_narrow_floats.cuh"] if "float16" in seen else []  # bfloat16, too
        headers += ["cudakern_complex.cuh"] if "complex" in seen else []
        lines = [
            *(f"#include <{header}>" for header in headers),
            *(f"typedef {type_} {name};" for name, type_ in names),
            f"struct _Sizes {{ ptrdiff_t words[{len(operands.sizes)}]; }};",
            UserText(self.preamble),
            f'extern "C" __global__ void {self.name}(',
            f"    {', '.join((*operands.declared, '_Sizes _sizes'))}) {{",
            *operands.pointers,
            "{",
            *operands.arrays,
            *body,
            "}",
            "}",
        ]
        sizes = np.array([(operands.sizes,)], [("words", np.int64, (len(operands.sizes),))])
        kernel = self._find_kernel(self._join(lines))
        kernel((blocks,), (threads,), (*operands.arguments, sizes))

    def _join(self, parts: Sequence[str | UserText]) -> str:
        """Return a kernel's text, whose directives say where each line is counted."""
        own = 1
        lines = [f'#line 2 "{self._kind}"']
        for part in parts:
            if isinstance(part, str):
                lines += part.split("\n")
            elif part.text.strip():
                new = part.text.split("\n")
                lines += [f'#line {own} "{self.name}.cu"', *new]
                lines.append(f'#line {len(lines) + 2} "{self._kind}"')
                own += len(new)
        return "\n".join(lines) + "\n"

    def _find_kernel(self, text: str) -> RawKernel:
        """Return the kernel of a text, which is compiled if it has been called before."""
        kernel = self._kept.get(text)
        if kernel is None:
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            options = (*self._options, f"-I{INCLUDE}")
            kernel = self._kept.setdefault(text, RawKernel(text, self.name, options))
            kernel.takes_strides = True
        return kernel

    @property
    def cached_codes(self) -> list[str]:
        """The texts that the simulator has run."""
        return [*self._kept]

    @property
    def cached_code(self) -> str:
        """The text that the simulator has run; ValueError if there are none or several."""
        texts = self.cached_codes
        if len(texts) != 1:
            requirement = "must have been called with one set of types"
            message = f"{self.name}: {requirement}; has {len(texts)} texts"
            raise ValueError(message)
        return texts[0]
