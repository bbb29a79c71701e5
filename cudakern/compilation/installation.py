"""What to install, in the words of messages."""

from __future__ import annotations

#: How to install CuPy and NVRTC, and NVRTC alone.
INSTALL = "run: pip install 'cudakern[cuda12]' (CUDA 12) or 'cudakern[cuda13]' (CUDA 13)"
INSTALL_NVRTC = f"without a GPU, run: pip install 'cudakern[simulator]'; with one, {INSTALL}"
