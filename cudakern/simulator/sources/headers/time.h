// clock, which NVRTC itself has.
#pragma once

namespace std {
using ::clock;
using ::clock_t;
using ::size_t;
}  // namespace std
