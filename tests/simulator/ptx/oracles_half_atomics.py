"""What ``atom`` and ``red`` on half-precision floats must leave in memory, and return."""

from __future__ import annotations

from cudakern.simulator.ptx.instructions import half_atomics
from tests.simulator.ptx.oracles_atomics import kernels_of

KERNELS = {form.pattern: kernels_of(form) for form in half_atomics.FORMS}
