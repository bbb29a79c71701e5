"""The programs of the pages and of the examples with arrays of CuPy's, and what they print."""

from __future__ import annotations

import ast
import io
from contextlib import redirect_stdout
from importlib.util import find_spec
from typing import NamedTuple

from cudakern.engines.cuda.library import device_count
from tests.examples.printed import PRINTED
from tests.helpers.places import CUDA
from tests.helpers.readmes import blocks, read, readmes

#: How a program chooses: in a page, in an example, and in one that has no choice.
IN_A_PAGE = "import numpy as xp  # or: import cupy as xp\n"
IN_AN_EXAMPLE = "from cupy_or_numpy import xp  # beside this file\n"
GPU_ALONE = "import cupy\n"
#: What is in a program for two devices.
SECOND_DEVICE = "cuda.Device(1)"


class Program(NamedTuple):
    """A block of a page, or an example, and what it prints."""

    name: str
    code: str
    printed: str

    @property
    def devices(self):
        """How many devices the program needs."""
        return 2 if SECOND_DEVICE in self.code else 1

    def is_for(self, place):
        """Return whether a program runs in a place: the simulator has no CUDA graphs."""
        if missing(self.code):
            return False
        if place == CUDA:
            return self.devices == 1 or self.devices <= device_count()
        return GPU_ALONE not in self.code or self.devices > 1

    def run(self):
        """Return what the program prints with what ``import cupy`` gives here."""
        code = self.code.replace(IN_A_PAGE, "import cupy as xp\n")
        code = code.replace(IN_AN_EXAMPLE, "import cupy as xp\n")
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(code, self.name, "exec"), {"__name__": "__main__"})  # noqa: S102  ours
        return output.getvalue()


def every():
    """Return all programs, those that run on the host alone included."""
    found = [
        Program(f"{path}, block {number}", *block)
        for path in readmes()
        for number, block in enumerate(blocks(read(path)))
    ]
    scripts = {name: f"tests/examples/{name}.py" for name in PRINTED}
    return found + [Program(path, read(path), PRINTED[name]) for name, path in scripts.items()]


def chooses(program):
    """Return whether a program has arrays of CuPy's."""
    return any(way in program.code for way in (IN_A_PAGE, IN_AN_EXAMPLE, GPU_ALONE))


def programs(place):
    """Return the programs that run in a place with arrays on a device."""
    return [program for program in filter(chooses, every()) if program.is_for(place)]


def missing(code):
    """Return the libraries that code imports, and that are not installed."""
    nodes = ast.parse(code).body
    names = {alias.name for node in nodes if type(node) is ast.Import for alias in node.names}
    names |= {node.module for node in nodes if type(node) is ast.ImportFrom}
    roots = {name.partition(".")[0] for name in names}
    return {root for root in roots - {"cupy", "cupy_or_numpy"} if find_spec(root) is None}
