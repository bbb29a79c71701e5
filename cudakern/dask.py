"""The functions of cudakern over dask arrays, lazily: same names, arguments and results.

An operand may be a dask array, chunked in any way: of arrays of NumPy, which the simulator runs on,
or of CuPy. ``out`` must be None, since results are lazy.

Nothing is computed while a graph is built, but all that arguments and shapes decide is checked
then, and the same errors are raised; also ArgumentError for an operand whose chunks have unknown
sizes. Equal calls have equal keys. The graphs work on every scheduler; for one worker per GPU, as
dask-cuda documents it::

    from dask.distributed import Client
    from dask_cuda import LocalCUDACluster

    cluster = LocalCUDACluster()
    client = Client(cluster)

Importing this module needs dask: the extra ``dask``.
"""

from __future__ import annotations

try:
    import dask.array as da
except ImportError as error:
    ABSENT = 'cudakern: dask is not installed; run: pip install "cudakern[dask]"'
    raise ImportError(ABSENT) from error
if getattr(da, "array_expr_enabled", bool)():  # younger than the oldest dask that serves
    PLANNED = "cudakern: dask's array.query-planning must be off, as it is unless set; got True"
    raise ImportError(PLANNED)

from cudakern.operators.gather.dask import gather
from cudakern.operators.gather_nd.dask import gather_nd
from cudakern.operators.nonzero.dask import argwhere, nonzero, nonzero_coordinates
from cudakern.operators.one_hot.dask import one_hot
from cudakern.operators.reduce.dask import reduce

__all__ = ["argwhere", "gather", "gather_nd", "nonzero", "nonzero_coordinates", "one_hot", "reduce"]
