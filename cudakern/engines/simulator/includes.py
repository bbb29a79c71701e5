"""What a kernel's ``#include <...>`` of CUDA's and CuPy's own headers gives it in the simulator."""

from __future__ import annotations

__all__ = ["HEADERS", "INCLUDE_FILES"]

#: The headers that `INCLUDE_FILES` and cuda_host.hpp include, beside those of every kernel.
HEADERS = (
    "bfloat16.hpp",
    "cupy_complex.hpp",
    "device_math.hpp",
    "half.hpp",
    "math_constants.hpp",
    "rounding.hpp",
    "small_float.hpp",
    "small_float2.hpp",
    "warp_match.hpp",
)

#: Nothing to add: cuda_host.hpp comes before every kernel.
_EMPTY = (
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "sm_30_intrinsics.h",
    "vector_functions.h",
    "vector_types.h",
)
_FORWARD = {
    "cuda_fp16.h": "half.hpp",
    "cuda_bf16.h": "bfloat16.hpp",
    "math_constants.h": "math_constants.hpp",
    "cupy/complex.cuh": "cupy_complex.hpp",
}
#: Headers of the standard library that libcu++ has in its own namespace.
_STANDARD = (
    "cassert",
    "cfloat",
    "climits",
    "cmath",
    "cstddef",
    "cstdint",
    "array",
    "initializer_list",
    "limits",
    "tuple",
    "type_traits",
    "utility",
)


def _guarded(text: str) -> str:
    return f"#pragma once\n{text}"


#: What cuda_host.hpp defines that the C++ library's own headers spell for themselves.
_MACROS = ("__noinline__", "printf", "memcpy", "memmove", "memset")


def _standard(name: str) -> str:
    hidden = "".join(f'#pragma push_macro("{macro}")\n#undef {macro}\n' for macro in _MACROS)
    shown = "".join(f'#pragma pop_macro("{macro}")\n' for macro in _MACROS)
    return _guarded(
        f"{hidden}#include <{name}>\n{shown}"
        "namespace cuda { namespace std { using namespace ::std; } }\n"
    )


#: Name as a kernel includes it -> text of that file.
INCLUDE_FILES: dict[str, str] = {
    **{name: _guarded("") for name in _EMPTY},
    **{
        name: _guarded(f'#include "{"../" * name.count("/")}{to}"\n')
        for name, to in _FORWARD.items()
    },
    **{f"cuda/std/{name}": _standard(name) for name in _STANDARD},
}
