"""DirectML operators as CUDA kernels for CuPy arrays, with a simulator for machines without a GPU.

Each name is imported at its first use, for which NumPy is all that must be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern._lazy import attributes

if TYPE_CHECKING:
    from cudakern import simulator
    from cudakern._caches import clear_caches
    from cudakern._dtypes import DataType
    from cudakern.errors import (
        ArgumentError,
        BindingError,
        CacheWarning,
        CudakernError,
        DescriptorError,
        DTypeError,
        EngineUnavailableError,
        IndexRangeError,
        KernelCompileError,
        SimulatorError,
    )
    from cudakern.feature_level import FeatureLevel
    from cudakern.operators.compiled import CompiledOperator, compile_operator
    from cudakern.operators.gather.descriptor import GatherOperatorDesc
    from cudakern.operators.gather.function import gather
    from cudakern.operators.gather_nd.descriptor import GatherND1OperatorDesc, GatherNDOperatorDesc
    from cudakern.operators.gather_nd.function import gather_nd
    from cudakern.operators.nonzero.descriptor import NonzeroCoordinatesOperatorDesc
    from cudakern.operators.nonzero.function import (
        NonzeroCoordinates,
        argwhere,
        nonzero,
        nonzero_coordinates,
    )
    from cudakern.operators.one_hot.descriptor import OneHotOperatorDesc
    from cudakern.operators.one_hot.function import one_hot
    from cudakern.operators.reduce.descriptor import (
        ArgmaxOperatorDesc,
        ArgminOperatorDesc,
        AxisDirection,
        ReduceOperatorDesc,
    )
    from cudakern.operators.reduce.function import reduce
    from cudakern.operators.reduce.types import ReduceFunction
    from cudakern.tensor import TensorDesc, TensorFlags, minimum_tensor_size_in_bytes

__version__ = "0.1.0"

__all__ = [
    "ArgmaxOperatorDesc",
    "ArgminOperatorDesc",
    "ArgumentError",
    "AxisDirection",
    "BindingError",
    "CacheWarning",
    "CompiledOperator",
    "CudakernError",
    "DTypeError",
    "DataType",
    "DescriptorError",
    "EngineUnavailableError",
    "FeatureLevel",
    "GatherND1OperatorDesc",
    "GatherNDOperatorDesc",
    "GatherOperatorDesc",
    "IndexRangeError",
    "KernelCompileError",
    "NonzeroCoordinates",
    "NonzeroCoordinatesOperatorDesc",
    "OneHotOperatorDesc",
    "ReduceFunction",
    "ReduceOperatorDesc",
    "SimulatorError",
    "TensorDesc",
    "TensorFlags",
    "__version__",
    "argwhere",
    "clear_caches",
    "compile_operator",
    "gather",
    "gather_nd",
    "minimum_tensor_size_in_bytes",
    "nonzero",
    "nonzero_coordinates",
    "one_hot",
    "reduce",
    "simulator",
]

#: The module that each public name is in, or that it is.
_HOMES = {
    "ArgmaxOperatorDesc": "operators.reduce.descriptor",
    "ArgminOperatorDesc": "operators.reduce.descriptor",
    "ArgumentError": "errors",
    "AxisDirection": "operators.reduce.descriptor",
    "BindingError": "errors",
    "CacheWarning": "errors",
    "CompiledOperator": "operators.compiled",
    "CudakernError": "errors",
    "DTypeError": "errors",
    "DataType": "_dtypes",
    "DescriptorError": "errors",
    "EngineUnavailableError": "errors",
    "FeatureLevel": "feature_level",
    "GatherND1OperatorDesc": "operators.gather_nd.descriptor",
    "GatherNDOperatorDesc": "operators.gather_nd.descriptor",
    "GatherOperatorDesc": "operators.gather.descriptor",
    "IndexRangeError": "errors",
    "KernelCompileError": "errors",
    "NonzeroCoordinates": "operators.nonzero.function",
    "NonzeroCoordinatesOperatorDesc": "operators.nonzero.descriptor",
    "OneHotOperatorDesc": "operators.one_hot.descriptor",
    "ReduceFunction": "operators.reduce.types",
    "ReduceOperatorDesc": "operators.reduce.descriptor",
    "SimulatorError": "errors",
    "TensorDesc": "tensor",
    "TensorFlags": "tensor",
    "argwhere": "operators.nonzero.function",
    "clear_caches": "_caches",
    "compile_operator": "operators.compiled",
    "gather": "operators.gather.function",
    "gather_nd": "operators.gather_nd.function",
    "minimum_tensor_size_in_bytes": "tensor",
    "nonzero": "operators.nonzero.function",
    "nonzero_coordinates": "operators.nonzero.function",
    "one_hot": "operators.one_hot.function",
    "reduce": "operators.reduce.function",
    "simulator": "simulator",
}

if not TYPE_CHECKING:  # cudakern.errors needs no import of its own
    __getattr__ = attributes(__name__, {**_HOMES, "errors": "errors"})


def __dir__() -> list[str]:
    return __all__
