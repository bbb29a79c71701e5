"""Kernels as NVRTC makes them for a GPU, executed on the host: PTX to C++ to a library."""
