"""ElementwiseKernel: a text that a loop runs for each element, as CuPy documents it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cudakern.simulator.cupy_stand_in.arrays import to_cupy
from cudakern.simulator.cupy_stand_in.kernel_text import (
    Operands,
    TextKernel,
    UserText,
    collapse_dimensions,
)
from cudakern.simulator.cupy_stand_in.parameters import (
    Types,
    broadcast_shape,
    decide_types,
    make_outputs,
)
from cudakern.simulator.cupy_stand_in.raw import as_options

_BLOCK = 128
_KEYWORDS = ("options", "loop_prep", "after_loop")


class ElementwiseKernel(TextKernel):
    """A kernel that a text for one element makes, which the simulator runs.

    Parameters
    ----------
    in_params, out_params, operation, name, reduce_dims, preamble, no_return, return_tuple, **kwargs
        As in CuPy; ``options``, ``loop_prep`` and ``after_loop`` besides.
    """

    _kind = "cupy.ElementwiseKernel"

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        **kwargs: Any,
    ) -> None:
        for keyword in kwargs:
            if keyword not in _KEYWORDS:
                message = f"cupy.ElementwiseKernel has no {keyword}; it has {', '.join(_KEYWORDS)}"
                raise TypeError(message)
        options = as_options("ElementwiseKernel", kwargs.get("options"))
        super().__init__(in_params, out_params, name, preamble, options)
        self.operation, self.kwargs = operation, kwargs
        self.reduce_dims, self.no_return, self.return_tuple = reduce_dims, no_return, return_tuple

    def __call__(
        self, *args: Any, size: int | None = None, stream: object = None, block_size: int = _BLOCK
    ) -> Any:
        """Run the kernel; return its outputs. All is as in CuPy; a stream makes no difference."""
        inputs, given = self._split(args)
        types = decide_types(self.name, self.in_params, self.out_params, inputs, given)
        shape = self._find_shape([*inputs, *given], size)
        for parameter, array in zip(self.out_params, given, strict=False):
            if not parameter.raw:
                self._require_shape(parameter, array, shape)
        outputs = given or make_outputs(types.outputs, shape)
        if prod(shape):
            self._launch(inputs, outputs, types, shape, block_size)
        results = args[self.nin :] if given else tuple(map(to_cupy, outputs))
        if self.no_return:
            return None
        return results[0] if len(results) == 1 and not self.return_tuple else tuple(results)

    def _find_shape(self, values: list[Any], size: int | None) -> tuple[int, ...]:
        """Return the shape of the loop; ValueError if it is unknown, or given twice."""
        shape = broadcast_shape(self.name, self.params, values)
        if size is not None and shape is not None:
            message = f"{self.name}: size must be given only if all arrays are raw"
            raise ValueError(message)
        if size is not None:
            return (int(size),)
        if shape is None:
            message = f"{self.name}: size must be given if no array is, or all are raw"
            raise ValueError(message)
        return shape

    def _launch(
        self,
        inputs: list[Any],
        outputs: list[np.ndarray],
        types: Types,
        shape: tuple[int, ...],
        block_size: int,
    ) -> None:
        values = [*inputs, *outputs]
        dtypes = (*types.inputs, *types.outputs)
        looped = {
            k: np.broadcast_to(value, shape).strides
            for k, (parameter, value) in enumerate(zip(self.params, values, strict=True))
            if isinstance(value, np.ndarray) and not parameter.raw
        }
        loop, strides = shape, [*looped.values()]
        if self.reduce_dims:
            loop, strides = collapse_dimensions(shape, strides)
        layouts = dict(zip(looped, ((loop, s) for s in strides), strict=True))
        operands = Operands()
        counting = operands.indexer("_ind", loop)
        for k, (parameter, value) in enumerate(zip(self.params, values, strict=True)):
            is_output = k >= self.nin
            operands.add(parameter, value, dtypes[k], "_ind", layouts.get(k), is_output=is_output)
        start = "ptrdiff_t(blockIdx.x) * blockDim.x + threadIdx.x"
        step = "ptrdiff_t(gridDim.x) * blockDim.x"
        body: list[str | UserText] = [
            counting,
            UserText(str(self.kwargs.get("loop_prep", ""))),
            ";",
            f"for (ptrdiff_t i = {start}; i < _ind.size(); i += {step}) {{",
            "_ind.set(i);",
            *operands.inputs,
            *operands.outputs,
            UserText(self.operation),
            ";",
            "}",
            UserText(str(self.kwargs.get("after_loop", ""))),
            ";",
        ]
        texts = [*map(str, (self.operation, *self.kwargs.values()))]
        self._run(operands, types, texts, body, -(-prod(shape) // block_size), block_size)
