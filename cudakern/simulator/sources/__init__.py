"""CUDA C++ from any source, compiled to PTX."""
