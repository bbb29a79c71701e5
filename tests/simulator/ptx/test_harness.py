"""The harness of the instruction table distinguishes right results from wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.ptx.forms import rows
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough
from tests.simulator.ptx.harness import (
    HEAD,
    Chapter,
    KernelCase,
    Oracle,
    Within,
    check_kernel,
    differences,
    spellings_to_try,
)

(ADD,) = rows("UNDEFINED: whole\nTYPE: u16 s32\n9.7.1.1 add.TYPE d, a, b = 0")
NAN, ONE = np.float32(np.nan), np.float32(1)


@each(
    ("answer", "result", "wrong"),
    [
        # Floats are compared bit for bit, but a NaN stands for every NaN, though not for numbers.
        (np.float32([1, 1]), np.array([ONE, np.nextafter(ONE, np.inf)]), [1]),
        (np.float32([0, -0.0]), np.float32([-0.0, -0.0]), [0]),
        (np.array([NAN, NAN]), np.array([0x7F800001, 0xFFC00000], "u4").view("f4"), []),
        (np.array([NAN, ONE]), np.array([ONE, NAN]), [0, 1]),
        (np.array([0x7FFFFFFF], "u4"), np.array([0x7FC00000], "u4").view("f4"), [0]),
        # Integers are cut to the width of the result; packed values count once.
        (np.array([2**40 + 7, -1], object), np.array([7, 2**32 - 1], "u4"), []),
        (np.array([-1, 3]), np.int16([-1, 4]), [1]),
        (np.int16([[1, 2], [3, 4]]), np.int16([[1, 2], [3, 5]]), [1]),
        # Masked elements are not compared; results must lie within bounds.
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


def kernel_of(instruction, answer):
    """Return a kernel that stores %x, which is 4 before the instruction."""
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


#: Answers of a row, and the error that they cause.
WRONG = [
    ({}, r"add\.TYPE d, a, b must have an oracle or a kernel"),
    (
        {ADD.pattern: lambda _, a, b: a + b + (a == 7)},
        r"add\.u16: d is wrong \d+ times\na=np\.uint16\(7\)",
    ),
    (
        {ADD.pattern: Oracle(lambda _, a, b: a + (b != 5) * b, immediates={"b": (4, 5)})},
        r"b=np\.uint16\(5\): must be",
    ),
    ({ADD.pattern: lambda *_: np.array([1.0])}, "an answer has shape"),
]


@each(("oracles", "told"), WRONG)
def test_what_is_wrong_is_told(oracles, told):
    with pytest.raises(AssertionError, match=told):
        Chapter([ADD], oracles, {}).check(ADD)


def test_a_refused_kernel_takes_no_other_with_it():
    subtract, maximum = rows(
        "UNDEFINED: whole\n9.7.1.2 sub.u32 d, a, b = 0\n9.7.1.11 max.u32 d, a, b = 0"
    )
    kernels = {
        subtract.pattern: kernel_of("sub.u32 %x, 9, %x;", 5),
        maximum.pattern: kernel_of("max.u32 %x, 9, %nothing;", 9),
    }
    chapter = Chapter([subtract, maximum], {}, kernels)
    chapter.check(subtract)
    with pytest.raises(ck.KernelCompileError):
        chapter.check(maximum)
    with pytest.raises(AssertionError, match=r"sub\.u32: argument 0 is wrong at"):
        check_kernel("sub.u32", kernel_of("sub.u32 %x, 9, %x;", 6))
    with pytest.raises(AssertionError, match=r"the PTX must have add\.u16"):
        check_kernel("add.u16", kernels[subtract.pattern])


def test_of_many_spellings_some_have_all_words_of_small_sets_or_a_third_of_large_ones():
    letters = " ".join(map(chr, range(99, 114)))
    (row,) = rows(f"UNDEFINED: whole\nA: a b\nB: {letters}\nC: x y\n1 op.A.B.C d:u32 = 0")
    tried = spellings_to_try(row)
    pairs = {(words["A"], words["C"]) for _, words in tried}
    assert {a for a, _ in pairs} == {*"ab"}
    assert len({words["B"] for _, words in tried}) >= (15 if is_thorough() else 5)
    assert len(pairs) == 4 if is_thorough() else len(tried) < 9
