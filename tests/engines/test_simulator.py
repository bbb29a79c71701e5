"""The simulator as an engine: it holds a launch's arguments against the kernel's parameters."""

from __future__ import annotations

import numpy as np
import pytest

from cudakern.engines.base import KernelSpec, Launch
from cudakern.engines.simulator import SimulatorEngine
from cudakern.errors import BindingError
from cudakern.operators.arrays.native import address_of
from cudakern.values.argument_struct import Arguments
from tests.helpers.rows import each
from tests.helpers.simulated import compiled

FILL = r"""
struct Arguments { int* x; long long value; };
extern "C" __global__ void k(Arguments a) { a.x[threadIdx.x] = a.value; }
"""


@each("tail", [b"", bytes(4), bytes(7), bytes(16)])
def test_packed_arguments_must_have_the_kernels_size(tail, monkeypatch):
    kernel = compiled(FILL)
    monkeypatch.setattr(SimulatorEngine, "kernel", lambda *_, **__: kernel)
    launch = Launch(KernelSpec("test", "plain", "k", (), 4), (1, 1, 1), 0, 1, Arguments(tail, ()))
    with pytest.raises(BindingError) as caught:
        SimulatorEngine().prepare(launch, -1)
    assert str(caught.value) == (
        f"k: arguments must fill the kernel's parameters of (16,) bytes; got {8 + len(tail)}"
    )
    x = np.zeros(4, np.int32)
    launch = Launch(launch.kernel, (1, 1, 1), 0, 1, Arguments((9).to_bytes(8, "little"), ()))
    SimulatorEngine().prepare(launch, -1)(address_of(x))
    assert x.tolist() == [9] * 4
