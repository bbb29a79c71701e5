"""What ``atom`` and ``red`` on half-precision floats must leave in memory, and return."""

from __future__ import annotations

from cudakern.simulator.ptx.instructions import half_atomics
from tests.simulator.ptx.harness import answers_by
from tests.simulator.ptx.oracles_atomics import kernels_of

KERNELS = answers_by({"atom": kernels_of, "red": kernels_of}, half_atomics.FORMS)
