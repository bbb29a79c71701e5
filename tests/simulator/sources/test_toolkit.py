"""The search for CUDA's headers runs once, and again when its result may have changed."""

from __future__ import annotations

import itertools
import os
import shutil
import site
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cudakern.compilation.cache import cache_folder
from cudakern.simulator.sources import toolkit
from tests.helpers.processes import printed

MARK = toolkit.MARKS["cudart"]
PACKAGE = "site/nvidia/cuda_runtime/include"
times = itertools.count(int(time.time()) - 10**6)


def settle(top):
    """Make recent changes look old, with another time for each."""
    for folder in (top, *top.rglob("*")):
        if folder.stat().st_mtime > time.time() - 10**5:
            os.utime(folder, (0, next(times)))


def put(folder):
    """Put a header into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("1")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Return a folder with packages, of which one has headers, and the list of parts looked for.

    A stand-in for `cuda.pathfinder` looks for them, in the same order.
    """
    top, asked = tmp_path / "machine", []
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(top / "site")])
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(top / "user"))
    spec = SimpleNamespace(submodule_search_locations=[str(top / "elsewhere/cuda")])
    monkeypatch.setattr(toolkit, "PathFinder", SimpleNamespace(find_spec=lambda _: spec))

    def find(part):
        asked.append(part)
        return next((str(f) for f in candidates() if (f / MARK).is_file()), None)

    def candidates():
        for packages in (*site.getsitepackages(), site.getusersitepackages()):
            yield Path(packages) / "nvidia/cu13/include"
            yield Path(packages) / "nvidia/cuda_runtime/include"
        if prefix := os.environ.get("CONDA_PREFIX"):
            folders = [*Path(prefix).glob("targets/*/include")]
            yield from folders if len(folders) == 1 else []
        if root := os.environ.get("CUDA_PATH") or os.environ.get("CUDA_HOME"):
            yield Path(root) / "include"
        yield top / "system/include"

    pathfinder = SimpleNamespace(find_nvidia_header_directory=find)
    monkeypatch.setattr(toolkit, "load", lambda _: pathfinder)
    put(top / PACKAGE)
    for folder in ("elsewhere/cuda/pathfinder", "site/nvidia/cu13"):
        (top / folder).mkdir(parents=True)
    settle(top)
    return top, asked


@pytest.fixture
def told(machine, monkeypatch):
    """Return a function that returns what another process finds, and whether it had to search."""
    _, asked = machine

    def told():
        monkeypatch.setattr(toolkit, "_known", {})
        asked.clear()
        folder = toolkit.find_headers("cudart")
        count = len(asked)
        assert toolkit.find_headers("cudart") == folder
        return folder, bool(count)

    return told


def test_another_process_does_not_ask(machine, told):
    top, _ = machine
    assert told() == (top / PACKAGE, True)
    assert told() == (top / PACKAGE, False)
    (top / PACKAGE / MARK).write_text("an upgrade, at the same place")
    assert told() == (top / PACKAGE, False)
    assert toolkit.find_headers("cccl") == top / PACKAGE  # not cached yet


#: Changes to a machine, and where the headers are afterwards.
CHANGES = {
    "removed": (lambda top: shutil.rmtree(top / "site/nvidia/cuda_runtime"), None),
    "header removed": (lambda top: (top / PACKAGE / MARK).unlink(), None),
    "other headers": (
        lambda top: put(top / "site/nvidia/cu13/include"),
        "site/nvidia/cu13/include",
    ),
    "upgrade": (lambda top: (top / "site/nvidia_cuda_runtime-13.0.dist-info").mkdir(), PACKAGE),
    "other pathfinder": (lambda top: (top / "elsewhere/cuda/pathfinder/new").mkdir(), PACKAGE),
}


@pytest.mark.parametrize(("change", "left"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(machine, told, change, left):
    top, _ = machine
    told()
    change(top)
    settle(top)
    assert told() == (left and top / left, True)
    assert told() == (left and top / left, left is None)  # missing headers may appear later


def test_other_packages_are_noticed(machine, told, monkeypatch):
    top, _ = machine
    told()
    put(top / "other/nvidia/cuda_runtime/include")
    settle(top)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(top / "other")])
    assert told() == (top / "other/nvidia/cuda_runtime/include", True)
    assert told() == (top / "other/nvidia/cuda_runtime/include", False)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(top / "site"), str(top / "other")])
    assert told() == (top / PACKAGE, True)


VARIABLES = {"CUDA_PATH": "include", "CUDA_HOME": "include", "CONDA_PREFIX": "targets/a/include"}


@pytest.mark.parametrize("name", VARIABLES)
def test_the_environment_is_noticed(machine, told, monkeypatch, name):
    top, _ = machine
    shutil.rmtree(top / "site/nvidia")
    folders = [top / root / VARIABLES[name] for root in ("one", "two")]
    for root, folder in zip(("one", "two"), folders, strict=True):
        put(folder)
        settle(top)
        monkeypatch.setenv(name, str(top / root))
        assert told() == (folder, True)
        assert told() == (folder, False)
    monkeypatch.delenv(name)
    other = "CUDA_PATH" if name == "CONDA_PREFIX" else "CONDA_PREFIX"
    monkeypatch.setenv(other, str(top / "two"))  # that variable does not lead there
    assert told() == (None, True)
    monkeypatch.delenv(other)
    monkeypatch.setenv(name, str(top / "two"))
    assert told() == (folders[1], False)
    put(top / "two/targets/b/include")  # with two targets, conda's layout takes none
    settle(top)
    assert told() == (None if name == "CONDA_PREFIX" else folders[1], True)
    put(top / PACKAGE)
    settle(top)
    assert told() == (top / PACKAGE, True)


def test_what_lies_elsewhere_is_asked_each_time(machine, told):
    top, _ = machine
    shutil.rmtree(top / "site/nvidia")
    put(top / "system/include")
    settle(top)
    assert told() == told() == (top / "system/include", True)


def test_what_has_just_changed_is_asked_again(machine, told):
    """It could change once more without looking different."""
    top, _ = machine
    (top / "site/new").mkdir()
    assert told() == told() == (top / PACKAGE, True)
    settle(top)
    told()
    assert told() == (top / PACKAGE, False)


@pytest.mark.parametrize("how", ["read-only", "everybody's", "damaged"])
def test_a_cache_that_does_not_serve_is_no_matter(machine, told, tmp_path, monkeypatch, how):
    top, _ = machine
    told()
    cache = tmp_path / "cache"
    (kept,) = cache.iterdir()
    if how == "damaged":
        kept.write_bytes(kept.read_bytes().replace(b"/", b"."))
        assert told() == (top / PACKAGE, True)
        assert told() == (top / PACKAGE, False)
        return
    kept.unlink()
    if how == "read-only":
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: path != cache and access(path, mode))
        assert told() == told() == (top / PACKAGE, True)
    else:
        cache.chmod(0o777)
        with pytest.warns(match="the cache folder must be this user's"):
            assert told() == told() == (top / PACKAGE, True)
    assert not [*cache.iterdir()]


def test_a_compiled_kernel_needs_no_pathfinder(tmp_path):
    program = """
import sys
import numpy as np
from cudakern.simulator import RawKernel
x = np.zeros(4, np.int32)
code = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] = 7; }'
RawKernel(code, "k")((1,), (4,), (x,))
assert x.tolist() == [7] * 4
print("cuda.pathfinder" in sys.modules, "cuda.bindings" in sys.modules)
"""
    asking = f"import cuda.pathfinder\n{program}"  # newer cuda-bindings import it before we do
    folder = tmp_path / "cache"
    folder.mkdir()
    for runtime in cache_folder().glob("libcudakern_runtime_*.so"):  # which takes long to compile
        shutil.copy(runtime, folder)
    said = [printed(code, CUDAKERN_CACHE_DIR=str(folder)) for code in (asking, program)]
    assert said == ["True True\n", "False False\n"]
