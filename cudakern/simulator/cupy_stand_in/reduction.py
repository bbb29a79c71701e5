"""ReductionKernel: texts that map, reduce and map again, as CuPy documents it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cudakern.simulator.cupy_stand_in.arrays import to_cupy
from cudakern.simulator.cupy_stand_in.kernel_text import Operands, TextKernel, UserText
from cudakern.simulator.cupy_stand_in.parameters import (
    Types,
    as_arguments,
    broadcast_shape,
    decide_types,
    make_outputs,
)
from cudakern.simulator.cupy_stand_in.raw import as_options

#: Threads of a block. Those of a power of two of them work on one output.
_BLOCK = 128


class ReductionKernel(TextKernel):
    """A kernel that texts for elements make, which the simulator runs.

    Parameters
    ----------
    in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, reduce_type
        As in CuPy.
    reduce_dims, preamble, options
        As in CuPy; ``reduce_dims`` makes no difference.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.in_place_of_cupy():
    ...     import cupy as cp
    >>> l2norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    >>> l2norm(cp.asarray([[3.0, 4.0], [5.0, 12.0]]), axis=1)
    array([ 5., 13.])
    """

    _kind = "cupy.ReductionKernel"

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        self.options = as_options("ReductionKernel", options)
        super().__init__(in_params, out_params, name, preamble, self.options)
        if not self.out_params and reduce_type is None:
            message = f"{name}: must have an output, whose type is the one that is reduced"
            raise ValueError(message)
        self.reduce_expr, self.map_expr, self.post_map_expr = reduce_expr, map_expr, post_map_expr
        self.identity, self.reduce_dims = "" if identity is None else str(identity), reduce_dims
        self.reduce_type = reduce_type or self.out_params[0].ctype

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        stream: object = None,
    ) -> Any:
        """Run the kernel; return its first output, as CuPy does: others must be given."""
        inputs, given = self._split(args)
        returned: tuple[Any, ...] = args[self.nin :]
        if out is not None:
            if given or self.nout != 1:
                message = f"{self.name}: out must be given only if no output is an argument"
                raise ValueError(message)
            given, returned = as_arguments(self.name, [out]), (out,)
        types = decide_types(self.name, self.in_params, self.out_params, inputs, given)
        shape = broadcast_shape(self.name, self.in_params, inputs)
        if shape is None:
            message = f"{self.name}: must have an input that is an array and not raw"
            raise ValueError(message)
        axis = tuple(range(len(shape))) if axis is None else axis
        axes = tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, len(shape))))
        self._check_raw(inputs, axes)
        kept = tuple(n for k, n in enumerate(shape) if k not in axes)
        result = tuple(1 if k in axes else n for k, n in enumerate(shape)) if keepdims else kept
        if 0 in shape and 0 not in result and not self.identity:
            message = f"{self.name}: an empty array cannot be reduced without an identity"
            raise ValueError(message)
        for parameter, array in zip(self.out_params, given, strict=False):
            self._require_shape(parameter, array, result)
        outputs = given or make_outputs(types.outputs, result)
        if prod(result):
            flat = [array.reshape(kept) for array in outputs]  # a view: axes of size 1 go
            self._launch(inputs, flat, types, shape, axes)
        return returned[0] if returned else to_cupy(outputs[0])

    def _check_raw(self, inputs: list[Any], axes: tuple[int, ...]) -> None:
        """Raise NotImplementedError where CuPy documents that raw inputs have no meaning."""
        raws = [p for p, v in zip(self.in_params, inputs, strict=True) if p.raw and np.ndim(v)]
        if raws and axes != tuple(range(len(axes))):
            message = f"{self.name}: with raw inputs, axis must be the first axes; got {axes}"
            raise NotImplementedError(message)

    def _launch(
        self,
        inputs: list[Any],
        outputs: list[np.ndarray],
        types: Types,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
    ) -> None:
        order = (*axes, *(k for k in range(len(shape)) if k not in axes))
        loop = tuple(shape[k] for k in order)
        reduced = prod(loop[: len(axes)])
        width = min(_BLOCK, 1 << max(0, reduced - 1).bit_length())
        operands = Operands()
        counting = [
            operands.indexer("_in_ind", loop),
            operands.indexer("_out_ind", loop[len(axes) :]),
            f"const ptrdiff_t _reduced = *{operands.put(reduced)};",
            f"const ptrdiff_t _width = *{operands.put(width)};",
        ]
        for parameter, value, dtype in zip(self.in_params, inputs, types.inputs, strict=True):
            layout = None
            if isinstance(value, np.ndarray) and not parameter.raw:
                strides = np.broadcast_to(value, shape).strides
                layout = loop, tuple(strides[k] for k in order)
            operands.add(parameter, value, dtype, "_in_ind", layout, is_output=False)
        for parameter, value, dtype in zip(self.out_params, outputs, types.outputs, strict=True):
            operands.add(parameter, value, dtype, "_out_ind", is_output=True)
        blocks = -(-prod(loop[len(axes) :]) // (_BLOCK // width))
        texts = self.map_expr, self.reduce_expr, self.post_map_expr, self.reduce_type
        self._run(operands, types, texts, [*counting, *self._body(operands)], blocks, _BLOCK)

    def _body(self, operands: Operands) -> list[str | UserText]:
        """Return the body of a kernel: rows of threads, one for each output, that meet in trees."""
        return [
            f"typedef {self.reduce_type} _type_reduce;",
            f"__shared__ __align__(16) char _memory[{_BLOCK} * sizeof(_type_reduce)];",
            "_type_reduce* const _partial = reinterpret_cast<_type_reduce*>(_memory);",
            "const auto _reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {",
            "return (",
            UserText(self.reduce_expr),
            ");",
            "};",
            "const ptrdiff_t _lane = threadIdx.x % _width, _size = _out_ind.size();",
            "const ptrdiff_t _i = (ptrdiff_t(blockIdx.x) * blockDim.x + threadIdx.x) / _width;",
            f"_type_reduce _s = _type_reduce({self.identity});",
            "for (ptrdiff_t _J = _lane; _i < _size && _J < _reduced; _J += _width) {",
            "const ptrdiff_t _j = _i + _J * _size;",
            "_in_ind.set(_j);",
            *operands.inputs,
            "const _type_reduce _mapped = static_cast<_type_reduce>(",
            UserText(self.map_expr),
            ");",
            "_s = _reduce(_s, _mapped);",
            "}",
            "_partial[threadIdx.x] = _s;",
            "for (ptrdiff_t _half = _width / 2; _half > 0; _half /= 2) {",
            "__syncthreads();",
            "if (_lane < _half) {",
            "_type_reduce* const _own = _partial + threadIdx.x;",
            "*_own = _reduce(*_own, _own[_half]);",
            "}",
            "}",
            "if (_lane == 0 && _i < _size) {",
            "_out_ind.set(_i);",
            *operands.outputs,
            "_type_reduce a = _partial[threadIdx.x];",
            "(",
            UserText(self.post_map_expr),
            ");",
            "}",
        ]
