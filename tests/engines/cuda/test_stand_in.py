"""The stand-in for CuPy against CuPy itself, which is imported without a GPU.

Names and parameters are those of CuPy. What CuPy refuses before it asks the driver, the stand-in
refuses in the same words, and what it makes without one is the same.
"""

from __future__ import annotations

import inspect
import re
import types
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from cudakern._dtypes import copyable
from cudakern.engines.cuda.library import device_count, takes_addresses
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
        signed = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
        if inspect.Parameter.VAR_POSITIONAL not in [p.kind for p in signed]:
            return [(p.name, p.kind, p.default is not p.empty) for p in signed]
    head = function.__doc__.replace("\\", "").splitlines()[:3]
    listed = [match[1] for line in head if (match := re.match(r"[\w.]+\((.*)\)", line))][-1]
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
    wrong, taken = [], parameters(ours)
    for place, (name, kind, _) in enumerate(taken):
        if name not in known:
            wrong.append(f"{path}: no parameter {name} in {list(known)}")
        elif kind is not KEYWORD and positional[place : place + 1] != [name]:
            wrong.append(f"{path}: parameter {place} is not {name} in {list(known)}")
    names = {name for name, _, _ in taken}
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


def test_cupy_passes_addresses():
    assert takes_addresses(cupy), "launches take the slower way"


#: What the package does with arrays of a dtype; ``new`` makes one of a dtype, shape and strides.
OF_ARRAYS = {
    "empty": lambda xp, _, kind: xp.empty((3, 4), kind),
    "ndarray": lambda xp, new, kind: xp.ndarray((2, 0, 3), kind, new("u1").data),
    "ndarray, scalar": lambda xp, new, kind: xp.ndarray((), kind, new("u1").data),
    "ndarray, strides": lambda xp, new, kind: xp.ndarray((2, 3), kind, new("u1").data, (-16, 0)),
    "as_strided": lambda xp, new, kind: xp.lib.stride_tricks.as_strided(new(kind), (1,), (16,)),
    "view": lambda _, new, kind: new("u1", (3, 16)).view(kind),
    "view, words": lambda _, new, kind: new(kind, (1,)).view(f"u{min(kind.itemsize, 8)}"),
    "view, back": lambda _, new, kind: new(f"V{kind.itemsize}", (3, 4), (64, 32)).view(kind),
    "view, scalar": lambda _, new, kind: new("u1", ()).view(kind),
    "view, gaps": lambda _, new, kind: new("u1", (32,), (2,)).view(kind),
    "view, rest": lambda _, new, kind: new("u1", (17,)).view(kind),
    "slice": lambda _, new, kind: new(kind, (3, 4))[1:, ..., ::-2],
    "transposed": lambda _, new, kind: new(kind, (3, 4)).T,
}
OTHERS = {
    "alloc": lambda xp, _: xp.cuda.alloc(0),
    "zeros": lambda xp, _: xp.zeros(8, np.uint64),
    "fill": lambda _, new: new("u8").fill(np.uint64(0)),
    "fill, kernel": lambda _, new: new("u2").fill(np.uint16(7)),
    "copy": lambda _, new: new("u2", (4,), (4,)).__setitem__(..., new("u2")),
    **{f"astype of {k}": lambda _, new, k=k: new(k).astype(np.float32) for k in "?bQefd"},
    "module": lambda xp, _: xp.RawModule(path="nowhere.cubin"),
    "device": lambda xp, _: xp.cuda.Device(0),
    "compute capability": lambda xp, _: xp.cuda.Device(0).compute_capability,
    "event": lambda xp, _: xp.cuda.Event(disable_timing=True),
    "current stream": lambda xp, _: xp.cuda.get_current_stream(0),
    "current device": lambda xp, _: xp.cuda.runtime.getDevice(),
    "multiprocessors": lambda xp, _: xp.cuda.runtime.deviceGetAttribute(16, 0),
    "null stream": lambda xp, _: xp.cuda.Stream.null,
    "null stream, new": lambda xp, _: xp.cuda.Stream(null=True),
    "per-thread stream": lambda xp, _: xp.cuda.Stream.ptds,
    "per-thread stream, new": lambda xp, _: xp.cuda.Stream(ptds=True),
    "stream of CuPy": lambda xp, _: xp.cuda.Stream.from_external(xp.cuda.Stream.ptds),
}
FAKE = fake_cupy.make()
#: What is seen of a call that comes as far as the driver.
ASKS = "the driver is asked"


def new_of_cupy(dtype, shape=(4,), strides=None):
    """Return an array of CuPy: without a driver over memory that nothing touches."""
    cuda = cupy.cuda
    unowned = partial(cuda.UnownedMemory, 4096, 1024, None, 0)
    pointer = cuda.alloc(1024) if device_count() else cuda.MemoryPointer(unowned(), 0)
    return cupy.ndarray(shape, dtype, pointer, strides)


def new_of_ours(dtype, shape=(4,), strides=None):
    """Return the same array of the stand-in."""
    return fake_cupy.Array(np.ndarray(shape, dtype, np.zeros(1024, np.uint8), 0, strides))


def seen(call):
    """Return what a call makes, as far as it is compared, or the error that it raises."""
    try:
        result = call()
    except cupy.cuda.runtime.CUDARuntimeError:
        return ASKS
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    if isinstance(result, cupy.ndarray | fake_cupy.Array):
        return result.dtype, result.shape, result.strides
    return getattr(result, "ptr", None), getattr(result, "device_id", None)


def unlike(name, call):
    """Return where the stand-in does otherwise than CuPy without a driver, in a line or none."""
    theirs, ours = seen(partial(call, cupy, new_of_cupy)), seen(partial(call, FAKE, new_of_ours))
    wrong = isinstance(ours[0], type) if theirs == ASKS else ours != theirs
    return [f"{name}: {ours}, not {theirs}"] if wrong else []


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_dtypes_are_refused_as_by_cupy(name):
    calls = {k: partial(OF_ARRAYS[name], kind=k) for k in copyable()}
    assert [line for kind, call in calls.items() for line in unlike(kind, call)] == []


def test_all_else_is_refused_as_by_cupy():
    assert [line for name, call in OTHERS.items() for line in unlike(name, call)] == []
