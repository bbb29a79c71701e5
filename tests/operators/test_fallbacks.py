"""What operators leave to NumPy and CuPy, on any alignment and for any bits; on a stand-in too.

The stand-in's fills, copies and conversions fail where kernels of CuPy would.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf, nan

import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.tensor import TensorDesc, TensorFlags
from cudakern.values.dtypes import DataType, as_dtype, bfloat16, copyable_dtypes
from tests.helpers import gather_nd as nd_oracle
from tests.helpers import oracle
from tests.helpers.alignment import WHERE, Memory, layout, repeated, written
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.nonzero import expected_coordinates
from tests.helpers.places import CUDA, HOST, POISON, Buffer, get, same_bytes
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.reduce import OF_NOTHING, is_legal
from tests.helpers.refused import assert_refused
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.helpers.strategies import DTYPES, MemoryLayout, random_bytes

#: Kernels whose accesses are checked find what is misaligned on the host too.
CHECKED = PLAIN_AND_CHECKED
FLAT = each("flat", [False, True])


@pytest.fixture(params=[HOST, "stand-in", pytest.param(CUDA, marks=pytest.mark.gpu)])
def memory(request, tmp_path):
    """Return each kind of memory, the stand-in's with empty tables."""
    if request.param != "stand-in":
        yield Memory(request.param)
        return
    with recorded(tmp_path) as record:
        yield Memory(HOST, stand_in=True)
        assert record.cupy.cuda.get_device_id() == 0, "the current device is given back"


def special_values():
    """Yield values whose bits a fill by value may lose, or that have unlike words."""
    for dtype in map(np.dtype, DTYPES):
        real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        if dtype.kind in "biu":
            parts = [[1], [0], [np.iinfo(dtype).max - 1 if dtype.kind != "b" else 1]]
        else:
            bits = f"u{real.itemsize}"
            infinity = np.array(inf, real).view(bits)
            signalling = (infinity + infinity.dtype.type(1)).view(real)
            least = np.array(1, bits).view(real)
            parts = [[-0.0], [least], [signalling], [0.0], [1.5, -0.0], [-0.0, least]]
        count = dtype.itemsize // real.itemsize
        for part in parts[: None if count == 2 else 4]:  # two parts are for complex numbers
            elements = np.array([part[0], part[-1]][:count], real)
            yield elements.view(dtype)[0]


@each("value", special_values())
def test_an_empty_axis_is_filled_with_the_bits_asked_for(memory, value):
    x = memory.put(np.empty((2, 0, 3), value.dtype))
    calls = (ck.gather, (4,)), (ck.gather_nd, (2, 4, 1))
    for where, (function, shape) in product(WHERE, calls):
        there = layout(where, (2, 4, 3), value.dtype)
        indices = memory.put(np.zeros(shape, np.int32))
        buffer, out = memory.poisoned(there, value.dtype)
        assert function(x, indices, 1, mode="fill", fill_value=value, out=out) is out
        assert np.array_equal(buffer.bytes(), written(there, repeated(there.shape, value)))


@each("dtype", copyable_dtypes())
def test_results_may_have_any_dtype_that_is_copied(memory, dtype):
    """CuPy makes no new arrays of most 8-bit floats, and has no kernels for them."""
    x = random_bytes(np.random.default_rng(1), (4, 6), dtype)
    rows, values = np.array([3, 1, 0, 3], np.int32), x[0, 2:4]
    given, indices, tuples, pair = map(memory.put, (x, rows, rows[:, None], values))
    nothing = memory.put(np.zeros((2, 0), np.int32))
    vectors = values[(rows[:, None] == np.arange(4)).astype(int)]
    assert same_bytes(ck.gather(given, indices), x[rows])
    assert same_bytes(ck.gather_nd(given, tuples), x[rows])
    assert same_bytes(ck.gather_nd(given, nothing), np.stack([x, x]))
    assert same_bytes(ck.one_hot(indices, 4, values=pair), vectors)
    empty, filled = memory.put(x[:0]), np.full((4, 6), x[0, 2])
    assert same_bytes(ck.gather(empty, indices, mode="fill", fill_value=x[0, 2]), filled)


def test_values_of_8_bit_floats_are_not_converted_on_a_gpu(tmp_path):
    with recorded(tmp_path):
        indices = on_device(np.zeros(3, np.int32))
        for found, wanted in (("float8_e5m2", "float32"), ("int8", "float8_e3m4")):
            values = np.array([0, 1]).astype(as_dtype("one_hot", found, copyable_dtypes()))
            with pytest.raises(ck.DTypeError) as caught:
                ck.one_hot(indices, 4, values=on_device(values), dtype=wanted)
            assert str(caught.value) == (
                f"one_hot: values.dtype must be {wanted} on a GPU, where 8-bit floats are not "
                f"converted; got {found}"
            )


#: Shapes of x and of indices, and the batch.
NO_COMPONENTS = [
    ((3, 5), (2, 0), 0),
    ((2, 3, 2), (2, 3, 2, 0), 2),
    ((2, 3, 2), (2, 0), 1),
    ((2, 1, 3, 1, 2, 1, 2, 3), (3, 0), 0),
    ((4,), (0,), 0),
]


@each(
    ("case", "places", "dtype", "mode"),
    covering(
        NO_COMPONENTS,
        zip(WHERE, reversed(WHERE), strict=True),
        ["bool", "float32", "complex128"],
        ["fill", "raise"],
    ),
)
def test_tuples_of_no_component_copy_the_bytes_of_their_batch(memory, case, places, dtype, mode):
    (shape, index_shape, batch), (source, target) = case, places
    values = random_bytes(np.random.default_rng(len(shape)), shape, dtype)
    indices = np.empty(index_shape, np.int64)
    expected = nd_oracle.gather_nd(values, indices, batch)
    there = layout(target, expected.shape, dtype)
    buffer, out = memory.poisoned(there, dtype)
    x = memory.put(values, source)
    assert ck.gather_nd(x, memory.put(indices), batch, mode=mode, out=out) is out
    assert np.array_equal(buffer.bytes(), written(there, expected))


#: complex128 may lie on 8 bytes.
REDUCED = [("half", "complex128")] + [
    (where, dtype)
    for where in ("packed", "gaps")
    for dtype in ("float16", "float32", "complex64", "complex128", bfloat16() or "float64")
]


def of_nothing(function, dtype):
    """Return what a function is of nothing, as an element."""
    both = function == "average" and np.dtype(dtype).kind == "c"
    return np.array(complex(nan, nan) if both else OF_NOTHING[function], dtype)


@each(
    ("function", "where", "dtype"),
    [(f, *row) for f in OF_NOTHING for row in REDUCED if is_legal(f, row[1])],
)
def test_a_reduction_of_nothing_is_its_constant(memory, function, where, dtype):
    there = layout(where, (2, 3), dtype)
    buffer, out = memory.poisoned(there, dtype)
    x = memory.put(np.empty((2, 0, 3), dtype))
    assert ck.reduce(x, function, 1, out=out) is out
    expected = repeated((2, 3), of_nothing(function, dtype))
    assert np.array_equal(buffer.bytes(), written(there, expected))


@each(
    ("function", "offset", "dtype"),
    [
        (f, *row)
        for f in OF_NOTHING
        for row in [(8, "complex128"), (16, "complex128"), (4, "<f4")]
        if is_legal(f, row[1])
    ],
)
@FLAT
def test_a_compiled_reduction_of_nothing_is_its_constant(memory, function, offset, dtype, flat):
    value = of_nothing(function, dtype)
    kind, item = DataType.from_numpy(value.dtype), value.itemsize
    there = MemoryLayout((2, 1, 3), (7 * item, 0, 2 * item), offset, offset + 13 * item)
    desc = ck.ReduceOperatorDesc(
        function, TensorDesc(kind, (2, 0, 3)), TensorDesc(kind, there.shape, (7, 0, 2)), (1,)
    )
    operator = ck.compile_operator(desc, FeatureLevel.EXTENDED)
    buffer, out = memory.poisoned(there, dtype)
    if flat:
        out = memory.wrap(buffer.view((12,), dtype, None, offset))
    assert operator(memory.put(np.empty((2, 0, 3), dtype)), out=out) is out
    assert np.array_equal(buffer.bytes(), written(there, repeated(there.shape, value)))


@FLAT
@each("strides", [None, (9, 2), (1, 3)])
@each(("offset", "dtype"), [(8, "complex128"), (1, "complex128"), (2, "<f4")])
def test_owned_inputs_are_copied_from_any_alignment(memory, offset, dtype, strides, flat):
    kind, item = DataType.from_numpy(np.dtype(dtype)), np.dtype(dtype).itemsize
    values = random_bytes(np.random.default_rng(3), (3, 4), dtype)
    indices = np.array([[2, 0]], np.int32)
    byte_strides = tuple(item * s for s in strides or (4, 1))
    there = MemoryLayout((3, 4), byte_strides, offset, offset + 28 * item)
    owner = Buffer(written(there, values), memory.place)
    shape, steps = ((27,), None) if flat else (there.shape, there.strides)
    x = memory.wrap(owner.view(shape, dtype, steps, offset))
    desc = ck.GatherOperatorDesc(
        TensorDesc(kind, (3, 4), strides, flags=TensorFlags.OWNED_BY_DML),
        TensorDesc(DataType.INT32, (1, 2)),
        TensorDesc(kind, (2, 4)),
        axis=0,
        index_dimensions=1,
    )
    operator = ck.compile_operator(desc, FeatureLevel.EXTENDED).initialize(x)
    owner.memory[...] = owner.memory[::-1].copy()
    assert same_bytes(operator(memory.put(indices)), values[[2, 0]])


@CHECKED
@each(("where", "dtype"), covering(WHERE, ["int16", "int32", "int64"]))
def test_indices_may_have_any_alignment(memory, dtype, where):
    x = np.arange(10, dtype=np.int32)
    i = np.array([[3, 9, 0], [7, 7, 11]], dtype)
    data, indices = memory.put(x), memory.put(i, where)
    assert same_bytes(ck.gather(data, indices, mode="fill"), oracle.gather(x, i, 0, "fill"))
    assert same_bytes(
        ck.gather_nd(data, indices[..., None], mode="fill"), oracle.gather(x, i, 0, "fill")
    )
    with pytest.raises(ck.IndexRangeError, match=r"indices\[1, 2\] must lie in .*; got 11"):
        ck.gather(data, indices, mode="raise")
    expected = (i[..., None] == np.arange(12)).astype(np.float32)
    assert same_bytes(ck.one_hot(indices, 12), expected)


@CHECKED
@each(
    ("where", "wanted", "dtype"),
    covering(WHERE, ["complex64", "complex128", "float16"], ["complex64", "float32", "int16"]),
)
def test_values_of_one_hot_may_have_any_alignment(memory, dtype, wanted, where):
    if (dtype, wanted) == ("complex64", "float16"):
        return  # NumPy warns
    values = np.array([-3, 70], dtype)
    i = np.array([2, 0, 5], np.int32)
    result = ck.one_hot(memory.put(i), 3, values=memory.put(values, where), dtype=wanted)
    expected = np.where(i[:, None] == np.arange(3), values[1], values[0]).astype(wanted)
    assert same_bytes(result, expected)


@CHECKED
@each(("where", "dtype"), covering(WHERE, ["int16", "float32", "complex128"]))
def test_what_is_reduced_or_searched_may_have_any_alignment(memory, dtype, where):
    x = np.array([[0, 3, 0, -2], [5, 0, 0, 1]], dtype)
    given = memory.put(x, where)
    assert same_bytes(ck.reduce(given, "sum", 1), np.array([1, 6], dtype))
    coordinates = expected_coordinates(x)
    count, rows = ck.nonzero_coordinates(given, dtype="int64")
    assert get(count).tolist() == [len(coordinates)]
    assert np.array_equal(get(rows)[: len(coordinates)], coordinates)
    assert same_bytes(ck.argwhere(given), np.argwhere(x))
    for found, expected in zip(ck.nonzero(given, size=6, fill_value=-7), x.nonzero(), strict=True):
        assert get(found).tolist() == [*expected, -7, -7]


def poison(shape, dtype):
    """Return an array of poison."""
    return np.full((*shape, np.dtype(dtype).itemsize), POISON, np.uint8).view(dtype)[..., 0]


@CHECKED
@each(("where", "dtype"), covering(WHERE, ["int16", "float32", "complex128"]))
def test_results_may_have_any_alignment(memory, dtype, where):
    x = np.array([[0, 3, 0, -2], [5, 0, 0, 1]], dtype)
    i = np.array([1, 0, 1], np.int32)
    given, indices, values = map(memory.put, (x, i, x[0, :2]))
    calls = [
        (partial(ck.reduce, given, "sum", 1), x.sum(1, dtype=dtype)),
        (partial(ck.reduce, given, "max", 0, keepdims=True), x.max(0, keepdims=True)),
        (partial(ck.reduce, memory.put(x[:, :0]), "multiply", 1), np.ones(2, dtype)),
        (partial(ck.gather, given, indices), x[i]),
        (partial(ck.gather_nd, given, memory.put(i[:, None])), x[i]),
        (
            partial(ck.one_hot, indices, 2, values=values),
            np.where(i[:, None] == [0, 1], *x[0, 1::-1]),
        ),
    ]
    for call, expected in calls:
        there = layout(where, expected.shape, dtype)
        buffer, out = memory.poisoned(there, dtype)
        for _ in range(2):  # the second call finds what was bound for the first one
            buffer.memory[...] = POISON
            assert call(out=out) is out
            assert np.array_equal(buffer.bytes(), written(there, expected.astype(dtype)))


@CHECKED
@each("where", WHERE)
@each("dtype", ["uint32", "int64"])
def test_coordinates_may_have_any_alignment(memory, where, dtype):
    """Rows beyond the count are as they were."""
    for x in (np.eye(3, 4, 1, np.float32), np.zeros((0, 3), np.float32)):
        coordinates = expected_coordinates(x)
        expected = poison((12, 2), dtype)
        expected[: len(coordinates)] = coordinates
        places = layout(where, (1,), "uint32"), layout(where, expected.shape, dtype)
        buffers, out = zip(*map(memory.poisoned, places, ("uint32", dtype)), strict=True)
        count, rows = ck.nonzero_coordinates(memory.put(x), size=12, dtype=dtype, out=out)
        assert (count, rows) == out
        wanted = np.array([len(coordinates)], np.uint32), expected
        for buffer, there, values in zip(buffers, places, wanted, strict=True):
            assert np.array_equal(buffer.bytes(), written(there, values))


def test_fields_of_records_and_slices_of_buffers_are_written():
    records = np.zeros(3, [("flag", "i1"), ("total", "f4"), ("best", "c16"), ("where", "i8")])
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    ck.reduce(x, "sum", 1, out=records["total"])
    ck.reduce(x.astype("c16"), "max", 1, out=records["best"])
    ck.reduce(x, "argmax", 1, out=records["where"])
    assert records.tolist() == [(0, 6, 3, 3), (0, 22, 7, 3), (0, 38, 11, 3)]
    message = bytearray(9 + 4 + 8 * 24)
    out = np.frombuffer(message, "u4", 1, 9), np.frombuffer(message, "i8", 24, 13).reshape(12, 2)
    ck.nonzero_coordinates(x % 5 == 1, dtype="int64", out=out)
    assert message[:9] == bytes(9)
    assert message[9:61] == np.uint32([3]).tobytes() + np.int64([[0, 1], [1, 2], [2, 3]]).tobytes()


def test_misaligned_arrays_must_be_apart_and_writeable():
    memory = Buffer(bytes(range(200)), HOST)
    x, apart, over = (memory.view((n,), "f4", offset=at) for n, at in ((6, 1), (1, 25), (1, 24)))
    total = partial(ck.reduce, x, "max", 0, keepdims=True)
    for out in (over, memory.view((1,), "f4", offset=8)):
        for _ in range(2):
            text = "reduce: out must not overlap x; they share memory [T19]"
            assert_refused(ck.BindingError, text, partial(total, out=out))
    assert get(total(out=apart)).tolist() == [x.max()]
    text = "reduce: out must give each element an address of its own; got strides (2,)"
    call = partial(ck.reduce, x.reshape(2, 3), "sum", 1, out=memory.view((2,), "f4", (2,), 41))
    assert_refused(ck.BindingError, text, call)
    count, rows = memory.view((1,), "u4", offset=61), memory.view((6, 1), "u4", offset=63)
    text = "nonzero_coordinates: out.coordinates must not overlap out.count; ... "
    assert_refused(ck.BindingError, text, partial(ck.nonzero_coordinates, x, out=(count, rows)))
    apart.flags.writeable = False
    text = "reduce: out must be writeable; got a read-only array"
    assert_refused(ck.BindingError, text, partial(total, out=apart))


@CHECKED
@FLAT
@each("offset", [1, 2, 9])
def test_tensors_may_have_any_alignment_at_the_extended_level(memory, offset, flat):
    def tensor(kind, sizes, strides=None, values=None):
        """Return a descriptor, what lies where, and an array of poison or values."""
        dtype = kind.numpy
        desc = TensorDesc(kind, sizes, strides)
        steps = tuple(s * dtype.itemsize for s in desc.element_strides)
        there = MemoryLayout(sizes, steps, offset, offset + desc.total_bytes + 5)
        buffer = Buffer(np.full(there.nbytes, POISON, np.uint8), memory.place)
        if values is not None:
            buffer = Buffer(written(there, values.astype(dtype)), memory.place)
        shape, steps = (sizes, steps) if not flat else ((desc.total_bytes // dtype.itemsize,), None)
        return desc, there, buffer, memory.wrap(buffer.view(shape, dtype, steps, offset))

    def check(desc, inputs, outputs, *expected):
        operator = ck.compile_operator(desc, FeatureLevel.EXTENDED)
        out = [array for *_, array in outputs]
        for _ in range(2):
            operator(*(array for *_, array in inputs), out=out[0] if len(out) == 1 else tuple(out))
            for (_, there, buffer, _), values in zip(outputs, expected, strict=True):
                assert np.array_equal(buffer.bytes(), written(there, values))

    f4, i4, u4, i8 = DataType.FLOAT32, DataType.INT32, DataType.UINT32, DataType.INT64
    values = np.array([[0, 3, 0, -2], [5, 0, 0, 1], [1, 1, 1, 1]], np.float32)
    x, out = tensor(f4, (3, 4), (9, 2), values), tensor(i8, (3, 1), (2, 1))
    desc = ck.ReduceOperatorDesc("argmax", x[0], out[0], (1,))
    check(desc, [x], [out], values.argmax(1)[:, None])
    count, rows = tensor(u4, (1,)), tensor(u4, (12, 2), (3, 1))
    found = poison((12, 2), "u4")
    found[: np.count_nonzero(values)] = np.argwhere(values)
    desc = ck.NonzeroCoordinatesOperatorDesc(x[0], count[0], rows[0])
    check(desc, [x], [count, rows], np.array([np.count_nonzero(values)], "u4"), found)
    i = np.array([[2, 0]], np.int32)
    tuples, out = tensor(i4, (2, 1), (3, 1), i.T), tensor(f4, (2, 4), (1, 2))
    check(ck.GatherNDOperatorDesc(x[0], tuples[0], out[0], 2, 2), [x, tuples], [out], values[i[0]])


def test_coordinates_of_nothing_are_the_fill_value(memory):
    x = memory.put(np.empty((0, 3), np.float32))
    for fill in (-7, 0):
        found = ck.nonzero(x, size=2, fill_value=fill)
        assert [get(a).tolist() for a in found] == [[fill] * 2] * 2
