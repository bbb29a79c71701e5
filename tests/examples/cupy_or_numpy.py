"""The library that the examples make arrays with: CuPy where there is a GPU, otherwise NumPy."""

import numpy as np

try:
    import cupy
except ImportError:
    xp = np
else:
    xp = cupy if cupy.cuda.is_available() else np
