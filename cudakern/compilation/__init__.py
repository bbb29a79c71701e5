"""CUDA C++ to machine code or PTX by NVRTC, and the files in which it is kept."""
