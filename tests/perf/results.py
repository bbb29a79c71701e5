"""Results of runs, and the lines that are printed about them."""

from __future__ import annotations

import re

from perf.results import NAN, Timing, load
from tests.helpers.readmes import FOLDERS


def newest(gpu):
    """Return the newest result of a GPU."""
    paths = (FOLDERS["perf"] / "results" / gpu).glob("*.json")
    return load(max(paths, key=lambda path: path.name))


def timing(median, spread=0.0, **more):
    """Return a timing with an interval around its median."""
    interval = median * (1 - spread), median * (1 + spread)
    return Timing(median, *interval, 30, "graph", cold=True, **more)


def missing(note):
    """Return a timing without times."""
    return Timing(NAN, NAN, NAN, 0, "graph", cold=True, note=note)


def rows(text):
    """Return the lines of printed tables as lists of cells."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    return [re.split(r"  +", line) for line in lines]
