"""Kernels that use what CUDA C++ has only for GPUs: what they compute is what NumPy says."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.ptx import cupy_manner
from tests.simulator.correct_cub import CUB
from tests.simulator.correct_groups import GROUPS
from tests.simulator.correct_inline_ptx import INLINE_PTX
from tests.simulator.correct_language import LANGUAGE
from tests.simulator.correct_libcudacxx import LIBCUDACXX
from tests.simulator.correct_matrices import BY_MMA, BY_WMMA
from tests.simulator.correct_random import RANDOM

#: The header that the kernels of a table need, and what brings it.
TABLES = (
    (INLINE_PTX + LANGUAGE + BY_MMA, "cuda_fp16.h", "nvidia-cuda-runtime"),
    (GROUPS, "cooperative_groups.h", "nvidia-cuda-runtime"),
    (CUB, "cub/cub.cuh", "CuPy or nvidia-cuda-cccl"),
    (LIBCUDACXX, "cuda/barrier", "CuPy or nvidia-cuda-cccl"),
    (RANDOM, "curand_kernel.h", "nvidia-curand"),
    (BY_WMMA, "crt/mma.h", "nvidia-cuda-crt"),
)


def _folders() -> tuple[Path, ...]:
    """Return where headers are that a user of CuPy names and CuPy does not."""
    if find_spec("cuda") is None:
        return ()
    from cuda import pathfinder  # noqa: PLC0415  optional

    found = (pathfinder.find_nvidia_header_directory(name) for name in ("curand", "cudart"))
    return tuple(Path(folder) for folder in found if folder)


FOLDERS = _folders()
OPTIONS = tuple(f"-I{folder}" for folder in FOLDERS)


def _cases():
    """Yield the kernels whose headers are there, and one case for each header that is not."""
    options = cupy_manner.options(OPTIONS, "compute_90")
    folders = [Path(one.removeprefix("-I")) for one in options if one.startswith("-I")]
    for table, header, source in TABLES:
        if any((folder / header).is_file() for folder in folders):
            yield from (pytest.param(correct, id=correct.name) for correct in table)
        else:
            skip = pytest.mark.skip(reason=f"{header} is not installed; {source} has it")
            yield pytest.param(None, id=header, marks=skip)


def test_names_are_distinct():
    names = [correct.name for table, *_ in TABLES for correct in table]
    assert len({*names}) == len(names)


def launch(correct) -> None:
    """Run a kernel once and compare what it wrote."""
    arguments = correct.inputs(np.random.default_rng(0))
    expected = correct.expected(*copy.deepcopy(arguments))
    kernel = ck.simulator.RawKernel(
        correct.code,
        correct.kernel,
        (*correct.options, *OPTIONS),
        enable_cooperative_groups=correct.cooperative,
    )
    kernel(correct.grid, correct.block, arguments, shared_mem=correct.shared_mem)
    for position, wanted in expected.items():
        np.testing.assert_array_equal(arguments[position], wanted)


@pytest.mark.parametrize("correct", [*_cases()])
def test_result(correct):
    launch(correct)


#: One of each kind, for every compiler.
SAMPLE = [
    *("loop_and_predicates_in_the_text", "copies_behind_the_work", "named_barriers_of_two_warps"),
    *("pairs_of_halves_in_shared_memory", "virtual_functions", "recursion", "constants"),
    "product_by_mma_sync",
]


@pytest.mark.usefixtures("each_compiler")
@pytest.mark.parametrize("correct", [case for case in _cases() if case.id in SAMPLE])
def test_sample_with_each_compiler(correct):
    launch(correct)


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


def test_grids_one_after_the_other():
    kernel = ck.simulator.RawKernel(GRID, "k", enable_cooperative_groups=True)
    x = np.zeros(1, np.int32)
    for blocks in (1, 2, 7, 3):
        kernel((blocks,), (32,), (x,))
    assert x[0] == 32 * 13
