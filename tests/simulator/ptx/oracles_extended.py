"""What arithmetic with a carry gives: Python's integers."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import Oracle
