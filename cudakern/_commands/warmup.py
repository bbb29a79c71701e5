"""``python -m cudakern warmup``: compile kernels ahead, so that no first call waits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

from cudakern._commands.console import progress, show
from cudakern._commands.engines import choose
from cudakern._dtypes import DataType
from cudakern.engines import HOST, engine_for, nvrtc
from cudakern.operators.reduce.reduction import kernels_of, reductions
from cudakern.operators.specialisations import specialisations

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from cudakern.engines.base import KernelSpec

#: What the common specialisations have in common: signed indices where an operator has indices, the
#: default mode, 32-bit offsets. Of reduce: these functions, data types and variants.
_RARE_INDEX_TYPES = {"ck::uint32", "ck::uint64"}
_COMMON_RANKS = {"2", "4"}
_COMMON_FUNCTIONS = {"sum", "max", "argmax", "average"}
_COMMON_KINDS = {DataType.FLOAT32, DataType.FLOAT16, DataType.INT32, DataType.INT64}
_COMMON_VARIANTS = {"stream", "warps", "tiles", "vectors"}


def _common_reductions() -> Iterator[KernelSpec]:
    for reduction in reductions():
        if reduction.function.label in _COMMON_FUNCTIONS and reduction.kind in _COMMON_KINDS:
            yield from (s for s in kernels_of(reduction) if s.variant in _COMMON_VARIANTS)


def _is_common(spec: KernelSpec) -> bool:
    """Return whether a specialisation of another operator is one that most calls need."""
    macros = dict(spec.defines)
    return (
        spec.operator != "reduce"
        and macros.get("CK_INDEX_T") not in _RARE_INDEX_TYPES
        and macros.get("CK_MODE", "kClamp") == "kClamp"
        and (macros["CK_OFFSET_T"] == "ck::uint32" or spec.variant == "check")
        and (spec.variant != "strided" or macros["CK_RANK"] in _COMMON_RANKS)
    )


def kernels(*, everything: bool) -> Iterator[KernelSpec]:
    """Yield the specialisations to compile."""
    yield from (spec for spec in specialisations() if everything or _is_common(spec))
    if not everything:
        yield from _common_reductions()


def run(options: argparse.Namespace) -> int:
    """Compile, with a progress bar, on as many threads as asked for."""
    specs = list(kernels(everything=options.all))
    compile_one, target = _compiler(options)
    with (
        progress("compiling", len(specs)) as done,
        ThreadPoolExecutor(max(1, options.jobs)) as pool,
    ):
        jobs = {pool.submit(compile_one, spec): spec.entry for spec in specs}
        for job in as_completed(jobs):
            job.result()
            done(jobs[job])
    show(f"{len(specs)} kernels are compiled and cached for {target}")
    return 0


def _compiler(options: argparse.Namespace) -> tuple[Callable[[KernelSpec], object], str]:
    """Return what compiles a specialisation, and what for."""
    if options.arch:
        return lambda spec: nvrtc.compiled(spec, options.arch), options.arch
    name = choose(options.engine)
    place = 0 if name == "cuda" else HOST
    engine = engine_for(place)
    return lambda spec: engine.compile(spec, place), f"the {name} engine"
