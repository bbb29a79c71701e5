"""``python -m cudakern.simulator.ptx FILE --dump PASS``: print PTX as a pass leaves it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.control_flow import control_flow, counted_blocks
from cudakern.simulator.ptx.flushed_floats import flushes
from cudakern.simulator.ptx.fragments import fragments_of
from cudakern.simulator.ptx.linking import Links
from cudakern.simulator.ptx.liveness import LiveRegisters, rematerialised
from cudakern.simulator.ptx.memory_accesses import access_bits_of
from cudakern.simulator.ptx.operations import Op, RefusedError, body_of
from cudakern.simulator.ptx.parse import parse
from cudakern.simulator.ptx.regions import MOST_STATEMENTS, regions_of
from cudakern.simulator.ptx.simplify import simplify
from cudakern.simulator.ptx.suspension_points import points_of
from cudakern.simulator.ptx.translate import translate
from cudakern.simulator.ptx.undefined import follow_undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cudakern.simulator.ptx.operations import Body


def show_operations(body: Body) -> Iterator[str]:
    """Yield the operations as they are read."""
    yield str(body)


def show_simplify(body: Body) -> Iterator[str]:
    """Yield the operations that are left of them, which all other passes take."""
    yield str(simplify(body))


def show_blocks(body: Body) -> Iterator[str]:
    """Yield the basic blocks, and which ones follow each."""
    flow = control_flow(simplify(body).statements)
    for i, (block, follow) in enumerate(zip(flow.blocks, flow.follow, strict=True)):
        yield f"block {i} -> {', '.join(map(str, follow)) or 'the end'}"
        yield from (f"    {op}" for op in block)


def show_points(body: Body) -> Iterator[str]:
    """Yield the operations, with the numbers of suspension points."""
    simple = simplify(body)
    points = points_of(simple)
    for statement in simple.statements:
        yield f"{points.get(id(statement), ''):4} {statement}"
    yield f"subnormal floats count as zeros: {flushes(simple)}"


def show_liveness(body: Body) -> Iterator[str]:
    """Yield what threads keep over suspension points."""
    simple = simplify(body)
    points, kept = points_of(simple), rematerialised(simple)
    yield f"the same for all threads: {', '.join(sorted(kept.uniform))}"
    for name, ops in kept.derived.items():
        yield f"computed again: {name} in {len(ops)} operations"
    live = LiveRegisters(
        simple,
        points,
        lambda name: name in simple.registers and name not in kept.uniform,
        kept.derived,
    )
    for point in live.saved:
        yield f"point {point} saves {', '.join(live.saved[point]) or 'nothing'}"
        yield f"    restores {', '.join(live.restored[point]) or 'nothing'}"


def show_regions(body: Body) -> Iterator[str]:
    """Yield the regions that have loops of their own in the fast form."""
    simple = simplify(body)
    statements = simple.statements
    own, _ = regions_of(statements, points_of(simple), MOST_STATEMENTS)
    for region in own:
        yield f"from point {region.point}:"
        yield from (f"    {statements[i]}" for i in region.statements)


def show_accesses(body: Body) -> Iterator[str]:
    """Yield what operations do to memory, in the bits of `Site.access`."""
    bits = access_bits_of(body)
    yield from (f"{bits[id(op.instruction)]:#010x} {op}" for op in body.ops)


def show_undefined(body: Body) -> Iterator[str]:
    """Yield the operations of a checked launch, with the steps that follow undefined values."""
    simple = simplify(body)
    followed = follow_undefined(simple, fragments_of(simple))
    for statement in simple.statements:
        yield str(statement)
        if isinstance(statement, Op):
            steps = followed.steps[id(statement)]
            for where in ("outside", "before", "after", "behind", "stored"):
                yield from (f"    {where}: {step}" for step in getattr(steps, where))


PASSES: dict[str, Callable[[Body], Iterator[str]]] = {
    "operations": show_operations,
    "simplify": show_simplify,
    "blocks": show_blocks,
    "points": show_points,
    "liveness": show_liveness,
    "regions": show_regions,
    "accesses": show_accesses,
    "undefined": show_undefined,
}
FORMS = ("quick", "fast", "checked")  # of C++


def main(arguments: list[str] | None = None) -> int:
    """Print what is asked for, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m cudakern.simulator.ptx", description=__doc__)
    parser.add_argument("file", type=Path, help="a file of PTX")
    parser.add_argument("--dump", choices=[*PASSES, *FORMS], default="simplify", metavar="PASS",
                        help=f"{', '.join(PASSES)}; or C++: {', '.join(FORMS)}")  # fmt: skip
    parser.add_argument("--entry", help="this one and what it reaches, not all")
    options = parser.parse_args(arguments)
    source = str(options.file)
    try:
        module = parse(options.file.read_text(encoding="utf-8").rstrip("\0"), source)
        if options.entry is not None:
            module = Links(module, source).only([options.entry])
        if options.dump in FORMS:
            form = options.dump
            text = translate(module, source, checked=form == "checked", fast=form == "fast")
            sys.stdout.write(text)
            return 0
        functions = [function for function in module.functions.values() if function.body]
        counted = counted_blocks(functions)
        for function in functions:
            body = body_of(function, source, counted[function.name].numbers)
            lines = PASSES[options.dump](body)
            sys.stdout.write("".join(f"{line}\n" for line in (f"// {function.name}", *lines)))
    except (KernelCompileError, RefusedError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
