"""Patches between the compiler's steps, on text written by hand."""

from __future__ import annotations

import re

import pytest

from cudakern.engines.simulator.instrument import RED_ZONE, pad_shared, patch_ir

FUNCTION = """\
define void @k(ptr %0, i1 %1) {{
{body}
  ret void
}}

declare void @__tsan_read4(ptr)
declare void @__tsan_read8(ptr)
"""


def calls(*body):
    """Return the callbacks of a function after the patch, which must be made of the same lines."""
    text = FUNCTION.format(body="\n".join(body))
    patched = patch_ir(text)
    kept = [line for line in patched.splitlines() if not re.search("tsan|; merged", line)]
    assert kept == [line for line in text.splitlines() if "tsan" not in line]
    for name in set(re.findall(r"@__tsan_[rw]\w+", patched)):
        assert len(re.findall(rf"declare void {name}\(", patched)) == 1
    return re.findall(r"call void @__tsan_(.*)", patched)


def read(pointer, size, align, location=7):
    value = f"%v{pointer[1:]}"
    return (
        f"  call void @__tsan_read{size}(ptr {pointer}), !dbg !{location}",
        "    #dbg_value(i32 0, !1, !DIExpression(), !2)",
        f"  {value} = load i{size * 8}, ptr {pointer}, align {align}, !dbg !{location}",
    )


def step(pointer, base, offset, kind="i8"):
    return f"  {pointer} = getelementptr inbounds nuw {kind}, ptr {base}, i64 {offset}, !dbg !7"


def test_any_order_merges_where_the_first_address_is_known():
    body = (step("%3", "%0", 8), *read("%3", 8, 8), *read("%0", 8, 16))
    assert calls(*body) == ["read16(ptr %0), !dbg !7"]
    body = (
        *(step("%3", "%0", 24), *read("%3", 8, 8)),
        *(step("%4", "%0", 16), *read("%4", 8, 16)),
    )
    assert calls(*body) == ["read16(ptr %4), !dbg !7"]
    patched = patch_ir(FUNCTION.format(body="\n".join(body)))
    assert patched.index("%4 = getelementptr") < patched.index("@__tsan_read16(ptr %4)")
    assert patched.index("@__tsan_read16(ptr %4)") < patched.index("%v4 = load")


def test_chains_of_steps_and_elements():
    body = (
        *read("%0", 4, 16),
        *(step("%3", "%0", 1, "float"), *read("%3", 4, 4)),
        *(step("%4", "%3", 4), *read("%4", 4, 8)),
        *(step("%5", "%4", 4), *read("%5", 4, 4)),
    )
    assert calls(*body) == ["read16(ptr %0), !dbg !7"]


def test_parts_of_globals():
    second = "getelementptr inbounds nuw (i8, ptr @g, i64 4)"
    body = (
        "  call void @__tsan_read4(ptr @g), !dbg !7",
        "  %3 = load i32, ptr @g, align 8, !dbg !7",
        f"  call void @__tsan_read4(ptr {second}), !dbg !7",
        f"  %4 = load i32, ptr {second}, align 4, !dbg !7",
    )
    assert calls(*body) == ["read8(ptr @g), !dbg !7"]


@pytest.mark.parametrize(
    "between",
    [
        "  call void @ck_sim_barrier(), !dbg !8",
        "  %9 = tail call i32 @__tsan_atomic32_load(ptr %0, i32 5), !dbg !8",
        "  fence seq_cst",
        "5:                                                ; preds = %3, %2",
    ],
)
def test_what_other_threads_can_come_between_is_not_merged(between):
    body = (*read("%0", 4, 8), between, step("%3", "%0", 4), *read("%3", 4, 4))
    assert len([call for call in calls(*body) if call.startswith("read")]) == 2
    harmless = "  %9 = call i32 @llvm.umin.i32(i32 1, i32 2), !dbg !8"
    body = (*read("%0", 4, 8), harmless, step("%3", "%0", 4), *read("%3", 4, 4))
    assert calls(*body) == ["read8(ptr %0), !dbg !7"]


@pytest.mark.parametrize(
    ("first", "second", "offset"),
    [((4, 4), (4, 4), 4), ((4, 8), (4, 4), 8), ((4, 8), (4, 4, 9), 4), ((8, 16), (4, 8), 8)],
    ids=["not aligned to both", "with a gap", "elsewhere in the source", "12 bytes"],
)
def test_what_is_not_merged(first, second, offset):
    body = (*read("%0", *first), step("%3", "%0", offset), *read("%3", *second))
    assert len(calls(*body)) == 2


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (
            "memcpy.p0.p0.i64(ptr noundef align 16 dereferenceable(16) %0, ptr align 8 %3, i64 16,",
            ["read_range(ptr %3, i64 16), !dbg !7", "write16(ptr %0), !dbg !7"],
        ),
        (
            "memmove.p0.p0.i64(ptr %0, ptr getelementptr inbounds (i8, ptr @g, i64 4), i64 %n,",
            [
                "read_range(ptr getelementptr inbounds (i8, ptr @g, i64 4), i64 %n), !dbg !7",
                "write_range(ptr %0, i64 %n), !dbg !7",
            ],
        ),
        ("memset.p0.i64(ptr align 8 %0, i8 0, i64 8,", ["write8(ptr %0), !dbg !7"]),
        (
            "memset.p0.i64(ptr inttoptr (i64 64 to ptr), i8 0, i64 9,",
            ["write_range(ptr inttoptr (i64 64 to ptr), i64 9), !dbg !7"],
        ),
        ("memset.p0.i64(ptr null, i8 0, i64 9,", ["write_range(ptr null, i64 9), !dbg !7"]),
        ("memset.p0.i64(ptr %0, i8 %3, i64 3,", ["write_range(ptr %0, i64 3), !dbg !7"]),
        ("memcpy.inline.p0.p0.i64(ptr %0, ptr %local, i64 1,", ["write1(ptr %0), !dbg !7"]),
        ("memcpy.p0.p0.i64(ptr %0, ptr %3, i64 0,", []),
    ],
)
def test_copies_of_text(copy, expected):
    body = (
        "  %local = alloca [4 x i8], align 4",
        f"  tail call void @llvm.{copy} i1 false), !dbg !7, !tbaa.struct !9",
    )
    assert calls(*body) == expected


def test_copies_from_constants_are_not_read():
    text = (
        "@t = internal unnamed_addr constant [2 x i32] [i32 1, i32 2], align 16\n"
        "@u = internal unnamed_addr global [2 x i32] [i32 1, i32 2], align 16\n"
        + FUNCTION.format(
            body="  call void @llvm.memcpy.p0.p0.i64(ptr %0, ptr @t, i64 5, i1 false), !dbg !7\n"
            "  call void @llvm.memcpy.p0.p0.i64(ptr %0, ptr @u, i64 6, i1 false), !dbg !7"
        )
    )
    assert re.findall(r"call void @__tsan_(.*\)),", patch_ir(text)) == [
        "write_range(ptr %0, i64 5)",
        "read_range(ptr @u, i64 6)",
        "write_range(ptr %0, i64 6)",
    ]


def test_padding_of_text():
    text = """\
\t.section\t.tbss,"awT",@nobits
\t.align 16
\t.type\ta, @object
\t.size\ta, 132
a:
\t.zero\t132
\t.globl\tb
\t.align 4
b:
\t.zero\t4
\t.section\t.tdata.c,"awT",@progbits
\t.p2align\t2, 0x0
c:
\t.long\t1                               # 0x1
\t.asciz\t"x"
\t.size\tc, 6

\t.data
d:
\t.long\t1
"""
    zone = f"\t.zero\t{RED_ZONE}\n"
    expected = text
    for last in ("\t.zero\t132\n", "\t.zero\t4\n", '\t.asciz\t"x"\n'):
        expected = expected.replace(last, last + zone)
    assert pad_shared(text) == expected
    assert pad_shared("\t.text\nk:\n\tret\n") == "\t.text\nk:\n\tret\n"
