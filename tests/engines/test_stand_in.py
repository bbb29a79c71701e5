"""The stand-in for CuPy against CuPy itself, which is imported without a GPU: names, parameters."""

from __future__ import annotations

import inspect
import re
import types
from contextlib import suppress

import numpy as np
import pytest

from tests.helpers import fake_cupy

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

KEYWORD = inspect.Parameter.KEYWORD_ONLY
#: Of the stand-in alone: what a test looks at.
OWN = {"state", "values", "record"}
#: Classes whose instances the engine does not make; their constructors are the stand-in's own.
GIVEN = {"RawKernel", "ndarray"}


def parameters(function):
    """Return (name, kind, whether it has a default) of each parameter but self.

    CuPy's compiled functions have them in the first lines of their docstrings.
    """
    with suppress(ValueError):
        found = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
        if inspect.Parameter.VAR_POSITIONAL not in [p.kind for p in found]:
            return [(p.name, p.kind, p.default is not p.empty) for p in found]
    head = function.__doc__.replace("\\", "").splitlines()[:3]
    listed = [found[1] for line in head if (found := re.match(r"[\w.]+\((.*)\)", line))][-1]
    kind, result = inspect.Parameter.POSITIONAL_OR_KEYWORD, []
    for part in filter(None, re.split(r",\s*(?![^(]*\))", listed)):
        name, *default = part.split("=")
        if name == "*":
            kind = KEYWORD
        elif name != "self":
            result.append((name.split()[-1], kind, bool(default)))
    return result


def differences(path, ours, theirs):
    """Return what a call that the stand-in takes meets in CuPy otherwise, a line each."""
    known = {name: kind for name, kind, _ in parameters(theirs)}
    positional = [name for name, kind in known.items() if kind is not KEYWORD]
    wrong, given = [], parameters(ours)
    for place, (name, kind, _) in enumerate(given):
        if name not in known:
            wrong.append(f"{path}: no parameter {name} in {list(known)}")
        elif kind is not KEYWORD and positional[place : place + 1] != [name]:
            wrong.append(f"{path}: parameter {place} is not {name} in {list(known)}")
    names = {name for name, _, _ in given}
    required = [name for name, _, optional in parameters(theirs) if not optional]
    return wrong + [f"{path}: {name} is required" for name in required if name not in names]


def compare(path, ours, theirs):
    """Return what of a part of the stand-in is not as in CuPy, a line each."""
    if isinstance(ours, types.SimpleNamespace):
        pairs = vars(ours).items()
    elif inspect.isclass(ours):
        pairs = [(k, v) for k, v in vars(ours).items() if not k.startswith("_")]
        if not issubclass(ours, Exception) and path not in GIVEN:
            own = differences(path, ours, theirs)
            return own + [line for k, v in pairs for line in member(path, k, v, theirs)]
    elif callable(ours):
        return differences(path, ours, theirs)
    else:
        return []
    return [line for k, v in pairs for line in member(path, k, v, theirs)]


def member(path, name, ours, theirs):
    if name in OWN:
        return []
    path = f"{path}.{name}".lstrip(".")
    return compare(path, ours, getattr(theirs, name)) if hasattr(theirs, name) else [f"no {path}"]


def test_the_stand_in_has_what_cupy_has():
    assert compare("", fake_cupy.make(), cupy) == []


def test_arrays_and_kernels_have_the_attributes_of_cupy():
    array = fake_cupy.Array(np.zeros(3))
    assert [k for k in vars(array) if k not in OWN and not hasattr(cupy.ndarray, k)] == []
    launch = fake_cupy.make().RawKernel.__call__, cupy.RawKernel.__call__
    assert differences("RawKernel", *launch) == []
    assert hasattr(cupy.RawKernel, "kernel")
    for name in ("ptr", "device_id", "mem"):
        assert hasattr(cupy.cuda.MemoryPointer, name)
    assert hasattr(cupy.cuda.Device, "compute_capability")


@pytest.mark.parametrize(
    ("ours", "difference"),
    [
        (lambda stream, extra: (stream, extra), "f: no parameter extra in ['stream']"),
        (lambda pointer: pointer, "f: no parameter pointer in ['stream']"),
        (lambda: None, "f: stream is required"),
        (lambda stream: stream, None),
    ],
)
def test_a_difference_is_seen(ours, difference):
    found = differences("f", ours, cupy.cuda.runtime.streamIsCapturing)
    assert (difference in found) if difference else (found == [])


def test_parameters_are_read_of_compiled_functions():
    assert [name for name, _, _ in parameters(cupy.RawModule)][:4] == [
        *("code", "path", "options", "backend")
    ]
    assert parameters(cupy.RawModule)[1] == ("path", KEYWORD, True)
    assert parameters(cupy.cuda.runtime.driverGetVersion) == []
