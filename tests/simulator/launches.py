"""Checked launches of kernels given as text."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from cudakern.simulator import Finding, RawKernel, checked
from cudakern.simulator.reports import json_report


@cache
def schema():
    """Return a function that fails for anything that breaks the schema of reports."""
    fastjsonschema = pytest.importorskip("fastjsonschema")
    path = Path(json_report.__file__).with_name("report.schema.json")
    return fastjsonschema.compile(json.loads(path.read_text(encoding="utf-8")))


def findings_of(code, *arguments, grid=1, block=1, shared_mem=0, **options) -> list[Finding]:
    """Return the findings of a checked launch of the first ``extern "C"`` kernel of a text.

    Grid and block may be integers.
    """
    grid, block = ((n,) if isinstance(n, int) else n for n in (grid, block))
    name = code.split('extern "C"')[1].split("void ")[1].split("(")[0]
    with checked(**options) as report:
        RawKernel(code, name)(grid, block, arguments, shared_mem=shared_mem)
        findings, report.findings = report.findings, []
    return findings
