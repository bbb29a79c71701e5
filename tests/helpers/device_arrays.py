"""The stand-in for CuPy with what functions over dask arrays do besides launches of ours."""

from __future__ import annotations

import numpy as np

from tests.helpers import fake_cupy


def values_of(value):
    """Return the elements of arrays of the stand-in, which nothing on the host is mixed with."""
    if isinstance(value, DeviceArray):
        return value.values
    assert not isinstance(value, np.ndarray), "an array on the host in an operation on a device"
    if isinstance(value, tuple | list):
        return type(value)(map(values_of, value))
    return value


def flushed(values):
    """Return elements as kernels of CuPy see them: subnormal float32 is zero."""
    if getattr(values, "dtype", None) != np.float32:
        return values
    return np.where(abs(values) < np.finfo(np.float32).smallest_normal, values * 0, values)


class DeviceArray(fake_cupy.Array, np.lib.mixins.NDArrayOperatorsMixin):
    """An array of the stand-in that NumPy's functions work on, as they do on CuPy's."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None):
        assert method == "__call__"
        device = self.data.device_id
        current = getattr(self.record, "current", device)
        assert current == device, "another device is current"
        fake_cupy.require_kernels(*(value.dtype for value in inputs if hasattr(value, "dtype")))
        results = ufunc(*(flushed(values_of(value)) for value in inputs))
        if out is None:
            return self._view(results)
        (target,) = out
        target.values[...] = results
        return target

    def __array_function__(self, function, types, args, kwargs):
        del types
        fake_cupy.require_kernels(self.dtype)
        return self._view(function(*map(values_of, args), **kwargs))

    def astype(self, dtype):
        fake_cupy.require_kernels(self.dtype, np.dtype(dtype))
        return self._new(flushed(self.values).astype(dtype))

    @property
    def real(self):
        return self._view(self.values.real)

    @property
    def imag(self):
        return self._view(self.values.imag)

    def __len__(self):
        return len(self.values)

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __setitem__(self, key, source):
        fake_cupy.require_kernels(self.dtype)
        self.values[key] = values_of(source)

    def reshape(self, *shape):
        return self._view(self.values.reshape(*shape))

    def sum(self):
        raise AssertionError("a kernel of CuPy for what tells dask of chunks")

    def _view(self, values):
        return DeviceArray(values, self.data.device_id, self.record)


def install(monkeypatch, folder):
    """Put the stand-in in CuPy's place, with these arrays; return it."""
    monkeypatch.setattr(fake_cupy, "Array", DeviceArray)
    return fake_cupy.install(monkeypatch, folder)
