"""``python -m cudakern warmup``: compile kernels ahead, so no first call waits for them."""

from __future__ import annotations

import signal
import sys
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cudakern._commands.console import progress, show
from cudakern._commands.engines import choose
from cudakern._commands.statuses import SIGNALLED, SIGNALS, USAGE
from cudakern.compilation import nvrtc
from cudakern.compilation.cache import survey
from cudakern.engines import HOST, engine_for, kernel_files
from cudakern.engines.cuda.library import device_count
from cudakern.errors import EngineUnavailableError, describe_value
from cudakern.operators.operator import specialisations
from cudakern.operators.reduce.reduction import kernels_of, reductions
from cudakern.process.forks import PATIENCE, stopping
from cudakern.simulator.libraries.toolchain import find_toolchain
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import FrameType

    from cudakern.compilation.cache import Choice
    from cudakern.engines.base import KernelSpec

    #: The name of a kernel, and what returns its file, compiling it unless it is there.
    _Work = tuple[str, Callable[[], Path]]

#: Common specialisations have signed indices if the operator has indices, the default mode and
#: 32-bit offsets. Of reduce, these functions, data types and variants are common.
_RARE_INDEX_TYPES = {"ck::uint32", "ck::uint64"}
_COMMON_RANKS = {"2", "4"}
_COMMON_FUNCTIONS = {"sum", "max", "argmax", "average"}
_COMMON_KINDS = {DataType.FLOAT32, DataType.FLOAT16, DataType.INT32, DataType.INT64}
_COMMON_VARIANTS = {"blocks", "warps", "lanes", "tiles", "columns"}
#: Advice if no GPU is visible, as in the build of an image.
ELSEWHERE = "there is no GPU here; for one elsewhere: python -m cudakern warmup --arch sm_90"


def _is_common(spec: KernelSpec) -> bool:
    """Return whether a specialisation of another operator is one that most calls need."""
    macros = dict(spec.defines)
    return (
        spec.operator != "reduce"
        and macros.get("CK_INDEX_T") not in _RARE_INDEX_TYPES
        and macros.get("CK_MODE", "kClamp") == "kClamp"
        and (macros["CK_OFFSET_T"] == "ck::uint32" or spec.variant == "check")
        and (not spec.variant.startswith("strided") or macros["CK_RANK"] in _COMMON_RANKS)
    )


def kernels(*, everything: bool) -> Iterator[KernelSpec]:
    """Yield the specialisations to compile."""
    if everything:
        yield from specialisations()
        return
    yield from filter(_is_common, specialisations())
    for reduction in reductions():
        if reduction.function.label in _COMMON_FUNCTIONS and reduction.kind in _COMMON_KINDS:
            yield from (s for s in kernels_of(reduction) if s.variant in _COMMON_VARIANTS)


def run(options: argparse.Namespace) -> int:
    """Compile on the given number of threads, say for which engine, and return the exit status."""
    refusal = _refusal(options)
    if refusal:
        sys.stderr.write(f"cudakern warmup: {refusal}\n")
        return USAGE
    choice = survey()
    if not choice.readable:
        raise EngineUnavailableError(choice.problem)
    work, target, advice = _work(options)
    with _stopped_by_signals() as signals:
        show(f"compiling {len(work)} kernels for {target}{advice}")
        sys.stdout.flush()
        done = _compile(work, options.jobs, choice)
    if signals:
        sys.stderr.write(
            f"cudakern warmup: stopped after {done} of {len(work)} kernels; "
            "the next run goes on from there\n"
        )
        return SIGNALLED + signals[0]
    show(f"{len(work)} kernels are compiled and cached for {target}")
    return 0


def _refusal(options: argparse.Namespace) -> str:
    """Return what is wrong with the arguments, or an empty string."""
    if not options.arch:
        return ""
    known = [f"sm_{capability}" for capability in nvrtc.capabilities()]
    wrong = [arch for arch in options.arch if arch not in known]
    found = describe_value(wrong[0]) if wrong else ""
    if options.engine == "simulator":
        found = "--engine simulator, whose architecture CUDAKERN_ARCH names"
    names = f"{', '.join(known)} with NVRTC {nvrtc.version()}"
    return f"--arch must be a GPU's, one of {names}; got {found}" if found else ""


def _work(options: argparse.Namespace) -> tuple[Sequence[_Work], str, str]:
    """Return functions that compile the kernels, their target, and advice if there is no GPU."""
    specs = list(kernels(everything=options.all))
    if options.arch:
        targets = [*dict.fromkeys(options.arch)]
        pairs = product(targets, specs)
        work = [(spec.entry, partial(kernel_files.cached_file, spec, arch)) for arch, spec in pairs]
        return work, " and ".join(targets), ""
    name = choose(options.engine)
    device = 0 if name == "cuda" else HOST
    if device == HOST:
        find_toolchain()  # here a signal can still end it
    engine = engine_for(device)
    work = [(spec.entry, partial(engine.compile, spec, device)) for spec in specs]
    return work, f"the {name} engine", "" if device_count() else f"; {ELSEWHERE}"


def _compile(work: Sequence[_Work], jobs: int, choice: Choice) -> int:
    """Compile until all is done or must stop; return how many kernels are compiled and cached."""
    pool = ThreadPoolExecutor(jobs)
    with progress("compiling", len(work), "kernels") as tell:
        try:
            names = {pool.submit(compile_one): name for name, compile_one in work}
            running = set(names)
            while running and not stopping:
                ended, running = wait(running, PATIENCE, FIRST_COMPLETED)
                for job in () if stopping else ended:  # which may be why they have ended
                    if job.result().parent not in choice.readable:
                        raise EngineUnavailableError(choice.problem)  # it goes with this process
                    tell(names[job])
        finally:
            pool.shutdown(cancel_futures=True)
    return sum(not job.cancelled() and job.exception() is None for job in names)


@contextmanager
def _stopped_by_signals() -> Iterator[list[int]]:
    """Have signals stop the work instead of the process; yield a list of those that come."""
    came: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        stopping.cancel()

    usual = (signal.SIG_DFL, signal.default_int_handler)  # other handlers stay
    handlers = {n: signal.getsignal(n) for n in SIGNALS if signal.getsignal(n) in usual}
    for number in handlers:
        signal.signal(number, stop)
    try:
        yield came
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        stopping.cancel(cancelled=False)
