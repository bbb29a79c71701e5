"""Links from names in the pages: to this package's, CuPy's, NumPy's and Python's."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pages import MODULES
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

#: The public classes, by the full names under which the pages have them.
CLASSES = {
    f"{module.__name__}.{name}": value
    for module in MODULES
    for name in module.__all__
    if inspect.isclass(value := getattr(module, name))
}
#: Those names by where the classes are defined, which code in the pages is resolved to.
DEFINED = {f"{value.__module__}.{value.__name__}": name for name, value in CLASSES.items()}
#: What types of parameters in docstrings link to, besides Python's own.
TYPES = {
    **{value.__name__: name for name, value in CLASSES.items()},
    "array": "array",  # of any library: no link
    "bool": ":class:`python:bool`",
    "dtype": "numpy.dtype",
    "scalar": "scalar",
}
#: What names begin with in text.
ROOTS = {"ck": "cudakern", "cudakern": "cudakern", "cupy": "cupy", "np": "numpy", "numpy": "numpy"}
#: JUnit's properties of a finding are no names of Python.
PROPERTIES = re.compile(r"cudakern\.(finding|kind|file|line)")
_NAME = re.compile(rf"({'|'.join(ROOTS)})((?:\.[A-Za-z_]\w*)+)(\(.*)?")


class LinkNames(SphinxTransform):
    """Link each literal that is a name or a call of it, such as ``cupy.take``."""

    default_priority = 700

    def apply(self, **_: Any) -> None:  # noqa: ANN401  docutils'
        """Put references around the literals of a page."""
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            found = _NAME.fullmatch(text)
            linked = isinstance(literal.parent, nodes.reference | nodes.title | pending_xref)
            if found and not linked and not PROPERTIES.fullmatch(text):
                target = ROOTS[found[1]] + found[2]
                names = {"reftarget": target, "refdomain": "py", "reftype": "obj"}
                link = pending_xref("", **names, refexplicit=True, in_text=True)
                literal.replace_self(link)
                link += literal


def leave(
    _: Sphinx, __: BuildEnvironment, node: pending_xref, text: nodes.Element
) -> nodes.Element | None:
    """Leave a name in text without a link if another project does not document it."""
    foreign = not node["reftarget"].startswith("cudakern.")
    return text if foreign and node.get("in_text") else None
