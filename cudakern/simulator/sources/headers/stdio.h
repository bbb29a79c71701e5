// printf, which NVRTC itself has.
#pragma once

namespace std {
using ::printf;
using ::size_t;
}  // namespace std
