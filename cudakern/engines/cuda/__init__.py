"""CUDA through CuPy: nothing else uses CuPy's loader, launcher and streams."""
