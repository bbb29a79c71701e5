"""Stand-ins for libraries of perf/peers, computed by NumPy, with the real ones' signatures."""

import ctypes
import enum
import inspect
import types

import numpy as np
from onnx import load_from_string
from onnx.reference import ReferenceEvaluator

STREAM = 77
SCRATCH = 640


def at(address, shape, dtype):
    """The array that lies at an address."""
    dtype = np.dtype(dtype)
    memory = (ctypes.c_byte * (int(np.prod(shape)) * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)


class Accelerators:
    """The part of cupy._core that switches them."""

    def __init__(self):
        self.routines = self.reductions = ["cub"]

    def get_routine_accelerators(self):
        return self.routines

    def get_reduction_accelerators(self):
        return self.reductions

    def set_routine_accelerators(self, names):
        self.routines = names

    def set_reduction_accelerators(self, names):
        self.reductions = names


class CubLibrary:
    """The functions of cub.cu."""

    def version(self):
        return 300500

    def __getattr__(self, name):
        kind, *others = name.split("_")
        return lambda *given: getattr(self, f"_{kind}")(others, *given) or 0

    def _asked(self, scratch, nbytes, stream):
        """Whether a call only asks how much scratch memory it needs."""
        assert stream.value == STREAM
        if scratch.value is None:
            nbytes.contents.value = SCRATCH
            return True
        assert nbytes.contents.value == SCRATCH
        at(scratch.value, SCRATCH, "uint8")[...] = 0xA5
        return False

    def _reduce(self, function, dtype, scratch, nbytes, data, out, shape, stream):
        if self._asked(scratch, nbytes, stream):
            return
        x = at(data.value, shape, dtype)
        if function == "argmax":
            at(out.value, shape[:-1], "int64")[...] = x.argmax(-1)
        else:
            wide = x.astype(np.float64 if x.dtype.kind == "f" else x.dtype)
            at(out.value, shape[:-1], dtype)[...] = getattr(wide, function)(-1)

    def _sum(self, others, scratch, nbytes, data, out, size, stream):
        self._reduce("sum", others[0], scratch, nbytes, data, out, (size.value,), stream)

    def _max(self, others, scratch, nbytes, data, out, size, stream):
        self._reduce("max", others[0], scratch, nbytes, data, out, (size.value,), stream)

    def _rows(self, others, scratch, nbytes, data, out, rows, columns, stream):
        shape = rows.value, columns.value
        self._reduce(others[0], others[1], scratch, nbytes, data, out, shape, stream)

    def _nonzero(self, others, scratch, nbytes, data, out, count, sizes, stream):
        if self._asked(scratch, nbytes, stream):
            return
        dtype, rank, result = others
        assert len(sizes) == int(rank)
        found = np.argwhere(at(data.value, tuple(sizes), dtype))
        at(out.value, found.shape, result)[...] = found
        at(count.value, (1,), "uint32")[...] = len(found)

    def _gather(self, others, table, indices, out, size, stream):
        assert stream.value == STREAM
        (bits,) = others
        picks = at(indices.value, size.value, "int32")
        values = at(table.value, picks.max() + 1, f"uint{bits}")
        at(out.value, size.value, f"uint{bits}")[...] = values[picks]


class ReferenceSession:
    """A session of ONNX Runtime, and its binding."""

    def __init__(self, model):
        self._evaluator = ReferenceEvaluator(load_from_string(model))
        self._inputs = {}

    def io_binding(self):
        return self

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        assert (device_type, device_id) == ("cpu", 0)
        self._inputs[name] = at(buffer_ptr, shape, element_type)

    def bind_output(
        self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None
    ):
        assert (name, device_type, device_id) == ("output", "cpu", 0)
        self._target = None if buffer_ptr is None else at(buffer_ptr, shape, element_type)

    def run_with_iobinding(self, binding):
        assert binding is self
        (self._found,) = self._evaluator.run(None, self._inputs)
        if self._target is not None:
            assert self._found.dtype == self._target.dtype
            assert self._found.shape == self._target.shape
            self._target[...] = self._found

    def get_outputs(self):
        return [self._found]


class OpKind(enum.Enum):
    """Of cuda.compute."""

    PLUS = np.add
    MAXIMUM = np.maximum


def algorithm(work):
    """Return what makes an algorithm of cuda.compute, which takes the arguments of ``work``."""
    names = inspect.signature(work).parameters.keys()

    def make(**made):
        assert made.keys() == names - {"num_items", "num_segments"}

        def call(*, temp_storage, stream, **given):
            assert stream == STREAM
            assert given.keys() == names
            if temp_storage is not None:
                work(**given)
            return SCRATCH

        return call

    return make


def reduce_into(d_in, d_out, num_items, op, h_init):
    d_out[0] = op.value.reduce(d_in[:num_items], initial=h_init[0], dtype=h_init.dtype)


def segmented_reduce(d_in, d_out, num_segments, start_offsets_in, end_offsets_in, op, h_init):
    for k in range(num_segments):
        row = d_in[start_offsets_in[k] : end_offsets_in[k]]
        d_out[k] = op.value.reduce(row, initial=h_init[0])


def select(d_in, d_out, d_num_selected_out, cond, num_items):
    found = [d_in + k for k in range(num_items) if cond(d_in + k)]
    d_out[: len(found)] = found
    d_num_selected_out[:] = len(found), 0


def compute():
    """The module cuda.compute."""
    return types.SimpleNamespace(
        OpKind=OpKind,
        CountingIterator=lambda start: start,
        make_reduce_into=algorithm(reduce_into),
        make_segmented_reduce=algorithm(segmented_reduce),
        make_select=algorithm(select),
    )
