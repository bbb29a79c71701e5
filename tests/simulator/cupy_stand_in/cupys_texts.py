"""Kernels that a real CuPy builds around users' texts, run in the simulator as an oracle.

CuPy builds them without a GPU. They get arrays as CuPy passes them: in structures of pointer, sizes
and strides.
"""

from __future__ import annotations

import numpy as np
from cupy import ndarray
from cupy._core._carray import Indexer
from cupy._core._kernel import (
    ParameterInfo,
    _ArgInfo,
    _decide_params_type,
    _get_elementwise_kernel_code,
)
from cupy._core._reduction import _ReductionKernel_get_cached_function_code
from cupy._core._scalar import CScalar

import cudakern as ck

#: The headers that CuPy includes before every text.
_HEADERS = "".join(
    f"#include <cupy/{name}>\n"
    for name in ("complex.cuh", "carray.cuh", "float16.cuh", "atomics.cuh", "math_constants.h")
)
_ARRAY, _INDEXER, _SCALAR = 1, 2, 3  # kinds of arguments
_BLOCK = 128


def _record(*words):
    return np.array([([*words],)], [("words", np.int64, (len(words),))])


def _array(array):
    address = array.__array_interface__["data"][0]
    return _record(address, array.size, *array.shape, *array.strides)


def _indexer(shape):
    return _record(int(np.prod(shape)), *shape, *[0] * len(shape))


def _infos(arrays, shapes):
    infos = []
    for array in arrays:
        facts = array.dtype.type, array.ndim, array.flags.c_contiguous, False
        infos.append(_ArgInfo(_ARRAY, ndarray, *facts))
    always = True, False  # contiguous, with indices of 64 bits
    infos += [_ArgInfo(_INDEXER, Indexer, None, len(shape), *always) for shape in shapes]
    return infos


def _run(text, name, options, blocks, threads, arguments):
    kernel = ck.simulator.RawKernel(_HEADERS + text, name, options)
    kernel((blocks,), (threads,), arguments)


def elementwise(kernel, shape, inputs, outputs):
    """Run the text that CuPy makes of an elementwise kernel, on arrays, for a shape of the loop."""
    types = [[a.dtype.type for a in arrays] for arrays in (inputs, outputs)]
    decided = kernel._decide_params_type(*map(tuple, types))[2]  # noqa: SLF001
    arrays = [
        array if parameter.raw else np.broadcast_to(array, shape)
        for parameter, array in zip(kernel.params, [*inputs, *outputs], strict=False)
    ]
    parts = {k: v for k, v in kernel.kwargs.items() if k != "options"}
    text = _get_elementwise_kernel_code(
        tuple(_infos(arrays, [shape])),
        decided,
        kernel.params,
        kernel.operation,
        kernel.name,
        kernel.preamble,
        **parts,
    )
    blocks = max(1, -(-int(np.prod(shape)) // _BLOCK))
    arguments = (*map(_array, arrays), _indexer(shape))
    _run(text, kernel.name, kernel.kwargs.get("options", ()), blocks, _BLOCK, arguments)


def reduction(kernel, inputs, outputs, axes):
    """Run the text that CuPy makes of a reduction kernel, on arrays, along the first axes."""
    types = [tuple(a.dtype.type for a in arrays) for arrays in (inputs, outputs)]
    decided = _decide_params_type(kernel.in_params, kernel.out_params, *types)[2]
    given = zip(kernel.in_params, inputs, strict=True)
    shape = np.broadcast_shapes(*(array.shape for p, array in given if not p.raw))
    given = zip(kernel.in_params, inputs, strict=True)
    arrays = [array if p.raw else np.broadcast_to(array, shape) for p, array in given]
    arrays += outputs
    shapes = [shape, shape[axes:]]
    parameters = (*kernel.in_params, *kernel.out_params)
    indexers = "CIndexer _in_ind", "CIndexer _out_ind"
    parameters += tuple(ParameterInfo(text, is_const=False) for text in indexers)
    parameters += (ParameterInfo("int32 _block_stride", is_const=True),)
    scalar = _ArgInfo(_SCALAR, CScalar, np.int32, 0, *[True] * 2)
    text = _ReductionKernel_get_cached_function_code(
        kernel.nin,
        kernel.nout,
        parameters,
        (*_infos(arrays, shapes), scalar),
        decided,
        kernel.name,
        _BLOCK,
        kernel.reduce_type,
        kernel.identity,
        kernel.map_expr,
        kernel.reduce_expr,
        kernel.post_map_expr,
        kernel.preamble,
        kernel.options,
    )
    arguments = (*map(_array, arrays), *map(_indexer, shapes), np.int32(1))
    text = f"typedef int IndexT;  // as CuPy says of arrays of less than 2 GiB\n{text}"
    _run(text, kernel.name, kernel.options, int(np.prod(shape[axes:])), _BLOCK, arguments)
