"""Launches whose blocks are all resident at once, so that the grid can have a barrier."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck

GRID = r"""
#include <cooperative_groups.h>
extern "C" __global__ void k(int* x) {
  atomicAdd(x, 1);
  cooperative_groups::this_grid().sync();
}
"""


def test_grid_that_is_too_large_to_be_resident():
    kernel = ck.simulator.RawKernel(GRID, "k", enable_cooperative_groups=True)
    x = np.zeros(1, np.int32)
    with pytest.raises(ck.SimulatorError) as caught:
        kernel((300,), (1024,), (x,))
    assert str(caught.value) == (
        "k: all blocks of a cooperative launch must be resident; there is room for 8 of 300 "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )
    assert x[0] == 0


def test_grid_of_a_launch_that_is_not_cooperative():
    with pytest.raises(ck.SimulatorError, match="the kernel must not execute a trap"):
        ck.simulator.RawKernel(GRID, "k")((2,), (32,), (np.zeros(1, np.int32),))


@pytest.mark.parametrize("resident", [None, 1, 8])
def test_grids_one_after_the_other(resident):
    kernel = ck.simulator.RawKernel(GRID, "k", enable_cooperative_groups=True)
    x = np.zeros(1, np.int32)
    with nullcontext() if resident is None else ck.simulator.checked(0, resident):
        for blocks in (1, 2, 7, 3):
            kernel((blocks,), (32,), (x,))
    assert x[0] == 32 * 13
