"""Speed of the simulator: first launches, plain ones beside C++, POCL and NumPy, observed ones."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

import cudakern as ck
from cudakern._commands import console
from cudakern.engines.simulator import ptx_of
from cudakern.operators.operator import specialisations
from cudakern.simulator import RawModule, checked, traffic
from cudakern.simulator.libraries.build import build_library
from cudakern.simulator.libraries.toolchain import find_toolchain
from cudakern.simulator.sources import text_to_ptx
from cudakern.simulator.sources.text_to_ptx import Code
from perf.cases import MODULES
from perf.peers.cupy import CupyPeer
from perf.static import pocl, user_kernels
from perf.static.comparison import OURS, REPEATS, Array, Comparison, on_one_core, require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from cudakern.simulator.sources.text_to_ptx import Ptx
    from perf.cases.base import Workload
    from perf.static.comparison import Prepare, Row
    from perf.static.user_kernels import Ready, UserKernel

CPP, POCL, NUMPY = "C++", "POCL", "NumPy"
#: Options of the loops in C++.
OPTIONS = ("-O2", "-march=native")
#: The largest kernel whose first launch is timed.
LARGEST = "ck_nonzero_coordinates_stream_w4_u32_o32"
#: Elements that plain launches are compared over.
ELEMENTS = 2**20
#: How many times as long as loops in C++ the kernels of users may take, by the geometric mean and
#: each; and as POCL, each.
MEAN, WORST, OVER_POCL = 8, 25, 2
#: Larger limits, by kernel and contender. g++ and POCL turn these loops into vectors, which the
#: simulator does not.
ALLOWED = {("grid sum", CPP): 80, ("stencil", POCL): 5}


@dataclass(frozen=True)
class ObservedCase:
    """A launch that is observed, and its expected result."""

    title: str
    #: Nanoseconds that an access may take, checked or counted: three times what it took on an idle
    #: machine. Each load, store or atomic operation of a thread is one, of however many bytes.
    limit: float
    launch: Callable[[], Array]
    expected: Array

    def accesses(self) -> int:
        """Return how many accesses it has."""
        with traffic() as report:
            self.launch()
        return sum(line.accesses for kernel in report.kernels for line in kernel.lines)

    def seconds(self, around: Callable[[], AbstractContextManager[object]]) -> float:
        """Return the least time of a launch inside of a context."""
        times = []
        for _ in range(REPEATS + 1):  # the first one compiles
            start = time.process_time()
            with around():
                result = self.launch()
            times.append(time.process_time() - start)
            require(result, self.expected, self.title)
        return min(times[1:])


def cpp_launcher() -> Ready:
    """Return what runs the loops in C++ instead of a kernel."""
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/loops.so"
        own = ("-nostdlib++",) if toolchain.is_zig else ()  # which would compile one first
        command = [*toolchain.command, *OPTIONS, *own, "-shared", "-fPIC", "-o", library]
        subprocess.run([*command, str(user_kernels.SOURCE.with_suffix(".cpp")), "-lm"], check=True)
        functions = ctypes.CDLL(library)

    def ready(kernel: UserKernel, arguments: Sequence[Any]) -> Callable[[], object]:
        types: dict[type, Callable[[Any], Any]] = {
            np.ndarray: lambda array: ctypes.c_void_p(array.ctypes.data),
            user_kernels.F32: ctypes.c_float,
            user_kernels.I32: ctypes.c_int,
        }
        size = user_kernels.I32(arguments[kernel.output].size)
        given = [types[type(argument)](argument) for argument in (*arguments, size)]
        return partial(functions[kernel.name], *given)

    return ready


def simulator_launcher() -> Ready:
    """Return what runs a kernel in the simulator."""
    module = RawModule(path=str(user_kernels.SOURCE))

    def ready(kernel: UserKernel, arguments: Sequence[Any]) -> Callable[[], object]:
        return partial(module.get_function(kernel.name), kernel.grid, kernel.block, arguments)

    return ready


def comparisons(rng: np.random.Generator) -> list[Comparison]:
    """Return the kernels of users, over about `ELEMENTS` elements, with their contenders."""
    everybody = {OURS: simulator_launcher(), CPP: cpp_launcher()}
    with_pocl = pocl.launcher(user_kernels.SOURCE.read_text(encoding="utf-8"))
    if with_pocl is not None:
        everybody[POCL] = with_pocl
    compared = []
    for kernel in user_kernels.kernels(ELEMENTS, rng):
        contenders: dict[str, Prepare] = {
            name: partial(kernel.prepare, ready) for name, ready in everybody.items()
        }
        if kernel.name in pocl.LACKING:
            contenders.pop(POCL, None)
        compared.append(Comparison(kernel.title, contenders, kernel.expected))
    return compared


def observed_gathers(rng: np.random.Generator) -> list[ObservedCase]:
    """Return calls of gather, with float32 and int32."""

    def case(title: str, limit: float, x: Array, count: int, axis: int = 0) -> ObservedCase:
        indices = rng.integers(0, x.shape[axis], count).astype(np.int32)
        call = partial(ck.gather, x, indices, axis)
        return ObservedCase(f"gather, {title}", limit, call, x.take(indices, axis))

    def floats(*shape: int) -> Array:
        return rng.random(shape, np.float32)

    return [
        case("2^16 rows of 64 B", 100, floats(2**16, 16), 2**16),
        case("2^13 rows of 256 B", 80, floats(2**12, 64), 2**13),
        case("2^18 rows of 12 B", 200, floats(2**18, 3), 2**18),
        case("2^20 scalars", 150, floats(2**20), 2**20),
        case("1024 x 1024, last axis", 130, floats(1024, 1024), 1024, 1),
        case("2^20 elements, transposed", 90, floats(16, 2**16).T, 2**16),
    ]


def observed_user_kernels(rng: np.random.Generator) -> list[ObservedCase]:
    """Return launches of two of the kernels of users."""
    ready, limits = simulator_launcher(), {"tree_sum": 540, "shared_histogram": 130}
    return [
        ObservedCase(
            f"{kernel.title}, 2^18",
            limits[kernel.name],
            partial(lambda one: one.prepare(ready)(), kernel),
            kernel.expected,
        )
        for kernel in user_kernels.kernels(2**18, rng)
        if kernel.name in limits
    ]


def calls() -> Iterator[Comparison]:
    """Yield calls of operators, most over `ELEMENTS` elements, with those of NumPy."""
    for module in MODULES.values():
        for workload in (*module.SIMULATED, module.SMALL):
            yield compare(workload)


def compare(workload: Workload) -> Comparison:
    """Return a call of ours and that of NumPy, as CuPy would do it, if there is one."""
    inputs, outputs = workload.inputs(np, 0), workload.outputs(np)
    result = workload.call(inputs, outputs)()
    workload.check(np, inputs, outputs)

    def ours() -> Callable[[], Any]:
        call = workload.call(inputs, workload.outputs(np))
        return lambda: workload.found(call())

    contenders: dict[str, Prepare] = {OURS: ours}
    if hasattr(CupyPeer, workload.operator):
        contenders[NUMPY] = lambda: getattr(CupyPeer(np), workload.operator)(workload, *inputs).call
    title = f"{workload.operator}, {workload.title}"
    return Comparison(title, contenders, np.asarray(workload.found(result)))


def mean_of(rows: Sequence[Row]) -> float:
    """Return how many times as long as C++ we take, by the geometric mean."""
    return geometric_mean(row.times[OURS] / row.times[CPP] for row in rows)


def faults(rows: Sequence[Row]) -> list[str]:
    """Return which budgets kernels of users break, a line each."""
    mean = mean_of(rows)
    found = [f"kernels of users: {mean:.1f} times C++, more than {MEAN}"] if mean > MEAN else []
    for other, most in ((CPP, WORST), (POCL, OVER_POCL)):
        found += [
            f"{row.title}: {ratio:.1f} times {other}, more than {limit}"
            for row in rows
            if (ratio := row.ratio(other)) is not None
            and ratio > (limit := ALLOWED.get((row.title, other), most))
        ]
    return found


def show(what: str, rows: Sequence[Row], *others: str) -> None:
    """Print what work takes, and the ratios to others."""
    cells = []
    for row in rows:
        times = [row.times.get(name) for name in (OURS, *others)] + [row.wall]
        texts = ["-" if t is None else f"{1000 * t:.3f}" for t in times]
        ratios = [row.ratio(name) for name in others]
        cells.append((row.title, *texts, *("-" if r is None else f"{r:.1f}" for r in ratios)))
    headings = [*(f"{name}, ms" for name in (OURS, *others)), "all cores, ms"]
    console.show_table(cells, (what, *headings, *(f"{OURS} / {name}" for name in others)))


def measure_plain(rng: np.random.Generator) -> list[str]:
    """Print what plain launches take; return which budgets are broken."""
    cores, cpp = len(os.sched_getaffinity(0)), find_toolchain().version
    console.show(f"plain launches: processor time on one core, wall time on {cores}; C++ by {cpp}")
    rows = [comparison.row() for comparison in comparisons(rng)]
    show("kernels of users", rows, CPP, POCL)
    console.show(f"geometric mean of {OURS} / {CPP}: {mean_of(rows):.1f}")
    if not any(POCL in row.times for row in rows):
        console.show(pocl.ABSENT)
    show("operators", [comparison.row() for comparison in calls()], NUMPY)
    return faults(rows)


def measure_observed(rng: np.random.Generator) -> list[str]:
    """Print what an access takes that is checked or counted; return which budgets are broken."""
    rows, broken = [], []
    for case in (*observed_gathers(rng), *observed_user_kernels(rng)):
        with on_one_core():
            accesses = case.accesses()
            times = {f.__name__: case.seconds(f) / accesses * 1e9 for f in (checked, traffic)}
        rows.append(
            (case.title, str(accesses), *(f"{t:.0f}" for t in (*times.values(), case.limit)))
        )
        broken += [
            f"{case.title}: an access takes {t:.0f} ns in {name}, more than {case.limit:g}"
            for name, t in times.items()
            if t > case.limit
        ]
    console.show("observed launches: nanoseconds of processor time for an access, on one core")
    console.show_table(rows, ("case", "accesses", "checked", "traffic", "limit"))
    return broken


def cold_kernels() -> Iterator[tuple[str, Ptx, str]]:
    """Yield title, PTX and symbol of twelve kernels: those of users, and a large one of ours."""
    path = user_kernels.SOURCE
    ptx = text_to_ptx.ptx_of_code(Code(path.name, path.read_text(encoding="utf-8"), path=path))
    for kernel in user_kernels.kernels(2**14, np.random.default_rng(0)):
        yield kernel.title, ptx, kernel.name
    stream = (s for s in specialisations() if s.entry == LARGEST)
    yield "nonzero, stream", ptx_of(next(stream)), LARGEST


def measure_cold() -> None:
    """Print the processor time of first launches: of what makes C++ of PTX, and of the compiler.

    The runtimes and the PTX are there. Each library is made anew, in a folder of its own.
    """
    toolchain, kernels = find_toolchain(), [*cold_kernels()]
    runtimes = {checked: toolchain.runtime(checked=checked) for checked in (False, True)}
    forms = ("few threads", "many threads", "checked")
    totals: dict[str, float] = dict.fromkeys(forms, 0.0)
    rows = []
    for title, ptx, symbol in kernels:
        ptx.text()
        cells = [title]
        for name in forms:
            checked, fast = name == "checked", name == "many threads"
            with tempfile.TemporaryDirectory() as folder:
                build = partial(build_library, ptx, [symbol], toolchain, runtimes[checked])
                start = sum(os.times()[:4])
                with mock.patch.dict(os.environ, CUDAKERN_CACHE_DIR=folder):
                    build(checked=checked, fast=fast)
                spent = sum(os.times()[:4]) - start
            totals[name] += spent
            cells.append(f"{1000 * spent:.0f}")
        rows.append(tuple(cells))
    rows.append(("all", *(f"{1000 * total:.0f}" for total in totals.values())))
    console.show("first launches: milliseconds of processor time to compile a kernel")
    console.show_table(rows, ("kernel", *forms))


def measure() -> list[str]:
    """Print the figures; return which budgets are broken."""
    rng = np.random.default_rng(0)
    measure_cold()
    return measure_plain(rng) + measure_observed(rng)
