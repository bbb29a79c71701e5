"""CUDA through CuPy: no other room touches CuPy's loader, launcher and streams."""
