"""Arrays of the stand-in have NumPy's values and CuPy's behaviour."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.rows import each


def texts(table):
    """Return the expressions of a table."""
    return [text.strip() for line in table.strip().split("\n") for text in line.split(" | ")]


X = "x = cp.arange(24, dtype='f4').reshape(2, 3, 4)"
#: Expressions that give arrays in CuPy: without dimensions where NumPy has scalars.
ARRAYS = """
    x.sum() | x[0, 1, 2] | x[0] | x[..., 1] | x[x > 5] | x[cp.asarray([1, 0])] | x.max(axis=1)
    x.mean() | x.T | x.real | -x | x + 1 | 2 ** x | x @ x.swapaxes(1, 2) | x > 3 | x == x
    abs(x) | x.argmax() | x.argsort() | x.astype(cp.int8) | x.copy() | x.ravel()
    x.reshape(-1, 2) | x.any() | x.std() | x.var(axis=0) | x.cumsum() | x.clip(1, 2)
    x.nonzero()[0] | x.dot(x[0].T) | x.ptp() | x.round(1) | x.take(cp.asarray([1]))
    x.view(cp.int32) | x.squeeze() | x.diagonal() | x.trace() | x.conj() | x.repeat(2)
    x.transpose(2, 0, 1) | cp.sum(x) | cp.sqrt(x) | cp.sqrt(2.0) | cp.add.reduce(x)
    cp.add.accumulate(x) | cp.exp(x) | cp.where(x > 1, x, 0) | cp.stack([x, x])
    cp.concatenate((x, x)) | cp.einsum("ijk->k", x) | cp.zeros(3) | cp.ones((2, 2))
    cp.full(2, 7) | cp.arange(3) | cp.linspace(0, 1, 3) | cp.eye(2) | cp.zeros_like(x)
    cp.empty_like(x) | cp.asarray([1, 2]) | cp.array([x[0, 0, 0], x[0, 0, 1]]) | cp.r_[1, 2]
    cp.mgrid[0:2, 0:3] | cp.meshgrid(x[0, 0], x[0, 0])[1] | cp.histogram(x.ravel())[0]
    cp.ptp(x) | cp.unique(x, return_counts=True)[1] | cp.linalg.norm(x) | cp.linalg.svd(x[0])[1]
    cp.fft.fft(x) | cp.linalg.qr(x[0])[0] | cp.allclose(x, x) | cp.array_equal(x, x)
    cp.isclose(x, x) | cp.median(x) | cp.percentile(x, 30) | cp.pad(x, 1) | cp.tril(x)
    cp.bincount(cp.asarray([1, 1])) | cp.sort(x) | cp.random.rand(2) | cp.random.rand()
    cp.random.normal(size=3) | cp.random.permutation(3) | cp.random.default_rng(1).random(3)
    cp.random.RandomState(1).uniform(size=2) | cp.isnan(cp.nan)
    cp.lib.stride_tricks.as_strided(x, (2,), (4,))
    cp.apply_along_axis(lambda row: row.sum(), 0, x) | cp.vectorize(lambda a: a + 1)(x)
    cp.fuse(lambda a: a + 1)(x) | cp.from_dlpack(x) | next(iter(x)) | np.sum(x) | np.sqrt(x)
    np.concatenate([x, x]) | np.float32(2) * x | divmod(x, 2)[1] | min(x[0, 0])
    pickle.loads(pickle.dumps(x)) | copy.deepcopy(x) | x.reduced_view()
    cp.ascontiguousarray(x.T) | x.flatten()
"""


@each("text", texts(ARRAYS))
def test_arrays_are_of_the_class(cp, text):
    names = {"cp": cp, "np": np, "pickle": pickle, "copy": copy}
    exec(X, names)  # noqa: S102
    result = eval(text, names)  # noqa: S307
    assert type(result) is cp.ndarray
    np.testing.assert_array_equal(names["x"].get(), np.arange(24, dtype="f4").reshape(2, 3, 4))


SAME = """
    x.shape | x.dtype | x.size | x.ndim | x.nbytes | x.itemsize | x.strides | len(x) | x.item(3)
    x.tolist() | int(x.sum()) | float(x[0, 0, 1]) | complex(x.max()) | bool(x.any()) | repr(x)
    str(x) | f"{x.mean():.3f}" | xp.result_type(x, xp.int32) | xp.pi | xp.newaxis
    xp.finfo(x.dtype).eps | xp.iinfo("i4").max | xp.shape(x) | xp.ndim(x) | xp.isscalar(3)
    xp.broadcast_shapes((2, 1), (3,)) | sorted(map(float, x.ravel())) | x.tobytes()
    xp.dtype("f8") | xp.issubdtype(x.dtype, xp.floating) | x.flags.c_contiguous | 3 in x
    xp.can_cast("f4", "f8") | [xp.float32(3), xp.int64(2)]
"""


@each("text", texts(SAME))
def test_what_is_no_array_is_as_in_numpy(cp, text):
    results = [eval(text, {"xp": xp, "x": _x(xp)}) for xp in (cp, np)]  # noqa: S307
    assert results[0] == results[1]
    assert type(results[0]) is type(results[1])


def _x(xp):
    return xp.arange(24, dtype="f4").reshape(2, 3, 4)


def test_an_element_is_a_view(cp):
    x = cp.zeros((2, 3))
    one, row = x[1, 2], x[0]
    one[...] = 5
    row += 1
    assert x.get().tolist() == [[1, 1, 1], [0, 0, 5]]
    x[1, 2] += 1
    assert int(one) == 6
    x[x > 2] = 9
    x[:, cp.asarray([0])] = x[:, 1:2] * 2
    assert x.get().tolist() == [[2, 1, 1], [0, 0, 9]]


def test_copies_to_and_from_the_host(cp):
    host = np.arange(6.0).reshape(2, 3)
    for make in (cp.asarray, cp.array, cp.asanyarray):
        x = make(host)
        x[0, 0] = 7
        assert host[0, 0] == 0
    back = x.get()
    assert type(back) is np.ndarray
    back[1, 1] = -1
    assert float(x[1, 1]) == 4
    assert x.get(order="F").flags.f_contiguous
    out = np.empty((2, 3))
    assert x.get(out=out, stream=cp.cuda.Stream()) is out
    assert cp.asnumpy(x, out=np.zeros((2, 3))).tolist() == out.tolist() == x.tolist()
    assert type(cp.asnumpy([x[0, 0], 1])) is np.ndarray
    x.set(np.ones((2, 3)))
    assert float(x.sum()) == 6
    with pytest.raises(TypeError, match="takes float64 of shape"):
        x.set(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"got float64 of shape \(2,\)"):
        x.set(np.ones(2))
    with pytest.raises(RuntimeError, match="non-contiguous array"):
        x[:, 0].set(np.ones(2))
    with pytest.raises(TypeError, match=r"takes a numpy\.ndarray; got ndarray"):
        x.set(x)
    assert cp.asarray(x) is x
    assert cp.array(x) is not x
    assert cp.asarray(x, cp.float32) is not x
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.asarray(["text"])


MIXED = """
    x + h | h + x | x * [1, 2, 3] | np.add(h, x) | cp.add(x, h) | cp.exp(h)
    cp.where(h > 0, x, x) | cp.concatenate([x, h]) | cp.dot(h, x) | h.__iadd__(x)
    x.__iadd__(h) | x == h | range(x[0]) | [1, 2][x.argmax()]
    np.testing.assert_array_equal(x, h)
"""


@each("text", texts(MIXED))
def test_arrays_of_numpy_do_not_mix(cp, text):
    names = {"cp": cp, "np": np, "x": cp.arange(3.0), "h": np.arange(3.0)}
    with pytest.raises(TypeError):
        eval(text, names)  # noqa: S307


def test_what_cupy_refuses_to_set(cp):
    x = cp.arange(3.0)
    for value in (np.zeros(3), [1, 2, 3]):
        with pytest.raises(ValueError, match=r"use cupy\.asarray"):
            x[...] = value
    x[...] = np.float32(2)
    x[0] = np.array(5)
    assert x.get().tolist() == [5, 2, 2]
    for name in ("ctypes", "resize", "setflags", "to_device"):
        with pytest.raises(
            AttributeError, match=f"no cupy.ndarray.{name}; CuPy's arrays have none"
        ):
            getattr(x, name)


def test_outputs_come_back(cp):
    x, out = cp.arange(3.0), cp.zeros(3)
    assert cp.add(x, 1, out=out) is out
    assert cp.sum(x, out=out[0]) is not None
    assert out.get().tolist() == [3, 2, 3]
    assert np.multiply(x, 2, out=out) is out
    total = cp.empty(())
    assert cp.exp(x, out) is cp.clip(x, 0, 1, out) is x.clip(0, 1, out=out) is out
    assert x.sum(None, None, total) is cp.mean(x, out=total) is total
    assert x.astype(float, copy=False) is x
    same = x
    same += 1
    same **= 2
    assert same is x
    assert x.get().tolist() == [1, 4, 9]
    cp.add.at(x, cp.asarray([0, 0]), 1)
    x.scatter_add(cp.asarray([1, 1]), 1)
    x.scatter_max(2, 10)
    x.scatter_min(slice(0, 1), 0)
    assert x.get().tolist() == [0, 6, 10]
    cp.copyto(x, 3)
    x.sort()
    assert x.get().tolist() == [3, 3, 3]


@each("order", [None, *"CFcf"])
def test_memory_counts_as_unwritten(cp, order):
    read = cp.ElementwiseKernel("T x", "T y", "y = x", "read")
    made = [
        cp.empty((2, 3), order=order),
        cp.empty_like(cp.zeros((2, 3), order=order)),
        cp.ndarray((2, 3), order=order),
    ]
    for x in made:
        assert x.flags[f"{order or 'C'}_CONTIGUOUS".upper()]
        with pytest.raises(ck.SimulatorError, match="read: uninitialized"), ck.simulator.checked():
            read(x)
        x[...] = 1
        with ck.simulator.checked():
            assert float(read(x).sum()) == 6
    assert cp.empty_like(cp.zeros((2, 3, 4)).transpose(1, 2, 0)).strides == (32, 8, 96)
    assert cp.empty([2, 3]).shape == (2, 3)
    assert cp.empty(3).shape == cp.empty(np.int64(3)).shape == (3,)
    assert cp.empty(()).shape == ()


def test_pointers(cp):
    x = cp.arange(8, dtype=cp.float32)
    pointer = x[2:].data
    assert pointer.ptr == x.data.ptr + 8 == int(pointer)
    assert pointer.mem.ptr == x.data.ptr
    assert (pointer.device_id, pointer.device.id, pointer.mem.size) == (0, 0, 32)
    view = cp.ndarray((2, 2), cp.float32, pointer + 4, strides=(8, 4))
    assert view.get().tolist() == [[3, 4], [5, 6]]
    view[...] = 0
    assert float(x.sum()) == 0 + 1 + 2 + 7
    memory = cp.cuda.alloc(16)
    host = np.arange(4, dtype=np.int32)
    memory.copy_from_host(host.ctypes.data, 16)
    y = cp.ndarray((4,), cp.int32, memory)
    assert y.get().tolist() == [0, 1, 2, 3]
    (memory + 4).memset(255, 4)
    memory.copy_to_host(host.ctypes.data, 16)
    assert host.tolist() == [0, -1, 2, 3]
    (memory + 8).copy_from(memory, 8)
    memory.copy_from_device_async(memory + 12, 4, None)
    assert y.get().tolist() == [-1, -1, 0, -1]
    runtime = cp.cuda.runtime
    runtime.memcpy(host.ctypes.data, y.data.ptr, y.nbytes, runtime.memcpyDeviceToHost)
    runtime.memcpyAsync(y.data.ptr + 8, host.ctypes.data, 4, runtime.memcpyHostToDevice, 0)
    assert y.get().tolist() == [-1] * 4
    owned = cp.cuda.UnownedMemory(host.ctypes.data, 16, host)
    assert cp.ndarray(4, cp.int32, cp.cuda.MemoryPointer(owned, 0)).get().tolist() == host.tolist()


def test_numbers_of_cupy_random(cp):
    cp.random.seed(3)
    first = cp.random.rand(3, dtype=cp.float32)
    cp.random.seed(3)
    assert (first == cp.random.rand(3, dtype=cp.float32)).all()
    draws = {
        "f": cp.random.normal(0, 1, (2,), cp.float32),
        "d": cp.random.uniform(-1, 1, 5),
        "i": cp.random.randint(0, 5, 3, cp.int32),
        "e": cp.random.standard_normal(3, dtype="e"),
        "F": cp.random.RandomState(1).rand(2, dtype=np.complex64),
        "q": cp.random.poisson(3, 2, dtype=cp.longlong),
        "l": cp.random.default_rng(0).integers(5, size=3),
    }
    for char, drawn in draws.items():
        assert type(drawn) is cp.ndarray
        assert drawn.dtype == char
    assert type(cp.random.randint(5)) is int
    assert cp.random.get_random_state().rand(2).shape == (2,)
    cp.random.shuffle(first)


def test_files(cp, tmp_path):
    x = cp.arange(3)
    cp.save(tmp_path / "x.npy", x)
    assert type(cp.load(tmp_path / "x.npy")) is cp.ndarray
    cp.savez(tmp_path / "x.npz", x=x)
    with cp.load(tmp_path / "x.npz") as archive:
        assert [*archive] == ["x"]
        assert type(archive["x"]) is cp.ndarray


def test_assertions_take_arrays_of_both(cp):
    cp.testing.assert_array_equal(cp.arange(3), np.arange(3))
    with pytest.raises(AssertionError):
        cp.testing.assert_allclose(cp.arange(3), np.arange(3) + 1)


def test_operators_of_the_package(cp):
    x = cp.arange(12, dtype=cp.float32).reshape(3, 4)
    with ck.simulator.checked() as report:
        picked = ck.gather(x, cp.asarray([2, 0]))
        found = ck.argwhere(x > 9)
        most = ck.reduce(x.T, "max", axis=0)
        out = cp.empty((2, 3), cp.float32)
        assert ck.one_hot(cp.asarray([1, 2]), 3, out=out) is out
    assert report.launches >= 4
    assert type(picked) is type(found) is type(most) is cp.ndarray
    assert picked.get().tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert found.get().tolist() == [[2, 2], [2, 3]]
    assert most.get().tolist() == [3, 7, 11]
    assert out.get().tolist() == [[0, 1, 0], [0, 0, 1]]


def test_no_warnings_of_numpy(cp):
    """CuPy does not warn; here a warning would be an error."""
    x = cp.asarray([-1.0, 0.0, 1e300])
    for result in (cp.sqrt(x), 1 / x, np.log(x), x**3, x / 0, (x * x).sum(), cp.log(0.0)):
        assert type(result) is cp.ndarray
    assert cp.asarray([200], cp.uint8).sum(dtype=cp.uint8).item() == 200


def test_programs_that_ask_whose_an_array_is(cp):
    x = cp.zeros(3)
    assert type(x).__module__ == cp.__name__ == "cupy"
    assert str(type(x)) == "<class 'cupy.ndarray'>"
    assert isinstance(x, cp.ndarray)
    assert not isinstance(x.get(), cp.ndarray)


def test_names_that_numpy_has_given_up(cp):
    x = cp.asarray([[3, 1], [2, 4]])
    assert cp.alltrue(x).item() is cp.sometrue(x > 3).item() is True
    assert cp.product(x).item() == 24
    assert cp.cumproduct(x).tolist() == [3, 3, 6, 24]
    assert cp.row_stack((x, x)).shape == (4, 2)
    assert cp.msort(x).tolist() == [[2, 1], [3, 4]]
    assert cp.in1d(x, cp.asarray([1, 4])).tolist() == [False, True, False, True]
    assert cp.trapz(cp.asarray([1, 3])).item() == 2
    assert cp.round_(cp.asarray(2.6)).item() == 3
    assert cp.asfarray(x).dtype == cp.float_ == np.float64
    assert (cp.Inf, cp.infty, cp.NINF) == (np.inf, np.inf, -np.inf)
    assert np.isnan([cp.NaN, cp.NAN]).all()
    assert issubclass(cp.AxisError, ValueError)


def test_subclasses_of_programs(cp):
    class Field(cp.ndarray):
        def total(self):
            return float(self.sum())

    made = Field((2, 2), cp.float32)
    made[...] = 1
    assert type(made) is Field
    assert made.total() == cp.ones(4).view(Field).total() == 4


def test_names_that_a_check_gives_to_arrays(cp):
    code = 'extern "C" __global__ void f(int** x) { x[0][threadIdx.x] = 0; }'
    target = cp.ones(4, cp.int32)
    table = cp.asarray([target.data.ptr], cp.uint64)
    with (
        pytest.raises(ck.SimulatorError, match="element 4 of target"),
        ck.simulator.checked(arrays={"target": target}) as report,
    ):
        cp.RawKernel(code, "f")((1,), (5,), (table,))
    assert report.findings[0].array == "target"


def test_views_can_be_written(cp):
    """CuPy's can be written as well, where NumPy's are read-only."""
    x = cp.zeros((3, 3))
    x.diagonal()[...] = 5
    cp.diagonal(x, 1)[:1] = 2
    assert x.get().tolist() == [[5, 2, 0], [0, 5, 0], [0, 0, 5]]
    row = cp.zeros(3)
    cp.broadcast_to(row, (2, 3))[0] = 4
    assert row.get().tolist() == [4, 4, 4]
    data = b"\1\2\3"
    held = cp.frombuffer(data, cp.uint8)
    held += 1
    assert (held.tolist(), data) == ([2, 3, 4], b"\1\2\3")


def test_an_address_that_no_gpu_has(cp):
    x = cp.zeros(3)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"no cupy\.ndarray\.__cuda_array_interface__; other"):
        x.__cuda_array_interface__  # noqa: B018
