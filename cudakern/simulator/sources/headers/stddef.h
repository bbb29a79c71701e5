// Sizes and offsets; NVRTC itself has size_t, ptrdiff_t and NULL.
#pragma once

#if __cplusplus >= 201703L
#include <cuda/std/cstddef>

using ::cuda::std::max_align_t;
using ::cuda::std::nullptr_t;

namespace std {
using ::cuda::std::byte, ::cuda::std::to_integer;
}  // namespace std
#else  // which libcu++ asks for
typedef decltype(nullptr) nullptr_t;
typedef double2 max_align_t;
#define offsetof(type, member) ((size_t)(&((type*)nullptr)->member))
#endif

namespace std {
using ::max_align_t;
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;
}  // namespace std
