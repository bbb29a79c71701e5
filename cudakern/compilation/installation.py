"""What to install, in the words of messages."""

from __future__ import annotations

#: How to install CuPy and NVRTC, and NVRTC alone.
INSTALL_12 = "from a clone run: pip install '.[cuda12]'"
INSTALL = f"{INSTALL_12} (CUDA 12) or '.[cuda13]' (CUDA 13)"
INSTALL_NVRTC = f"without a GPU, from a clone run: pip install '.[simulator]'; with one, {INSTALL}"
