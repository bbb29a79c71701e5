"""Fail on an import from a lower layer to a higher one, and on a circle.

A layer of the package is a line of LAYERS, the lowest first; modules of one line may import each
other. For layers counts what a module imports when it is imported itself: what a function imports
when it is called may lie higher, as an engine is chosen that late. For circles, of the benchmarks
too, what only a type checker reads counts as well.
"""

from __future__ import annotations

import ast
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYERS = (
    r"errors|process(\..*)?",
    r"values(\..*)?",
    r"compilation(\..*)?",
    r"simulator(\..*)?",
    r"engines(\..*)?",
    r"operators(\..*)?",
    r"",  # the package itself: the public names
    r"dask|_commands(\..*)?|__main__",
)
PACKAGE = "cudakern"


def imports(node: ast.AST, *, types: bool) -> Iterator[ast.AST]:
    """Yield the nodes that an import of a module runs, and what is for a type checker if asked."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not types:
            continue
        yield child
        yield from imports(child, types=types)


def imported(name: str, *, types: bool) -> set[str]:
    """Return the other modules of the project that a module imports."""
    names: set[str] = set()
    for node in imports(ast.parse(modules[name].read_text(encoding="utf-8")), types=types):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= members & modules.keys() or {node.module}
    return names & modules.keys() - {name}


def layer(module: str) -> int:
    """Return the number of the layer that a module of the package is in."""
    name = module.removeprefix(PACKAGE).removeprefix(".")
    numbers = [k for k, names in enumerate(LAYERS) if re.fullmatch(names, name)]
    if len(numbers) != 1:
        sys.exit(f"{module} must be in one line of LAYERS in {__file__}; is in {len(numbers)}")
    return numbers[0]


modules = {
    ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
    for folder in (PACKAGE, "perf")
    for path in Path(folder).rglob("*.py")
}
wrong = [
    f"{name} imports {other}, which is in a higher layer"
    for name in sorted(modules)
    if name.split(".")[0] == PACKAGE
    for other in sorted(imported(name, types=False))
    if layer(other) > layer(name)
]
try:
    TopologicalSorter({name: imported(name, types=True) for name in modules}).prepare()
except CycleError as error:
    wrong.append(f"a circle of imports: {' <- '.join(error.args[1])}")
if wrong:
    sys.exit("\n".join(wrong))
