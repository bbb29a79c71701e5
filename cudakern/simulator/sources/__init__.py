"""CUDA C++ of whatever manner to PTX."""
