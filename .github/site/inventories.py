"""Where other projects document the names that the pages link to.

Sphinx takes a project's own inventory. Without a network, it takes one with the names below.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: The address of a project, the kind and page of names ("$" is the name), and these.
INVENTORIES = {
    "python": (
        "https://docs.python.org/3/",
        {
            ("py:class", "library/functions.html"): "bool int float",
            ("py:class", "library/stdtypes.html"): "bytes dict list str tuple",
            ("py:data", "library/constants.html"): "None",
            ("std:term", "glossary.html#term-$"): "sequence",
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        {
            ("py:class", "reference/generated/$.html"): "numpy.dtype numpy.exceptions.AxisError",
            ("py:function", "reference/generated/$.html"): (
                "numpy.argmax numpy.argwhere numpy.array numpy.asarray numpy.bincount numpy.empty "
                "numpy.flatnonzero numpy.max numpy.mean numpy.min numpy.moveaxis numpy.nonzero "
                "numpy.prod numpy.stack numpy.sum numpy.take numpy.take_along_axis numpy.where"
            ),
        },
    ),
    "cupy": (
        "https://docs.cupy.dev/en/stable/",
        {
            ("py:class", "reference/generated/$.html"): (
                "cupy.ElementwiseKernel cupy.RawKernel cupy.RawModule cupy.ReductionKernel "
                "cupy.cuda.Device cupy.cuda.Stream cupy.ndarray"
            ),
            ("py:function", "reference/generated/$.html"): (
                "cupy.argwhere cupy.array cupy.asarray cupy.bincount cupy.cumsum cupy.nonzero "
                "cupy.take cupy.take_along_axis"
            ),
        },
    ),
}


def write(folder: Path) -> None:
    """Write inventories of the names above, in the second version of Sphinx's format."""
    folder.mkdir()
    for project, (_, pages) in INVENTORIES.items():
        lines = []
        for (kind, page), names in pages.items():
            for name in names.split():
                place = page.replace("$", name)
                lines.append(f"{name} {kind} 1 {place if '#' in place else f'{place}#{name}'} -\n")
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version:\n# zlib\n"
        contents = head.encode() + zlib.compress("".join(lines).encode())
        (folder / f"{project}.inv").write_bytes(contents)


#: Where Sphinx looks names up: in a project's own inventory, else in the one above.
MAPPING = {
    project: (address, (None, f"inventories/{project}.inv"))
    for project, (address, _) in INVENTORIES.items()
}
