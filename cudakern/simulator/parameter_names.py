"""Names of a kernel's parameters, as its CUDA C++ gives them."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
#: Attributes such as __launch_bounds__(256), the name, the parameters in the first group, the body.
_KERNEL = r"\b__global__\b(?:[^;{{}}()]|\({nested}\))*?\b{name}\s*\(({nested})\)\s*\{{"
_ARGUMENTS = re.compile(r"<[^<>]*>")  # of templates
_NAME = re.compile(r"[\s*&]([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")


def parameter_names(text: str, kernel: str) -> tuple[str, ...]:
    """Return the names, an empty one where there is none; nothing unless one kernel is found.

    Examples
    --------
    >>> from cudakern.simulator.parameter_names import parameter_names
    >>> parameter_names("template <class T> __global__ void f(T* x, const int n) {}", "f<int>")
    ('x', 'n')
    """
    name = kernel.partition("<")[0].rpartition("::")[2].strip()
    pattern = _KERNEL.format(name=re.escape(name), nested=_NESTED)
    found = re.findall(pattern, _COMMENT.sub(" ", text))
    if not name or len(found) != 1 or not found[0].strip():
        return ()
    given = found[0]
    while _ARGUMENTS.search(given):
        given = _ARGUMENTS.sub("", given)
    names = [_NAME.search(one) for one in given.split(",")]
    return tuple("" if one is None or one[1].startswith("__") else one[1] for one in names)
