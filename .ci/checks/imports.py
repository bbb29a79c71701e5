"""Fail on an import that leads up, on a circle, and on a late import that has no reason.

Each line of FLOORS is a floor of the package, the lowest first. The rooms of a floor are folders,
and modules outside of folders. An import leads to a lower floor, or stays in its room. Imports in
functions, by `load`, and for type checkers alone count as well, also for circles of files and of
rooms. LATE gives a reason for each import in a function.
"""

from __future__ import annotations

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "cudakern"
FLOORS = (
    ("errors", "process", "display"),
    ("values",),
    ("compilation",),
    ("simulator.runtime",),
    ("simulator.ptx",),
    ("simulator.sources",),
    ("simulator.libraries",),
    ("simulator.launching",),
    ("simulator.cupy_stand_in",),
    ("simulator.reports",),
    ("simulator",),
    ("engines",),
    ("operators",),
    ("",),  # the package itself: the public names
    ("dask", "_commands"),
    ("__main__",),
)
#: Modules that import others in a function, with the reason: the time it saves, or who needs it.
LATE = {
    ("__main__", "errors"): "NumPy comes with it: 80 ms of every command",
    ("engines", "engines.cuda.engine"): "20 ms, then CuPy, 100 ms: on a GPU alone",
    ("engines", "engines.simulator"): "40 ms of a call on a GPU",
    (
        "operators.arrays.foreign",
        "engines.cuda.loans",
    ): "0.6 ms of an import, for few arrays",
    ("operators.compiled", "display.notebook"): "2 ms of a first call, for notebooks alone",
    ("operators.nonzero.function", "display.notebook"): "likewise",
    (
        "simulator.cupy_stand_in.modules",
        "simulator.cupy_stand_in.testing",
    ): "20 ms, for tests alone",
    ("simulator.libraries.build", "simulator.ptx.parse"): "9 ms, unless a library is kept",
    ("simulator.libraries.build", "simulator.ptx.linking"): "10 ms, likewise",
    ("simulator.libraries.build", "simulator.ptx.translate"): "20 ms, likewise",
    ("simulator.reports.pytest_plugin", "simulator.reports.checked_tests"): "80 ms of any pytest",
    ("simulator.reports.pytest_plugin", "simulator.cupy_stand_in.modules"): "likewise",
    ("simulator.reports.sessions", "simulator.reports.html.page"): "10 ms, for pages alone",
    ("simulator.sources.text_to_ptx", "simulator.sources.host_code"): "13 ms, for files alone",
}
LOADERS = {"load", "import_module"}


class Import(NamedTuple):
    """A module that another one imports."""

    target: str
    is_late: bool


def imports(node: ast.AST, *, late: bool = False) -> Iterator[Import]:
    """Yield the names of what a module imports; names in a package need not be modules."""
    for child in ast.iter_child_nodes(node):
        within = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, within) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            for alias in child.names:
                name = f"{child.module}.{alias.name}"
                yield Import(name if name in modules else child.module, within)
        elif isinstance(child, ast.Call) and ast.unparse(child.func) in LOADERS:
            names = (word.value for word in child.args if isinstance(word, ast.Constant))
            yield from (Import(name, is_late=True) for name in names)
        yield from imports(child, late=within)


def room_of(module: str) -> str:
    """Return the room of a module: the longest name in FLOORS that is its own or of its folders."""
    name = module.removeprefix(PACKAGE).removeprefix(".")
    rooms = [room for floor in FLOORS for room in floor if f"{name}.".startswith(f"{room}.")]
    if not rooms and name:
        sys.exit(f"{module} must be in a room of FLOORS in {__file__}")
    return max(rooms, key=len, default="")


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Return a message about a circle, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"a circle of imports: {' <- '.join(error.args[1])}"]
    return []


modules = {
    ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
    for folder in (PACKAGE, "perf")
    for path in Path(folder).rglob("*.py")
}
graph: dict[str, set[str]] = {}
wrong, late = [], set()
floors = {room: number for number, floor in enumerate(FLOORS) for room in floor}
for name, path in sorted(modules.items()):
    found = [i for i in imports(ast.parse(path.read_text("utf-8"))) if i.target in modules]
    graph[name] = {target for target, _ in found} - {name}
    if name.split(".")[0] != PACKAGE:
        continue
    late |= {(name, target) for target, is_late in found if is_late}
    for other in sorted(graph[name]):
        here, there = room_of(name), room_of(other)
        if here != there and floors[there] >= floors[here]:
            wrong.append(f"{name} imports {other}, which is on a higher floor or beside it")
reasons = {tuple(f"{PACKAGE}.{name}" for name in names) for names in LATE}
wrong += [f"{a} imports {b} late; LATE must say why" for a, b in sorted(late - reasons)]
wrong += [f"{a} does not import {b} late, as LATE says" for a, b in sorted(reasons - late)]
wrong += circles(graph)
if wrong:
    sys.exit("\n".join(wrong))
