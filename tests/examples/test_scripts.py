"""The examples run as scripts: ``python tests/examples/voxel_grid.py``; a page names each."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import cudakern as ck
from tests.examples.printed import PRINTED
from tests.helpers.readmes import section
from tests.helpers.rows import each

FOLDER = Path(__file__).parent


def test_every_example_is_here_and_on_the_page():
    paths = sorted(FOLDER.glob("*.py"))
    guarded = [p.stem for p in paths if '\nif __name__ == "__main__":\n' in p.read_text("utf-8")]
    bullet = r"^- \[`(\w+)`\]\(../../tests/examples/(\w+)\.py\): \w"
    page = section("cudakern/operators/README.md", "## Examples")
    links = re.findall(bullet, page, re.MULTILINE)
    assert links == [(name, name) for name in guarded]
    assert [*PRINTED] == guarded


@each("name", PRINTED)
def test_script_prints(name, capsys, monkeypatch):
    """What scripts print on a device is checked by tests/test_readme.py."""
    monkeypatch.setitem(sys.modules, "cupy_or_numpy", SimpleNamespace(xp=np))
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out == PRINTED[name]


def test_scripts_take_cupy_where_there_is_a_gpu():
    with ck.simulator.in_place_of_cupy() as cupy:
        assert runpy.run_path(str(FOLDER / "cupy_or_numpy.py"))["xp"] is cupy


def test_a_script_runs_in_any_folder_without_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    command = [sys.executable, "-W", "error", FOLDER / "voxel_grid.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout == PRINTED["voxel_grid"]
