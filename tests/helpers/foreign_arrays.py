"""Arrays of made-up libraries: each exports its memory in one way alone."""

from __future__ import annotations

import ctypes
import sys
import types
import weakref

import numpy as np

from cudakern.values import dtypes

CPU, CUDA, PINNED, METAL, MANAGED = 1, 2, 3, 8, 13  # device types of DLPack
_UINT, _BFLOAT16, _FLOAT8 = 1, 4, 7  # codes of DLPack for dtypes; from the last one on
_NAMES = {b"dltensor": 0, b"dltensor_versioned": 32}  # and what comes before the tensor itself

#: Whether NumPy's own arrays export by version 1.
HAS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _field(capsule, offset, kind):
    """Return a field of the tensor in a capsule of DLPack, which can be changed."""
    (name,) = (name for name in _NAMES if _is_valid(capsule, name))
    return kind.from_address(_pointer(capsule, name) + _NAMES[name] + offset)


def device_type_of(capsule):
    return _field(capsule, 8, ctypes.c_int32)


def dtype_code_of(capsule):
    return _field(capsule, 20, ctypes.c_uint8)


class DLPackOnly:
    """Exports an array by DLPack, as one that is on some device; before version 1 if asked to."""

    def __init__(self, array, device=(CPU, 0), *, version=1, code=None):
        self.array, self.device, self.version, self.code = array, device, version, code
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        del dl_device, copy
        self.asked.append(stream)
        options = {"max_version": max_version} if self.version and HAS_VERSIONS else {}
        capsule = self.array.__dlpack__(**options)
        device_type_of(capsule).value = self.device[0]
        if self.code is not None:
            dtype_code_of(capsule).value = self.code
        return capsule


class InterfaceOnly:
    """Has the CUDA array interface, as of an array on a device of the stand-in for CuPy."""

    def __init__(self, array, device_id=0, *, read_only=False):
        self.array, self.device_id, self.read_only = array, device_id, read_only

    @property
    def __cuda_array_interface__(self):
        interface = self.array.__array_interface__
        address, _ = interface["data"]
        _at[address] = self
        return interface | {"data": (address, self.read_only)}


#: The arrays that were asked for their interface last, by address.
_at = weakref.WeakValueDictionary()


def device_at(address):
    """Return the device of memory of another library, which CUDA's driver knows."""
    return _at[address].device_id if address in _at else 0


class BothOnDevice(DLPackOnly, InterfaceOnly):
    """Speaks both protocols of devices, as tensors of PyTorch and arrays of JAX do."""

    def __init__(self, array, device=(CUDA, 0), *, read_only=False, version=1):
        DLPackOnly.__init__(self, array, device, version=version)
        self.device_id, self.read_only = device[1], read_only


class ArrayOnly:
    """Has ``__array__``, as a series of pandas has."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        del dtype, copy
        return self.array


class CopiesForNumPy(DLPackOnly):
    """Shares its memory by DLPack, while ``__array__`` copies."""

    def __array__(self, dtype=None, copy=None):
        del dtype, copy
        return self.array.copy()


class NumPyInterfaceOnly:
    """Has ``__array_interface__``, as an image of Pillow has."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


LIBRARY = types.ModuleType("narrow_library")
sys.modules[LIBRARY.__name__] = LIBRARY


class _DType:
    """A dtype of a library that has its own."""

    def __init__(self, name, itemsize):
        self.name, self.itemsize = name, itemsize

    def __repr__(self):
        return f"{LIBRARY.__name__}.{self.name}"


_DType.__module__ = LIBRARY.__name__
LIBRARY.uint8, LIBRARY.uint16 = _DType("uint8", 1), _DType("uint16", 2)


class Narrow(DLPackOnly):
    """A tensor of narrow floats, of which NumPy knows nothing and CuPy not all, and its view."""

    def __init__(self, array, device=(CPU, 0), *, name=None, requires_grad=False, read_only=False):
        words = array.view(f"u{array.itemsize}")
        super().__init__(words, device, code=_BFLOAT16 if array.itemsize > 1 else _FLOAT8)
        self.dtype = _DType(name or array.dtype.name, array.itemsize)
        self.requires_grad, self.read_only = requires_grad, read_only

    def view(self, kind):
        assert kind is getattr(LIBRARY, f"uint{8 * self.array.itemsize}")
        if self.device[0] == CPU:
            return DLPackOnly(self.array)
        return BothOnDevice(self.array, self.device, read_only=self.read_only)


class Lazy(ArrayOnly):
    """A collection of Dask, or one of another library whose elements Dask has or has not."""

    def __init__(self, array, graph=()):
        super().__init__(array)
        self.graph = graph

    def __dask_graph__(self):
        return self.graph


class Raising:
    """Raises what it was made with when anything of it is read."""

    def __init__(self, error):
        object.__setattr__(self, "error", error)

    def __getattribute__(self, name):
        if name == "__class__":
            return Raising
        raise object.__getattribute__(self, "error")


class _OnHost:
    """Exports what a capsule has, as memory on the host."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, **_):
        return self.capsule


def host_array(capsule):
    """Return what a capsule has as an array on the host, whatever device it names.

    An array in its place is that. Raises TypeError for a dtype that CuPy does not know.
    """
    if isinstance(capsule, np.ndarray):
        return capsule
    device_type_of(capsule).value = CPU
    code = dtype_code_of(capsule)
    if code.value >= _FLOAT8:
        message = f"Unsupported dtype. dtype code: {code.value}"
        raise TypeError(message)
    is_bfloat16 = code.value == _BFLOAT16
    if is_bfloat16:
        code.value = _UINT
    owner = np.from_dlpack(_OnHost(capsule))
    interface = owner.__array_interface__
    interface["data"] = interface["data"][0], False  # as in CuPy, nothing must not be written to
    array = np.asarray(types.SimpleNamespace(__array_interface__=interface, owner=owner))
    return array.view(dtypes.bfloat16()) if is_bfloat16 else array
