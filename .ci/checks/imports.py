"""Fail on an import from a lower layer to a higher one, on a circle, on a crowd in operators/.

What counts is what a module imports when it is imported itself. What only a type checker reads, and
what a function imports when it is called, may lie higher: an engine is chosen that late. A layer is
a line of LAYERS, the lowest first. Modules of one line may import each other, but in no circle.
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
    r"errors|_caches|_forks|_ranges|feature_level",
    r"_dtypes|_layout|_arguments|tensor",
    r"engines(\..*)?",
    r"_arrays|_foreign|simulator(\..*)?",
    r"operators(\..*)?|_array_types",
    r"",  # the package itself: the public names
    r"dask|_commands(\..*)?|__main__",
)
PACKAGE = Path("cudakern")
#: Files and folders at the top of operators/ at most.
CROWD = 12


def when_imported(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that an import of a module runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from when_imported(child)


def imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules of the package that a file imports."""
    found = set()
    for node in when_imported(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & modules.keys() or {node.module}
    return found & modules.keys()


def layer(module: str) -> int:
    """Return the number of the layer that a module is in."""
    name = module.removeprefix(PACKAGE.name).removeprefix(".")
    (number,) = (k for k, names in enumerate(LAYERS) if re.fullmatch(names, name))
    return number


modules = {
    ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
graph = {name: imported(path, modules) - {name} for name, path in modules.items()}
wrong = [
    f"{name} imports {other}, which is in a higher layer"
    for name, others in sorted(graph.items())
    for other in sorted(others)
    if layer(other) > layer(name)
]
try:
    TopologicalSorter(graph).prepare()
except CycleError as error:
    wrong.append(f"a circle of imports: {' <- '.join(error.args[1])}")
rooms = {path.name for path in (PACKAGE / "operators").iterdir()} - {"__pycache__"}
if len(rooms) > CROWD:
    wrong.append(f"operators/ must have at most {CROWD} files and folders; has {len(rooms)}")
if wrong:
    sys.exit("\n".join(wrong))
