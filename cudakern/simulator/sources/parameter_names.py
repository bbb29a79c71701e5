"""The parameters of a kernel, as CUDA C++ or PTX declares them."""

from __future__ import annotations

import re

from cudakern.simulator.ptx.symbols import find_symbols

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
#: Attributes such as __launch_bounds__(256), the name, the parameters in the first group, the body.
_KERNEL = r"\b__global__\b(?:[^;{{}}()]|\({nested}\))*?\b{name}\s*\(({nested})\)\s*\{{"
_ENTRY = re.compile(r"\.entry\s+([\w$]+)(?:\s*\(([^()]*)\))?")
_ARGUMENTS = re.compile(r"<[^<>]*>")  # of templates
_NAME = re.compile(r"[\s*&]([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")


def find_declared_parameters(text: str, kernel: str) -> str | None:
    """Return a kernel's parameters as its text declares them; None unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.sources.parameter_names import find_declared_parameters
    >>> text = "template <class T> __global__ void f(T* x, const int n) {}"
    >>> find_declared_parameters(text, "f<int>")
    'T* x, const int n'
    """
    name = kernel.partition("<")[0].rpartition("::")[2].strip()
    pattern = _KERNEL.format(name=re.escape(name), nested=_NESTED)
    lists = re.findall(pattern, _COMMENT.sub(" ", text))
    return " ".join(lists[0].split()) if name and len(lists) == 1 else None


def find_entry_parameters(ptx: str, kernel: str) -> str | None:
    """Return a kernel's parameters as PTX declares them; None unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.sources.parameter_names import find_entry_parameters
    >>> find_entry_parameters(".visible .entry f(.param .u64 f_0, .param .f32 f_1) {}", "f")
    '.u64 f_0, .f32 f_1'
    """
    lists = dict(_ENTRY.findall(_COMMENT.sub(" ", ptx)))
    symbols = find_symbols(kernel, list(lists))
    return " ".join(lists[symbols[0]].replace(".param", "").split()) if len(symbols) == 1 else None


def find_parameter_names(text: str, kernel: str) -> tuple[str, ...]:
    """Return the parameters' names, some of them empty; nothing unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.sources.parameter_names import find_parameter_names
    >>> find_parameter_names("template <class T> __global__ void f(T* x, const int n) {}", "f<int>")
    ('x', 'n')
    """
    parameters = find_declared_parameters(text, kernel)
    if not parameters:
        return ()
    while _ARGUMENTS.search(parameters):
        parameters = _ARGUMENTS.sub("", parameters)
    names = [_NAME.search(parameter) for parameter in parameters.split(",")]
    return tuple("" if match is None or match[1].startswith("__") else match[1] for match in names)
