"""The examples as scripts, as ``python tests/examples/voxel_grid.py``; the README names each."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.places import HOST
from tests.helpers.readmes import section

FOLDER = Path(__file__).parent
#: What each prints.
PRINTED = {
    "beam_reordering": """\
histories of three beams, then parents 1, 1, 0 with the words 5, 6, 5:
[[[3 8 5]
  [3 8 6]
  [3 7 5]]]
""",
    "boxes_of_class": """\
boxes of class 7: [[0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 9.0]]
room for 3, no wait: [[0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 9.0], [0.0, 0.0, 0.0, 0.0]]
""",
    "channel_statistics": """\
means: [31.5 47.5 63.5] variances: [597.25 597.25 597.25]
""",
    "label_smoothing": """\
labels 2 and ignored:
[[0.05 0.05 0.85 0.05]
 [0.05 0.05 0.05 0.05]]
""",
    "masked_log_softmax": """\
log-probabilities; of the second row all is masked:
[[-0.313 -1.313   -inf]
 [  -inf   -inf   -inf]]
""",
    "memory_map": """\
the first elements of three rows of 3 million:
[0. 7. 0.]
""",
    "moe_routing": """\
loads of the experts: [2 1] and, with room for one token each, the results:
[[ 7.5 15. ]
 [ 0.   0. ]
 [-5.  -6. ]]
""",
    "onnx_executor": """\
votes: [1 2 0]
""",
    "padded_embedding": """\
the sentences 2 0 and 1, padded:
[[[5. 6.]
  [1. 2.]]

 [[3. 4.]
  [0. 0.]]]
""",
    "voxel_grid": """\
cells: [[0, 0, 1], [1, 0, 0]] features: [50. 25.] too many: [ True]
""",
}


def test_every_example_is_here_and_in_the_readme():
    paths = sorted(FOLDER.glob("*.py"))
    guarded = [p.stem for p in paths if '\nif __name__ == "__main__":\n' in p.read_text("utf-8")]
    bullet = r"^- \[`(\w+)`\]\(tests/examples/(\w+)\.py\): \w"
    links = re.findall(bullet, section("README.md", "## Examples"), re.MULTILINE)
    assert links == [(name, name) for name in guarded]
    assert [*PRINTED] == guarded


@pytest.mark.parametrize("name", PRINTED)
def test_the_readme_says_what_an_example_needs(name):
    nodes = [*ast.walk(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")))]
    modules = {alias.name for node in nodes if type(node) is ast.Import for alias in node.names}
    modules |= {node.module for node in nodes if type(node) is ast.ImportFrom}
    brought = {*sys.stdlib_module_names, "numpy", "cudakern", "cupy_or_numpy"}
    (line,) = re.findall(rf"^- \[`{name}`.*$", section("README.md", "## Examples"), re.MULTILINE)
    assert {name.partition(".")[0] for name in modules} - brought == {
        *re.findall(r"which needs `(\w+)`", line)
    }


@pytest.mark.parametrize("name", PRINTED)
def test_script_prints(name, place, capsys, monkeypatch):
    chosen = SimpleNamespace(xp=import_module("numpy" if place == HOST else "cupy"))
    monkeypatch.setitem(sys.modules, "cupy_or_numpy", chosen)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out == PRINTED[name]


def test_a_script_runs_in_any_folder_without_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    command = [sys.executable, "-W", "error", FOLDER / "voxel_grid.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout == PRINTED["voxel_grid"]
