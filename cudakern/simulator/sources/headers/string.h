// memcpy and memset, which NVRTC itself has. As with nvcc, device code has none of the others.
#pragma once

namespace std {
using ::memcpy;
using ::memset;
using ::size_t;
}  // namespace std
