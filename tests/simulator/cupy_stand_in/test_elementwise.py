"""ElementwiseKernel does what CuPy's guide says, for every type and every layout."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.cupy_stand_in.parameters import decide_types, parse_parameters
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.rows import each

TYPES = [*"?bhiqBHIQefdFD"]
SQUARED = "z = (x - y) * (x - y)"


@PLAIN_AND_CHECKED
def test_examples_of_the_guide(cp):
    x = cp.arange(10, dtype=np.float32).reshape(2, 5)
    y = cp.arange(5, dtype=np.float32)
    typed = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", SQUARED, "squared_diff")
    expected = [[0, 0, 0, 0, 0], [25, 25, 25, 25, 25]]
    np.testing.assert_array_equal(typed(x, y).get(), expected)
    np.testing.assert_array_equal(typed(x, 5).get(), [[25, 16, 9, 4, 1], [0, 1, 4, 9, 16]])
    z = cp.empty((2, 5), dtype=np.float32)
    assert typed(x, y, z) is z
    np.testing.assert_array_equal(z.get(), expected)
    body = "T diff = x - y; z = diff * diff;"
    generic = cp.ElementwiseKernel("T x, T y", "T z", body, "squared_diff_generic")
    assert generic(x.astype(cp.int64), y.astype(cp.int64)).dtype == np.int64
    super_generic = cp.ElementwiseKernel("X x, Y y", "Z z", SQUARED, "squared_diff_super_generic")
    z = cp.empty((2, 5), dtype=np.float64)
    np.testing.assert_array_equal(super_generic(x, y.astype(cp.int8), z).get(), expected)
    text = "z = x + y[_ind.size() - i - 1]"
    add_reverse = cp.ElementwiseKernel("T x, raw T y", "T z", text, "add_reverse")
    np.testing.assert_array_equal(add_reverse(y, y).get(), [4] * 5)
    np.testing.assert_array_equal(add_reverse(y, x[:, ::-1]).get(), 2 * y.get())


def test_every_type(cp):
    """One kernel has a letter for each type."""
    letters = "ABCDEFGHJKLMNO"
    declared = ["".join(f"{a} {a.lower()}{n}, " for a in letters)[:-2] for n in "xyz"]
    text = "".join(
        f"{a.lower()}z = {a.lower()}x {'&&' if char == '?' else '+'} {a.lower()}y;"
        for a, char in zip(letters, TYPES, strict=True)
    )
    add = cp.ElementwiseKernel(", ".join(declared[:2]), declared[2], text, "add")
    hosts = [np.array([0, 1, 1, 0, 1] if c == "?" else [0, 1, 2, 3, 100], c) for c in TYPES]
    hosts = [x * x.dtype.type(1 - 2j) if x.dtype.kind == "c" else x for x in hosts]
    xs = [*map(cp.asarray, hosts)]
    for ys, others in (
        ([x[::-1] for x in xs], [x[::-1] for x in hosts]),
        ([1] * len(TYPES), [x.dtype.type(1) for x in hosts]),
    ):
        for result, x, y in zip(add(*xs, *ys), hosts, others, strict=True):
            assert result.dtype == x.dtype
            np.testing.assert_array_equal(result.get(), x & y if x.dtype == bool else x + y)


def test_bfloat16(cp):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if np.lib.NumpyVersion(np.__version__) < "2.1.2":
        with pytest.raises(ValueError, match="Unsupported dtype bfloat16"):
            cp.arange(5).astype(ml_dtypes.bfloat16)
        return
    x = cp.arange(5).astype(ml_dtypes.bfloat16)
    result = cp.ElementwiseKernel("bfloat16 x", "T y", "y = x / 2", "f")(x, cp.empty(5))
    np.testing.assert_array_equal(result.get(), [0, 0.5, 1, 1.5, 2])


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.swapaxes(0, 2).copy().swapaxes(0, 2),
    "reversed": lambda x: x[::-1, :, ::-1],
    "gaps": lambda x: x[:, ::2],
    "transposed": lambda x: x.transpose(2, 0, 1),
    "broadcast": lambda x: x[:, :1],
    "unit": lambda x: x[:1, :, :1],
    "empty": lambda x: x[:, :0],
    "one": lambda x: x[0, 0, 0],
}


@pytest.mark.parametrize("reduce_dims", [True, False])
@each("layout", LAYOUTS)
def test_every_layout(cp, layout, reduce_dims):
    host = np.random.default_rng(1).random((3, 4, 5))
    view = LAYOUTS[layout](host)
    x = LAYOUTS[layout](cp.asarray(host))
    assert (x.shape, x.strides) == (view.shape, view.strides)
    y = np.arange(view.shape[-1] if view.ndim else 1, dtype=float)
    for other in (x, cp.asarray(y), 2.5):
        plain = cp.asnumpy(other)
        kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x - 2 * y", "f", reduce_dims)
        np.testing.assert_array_equal(kernel(x, other).get(), view - 2 * plain)
        if other is x:  # an output with the same gaps, in which nothing changes
            memory = cp.full(host.shape, 7.0)
            out = LAYOUTS[layout](memory)
            if out.ndim and np.shares_memory(out, memory):
                kernel(x, x, out)
                expected = np.full(host.shape, 7.0)
                LAYOUTS[layout](expected[...])[...] = -view
                np.testing.assert_array_equal(memory.get(), expected)
    raw = cp.ElementwiseKernel("raw T x", "T y", "y = x[i]", "raw", reduce_dims)
    np.testing.assert_array_equal(raw(x, size=x.size).get(), view.ravel())


def test_a_loop_takes_as_few_dimensions_as_serve(cp):
    kernel = cp.ElementwiseKernel("T x, T y", "int32 z", "z = _ind.ndim", "f")
    x = cp.zeros((2, 3, 4, 5))
    views = [x, x[:, :, :, ::2], x[:, 1:], x[:, :1, :1], x[0, 0, 0], x.T, x[..., :1]]
    ranks = [int(kernel(view, view).max()) for view in views]
    assert ranks == [1, 2, 2, 2, 1, 4, 1]
    assert int(kernel(x, cp.zeros(5)).max()) == 2


def test_parts_of_the_text(cp):
    kernel = cp.ElementwiseKernel(
        "raw T x, int64 n",
        "raw T y",
        "T sum = start(); for (int k = 0; k < n; ++k) sum += x[i * n + k]; y[i] = sum * FACTOR",
        "sums",
        preamble="__device__ T start() { return 10; }",
        loop_prep="const T factor = 2",
        after_loop="if (threadIdx.x == 0 && blockIdx.x == 0) y[0] += factor",
        options=("-DFACTOR=3",),
    )
    y = cp.zeros(3)
    assert kernel(cp.arange(12.0), 4, y, size=3) is y
    np.testing.assert_array_equal(y.get(), [(10 + 6) * 3 + 2, (10 + 22) * 3, (10 + 38) * 3])


def test_what_is_returned(cp):
    x = cp.ones(2)
    one = cp.ElementwiseKernel("T x", "T y", "y = x", "one", return_tuple=True)(x)
    assert type(one) is tuple
    assert one[0].get().tolist() == [1, 1]
    assert cp.ElementwiseKernel("T x", "T y", "y = x", "none", no_return=True)(x) is None
    y, where = cp.ElementwiseKernel("T x", "T y, int64 at", "y = x; at = i", "two")(x)
    assert (y.get().tolist(), where.get().tolist()) == ([1, 1], [0, 1])
    index = cp.ElementwiseKernel("", "T y", "y = i", "index")
    assert index(cp.empty((2, 2), cp.int8)).get().tolist() == [[0, 1], [2, 3]]


def test_large_arrays_and_blocks_of_any_size(cp):
    x = cp.arange(100_000, dtype=cp.float32)
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x + 1", "f")
    for block_size in (32, 128, 1000):
        result = kernel(x, block_size=block_size, stream=cp.cuda.Stream.null)
        np.testing.assert_array_equal(result.get(), x.get() + 1)


def test_a_text_is_compiled_once_for_equal_types(cp):
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x", "same")
    for x in (cp.zeros(3), cp.ones((2, 4)), cp.ones(5)):
        kernel(x)
    assert "typedef double T;" in kernel.cached_code
    kernel(cp.zeros(3, cp.int8))
    assert len(kernel.cached_codes) == 2
    with pytest.raises(ValueError, match="has 2 texts"):
        kernel.cached_code  # noqa: B018


REFUSED = [
    ("T x", "T y", (1,), TypeError, "type T of x must follow"),
    ("T x", "Z y", ("f",), TypeError, "type Z of y must follow"),
    ("T x, T y", "T z", ("f", "d"), TypeError, "y must be an array of float32; got float64: all"),
    ("T x, float64 y", "T z", ("f", "f"), TypeError, "y must be an array of float64; got float32"),
    ("T x", "T y", ("f", "d"), TypeError, "x must be an array of float64; got float32"),
    ("T x", "T y", ("f", "f", "f"), TypeError, "must have 1 arguments, or 2 with outputs; got 3"),
    ("T x", "T y", ("f", 1), TypeError, "outputs must be cupy.ndarray"),
    ("T x", "T y", (np.ones(3),), TypeError, "got a NumPy array; use cupy.asarray"),
    ("T x", "T y", ("text",), TypeError, "must be cupy.ndarray or scalars; got str"),
    ("raw T x", "T y", ("f",), ValueError, "size must be given if no array is, or all are raw"),
    ("float32 x", "float32 y", (1,), ValueError, "size must be given if no array is, or all are"),
]


@each("inputs, outputs, arguments, error, message", REFUSED)
def test_what_a_call_must_not_have(cp, inputs, outputs, arguments, error, message):
    kernel = cp.ElementwiseKernel(inputs, outputs, ";", "k")
    arrays = [cp.ones(3, a) if isinstance(a, str) and len(a) == 1 else a for a in arguments]
    with pytest.raises(error, match=f"^k: .*{message}"):
        kernel(*arrays)


def test_shapes_that_do_not_fit(cp):
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y", "k")
    with pytest.raises(ValueError, match=r"broadcast; got \(2,\), \(3,\)"):
        kernel(cp.ones(2), cp.ones(3))
    for shape in ((2,), (1,), (2, 1)):
        with pytest.raises(ValueError, match="shape"):
            kernel(cp.ones(3), cp.ones(3), cp.ones(shape))
    assert kernel(cp.ones(3), 1, cp.ones((2, 3))).shape == (2, 3)  # the output's shape counts, too
    with pytest.raises(ValueError, match="size must be given only if all arrays are raw"):
        kernel(cp.ones(3), 1, size=3)
    with pytest.raises(TypeError, match="sizes"):
        kernel(cp.ones(3), 1, sizes=3)
    with pytest.raises(TypeError, match="has no option; it has options, loop_prep, after_loop"):
        cp.ElementwiseKernel("T x", "T y", "y = x", option=())


DECLARATIONS = [
    *("T x", "raw T x", "float32 x, T y", "int x", "float x", "T n", "raw raw T x", "", " T  x "),
    *("T i", "const T x", "T", "T x,", "T x, T y z", "Tx x", "raw x T"),
]


@each("text", DECLARATIONS)
def test_declarations_are_those_that_cupy_takes(text):
    cupy = pytest.importorskip("cupy")
    try:
        theirs = cupy.ElementwiseKernel(text, "T out", "").in_params
    except Exception:  # noqa: BLE001  CuPy raises it itself
        with pytest.raises((TypeError, ValueError)):
            parse_parameters(text)
        return
    ours = parse_parameters(text)
    assert [(p.name, p.raw) for p in ours] == [(p.name, p.raw) for p in theirs]
    types = [(p.dtype.type if p.dtype else None, p.ctype if not p.dtype else "") for p in ours]
    assert types == [(p.dtype, "" if p.dtype else p.ctype) for p in theirs]


F4, F8, I4 = np.float32, np.float64, np.int32
ARGUMENTS = [
    *(((F4, w, I4), ()) for w in (F4, None)),
    *(((None, w, s), ()) for w, s in ((None, I4), (F4, None))),
    *(((x, F4, I4), (F4, I4)) for x in (F8, None)),
    *(((F8, F8, I4), ()), ((None, None, None), (F8, I4))),
    *(((F4, F4, I4), outputs) for outputs in ((F8, I4), (F4, F4))),
]


@each("inputs, outputs", ARGUMENTS)
def test_types_are_those_that_cupy_decides(inputs, outputs):
    cupy = pytest.importorskip("cupy")
    declared = "T x, float32 w, S s", "T z, S q"

    def decision(decide):
        try:
            return decide()
        except (TypeError, KeyError):
            return None

    kernel = cupy.ElementwiseKernel(*declared, "")
    theirs = decision(lambda: kernel._decide_params_type(inputs, outputs))  # noqa: SLF001
    values = [0 if t is None else np.empty(0, t) for t in inputs]
    given = [np.empty(0, t) for t in outputs]
    ours = decision(lambda: decide_types("k", *map(parse_parameters, declared), values, given))
    if theirs is None:
        assert ours is None
        return
    assert [*ours.inputs] == [*map(np.dtype, theirs[0])]
    assert [*ours.outputs] == [*map(np.dtype, theirs[1])]


def test_a_finding_names_the_line_of_the_text_and_the_array(cp):
    text = """
    T sum = x;
    sum += y[i + 1];
    z = sum;
    """
    kernel = cp.ElementwiseKernel("T x, raw T y", "T z", text, "shifted")
    with pytest.raises(ck.SimulatorError) as caught, ck.simulator.checked():
        kernel(cp.ones(4), cp.ones(8)[::2])
    (finding,) = caught.value.findings
    assert "contiguous" not in finding.message  # in a raw kernel, that would be the reason
    assert (finding.kind, finding.kernel, finding.index) == ("out_of_bounds", "shifted", 8)
    assert finding.code.strip() == "sum += y[i + 1];"
    assert "argument 1 (y)" in finding.message


def test_memory_that_nothing_has_written(cp):
    copy = cp.ElementwiseKernel("T x", "T y", "y = x", "copied")
    with pytest.raises(ck.SimulatorError, match="copied: uninitialized"), ck.simulator.checked():
        copy(cp.empty(4))
    forgets = cp.ElementwiseKernel("T x", "T y", "if (i) y = x", "forgets")
    with pytest.raises(ck.SimulatorError, match="copied: uninitialized"), ck.simulator.checked():
        copy(forgets(cp.ones(4)))


def test_functions_of_complex_numbers(cp):
    x = np.array([1 + 2j, -0.5j, 3], np.complex64)
    text = "y = exp(x) * conj(x) + T(abs(x), real(x) - imag(x)) / sqrt(x) + norm(x) + x.real()"
    result = cp.ElementwiseKernel("T x", "T y", text, "f")(cp.asarray(x)).get()
    expected = np.exp(x) * x.conj() + (abs(x) + 1j * (x.real - x.imag)) / np.sqrt(x)
    np.testing.assert_allclose(result, expected + abs(x) ** 2 + x.real, rtol=1e-5)
