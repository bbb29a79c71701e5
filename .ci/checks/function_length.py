"""Fail on a Python function of more than 60 lines, without its docstring and inner functions."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

LIMIT = 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has, without its docstring and inner functions."""
    within = [node for node in function.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    documented = [function.body[0]] if ast.get_docstring(function) is not None else []
    skipped = sum((n.end_lineno or 0) - n.lineno + 1 for n in (*within, *documented))
    return (function.end_lineno or 0) - function.lineno + 1 - skipped


listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=True)  # noqa: S607
long = [
    f"{name}:{node.lineno}: {node.name} has {count} lines"
    for name in listed.stdout.splitlines()
    if Path(name).exists()
    for node in ast.walk(ast.parse(Path(name).read_text(encoding="utf-8")))
    if isinstance(node, FUNCTIONS) and (count := own_lines(node)) > LIMIT
]
if long:
    sys.exit(f"functions must have at most {LIMIT} lines:\n" + "\n".join(long))
