"""Arrays of JAX as operands of every function, and results as arrays of JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.arrays.foreign import as_array
from cudakern.operators.arrays.native import address_of
from tests.helpers.every_function import CASES, poisoned, run, run_in_place
from tests.helpers.operator_samples import INDICES, X
from tests.helpers.places import Buffer, get, same_bytes
from tests.helpers.rows import each
from tests.helpers.strategies import DTYPES

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
NARROW = [name for name in dir(jnp) if name.startswith(("bfloat16", "float8_"))]


@pytest.fixture(autouse=True)
def wide_types():
    """Let JAX use types of 64 bits, as the operands do."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003  its interface
    yield
    jax.config.update("jax_enable_x64", before)


def device_of(kind):
    try:
        return jax.devices(kind)[0]
    except RuntimeError:
        pytest.skip("this JAX has no CUDA")


@pytest.fixture(params=DEVICES)
def device(request):
    return device_of(request.param)


def address(array):
    return address_of(array) if isinstance(array, np.ndarray) else array.data.ptr


@each("case", CASES.values(), ids=CASES)
def test_every_function_reads_arrays_where_they_are(addresses, case, device):
    arrays = [jax.device_put(operand.copy(), device) for operand in case.operands]
    pointers = [array.unsafe_buffer_pointer() for array in arrays]
    for result in run_in_place(case, arrays, pointers, addresses):
        assert isinstance(result, np.ndarray) == (device.platform == "cpu")


@each("dtype", DTYPES[:-1] + NARROW)
def test_every_dtype(dtype, device):
    if device.platform != "cpu" and dtype.startswith("float8"):
        return  # CuPy takes no such array by DLPack
    itemsize = jnp.dtype(dtype).itemsize
    base = (np.arange(24 * itemsize) % (2 if dtype == "bool" else 256)).astype(np.uint8)
    base = base.view(jnp.dtype(dtype)).reshape(4, 6)
    for values in (base, base[:0], base[1, 2]):
        x = jax.device_put(values, device)
        found = as_array("gather", "x", x)
        assert get(found).tobytes() == values.tobytes()
        assert (found.dtype, found.shape) == (values.dtype, values.shape)
        assert not values.size or address(found) == x.unsafe_buffer_pointer()
    indices = jax.device_put(np.array([3, 0]), device)
    assert same_bytes(ck.gather(jax.device_put(base, device), indices), base[[3, 0]])


@each("case", [case for case in CASES.values() if case.has_out])
def test_arrays_never_change_so_they_are_no_outputs(addresses, case, device):
    outputs = [jax.device_put(array, device) for array in poisoned(case)]
    with pytest.raises(ck.BindingError) as caught:
        run(case, lambda a: jax.device_put(a, device), outputs)
    kind = f"{type(outputs[0]).__module__.partition('.')[0]}.{type(outputs[0]).__name__}"
    assert str(caught.value).endswith(f" must be writeable; got a read-only {kind}")
    assert not addresses
    for output, before in zip(outputs, poisoned(case), strict=True):
        assert np.array_equal(output, before)


def test_traced_arrays_have_no_elements(addresses):
    texts = []

    def traced(x):
        for call in (
            lambda: ck.gather(x, [0]),
            lambda: ck.gather(np.ones(3), [0], out=x),
            lambda: ck.gather(np.ones(3), [0], mode="fill", fill_value=x[0]),
            lambda: ck.reduce(np.ones((3, 3)), "sum", x[0].astype(int)),
            lambda: ck.reduce(np.ones((3, 3)), "sum", keepdims=x[0] > 0),
            lambda: ck.one_hot([0], x[0].astype(int)),
            lambda: ck.one_hot([0], 3, values=(0, x[0])),
        ):
            with pytest.raises(ck.CudakernError) as caught:
                call()
            texts.append(str(caught.value))
        return x

    jax.jit(traced)(jnp.ones(3))
    assert texts[0].startswith("gather: x must be an array; got jax.DynamicJaxprTracer (")
    assert texts[1].startswith("gather: out must be an array; got jax.DynamicJaxprTracer (")
    assert all("\n" not in text for text in texts)
    assert len(texts) == 7
    assert not addresses


def test_scalars_are_scalars():
    assert ck.gather(X, [9], mode="fill", fill_value=jnp.float32(7)).tolist() == [[7] * 4]
    assert ck.reduce(X, "sum", jnp.int32(1)).shape == (3,)


@each("dtype", ["float32", "int64", "complex128", "uint16"])
def test_results_of_the_host_become_arrays_without_a_copy_on_64_bytes(dtype):
    x = np.arange(48).astype(dtype)
    for offset, shared in ((0, True), (64, True), (16, False), (32, False)):
        out = Buffer(bytes(512), "host").view((8,), dtype, offset=offset)
        back = jnp.from_dlpack(ck.gather(x, np.arange(8, 0, -1), out=out))
        assert (back.unsafe_buffer_pointer() == address_of(out)) == shared
        assert back.dtype == dtype
        assert np.array_equal(back, x[8:0:-1])


def test_results_become_arrays_by_a_copy_wherever_they_are():
    result = ck.gather(X, INDICES, 1)
    assert same_bytes(np.asarray(jnp.asarray(result)), X[:, INDICES])


@pytest.mark.gpu
def test_results_on_a_gpu_become_arrays_without_a_copy():
    device = device_of("cuda")
    x, indices = (jax.device_put(a, device) for a in (X, INDICES))
    result = ck.gather(x, indices, 1)
    back = jnp.from_dlpack(result)
    assert back.unsafe_buffer_pointer() == result.data.ptr
    assert np.array_equal(back, X[:, INDICES])
    with pytest.raises(ck.BindingError, match="got CUDA device 0"):
        ck.gather(X, indices)
