"""The simulator runs PTX that Numba and Triton made."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck

X = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
