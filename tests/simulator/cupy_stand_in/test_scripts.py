"""Scripts written for CuPy run unchanged, compute the right results, and are checked."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.samples import sample

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).parents[3]


def run(monkeypatch, path):
    """Run a script as a program in the stand-in; return its variables."""
    monkeypatch.setattr(sys, "argv", [str(path)])
    with ck.simulator.in_place_of_cupy():
        return runpy.run_path(str(path), run_name="__main__")


def saxpy(found):
    x, y = found["host_x"].astype(float), found["host_y"].astype(float)
    np.testing.assert_allclose(found["result"], 2.5 * x + y, rtol=1e-6)
    assert type(found["result"]) is np.ndarray
    assert found["milliseconds"] > 0


def histogram(found):
    values = found["values"].get()
    bins = np.floor((values + np.float32(3)) * np.float32(256 / 6)).astype(int)
    expected = np.bincount(bins[(bins >= 0) & (bins < 256)], minlength=256)
    np.testing.assert_array_equal(found["counts"], expected)
    np.testing.assert_array_equal(found["sums"].get(), np.cumsum(expected))
    assert found["total"] == expected.sum()


def softmax(found):
    x = found["host"].astype(np.float32).astype(float)
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    expected = power / power.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found["probability"].get(), expected, rtol=1e-4, atol=1e-30)
    weighted = np.moveaxis(expected, -1, 0) * np.linspace(1, 2, 30)[:, None, None]
    np.testing.assert_array_equal(found["where"].get(), weighted.argmax(axis=0))
    np.testing.assert_allclose(found["value"].get(), weighted.max(axis=0), rtol=1e-4)


def heat(found):
    plate = np.random.default_rng(4).random((21, 30))
    for _ in range(10):
        wide = np.pad(plate, 1)
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        plate = plate + 0.2 * (around - 4 * plate)
    for (result, most), tolerance in zip(found["results"], (1e-5, 1e-13), strict=True):
        np.testing.assert_allclose(result, plate, rtol=tolerance)
        np.testing.assert_allclose(most, plate.max(), rtol=tolerance)


RIGHT = [saxpy, histogram, softmax, heat]


@each("seed", [None, *sample([0, 1], 2)])
@each("right", RIGHT)
def test_result(monkeypatch, right, seed):
    with nullcontext() if seed is None else ck.simulator.checked(seed) as report:
        right(run(monkeypatch, SCRIPTS / f"{right.__name__}.py"))
    assert report is None or report.launches > 1


def test_every_script_is_run():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {right.__name__ for right in RIGHT}


def test_programs_of_their_own_without_cupy():
    """Modules of a real CuPy are neither needed nor imported."""
    program = f"""
import runpy, sys
import cudakern as ck
class NoCuPy:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("cupy", "cupyx", "cupy_backends"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoCuPy())
sys.argv = ["script"]
for name in {[right.__name__ for right in RIGHT]}:
    with ck.simulator.in_place_of_cupy():
        runpy.run_path(f"{SCRIPTS}/{{name}}.py", run_name="__main__")
print(*[name for name in sys.modules if name.startswith("cupy")], "done")
"""
    assert printed(program).endswith("\ndone\n")


#: Faults for the scripts: the text that is replaced, the new text, and the finding with its line.
FAULTS = [
    ("saxpy", "i < n;", "i <= n;", "out_of_bounds", "y[i] = a * x[i] + y[i];"),
    ("histogram", "__syncthreads();  // zeros", "", "race", "atomicAdd(&own[bin], 1u);"),
    ("histogram", "__syncthreads();  // counts", "", "race", "atomicAdd(&counts[b], own[b]);"),
    ("histogram", "own[b] = 0;", ";", "uninitialized", "atomicAdd(&counts[b], own[b]);"),
    ("histogram", "bin >= 0 && ", "", "out_of_bounds", "atomicAdd(&own[bin], 1u);"),
    ("softmax", "weights[_J]", "weights[_J + 1]", "out_of_bounds", "Best(x * weights[_J + 1], _J)"),
    ("heat", "__syncthreads();", "", "race", "const T around = "),
    (
        "heat",
        "if (r >= rows || c >= columns) return;",
        "",
        "out_of_bounds",
        "plate[r * columns + c]",
    ),
]


@each("script, line, fault, kind, code", FAULTS)
def test_fault_is_found(monkeypatch, tmp_path, script, line, fault, kind, code):
    text = (SCRIPTS / f"{script}.py").read_text(encoding="utf-8")
    assert line in text
    path = tmp_path / f"{script}.py"
    path.write_text(text.replace(line, fault, 1), encoding="utf-8")
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked():
        run(monkeypatch, path)
    found = [f for f in caught.value.findings if f.kind == kind]
    ends = [end for f in found for end in (f, f.other) if end is not None]
    assert any(code in end.code for end in ends), caught.value.findings


TESTS = """
import cupy as cp

shift = cp.ElementwiseKernel("raw T x", "T y", "y = x[i + 1]", "shift")


def test_right():
    assert shift(cp.arange(4.0), size=3).get().tolist() == [1, 2, 3]


def test_wrong():
    assert shift(cp.arange(4.0), size=4).get().tolist()[:3] == [1, 2, 3]
"""


def run_tests(folder, *options):
    """Run pytest in a folder."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    options = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(command, check=False, cwd=folder, env=environment, **options)


@each("way", ["option", "ini", "workers"])
def test_tests_of_a_project(tmp_path, way):
    """A package imports CuPy before the conftest.py beside its tests does."""
    package = tmp_path / way / "package"
    (package / "tests").mkdir(parents=True)
    texts = {
        "__init__.py": "import cupy as cp\none = cp.ones(1)\n",
        "tests/__init__.py": "",
        "tests/conftest.py": "from package import one\n",
        "tests/test_shift.py": f"from package import one\n{TESTS}",
        "../pytest.ini": "[pytest]\n" + "cudakern_cupy = true\n" * (way == "ini"),
    }
    for name, text in texts.items():
        (package / name).write_text(text, encoding="utf-8")
    options = [] if way == "ini" else ["--cudakern-cupy"]
    options += ["-n", "2"] if way == "workers" else []
    ran = run_tests(tmp_path / way, "--cudakern-checked=0,1", *options)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "2 failed, 2 passed" in ran.stdout
    assert "shift: out_of_bounds" in ran.stdout
    assert "y = x[i + 1]" in ran.stdout


def test_cupy_that_a_plugin_has_imported(tmp_path):
    (tmp_path / "cupy.py").write_text("", encoding="utf-8")
    (tmp_path / "other.py").write_text("import cupy\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_it(): import cupy\n", encoding="utf-8")
    ran = run_tests(tmp_path, "--cudakern-cupy", "-p", "other")
    assert "ERROR: --cudakern-cupy must come before cupy is imported" in ran.stderr
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert run_tests(tmp_path, "-p", "other").returncode == 0
