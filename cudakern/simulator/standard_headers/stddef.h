// Sizes and offsets; NVRTC itself has size_t, ptrdiff_t and NULL.
#pragma once

#include <cuda/std/cstddef>

using ::cuda::std::max_align_t;
using ::cuda::std::nullptr_t;

namespace std {
using ::max_align_t, ::nullptr_t, ::ptrdiff_t, ::size_t;
using ::cuda::std::byte, ::cuda::std::to_integer;
}  // namespace std
