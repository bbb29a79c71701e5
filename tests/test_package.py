"""The package as a whole: import, public names, wheel, files."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement

import cudakern as ck
from cudakern.compilation import nvrtc
from cudakern.operators.operator import operators
from cudakern.simulator.libraries.toolchain import find_toolchain
from tests.helpers.processes import build_package, printed
from tests.helpers.readmes import ROOT

#: Besides the functions and descriptors of operators.
OTHERS = """
ArgumentError AxisDirection BindingError CacheWarning CompiledOperator CudakernError DTypeError
DataType DescriptorError EngineUnavailableError FeatureLevel IndexRangeError KernelCompileError
NonzeroCoordinates ReduceFunction SimulatorError TensorDesc TensorFlags __version__ clear_caches
compile_operator minimum_tensor_size_in_bytes simulator
"""


def compiler():
    """Return the variable that names the simulator's compiler, which may be in a Python package."""
    return {"CUDAKERN_CXX": shlex.join(find_toolchain().command)}


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_only_the_cuda_extras_choose_a_major_version_of_cuda():
    allowed = {}
    for extra, lines in PYPROJECT["project"]["optional-dependencies"].items():
        for wanted in map(Requirement, lines):
            assert not wanted.name.startswith("nvidia-cuda-nvrtc"), "cuda-toolkit knows its name"
            if wanted.name in {"cuda-bindings", "cuda-toolkit"}:
                versions = [
                    major for major in (11, 12, 13, 14) if f"{major}.9.9" in wanted.specifier
                ]
                allowed.setdefault(extra, []).append(versions)
    expected = {"cuda12": [[12]] * 2, "cuda13": [[13]] * 2}
    assert allowed == expected | dict.fromkeys(("interop", "perf", "simulator"), [[12, 13]] * 2)


def test_import_needs_numpy_alone():
    code = """
import sys
absent = ["cupy", "rich", "ml_dtypes", "ziglang", "onnx"]
sys.modules.update(dict.fromkeys(absent))
import cudakern as ck
print(sorted(n for n in sys.modules if n.split(".")[0] in {"cupy", "rich"} and sys.modules[n]))
print(ck.gather([5, 6, 7], [2, 0]).tolist())
"""
    assert printed(code, **compiler()).splitlines() == ["[]", "[7, 5]"]


def test_public_names_are_documented():
    own = {p.__name__: p for o in operators() for p in (*o.functions, *o.descriptors)}
    assert dir(ck) == sorted(ck.__all__) == sorted([*own, *OTHERS.split()])
    assert all(getattr(ck, name) is public for name, public in own.items())
    for name in ck.__all__:
        text = inspect.getdoc(getattr(ck, name))
        assert name == "__version__" or text.splitlines()[0].endswith("."), name


#: Parameters or fields of public names; the operators' reference has those of functions.
SIGNATURES = {
    ck.NonzeroCoordinates: "count, coordinates",
    ck.clear_caches: "",
    ck.compile_operator: "desc, feature_level",
    ck.minimum_tensor_size_in_bytes: "desc",
    ck.GatherOperatorDesc: "input_tensor, indices_tensor, output_tensor, axis, index_dimensions",
    ck.GatherNDOperatorDesc: "input_tensor, indices_tensor, output_tensor, input_dimension_count, "
    "indices_dimension_count",
    ck.GatherND1OperatorDesc: "input_tensor, indices_tensor, output_tensor, input_dimension_count, "
    "indices_dimension_count, batch_dimension_count",
    ck.NonzeroCoordinatesOperatorDesc: "input_tensor, output_count_tensor, "
    "output_coordinates_tensor",
    ck.OneHotOperatorDesc: "indices_tensor, values_tensor, output_tensor, axis",
    ck.ReduceOperatorDesc: "function, input_tensor, output_tensor, axes",
    ck.ArgmaxOperatorDesc: "input_tensor, output_tensor, axes, axis_direction",
    ck.ArgminOperatorDesc: "input_tensor, output_tensor, axes, axis_direction",
    ck.TensorDesc: "data_type, sizes, strides, total_tensor_size_in_bytes, "
    "guaranteed_base_offset_alignment, flags",
}


def test_public_signatures_are_pinned():
    assert {f: ", ".join(inspect.signature(f).parameters) for f in SIGNATURES} == SIGNATURES


def test_hints_install_by_name():
    """That also completes what was installed from a clone, whatever an index has."""
    texts = [file.read_text(encoding="utf-8") for file in Path(ck.__file__).parent.rglob("*.py")]
    hints = re.findall(r"pip install (['\"]\S+['\"])", "\n".join(texts))
    extras = [hint.strip("'\"") for hint in hints if "cuda-toolkit" not in hint]
    assert len(extras) >= 4
    for extra in extras:
        name, _, asked = extra.rstrip("]").partition("[")
        assert name == "cudakern"
        assert asked in PYPROJECT["project"]["optional-dependencies"]


def test_each_operator_has_a_planted_fault_and_each_fault_its_place():
    if (ROOT / "cudakern").exists():  # else the product is installed
        check = [sys.executable, "tests/planted_faults.py", "--check"]
        done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("", 0)


def built_wheel(folder):
    """Build the wheel in a folder; return its folder, which is ``dist`` if there are no sources."""
    if not (ROOT / "cudakern").exists():
        return ROOT / "dist"
    build_package(ROOT, folder, "--wheel")
    return folder


def test_wheel_works_in_an_empty_environment(tmp_path):
    (wheel,) = built_wheel(tmp_path).glob("*.whl")
    site = tmp_path / "site"
    shutil.unpack_archive(wheel, site, "zip")
    here = Path(np.__file__).parent.parent
    # What the wheel needs: NumPy, and NVRTC with its bindings.
    needed = ("numpy", "numpy.libs", "cuda", "cuda_bindings-*", "nvidia", "nvidia_cuda_nvrtc*")
    for path in (path for pattern in needed for path in here.glob(pattern)):
        (site / path.name).symlink_to(path)
    code = f"""
import sys
sys.path[:0] = [{str(site)!r}]
import cudakern as ck
from cudakern.engines.kernel_text import kernel_folder
print(ck.__file__)
print(kernel_folder())
print(ck.gather([[1.0, 2.0], [3.0, 4.0]], [1], 0).tolist())
"""
    # -S: without site-packages, where NVRTC is looked for; -P: without the working folder.
    libraries = str(Path(nvrtc.library_path()).parent)
    environment = {"PYTHONPATH": "", "LD_LIBRARY_PATH": libraries, **compiler()}
    lines = printed(code, flags=("-S", "-P"), **environment).splitlines()
    assert lines[0].startswith(str(site))
    assert lines[1] == str(site / "cudakern" / "kernels")
    assert lines[2] == "[[3.0, 4.0]]"
    names = {str(p.relative_to(site)) for p in (site / "cudakern").rglob("*") if p.is_file()}
    assert "cudakern/py.typed" in names
    assert "cudakern/kernels/common/division.cuh" in names
    assert "cudakern/simulator/sources/headers/type_traits" in names
    pages = {
        "operators": ("README", "descriptors", "reference"),
        "simulator": ("README", "limits", "memory_model", "reference"),
    }
    for room, titles in pages.items():
        assert {f"cudakern/{room}/{title}.md" for title in titles} <= names
    assert "cudakern/simulator/runtime/runtime.cpp" in names
    parts = ("page.html.j2", "page.css", "page.js")
    assert {f"cudakern/simulator/reports/html/{part}" for part in parts} <= names
    assert not [name for name in ("tests", "perf") if (site / name).exists()]
