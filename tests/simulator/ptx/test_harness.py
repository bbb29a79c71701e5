"""The harness of the instruction table tells right results from wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.ptx.forms import rows
from tests.simulator.ptx import harness
from tests.simulator.ptx.harness import (
    BLOCK,
    HEAD,
    Chapter,
    KernelCase,
    Oracle,
    Within,
    check_kernel,
    differences,
    edges,
    operand_arrays,
    spellings_to_try,
)

(ADD,) = rows("TYPE: u16 s32\n9.7.1.1 add.TYPE d, a, b = 0")
NAN, ONE = np.float32(np.nan), np.float32(1)


@pytest.mark.parametrize(
    ("answer", "result", "wrong"),
    [
        # Floats are compared bit for bit, but that a NaN stands for each NaN, and for no number.
        (np.float32([1, 1]), np.array([ONE, np.nextafter(ONE, np.inf)]), [1]),
        (np.float32([0, -0.0]), np.float32([-0.0, -0.0]), [0]),
        (np.array([NAN, NAN]), np.array([0x7F800001, 0xFFC00000], "u4").view("f4"), []),
        (np.array([NAN, ONE]), np.array([ONE, NAN]), [0, 1]),
        (np.array([0x7FFFFFFF], "u4"), np.array([0x7FC00000], "u4").view("f4"), [0]),
        # Integers are cut to the width of the result; packed values count once.
        (np.array([2**40 + 7, -1], object), np.array([7, 2**32 - 1], "u4"), []),
        (np.array([-1, 3]), np.int16([-1, 4]), [1]),
        (np.int16([[1, 2], [3, 4]]), np.int16([[1, 2], [3, 5]]), [1]),
        # What is masked is not compared; bounds hold the result.
        (np.ma.array(np.int32([1, 2]), mask=[True, False]), np.int32([9, 9]), [1]),
        (
            Within(np.float32([1, 1, NAN, 1]), np.float32([2, 2, NAN, 2])),
            np.float32([2, 2.5, NAN, NAN]),
            [1, 3],
        ),
    ],
)
def test_differences(answer, result, wrong):
    assert differences(answer, result).tolist() == wrong


def test_answers_of_another_float_type_are_an_error():
    with pytest.raises(AssertionError, match="an answer has dtype float64"):
        differences(np.array([1.0]), np.float32([1]))


def test_row_without_answer_fails():
    with pytest.raises(AssertionError, match=r"add\.TYPE d, a, b must have an oracle or a kernel"):
        Chapter([ADD], {}, {}).check(ADD)


def test_wrong_result_is_told_with_its_operands():
    chapter = Chapter([ADD], {ADD.pattern: lambda _, a, b: a + b + (a == 7)}, {})
    with pytest.raises(AssertionError, match=r"add\.u16: d is wrong \d+ times\na=np\.uint16\(7\)"):
        chapter.check(ADD)


def test_wrong_result_of_a_constant_operand_is_told():
    oracle = Oracle(lambda _, a, b: a + (b != 5) * b, immediates={"b": (4, 5)})
    with pytest.raises(AssertionError, match=r"b=np\.uint16\(5\): must be"):
        Chapter([ADD], {ADD.pattern: oracle}, {}).check(ADD)


def kernel_of(instruction, answer):
    """Return a kernel whose %x is stored; what is in there before is 4."""
    text = f"""{HEAD}.visible .entry k(.param .u64 out)
    {{
        .reg .b64 %at; .reg .b32 %x;
        ld.param.u64 %at, [out]; mov.u32 %x, 4;
        {instruction}
        st.global.u32 [%at], %x;
        ret;
    }}
    """
    return KernelCase(text, (np.uint32([99]),), {0: np.uint32([answer])})


def test_wrong_result_of_a_kernel_is_told():
    right = kernel_of("add.u32 %x, 3, %x;", 7)
    check_kernel("add.u32", right)
    assert right.arguments[0][0] == 99
    with pytest.raises(AssertionError, match=r"add\.u32: argument 0 is wrong at"):
        check_kernel("add.u32", kernel_of("add.u32 %x, 3, %x;", 8))
    with pytest.raises(AssertionError, match=r"the PTX must have add\.u16"):
        check_kernel("add.u16", right)


def test_a_refused_kernel_takes_no_other_with_it():
    subtract, maximum = rows("9.7.1.2 sub.u32 d, a, b = 0\n9.7.1.11 max.u32 d, a, b = 0")
    kernels = {
        subtract.pattern: kernel_of("sub.u32 %x, 9, %x;", 5),
        maximum.pattern: kernel_of("max.u32 %x, 9, %nothing;", 9),
    }
    chapter = Chapter([subtract, maximum], {}, kernels)
    chapter.check(subtract)
    with pytest.raises(ck.KernelCompileError):
        chapter.check(maximum)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_edges_of_floats_have_every_class(kind):
    with np.errstate(invalid="ignore"):  # signalling NaN
        values = edges(kind).astype("f8")
    assert np.isnan(values).any()
    for value in (np.inf, -np.inf, 1, -1):
        assert (values == value).any()
    assert (np.signbit(values) & (values == 0)).any()


def test_operands_have_all_pairs_of_edges_where_they_fit():
    arrays = operand_arrays(["s32", "pred"], [None, None], 1)
    assert len(arrays[0]) % BLOCK == 0
    pairs = {(int(a), bool(b)) for a, b in zip(*arrays, strict=True)}
    assert {(int(a), b) for a in edges("s32") for b in (False, True)} <= pairs


@pytest.mark.parametrize("thorough", [False, True])
def test_of_many_spellings_some_have_all_words_or_all_pairs_of_words(thorough, monkeypatch):
    monkeypatch.setattr(harness, "is_thorough", lambda: thorough)
    (row,) = rows("A: a b c d\nB: e f g h\nC: i j k l\n1 op.A.B.C d:u32 = 0")
    tried = spellings_to_try(row)
    assert len(tried) < 64
    assert {words["C"] for _, words in tried} == {*"ijkl"}
    assert not thorough or len({(words["A"], words["C"]) for _, words in tried}) == 16
