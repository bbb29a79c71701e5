"""What raw kernels and modules share: text that is compiled once, and its variables."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.engines.simulator.engine import SimulatorEngine
from cudakern.engines.simulator.variables import copy_variables, variable_of
from cudakern.errors import BindingError, DTypeError
from cudakern.forks import Lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from cudakern.engines.simulator.host_kernel import HostKernel
    from cudakern.engines.simulator.kernel_text import KernelText


@lru_cache(maxsize=1)
def _engine() -> SimulatorEngine:
    return SimulatorEngine()


class KernelLibrary:
    """Kernels compiled together, at first use, for plain and for observed launches."""

    def __init__(self, code: KernelText, entries: tuple[str, ...]) -> None:
        self.code = code
        self.entries = entries
        self._lock = Lock()
        self._launching = Lock()
        self._compiled: dict[bool, dict[str, HostKernel]] = {}

    def kernel(self, entry: str, *, checked: bool) -> HostKernel:
        """Return a kernel, compiling all of them at first use."""
        with self._lock:
            kernels = self._compiled.get(checked)
            if kernels is None:
                made = _engine().compile_kernels(self.code, self.entries, checked=checked)
                kernels = dict(zip(self.entries, made, strict=True))
                for others in self._compiled.values():
                    copy_variables(next(iter(others.values())), made[0])
                self._compiled[checked] = kernels
        return kernels[entry]

    def variable(self, name: str) -> np.ndarray:
        """Return the bytes of a variable that plain launches use."""
        if not self.entries:
            raise BindingError("RawModule", "name", "must be of a module with kernels; it has none")
        return variable_of(self.kernel(self.entries[0], checked=False), name)

    @contextmanager
    def same_variables(self, kernel: HostKernel) -> Iterator[None]:
        """Have a checked kernel find the variables as plain launches left them, and vice versa."""
        plain = self._compiled.get(False)
        if plain is None:
            yield
            return
        other = next(iter(plain.values()))
        with self._launching:
            copy_variables(other, kernel)
            yield
            copy_variables(kernel, other)


def check_constructor(
    code: object,
    backend: str,
    translate_cucomplex: bool,  # noqa: FBT001
    enable_cooperative_groups: bool,  # noqa: FBT001
    jitify: bool,  # noqa: FBT001
) -> None:
    """Raise an error for an argument of CuPy's constructors that the simulator does not have."""
    if not isinstance(code, str):
        message = f"RawKernel: code must be a str; got {type(code).__name__}"
        raise DTypeError(message)
    if backend not in {"nvrtc", "nvcc"}:
        raise BindingError("RawKernel", "backend", f"must be nvrtc or nvcc; got {backend!r}")
    for name, given in (
        ("translate_cucomplex", translate_cucomplex),
        ("enable_cooperative_groups", enable_cooperative_groups),
        ("jitify", jitify),
    ):
        if given:
            raise BindingError("RawKernel", name, "must be False: the simulator does not have it")
