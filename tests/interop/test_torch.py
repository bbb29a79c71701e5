"""Tensors of PyTorch as operands and outputs of every function, and results as tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import cudakern as ck
from cudakern.operators.arrays.foreign import as_array, as_output
from cudakern.operators.arrays.native import address_of
from tests.helpers.every_function import CASES, expected_of, poisoned, run, run_in_place
from tests.helpers.operator_samples import INDICES, X
from tests.helpers.places import get, same_bytes
from tests.helpers.rows import each
from tests.helpers.strategies import DTYPES

NARROW = [
    name
    for name in dir(torch)
    if name.startswith(("bfloat16", "float8_")) and hasattr(getattr(torch, name), "itemsize")
]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture
def cuda():
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "cuda":
        request.getfixturevalue("cuda")
    return request.param


def tensor_of(array, device="cpu"):
    """Return a copy of a NumPy array as a tensor."""
    return torch.from_numpy(array.copy()).to(device)


def bytes_of(tensor):
    """Return the bytes of a tensor's elements."""
    return bytes(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).tolist())


def address(array):
    return address_of(array) if isinstance(array, np.ndarray) else array.data.ptr


@each("case", CASES.values(), ids=CASES)
def test_every_function_reads_tensors_where_they_are(addresses, case, device):
    tensors = [tensor_of(operand, device) for operand in case.operands]
    pointers = [tensor.data_ptr() for tensor in tensors]
    for result in run_in_place(case, tensors, pointers, addresses):
        assert isinstance(result, np.ndarray) == (device == "cpu")


@each("case", [case for case in CASES.values() if case.has_out])
def test_outputs_are_written_in_place_and_returned(case, device):
    outputs = [tensor_of(array, device) for array in poisoned(case)]
    for _ in range(2):
        run(case, lambda a: tensor_of(a, device), outputs)
        for result, expected in zip(outputs, expected_of(case), strict=True):
            assert bytes_of(result) == expected.tobytes()
            result.zero_()


@each("dtype", DTYPES[:-1] + NARROW)
def test_every_dtype_in_every_layout(dtype, device):
    kind = getattr(torch, dtype)
    base = torch.arange(24 * kind.itemsize, dtype=torch.uint8, device=device)
    base = (base % 2 if dtype == "bool" else base).view(kind).reshape(4, 6)
    for view in (base, base.T, base[::2, ::3], base[:0], base[1, 2], base[:, :1].expand(4, 5)):
        found = as_array("gather", "x", view)
        assert found.dtype.name == dtype
        assert found.shape == tuple(view.shape)
        assert get(found).tobytes() == bytes_of(view)
        assert not found.size or address(found) == view.data_ptr()
        written = as_output("gather", "out", view)
        assert not found.size or address(written) == view.data_ptr()
        assert (written.shape, written.strides) == (found.shape, found.strides)
    out = torch.empty_like(base[:2])
    indices = torch.tensor([3, 0], device=device)
    assert ck.gather(base, indices, out=out) is out
    assert bytes_of(out) == bytes_of(base.cpu()[[3, 0]])


def test_strides_of_an_output_are_kept(device):
    room = torch.full((3, 6), 77.0, device=device)
    x, indices = tensor_of(X, device), tensor_of(INDICES, device)
    assert ck.gather(x, indices, 1, out=room[:, ::2]) is not room
    assert bytes_of(room[:, ::2]) == X[:, INDICES].tobytes()
    assert (room[:, 1::2] == 77).all()


@pytest.mark.gpu
def test_a_pinned_tensor_is_on_the_host(cuda):
    del cuda
    x = tensor_of(X).pin_memory()
    assert address_of(as_array("gather", "x", x)) == x.data_ptr()
    assert same_bytes(ck.gather(x, INDICES, 1), X[:, INDICES])


def test_parameters_without_gradients_and_detached_ones_are_operands():
    frozen = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    assert ck.reduce(frozen, "sum") == 3
    assert ck.reduce(torch.nn.Parameter(torch.ones(3)).detach(), "sum") == 3


def fake():
    from torch._subclasses import FakeTensorMode  # noqa: PLC0415  not public

    with FakeTensorMode():
        return torch.ones(3)


REFUSED = {
    "parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "narrow parameter": lambda: torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16)),
    "conjugate": lambda: torch.ones(3, dtype=torch.complex64).conj(),
    "negative": lambda: torch.ones(3, dtype=torch.complex64).conj().imag,
    "meta": lambda: torch.ones(3, device="meta"),
    "narrow meta": lambda: torch.ones(3, device="meta", dtype=torch.bfloat16),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "narrow sparse": lambda: torch.eye(3, dtype=torch.bfloat16).to_sparse(),
    "sparse rows": lambda: torch.eye(3).to_sparse_csr(),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
    "half complex": lambda: torch.ones(3, dtype=torch.complex64).to(torch.complex32),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "fake": fake,
}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@each("make", REFUSED.values(), ids=REFUSED)
def test_what_has_no_plain_memory_is_refused_in_a_line(addresses, make):
    value = make()
    library, name = "torch", type(value).__name__
    for call, argument in (
        (lambda: ck.gather(value, [0]), "x"),
        (lambda: ck.gather(np.ones(3), [0], out=value), "out"),
    ):
        with pytest.raises((ck.DTypeError, ck.BindingError)) as caught:
            call()
        text = str(caught.value)
        assert text.startswith(f"gather: {argument} must be an array; got {library}.{name} (")
        assert text.endswith(")")
        assert "\n" not in text
    assert not addresses


def test_the_hint_of_the_library_is_handed_on():
    with pytest.raises(ck.DTypeError) as caught:
        ck.reduce(torch.ones(3, requires_grad=True), "sum")
    with pytest.raises(RuntimeError) as theirs:
        np.asarray(torch.ones(3, requires_grad=True))
    assert "detach()" in str(theirs.value)
    assert str(caught.value) == f"reduce: x must be an array; got torch.Tensor ({theirs.value})"


@pytest.mark.gpu
def test_tensors_on_a_gpu_that_are_refused(cuda):
    del cuda
    z = torch.ones(3, dtype=torch.complex64, device="cuda")
    for value, hint in (
        (torch.ones(3, device="cuda", requires_grad=True), "detach()"),
        (z.conj(), "conjugate bit"),
        (z.conj().imag, "resolve_neg()"),
        (torch.eye(3, device="cuda").to_sparse(), "layout"),
    ):
        with pytest.raises(ck.DTypeError) as caught:
            ck.argwhere(value)
        assert hint in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(ck.BindingError, match="got CUDA device 0"):
        ck.gather(torch.ones(3), torch.zeros(1, dtype=torch.int64, device="cuda"))


@each("dtype", ["float32", "int64", "complex128", "bool", "uint16"])
def test_results_become_tensors_without_a_copy(dtype, device):
    x = tensor_of(np.arange(6).astype(dtype), device)
    result = ck.gather(x, torch.tensor([5, 0], device=device))
    ways = {torch.from_dlpack, torch.as_tensor}
    for way in ways | ({torch.from_numpy} if device == "cpu" else set()):
        back = way(result) if way is not torch.as_tensor else way(result, device=device)
        assert back.data_ptr() == address(result)
        assert bytes_of(back) == bytes_of(x.cpu()[[5, 0]])
        assert back.dtype == x.dtype


def test_a_narrow_result_becomes_a_tensor_as_words(device):
    x = torch.arange(6, dtype=torch.bfloat16, device=device)
    result = ck.gather(x, torch.tensor([5, 0], device=device))
    back = torch.from_dlpack(result.view("u2")).view(torch.bfloat16)
    assert back.data_ptr() == address(result)
    assert back.tolist() == [5, 0]
