"""The kernels of a module, found in its preprocessed text."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.engines.cache import cache_folder
from cudakern.engines.simulator.build import FLAGS, execute
from cudakern.engines.simulator.explain import explain
from cudakern.engines.simulator.kernel_text import INCLUDED, without_comments, write
from cudakern.engines.simulator.toolchain import find_toolchain
from cudakern.errors import KernelCompileError

if TYPE_CHECKING:
    from cudakern.engines.simulator.kernel_text import KernelText

_MARK = "ck_sim_global_here"
_TOKEN = re.compile(
    r"\bnamespace\b(?P<namespace>[^;{}()=]*)\{|\bextern\s*\{|[{};]|"
    rf"\b(?P<mark>{_MARK})\b"
)
_NAME = re.compile(r"\b(?!__attribute__|alignas|decltype)([A-Za-z_]\w*)\s*\(")
_ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")


def kernel_names(code: KernelText) -> dict[str, str]:
    """Return the ``__global__`` functions of a text that are no templates: from name to expression.

    A function in a namespace is found by its qualified name, and by its own if only one has it.

    Raises
    ------
    KernelCompileError
        The preprocessor fails.
    """
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="build-") as build:
        parts = code.parts()
        write(parts, Path(build))
        flags = (*FLAGS, *code.flags, *INCLUDED, "-DCK_SIM_LISTING", "-E")
        result = execute((*toolchain.command, *flags, parts[0][0]), Path(build))
    if result.returncode != 0:
        summary = explain(code.text, result.stderr)
        raise KernelCompileError(code.source, flags, result.stderr, summary)
    return _names_in(without_comments(result.stdout))


def _names_in(text: str) -> dict[str, str]:  # noqa: C901  one case for each kind of token
    names: dict[str, str] = {}
    short: dict[str, list[str]] = {}
    scopes: list[str | None] = []  # a namespace's name, None for any other brace
    since = 0  # where the current declaration starts
    for token in _TOKEN.finditer(text):
        if token["mark"]:
            found = _name_after(text, token.end())
            if None in scopes or found is None or "template" in text[since : token.start()]:
                continue
            qualified = "::".join([*(scope for scope in scopes if scope), found])
            names[qualified] = qualified
            short.setdefault(found, []).append(qualified)
            continue
        since = token.end()
        if token[0] == "}":
            if scopes:
                scopes.pop()
        elif token["namespace"] is not None:
            scope = token["namespace"].split("::")
            scopes.append("::".join(part.split()[-1] for part in scope if part.split()))
        elif token[0].startswith("extern"):
            scopes.append("")
        elif token[0] == "{":
            scopes.append(None)
    for name, candidates in short.items():
        if len(set(candidates)) == 1:
            names.setdefault(name, candidates[0])
    return names


def _name_after(text: str, position: int) -> str | None:
    declaration = _ATTRIBUTE.sub(" ", text[position : position + 2000])
    found = _NAME.search(declaration)
    return None if found is None else found[1]
