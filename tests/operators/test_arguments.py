"""What every function and compiled operator refuses: one table over all of them.

Each row is an argument that no function takes, what it stands for, and the answer: the class of the
error, and one line that names the operator and the argument. Nothing is launched or written then.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import cudakern as ck
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.every_function import CASES, expected_of, poisoned, results_of
from tests.helpers.foreign_arrays import BothOnDevice, DLPackOnly, InterfaceOnly, Lazy
from tests.helpers.operator_samples import operator_for
from tests.helpers.places import HOST, POISON, Buffer, get, overwrite, put, same_bytes
from tests.helpers.recorded_cupy import on_device
from tests.helpers.refused import assert_refused, nothing_allocated
from tests.helpers.rows import each

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

X = np.arange(12, dtype=np.float32).reshape(3, 4)
#: The names of operands and outputs as messages have them, and the least dimensions of operands.
NAMES = {name: (case.least, [*case.outputs]) for name, case in CASES.items() if case.least}
OPERANDS = [(name, *one) for name, (operands, _) in NAMES.items() for one in enumerate(operands)]
OUTPUTS = [(name, *one) for name, (_, outputs) in NAMES.items() for one in enumerate(outputs)]
#: Both.
WRITTEN = [(*one, output) for one in OPERANDS for output in NAMES[one[0]][1][-1:]]


def operator_of(name):
    """Return what messages call the operator."""
    return name.removeprefix("compiled ")


def call(name, operands, outputs=None):
    """Call a function, or what is compiled, with other operands than its own."""
    case, options = CASES[name], {}
    if outputs is not None:
        options["out"] = tuple(outputs) if isinstance(case.expected, tuple) else outputs[0]
    return case.call(*operands, **options)


def call_with(name, k, operand):
    """Return a call with one operand replaced."""
    operands = list(CASES[name].operands)
    operands[k] = operand
    return lambda: call(name, operands)


def call_into(name, k, output):
    """Return a call with one output replaced."""
    outputs = poisoned(CASES[name])
    outputs[k] = output
    return lambda: call(name, CASES[name].operands, outputs)


MASKED = "a masked array: the mask would be lost; use .filled(value), or .data without the mask"
NO_ARRAYS = {
    "None": (None, ck.DTypeError, "must be an array; got NoneType"),
    "a set": ({0, 1}, ck.DTypeError, "must be an array; got set; use list({})"),
    "a dict": ({0: 1, 1: 0}, ck.DTypeError, "must be an array; got dict; use list({}.values())"),
    "a generator": (
        (n for n in (0, 1)),
        ck.DTypeError,
        "must be an array; got generator; use list({})",
    ),
    "a ragged list": (
        [[1, 2], [3], [4]],
        ck.BindingError,
        "must be an array, or have rows of one length; got rows of several",
    ),
    "a masked array": (
        np.ma.masked_array([1, 2], [0, 1]),
        ck.BindingError,
        f"must not be {MASKED}",
    ),
    "a list of masked arrays": (
        [np.ma.masked_array([1, 2], [0, 1])],
        ck.BindingError,
        f"must not be {MASKED}",
    ),
}


@each("given", NO_ARRAYS)
@each(("name", "k", "operand"), OPERANDS)
def test_what_is_no_array(launches, name, k, operand, given):
    value, error, text = NO_ARRAYS[given]
    if operand == "values" and isinstance(value, list):
        error = ck.ArgumentError
        text = f"must be two scalars or an array of two elements; got {len(value)} of them"
    text = f"{operator_of(name)}: {operand} {text.format(operand)}"
    assert_refused(error, text, call_with(name, k, value))
    assert not launches


#: Sequences with an array in a tuple, and what messages call them.
TUPLES = {
    "two": (lambda a: (a, a), "a tuple of arrays"),
    "one": (lambda a: (a,), "a tuple of arrays"),
    "without elements": (lambda a: (a[:0], a[:0]), "a tuple of arrays"),
    "in lists": (lambda a: ([a], [a]), "a tuple of arrays"),
    "in a list": (lambda a: [(a, a)], "a list of arrays"),
    "DLPack": (lambda a: (DLPackOnly(a),), "a tuple of arrays"),
    "CUDA array interface": (lambda a: (InterfaceOnly(a),), "a tuple of arrays"),
    "buffer": (lambda a: (memoryview(a), memoryview(a)), "a tuple of arrays"),
    "lazy": (lambda a: (Lazy(a), Lazy(a)), "a tuple of arrays"),
    "CuPy": (lambda a: (on_device(a), on_device(a)), "a tuple of arrays"),
    "NonzeroCoordinates": (lambda a: ck.NonzeroCoordinates(a, a), "NonzeroCoordinates"),
}


def stacked(operand):
    """Return what to use where indices are meant."""
    return f"np.stack({operand}, axis=-1), or argwhere instead of nonzero"


@pytest.fixture
def stand_in():
    """Put the stand-in in CuPy's place, with two devices."""
    with ck.simulator.in_place_of_cupy(devices=2):
        yield


@pytest.mark.usefixtures("stand_in")
@each("given", TUPLES)
@each(("name", "k", "operand"), OPERANDS)
def test_several_arrays_in_place_of_one(launches, name, k, operand, given):
    make, found = TUPLES[given]
    operator, value = operator_of(name), make(CASES[name].operands[k])
    if operand == "values":  # two scalars are legal: which is none, the message says
        with pytest.raises((ck.DTypeError, ck.ArgumentError), match=r"^one_hot: values.* must "):
            call_with(name, k, value)()
        return
    use = stacked(operand) if operand.startswith("indices") else f"np.stack({operand})"
    if operand.startswith("indices") and operator == "gather":
        use = f"gather_nd with {use}"
    if given == "NonzeroCoordinates":
        use = f"{operand}.coordinates, whose rows from {operand}.count on are undefined"
    text = f"{operator}: {operand} must be one array; got {found}; use {use}"
    assert_refused(ck.DTypeError, text, call_with(name, k, value))
    assert not launches


@pytest.mark.usefixtures("stand_in")
@each("make", [on_device, InterfaceOnly, BothOnDevice, Lazy])
@each(("name", "k", "operand"), [o for o in OPERANDS if o[2] != "values"])
def test_a_list_of_arrays_that_numpy_does_not_read(launches, name, k, operand, make):
    """On a GPU or lazy, which is to stay so."""
    value, is_tuples = [make(CASES[name].operands[k])] * 2, (name, k) == ("gather_nd", 1)
    use = stacked(operand) if is_tuples else f"np.stack({operand})"
    text = f"{operator_of(name)}: {operand} must be one array; got a list of arrays; use {use}"
    assert_refused(ck.DTypeError, text, call_with(name, k, value))
    assert not launches


@each("x", [np.zeros((0, 0)), np.zeros(3), np.eye(2), np.ones((2, 3, 1))])
def test_what_nonzero_returns_is_no_index(x):
    """Whatever the number of elements that are not zero."""
    for indices in (ck.nonzero(x), np.nonzero(x)):
        with pytest.raises(ck.DTypeError, match=r"^gather_nd: indices must be one array; .*stack"):
            ck.gather_nd(x, indices)
        if x.size:
            assert same_bytes(ck.gather_nd(x, np.stack(indices, axis=-1)), x[np.nonzero(x)])


TEXT = "; it is text, and operators take numbers"
#: Dtypes that no operand has, and the way out for data, for indices.
UNKNOWN = {
    "U1": (TEXT, TEXT),
    "S2": (TEXT, TEXT),
    "datetime64[s]": ('; use {0}.view("int64")', ""),
    ">m8[ms]": ('; use {0}.astype({0}.dtype.newbyteorder("=")).view("int64")', ""),
    "object": (
        '; if all are numbers, use np.asarray({0}, "float64")',
        '; if all are numbers, use np.asarray({0}, "int64")',
    ),
    "V3": ("", ""),
    "longdouble": ('; use {0}.astype("float64")', '; use {0}.astype("int64")'),
    "clongdouble": ('; use {0}.astype("complex128")', ""),
    "int4": ('; use {0}.astype("int8")', '; use {0}.astype("int8")'),
    "uint2": ('; use {0}.astype("uint8")', '; use {0}.astype("uint8")'),
    "float4_e2m1fn": ('; use {0}.astype("float32")', '; use {0}.astype("int64")'),
    "<i4,<f4": ("; use a field, such as {0}['f0']",) * 2,
    ">f4": ('; use {0}.astype({0}.dtype.newbyteorder("="))', '; use {0}.astype("int64")'),
    ">i8": ('; use {0}.astype({0}.dtype.newbyteorder("="))',) * 2,
}
#: Dtypes that indices do not have either.
NO_INTEGERS = {
    "float16": '; use {0}.astype("int64")',
    "bool": "; the positions of a mask are nonzero({0})[0], as tuples argwhere({0})",
    "complex128": "",
}
#: Operands, dtypes that they cannot have, and the end of the message.
OF_OTHER_DTYPES = [
    (*operand, dtype, ways[operand[2] == "indices"])
    for operand in OPERANDS
    for dtype, ways in {**UNKNOWN, **{k: ("", way) for k, way in NO_INTEGERS.items()}}.items()
    if dtype in UNKNOWN or operand[2] == "indices"
]


def dtype_of(name):
    """Return NumPy's dtype of a name, or that of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))


@each("empty", [False, True])
@each(
    ("name", "k", "operand", "dtype", "way"),
    [row for row in OF_OTHER_DTYPES if not row[0].startswith("compiled")],
)
def test_dtypes_that_are_not_supported(launches, name, k, operand, dtype, way, empty):
    own, dtype = CASES[name].operands[k], dtype_of(dtype)
    legal = "bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16, ... "
    legal = "int8 to int64 or uint8 to uint64" if operand == "indices" else legal
    text = f"{name}: {operand}.dtype must be {legal}; got {dtype}{way.format(operand)}"
    value = np.zeros(own.shape, dtype)
    value = value[:0] if empty and operand in {"x", "indices"} else value
    with nothing_allocated():
        assert_refused(ck.DTypeError, text, call_with(name, k, value))
    assert not launches


COMPILED = [row for row in OPERANDS if row[0].startswith("compiled")]


@each("dtype", [*UNKNOWN, *NO_INTEGERS])
@each(("name", "k", "operand"), COMPILED)
def test_a_compiled_operator_takes_one_dtype(launches, name, k, operand, dtype):
    own, dtype = CASES[name].operands[k], dtype_of(dtype)
    text = f"{operator_of(name)}: {operand} must have dtype {own.dtype}; got {dtype}"
    if dtype.kind == "b" and operand.startswith("indices"):
        text += NO_INTEGERS["bool"].format(operand)
    if dtype.newbyteorder("=") == own.dtype:
        text += UNKNOWN[">i8"][0].format(operand)
    value = np.zeros(own.shape, dtype)
    assert_refused(ck.BindingError, text, call_with(name, k, value))
    assert not launches


#: What has a way out, and values that are not lost on it.
WAYS_OUT = {
    "datetime64[s]": [3, 1, 2],
    ">m8[ms]": [3, 1, 2],
    "object": [3, 1.5, 2],
    "longdouble": [3, 1.5, 2],
    "clongdouble": [3, 1j, 2],
    "int4": [3, -8, 2],
    "uint2": [3, 0, 2],
    "float4_e2m1fn": [3, 1.5, 2],
    ">f4": [3, 1.5, 2],
}


@each("name", WAYS_OUT)
def test_the_way_out_of_a_dtype_is_taken(name):
    values = np.array(WAYS_OUT[name]).astype(dtype_of(name))
    with pytest.raises(ck.DTypeError) as caught:
        ck.gather(values, [2, 0, 1])
    x = eval(str(caught.value).rpartition("use ")[2], {"x": values, "np": np})  # noqa: S307  our own words
    assert ck.gather(x, [2, 0, 1]).tolist() == [WAYS_OUT[name][k] for k in (2, 0, 1)]


#: Indices of floats that are integers, in forms that have no method astype, and in one that has.
FLOATS = {
    "array": np.array([1.0, 0.0]),
    "list": [1.0, 0.0],
    "tuple": ([1.0], [0]),
    "scalar": 1.0,
    "NumPy's scalar": np.float32(1),
    "memoryview": memoryview(np.array([1.0, 0.0])),
}


@each("given", FLOATS)
@each("name", ["gather", "gather_nd", "one_hot"])
def test_the_way_out_of_floats_as_indices_is_taken(name, given):
    indices = FLOATS[given]
    indices = [indices] if name == "gather_nd" and given.endswith("scalar") else indices
    x, behind = ((X,), ()) if name.startswith("gather") else ((), (3,))
    call = getattr(ck, name)
    with pytest.raises(ck.DTypeError, match=r"; use [^;]*\.astype\(\"int64\"\)$") as caught:
        call(*x, indices, *behind)
    way_out = str(caught.value).partition("; use ")[2]
    found = call(*x, eval(way_out, {"indices": indices, "np": np}), *behind)  # noqa: S307
    assert same_bytes(found, call(*x, np.asarray(indices).astype(int), *behind))


@each("dtype", ["float32", "complex64", "longdouble"])
@each("name", ["gather", "gather_nd"])
def test_x_and_indices_swapped(launches, name, dtype):
    """As far as dtypes tell: x could be indices, which indices of floats cannot."""
    x, indices = np.ones((2, 3), dtype), np.array([[1, 0]])
    swapped = f"; use {name}(indices, x) if x and indices are swapped"
    floats = ', else indices.astype("int64")' if dtype != "complex64" else ""
    text = f"{name}: indices.dtype must be  ... ; got {x.dtype}{swapped}{floats}"
    assert_refused(ck.DTypeError, text, lambda: getattr(ck, name)(indices, x))
    assert not launches


SWAPPED = "must be an int; got {}: indices and {} are swapped"
OUT_OF_ORDER = {
    "gather: axis": lambda value: ck.gather(X, 0, value),  # as in PyTorch
    "one_hot: depth": lambda value: ck.one_hot(3, value),
}


@each("make", [np.array, np.ndarray.tolist, lambda own: tuple(own.tolist())])
@each("name", OUT_OF_ORDER)
def test_indices_and_an_integer_swapped(place, launches, name, make):
    value = make(np.array([2, 0]))
    value = put(value, place) if isinstance(value, np.ndarray) else value
    text = f"{name} {SWAPPED.format(repr(value), name.split()[1])}"
    assert_refused(ck.DTypeError, text, lambda: OUT_OF_ORDER[name](value))
    assert not launches


@each(("name", "k", "operand"), OPERANDS)
def test_the_way_out_of_a_foreign_byte_order(name, k, operand):
    """What the message says to use is taken."""
    own = CASES[name].operands[k]
    foreign = own.astype(own.dtype.newbyteorder())
    with pytest.raises((ck.DTypeError, ck.BindingError)) as caught:
        call_with(name, k, foreign)()
    way_out = str(caught.value).partition("; use ")[2]
    native = eval(way_out, {operand: foreign})  # noqa: S307  our own words
    results = results_of(call_with(name, k, native)())
    for found, expected in zip(results, expected_of(CASES[name]), strict=True):
        assert same_bytes(found, expected)


#: What messages call integers that no type of 64 bits has; Python does not print the last.
TOO_LONG = {
    **{str(n): n for n in (2**64, -(2**63) - 1, 10**30)},
    "one of 16610 bits": 10**5000,
}
#: In the forms in which operands are given.
BEYOND = {
    "scalar": lambda n: n,
    "list": lambda n: [1, n],
    "nested": lambda n: ((1, 2), [n, 3]),
    "with floats": lambda n: [0.5, n],
    "with bools": lambda n: [True, n],
}


@each("integer", TOO_LONG)
@each("given", BEYOND)
@each(("name", "k", "operand"), OPERANDS)
def test_integers_of_more_than_64_bits(launches, name, k, operand, given, integer):
    value = BEYOND[given](TOO_LONG[integer])
    if operand == "values" and given != "scalar":
        return  # of two numbers float32 is made
    text = f"{operator_of(name)}: {operand} must hold integers of at most 64 bits; got {integer}"
    assert_refused(ck.DTypeError, text, call_with(name, k, value))
    assert not launches


@each("name", [name for name, (operands, _) in NAMES.items() if "indices" in operands])
def test_indices_of_which_numpy_makes_floats(launches, name):
    k = list(NAMES[name][0]).index("indices")
    for value in ([2**63, -1], [[np.uint64(5)], [np.int64(-1)]]):
        low, high = (int(f(np.asarray(value, object).ravel())) for f in (min, max))
        found = f"{low} and {high}, of which NumPy makes float64"
        text = f"{name}: indices must hold integers of one type, int64 or uint64; got {found}"
        assert_refused(ck.DTypeError, text, call_with(name, k, value))
    assert not launches


@each(("name", "k", "operand"), [p for p in OPERANDS if NAMES[p[0]][0][p[2]] is not None])
def test_numbers_of_dimensions(launches, name, k, operand):
    least, own = NAMES[name][0][operand], CASES[name].operands[k]
    for rank in [9, *range(least)]:
        value = np.zeros((1,) * rank, own.dtype)
        text = f"{name}: {operand} must have {least} to 8 dimensions; got {rank}"
        assert_refused(ck.ArgumentError, text, call_with(name, k, value))
    assert not launches


def read_only(array):
    array.flags.writeable = False
    return array


#: What is given in place of an output, and the answer.
NO_OUTPUTS = {
    "list": (np.ndarray.tolist, "must be a numpy.ndarray or cupy.ndarray; got list"),
    "None": (lambda _: None, "must be a numpy.ndarray or cupy.ndarray; got NoneType"),
    "masked": (np.ma.masked_array, f"must not be {MASKED}"),
    "read-only": (read_only, "must be writeable; got a read-only array"),
    "longer": (lambda out: np.concatenate([out, out]), "must have shape {shape} ... "),
    "deeper": (lambda out: out[None], "must have shape {shape} ... "),
    "text": (lambda out: np.zeros(out.shape, "U1"), "must have dtype {dtype}; got <U1"),
    "foreign": (
        lambda out: out.astype(out.dtype.newbyteorder()),
        'must have dtype {dtype}; got {foreign}; use {0}.astype({0}.dtype.newbyteorder("="))',
    ),
    "repeated": (
        lambda out: as_strided(np.zeros_like(out), out.shape, (0,) * out.ndim),
        "must give each element an address of its own; got strides  ... ",
    ),
    "overlapping itself": (
        lambda out: as_strided(out, out.shape, (out.itemsize // 2,) * out.ndim),
        "must give each element an address of its own; got strides  ... ",
    ),
}


def is_output(name, k, given):
    """Return whether what is given is an output: None for one to be made, a single element."""
    if given == "None":
        return name != "nonzero_coordinates"
    return given in {"repeated", "overlapping itself"} and expected_of(CASES[name])[k].size == 1


@each(
    ("name", "k", "output", "given"),
    [(*o, given) for o in OUTPUTS for given in NO_OUTPUTS if not is_output(*o[:2], given)],
)
def test_outputs_that_cannot_be_written(launches, name, k, output, given):
    make, text = NO_OUTPUTS[given]
    own = poisoned(CASES[name])[k]
    value = make(own.copy())
    if name.startswith("compiled") and given not in {"list", "None", "masked", "read-only"}:
        text = NO_OUTPUTS[given][1] if given in {"text", "foreign"} else "must have  ... "
    if name == "reduce":
        text = text.replace("dtype {dtype}", "dtype float or complex for max of float32")
    foreign = own.dtype.newbyteorder()
    text = text.format(output, shape=own.shape, dtype=own.dtype, foreign=foreign)
    with nothing_allocated():
        assert_refused(
            ck.BindingError, f"{operator_of(name)}: {output} {text}", call_into(name, k, value)
        )
    assert not launches


def together(operand, outputs, start, *, output_first, place):
    """Return an operand and the last of some outputs in one memory; where the second one starts."""
    first, second = (outputs[-1], operand) if output_first else (operand, outputs[-1])
    memory = Buffer(bytes([POISON]) * (start + second.nbytes + 64), place)
    views = [memory.view(first.shape, first.dtype)]
    views.append(memory.view(second.shape, second.dtype, offset=start))
    moved, written = views[::-1] if output_first else views
    overwrite(moved, operand)
    return memory, moved, [*(put(array, place) for array in outputs[:-1]), written]


@each("output_first", [False, True])
@each(("name", "k", "operand", "output"), WRITTEN)
def test_an_output_overlaps_no_operand(place, name, k, operand, output, output_first):
    case = CASES[name]
    operands = [put(array, place) for array in case.operands]
    nbytes = (poisoned(case)[-1] if output_first else case.operands[k]).nbytes
    where = {"output_first": output_first, "place": place}
    text = f"{operator_of(name)}: {output} must not overlap {operand}; they share memory [T19]"
    memory, operands[k], outputs = together(
        case.operands[k], poisoned(case), (nbytes - 1) // 8 * 8, **where
    )
    before = memory.bytes()
    for _ in range(2):
        error = assert_refused(ck.BindingError, text, lambda: call(name, operands, outputs))
        assert error.rule == "T19"
        assert np.array_equal(memory.bytes(), before)
    # As neighbours they are accepted, and nothing is written but the output.
    memory, operands[k], outputs = together(
        case.operands[k], poisoned(case), (nbytes + 15) // 16 * 16, **where
    )
    call(name, operands, outputs)
    for found, expected in zip(outputs, expected_of(case), strict=True):
        assert same_bytes(found, expected)
    assert same_bytes(operands[k], case.operands[k])
    assert (memory.bytes()[-64:] == POISON).all()


INTERLEAVED = {
    "gather": (
        lambda m: ck.gather(m[::2], [4, 0, 1], out=m[1::4]),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [0, 8, 2, 3, 4, 0, 6, 7, 8, 2],
    ),
    "reduce": (
        lambda m: ck.reduce(m[::2].reshape(2, 2), "max", 0, out=m[1:4:2]),
        [5, 90, 2, 91, 7, 92, 4, 93],
        [5, 7, 2, 4, 7, 92, 4, 93],
    ),
    "nonzero_coordinates": (
        lambda m: ck.nonzero_coordinates(
            m[:9:3], dtype="int64", out=(m[9:].view("u4")[:1], m[:9].reshape(3, 3)[:, 1:2])
        ),
        [5, 9, 9, 0, 9, 9, 7, 9, 9, 0],
        [5, 0, 9, 0, 2, 9, 7, 9, 9, 2],
    ),
}


@each("name", INTERLEAVED)
def test_an_output_may_lie_between_the_elements_of_an_operand(name):
    run, before, after = INTERLEAVED[name]
    memory = np.array(before)
    run(memory)
    assert memory.tolist() == after


@each(("name", "k", "output"), OUTPUTS)
def test_a_warm_call_refuses_what_a_cold_one_would(place, name, k, output):
    case = CASES[name]
    operands = [put(array, place) for array in case.operands]
    outputs = [put(array, place) for array in poisoned(case)]
    for _ in range(2):
        call(name, operands, outputs)
    if place == HOST:
        outputs[k].flags.writeable = False
        text = f"{operator_of(name)}: {output} must be writeable; got a read-only array"
        assert_refused(ck.BindingError, text, lambda: call(name, operands, outputs))
    for found, expected in zip(outputs, expected_of(case), strict=True):
        assert same_bytes(found, expected)


@pytest.mark.usefixtures("stand_in")
@each(("here", "there"), [(None, 0), (0, None), (0, 1)])
@each(("name", "outputs"), [(name, o) for name, (_, o) in NAMES.items()])
def test_mixed_places_are_named(launches, name, outputs, here, there):
    """All operands and outputs are here, but one of them."""
    case, words = CASES[name], {None: "the host", 0: "CUDA device 0", 1: "CUDA device 1"}
    names = [*NAMES[name][0], *outputs]
    arrays = [*case.operands, *(poisoned(case) if outputs else [])]
    for other in range(1, len(names)):
        given = [
            array if place is None else on_device(array, place)
            for k, array in enumerate(arrays)
            for place in [there if k == other else here]
        ]
        operands, written = given[: len(case.operands)], given[len(case.operands) :]
        like = (
            "the inputs are"
            if names[other].startswith("out.") or names[other] == "out"
            else f"{names[0]} is"
        )
        text = f"{operator_of(name)}: {names[other]} must be where {like},  ... "
        error = assert_refused(
            ck.BindingError, text, lambda given=(operands, written): call(name, *given)
        )
        assert f", on {words[here]}; got {words[there]}" in str(error)
    assert not launches


@each("name", NAMES)
def test_a_good_call_counts_as_a_launch(launches, name):
    operator_for.cache_clear()  # warm operators hold what they launch
    launches.clear()
    results = results_of(call(name, CASES[name].operands))
    for found, expected in zip(results, expected_of(CASES[name]), strict=True):
        assert same_bytes(get(found), expected)
    assert len(launches) == 1


HUGE = np.broadcast_to(np.int8(1), (2**31, 2**31, 1))
LONG, ZEROS = np.broadcast_to(np.int8(1), (2, 2**40)), np.broadcast_to(np.int64(0), 2**40)
TOO_LARGE = {
    "gather: indices": (lambda: ck.gather(LONG, ZEROS), (2**40, 2**40)),
    "gather_nd: indices": (lambda: ck.gather_nd(LONG, ZEROS[:, None]), (2**40, 2**40)),
    "one_hot: depth": (lambda: ck.one_hot([0, 1], 2**62), (2, 2**62)),
    "one_hot: depth ": (lambda: ck.one_hot(np.zeros(0, int), 2**62), (0, 2**62)),
    "reduce: x": (lambda: ck.reduce(HUGE, "sum", -1, dtype="complex128"), HUGE.shape),
    "nonzero_coordinates: size": (lambda: ck.nonzero_coordinates([1], size=2**62), 2**62),
    "nonzero: size": (lambda: ck.nonzero([1], size=2**61), 2**61),
}


@each("name", TOO_LARGE)
def test_results_of_more_bytes_than_there_are_addresses(launches, name):
    run, got = TOO_LARGE[name]
    got = f"shape {got}" if isinstance(got, tuple) else got
    text = f"{name.rstrip()} must give a result of less than 2^63 bytes; got {got}"
    with nothing_allocated():
        assert_refused(ck.ArgumentError, text, run)
    assert not launches


SCALARS = {
    "gather: fill_value": lambda x, one: ck.gather(x, [9], mode="fill", fill_value=one),
    "reduce: initial": lambda x, one: ck.reduce(x[:0], "max", initial=one),
    "one_hot: values[1]": lambda x, one: ck.one_hot(x.astype("i4"), 2, values=(2, one), dtype="i4"),
}


@each("argument", SCALARS)
def test_a_scalar_is_on_the_host(place, argument):
    x = put(np.ones(3, np.float32), place)
    if place == HOST:
        assert SCALARS[argument](x, x[0]).flat[-1] == 1
    else:
        text = f"{argument} must fit  ...  (it is on a GPU; use .item())"
        assert_refused(ck.DTypeError, text, lambda: SCALARS[argument](x, x[0]))
    text = f"{argument} must be a scalar; got shape (1,)"
    assert_refused(ck.DTypeError, text, lambda: SCALARS[argument](x, x[:1]))
