"""DirectML operators as CUDA kernels for CuPy arrays, with a simulator for machines without a GPU.

Each name is imported at its first use, for which NumPy is all that must be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.process.lazy import public_names

__version__ = "0.1.0"

if TYPE_CHECKING:  # what a package has, for type checkers and for `public_names`
    from cudakern import simulator as simulator
    from cudakern.errors import ArgumentError as ArgumentError
    from cudakern.errors import BindingError as BindingError
    from cudakern.errors import CacheWarning as CacheWarning
    from cudakern.errors import CudakernError as CudakernError
    from cudakern.errors import DescriptorError as DescriptorError
    from cudakern.errors import DTypeError as DTypeError
    from cudakern.errors import EngineUnavailableError as EngineUnavailableError
    from cudakern.errors import IndexRangeError as IndexRangeError
    from cudakern.errors import KernelCompileError as KernelCompileError
    from cudakern.errors import SimulatorError as SimulatorError
    from cudakern.operators.compiled import CompiledOperator as CompiledOperator
    from cudakern.operators.compiled import compile_operator as compile_operator
    from cudakern.operators.feature_level import FeatureLevel as FeatureLevel
    from cudakern.operators.gather.descriptor import GatherOperatorDesc as GatherOperatorDesc
    from cudakern.operators.gather.function import gather as gather
    from cudakern.operators.gather_nd.descriptor import (
        GatherND1OperatorDesc as GatherND1OperatorDesc,
    )
    from cudakern.operators.gather_nd.descriptor import GatherNDOperatorDesc as GatherNDOperatorDesc
    from cudakern.operators.gather_nd.function import gather_nd as gather_nd
    from cudakern.operators.nonzero.descriptor import (
        NonzeroCoordinatesOperatorDesc as NonzeroCoordinatesOperatorDesc,
    )
    from cudakern.operators.nonzero.function import NonzeroCoordinates as NonzeroCoordinates
    from cudakern.operators.nonzero.function import argwhere as argwhere
    from cudakern.operators.nonzero.function import nonzero as nonzero
    from cudakern.operators.nonzero.function import nonzero_coordinates as nonzero_coordinates
    from cudakern.operators.one_hot.descriptor import OneHotOperatorDesc as OneHotOperatorDesc
    from cudakern.operators.one_hot.function import one_hot as one_hot
    from cudakern.operators.reduce.descriptor import ArgmaxOperatorDesc as ArgmaxOperatorDesc
    from cudakern.operators.reduce.descriptor import ArgminOperatorDesc as ArgminOperatorDesc
    from cudakern.operators.reduce.descriptor import AxisDirection as AxisDirection
    from cudakern.operators.reduce.descriptor import ReduceOperatorDesc as ReduceOperatorDesc
    from cudakern.operators.reduce.function import reduce as reduce
    from cudakern.operators.reduce.types import ReduceFunction as ReduceFunction
    from cudakern.operators.tensor import TensorDesc as TensorDesc
    from cudakern.operators.tensor import TensorFlags as TensorFlags
    from cudakern.operators.tensor import (
        minimum_tensor_size_in_bytes as minimum_tensor_size_in_bytes,
    )
    from cudakern.process.caches import clear_caches as clear_caches
    from cudakern.values.dtypes import DataType as DataType
else:
    __all__, __getattr__, __dir__ = public_names(__name__, "errors")
