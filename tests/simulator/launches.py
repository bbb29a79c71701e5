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
    """Return a function that fails for what is not as the schema of reports says."""
    fastjsonschema = pytest.importorskip("fastjsonschema")
    path = Path(json_report.__file__).with_name("report.schema.json")
    return fastjsonschema.compile(json.loads(path.read_text(encoding="utf-8")))


def findings_of(code, *arguments, grid=1, block=1, shared_mem=0, **options) -> list[Finding]:
    """Return what the first ``extern "C"`` kernel of a text does wrong in a checked launch.

    One number of blocks or threads need be no tuple.
    """
    grid, block = ((n,) if isinstance(n, int) else n for n in (grid, block))
    name = code.split('extern "C"')[1].split("void ")[1].split("(")[0]
    with checked(**options) as report:
        RawKernel(code, name)(grid, block, arguments, shared_mem=shared_mem)
        findings, report.findings = report.findings, []
    return findings
