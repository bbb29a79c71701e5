"""Short ways to build descriptors of gather_nd, and what they must compute."""

from __future__ import annotations

from itertools import product

import numpy as np

import cudakern as ck
from cudakern import DataType, TensorDesc


def gather_nd(x, indices, out, counts, batch=None, kind="FLOAT32", index_kind="UINT32"):
    """Build a descriptor from three tuples of sizes and the two dimension counts.

    Without a batch dimension count it is the older operator's.
    """
    tensors = (
        TensorDesc(DataType[kind], x),
        TensorDesc(DataType[index_kind], indices),
        TensorDesc(DataType[kind], out),
    )
    if batch is None:
        return ck.GatherNDOperatorDesc(*tensors, *counts)
    return ck.GatherND1OperatorDesc(*tensors, *counts, batch)


def newer(desc, batch=0):
    """Return a descriptor of the older operator as one with batch dimensions."""
    return ck.GatherND1OperatorDesc(
        desc.input_tensor,
        desc.indices_tensor,
        desc.output_tensor,
        desc.input_dimension_count,
        desc.indices_dimension_count,
        batch,
    )


def expected_result(x, indices, sizes, counts, batch=0):
    """Compute the operator coordinate by coordinate, in Python's integers; indices clamp.

    ``sizes`` are the output's; all three tensors have as many dimensions.
    """
    rank, (input_count, index_count) = x.ndim, counts
    first = rank - input_count + batch  # the input's dimension that component 0 selects from
    tuple_size = indices.shape[-1]
    copied = input_count - batch - tuple_size
    result = np.empty(sizes, x.dtype)
    for c in product(*map(range, sizes)):
        o = c[rank - (index_count - 1 + copied) :]
        m, s = o[: index_count - 1], o[index_count - 1 :]
        selected = []
        for k in range(tuple_size):
            extent = x.shape[first + k]
            value = int(indices[(*(0,) * (rank - index_count), *m, k)])
            value += extent if value < 0 else 0
            selected.append(min(max(value, 0), extent - 1))
        result[c] = x[(*(0,) * (rank - input_count), *o[:batch], *selected, *s)]
    return result
