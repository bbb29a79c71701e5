"""Kernels that fail without their barriers and fences. Each executes spellings of a row."""

from __future__ import annotations

import numpy as np

from cudakern.simulator.ptx.instructions import barriers
from tests.simulator.ptx.harness import HEAD, KernelCase, answers_by, poison, spellings_together

_THREADS = 96
_ENTRY = """\
.visible .entry k(.param .u64 out){directives}
{{
.reg .b32 %tid, %s, %t, %v, %n, %count, %rank, %far; .reg .b64 %at, %flag; .reg .pred %p, %q, %r;
.shared .align 4 .b32 cells[{threads}];
mov.u32 %tid, %tid.x; ld.param.u64 %at, [out];
mov.u32 %s, cells; mad.lo.u32 %s, %tid, 4, %s;
{body}
ret;
}}
"""
#: PTX for groups of threads that wait together, with barrier and count of each: two warps wait at
#: barrier 1, one at barrier 2; without a number, all wait at barrier 0.
_GROUPS = """\
setp.lt.u32 %p, %tid, 64;
selp.u32 %n, 1, 2, %p; selp.u32 %count, 64, 32, %p;
selp.u32 %t, 63, 159, %p; sub.u32 %t, %t, %tid;
"""
_ALL = f"mov.u32 %n, 0; mov.u32 %count, {_THREADS}; sub.u32 %t, {_THREADS - 1}, %tid;"
_STORE = "st.global.u32 [%at], %v; add.u64 %at, %at, {};"
_TID = np.arange(_THREADS, dtype=np.uint32)


def _text(body: str, directives: str = "", threads: int = _THREADS) -> str:
    return HEAD + _ENTRY.format(body=body, directives=directives, threads=threads)


def _has_count(form) -> bool:
    return any(operand.name == "b" for position in form.operands for operand in position)


def _start(form) -> list[str]:
    groups = _GROUPS if _has_count(form) else _ALL
    return [
        groups,
        "mov.u32 %v, cells; mad.lo.u32 %t, %t, 4, %v; mad.wide.u32 %at, %tid, 4, %at;",
    ]


def _partners(form) -> np.ndarray:
    return np.where(_TID < 64, 63 - _TID, 159 - _TID) if _has_count(form) else _THREADS - 1 - _TID


def _sync(form) -> KernelCase:
    """Test threads that read what their partners wrote, for each spelling."""
    lines, names = _start(form), [name for name, _ in spellings_together(form)]
    operands = "%n, %count" if _has_count(form) else "%n"
    for i, name in enumerate(names):
        lines += [
            "setp.ge.u32 %q, %tid, 32;",
            *["@%q ld.volatile.shared.u32 %v, [%s];"] * 4,  # so that all but one warp come late
            f"mad.lo.u32 %v, %tid, 3, {i}; st.shared.u32 [%s], %v;",
            f"{name} {operands}; ld.shared.u32 %v, [%t]; {name} {operands};",
            _STORE.format(4 * _THREADS),
        ]
    wanted = np.stack([3 * _partners(form) + np.uint32(i) for i in range(len(names))])
    return KernelCase(_text("\n".join(lines)), (poison(wanted.shape, np.uint32),), {0: wanted},
                  block=(_THREADS, 1, 1))  # fmt: skip


def _red(form) -> KernelCase:
    """Test votes of all threads: the predicate holds for some, for all, and for none."""
    lines, wanted = _start(form), []
    operands = "%n, %count" if _has_count(form) else "%n"
    groups = [_TID < 64, _TID >= 64] if _has_count(form) else [_TID >= 0]
    for name, _ in spellings_together(form):
        for limit, sign in ((0, ""), (0, "!"), (70, ""), (70, "!")):
            lines.append(f"setp.lt.u32 %q, %tid, {limit};")
            votes = (limit > _TID) ^ (sign == "!")
            result = np.empty(_THREADS, np.uint32)
            for group in groups:
                count = int(votes[group].sum())
                result[group] = (
                    count
                    if "popc" in name
                    else count == group.sum()
                    if ".and" in name
                    else count != 0
                )
            if "popc" in name:
                lines.append(f"{name} %v, {operands}, {sign}%q;")
            else:
                lines.append(f"{name} %r, {operands}, {sign}%q; selp.u32 %v, 1, 0, %r;")
            lines.append(_STORE.format(4 * _THREADS))
            wanted.append(result)
    return KernelCase(_text("\n".join(lines)), (poison((len(wanted), _THREADS), np.uint32),),
                  {0: np.stack(wanted)}, block=(_THREADS, 1, 1))  # fmt: skip


def _arrive(form) -> KernelCase:
    """Test a first warp that waits for what the third one wrote, which does not wait."""
    lines = ["mad.wide.u32 %at, %tid, 4, %at; setp.lt.u32 %p, %tid, 32; setp.ge.u32 %q, %tid, 64;"]
    names = [name for name, _ in spellings_together(form)]
    for i, name in enumerate(names):
        lines += [
            f"mad.lo.u32 %v, %tid, 5, {i}; @%q st.shared.u32 [%s], %v; @%q {name} {i + 3}, 64;",
            f"mov.u32 %v, 7; @%p bar.sync {i + 3}, 64; @%p ld.shared.u32 %v, [%s+256];",
            _STORE.format(4 * _THREADS) + " bar.sync 0;",
        ]
    first = np.stack([5 * (_TID + 64) + np.uint32(i) for i in range(len(names))])
    wanted = np.where(_TID < 32, first, 7).astype(np.uint32)
    return KernelCase(_text("\n".join(lines)), (poison(wanted.shape, np.uint32),), {0: wanted},
                  block=(_THREADS, 1, 1))  # fmt: skip


def _cluster(arrive: str, wait: str, number: int) -> str:
    """Return PTX in which blocks of a cluster of two read each other's shared memory."""
    return f"""
    mad.lo.u32 %v, %ctaid.x, 1000, %tid; add.u32 %v, %v, {number}; st.shared.u32 [%s], %v;
    {arrive}; {wait};
    mov.u32 %rank, %cluster_ctarank; xor.b32 %rank, %rank, 1;
    mapa.shared::cluster.u32 %far, %s, %rank; ld.shared::cluster.u32 %v, [%far];
    {_STORE.format(4 * 6 * 64)}
    barrier.cluster.arrive; barrier.cluster.wait;
    """


def _of_clusters(form) -> KernelCase:
    names = [name for name, _ in spellings_together(form)]
    body = [
        "mov.u32 %v, %ctaid.x; mad.lo.u32 %v, %v, 64, %tid; mad.wide.u32 %at, %v, 4, %at;",
        "mov.u32 %n, %ctaid.x;",
    ]
    for i, name in enumerate(names):
        pair = (
            (name, "barrier.cluster.wait") if "arrive" in name else ("barrier.cluster.arrive", name)
        )
        body.append(_cluster(*pair, i).replace("%ctaid.x", "%n"))
    block = np.arange(6 * 64) // 64
    wanted = np.stack([(block ^ 1) * 1000 + np.arange(6 * 64) % 64 + i for i in range(len(names))])
    text = _text("\n".join(body), " .reqnctapercluster 2, 1, 1", 64)
    return KernelCase(text, (poison(wanted.shape, np.uint32),), {0: wanted.astype(np.uint32)},
                  grid=(6, 1, 1), block=(64, 1, 1))  # fmt: skip


def _fence(form) -> KernelCase:
    """Test a first block that waits for the second one's message."""
    names = [name for name, _ in spellings_together(form)]
    body = ["mov.u32 %v, %ctaid.x; setp.eq.u32 %p, %v, 0; @%p bra READER;"]
    for i, name in enumerate(names):
        body += [
            f"mov.u32 %v, {i + 40}; st.global.u32 [%at+{16 * i}], %v;",
            f"{name}; mov.u32 %v, 1; st.relaxed.gpu.global.u32 [%at+{16 * i + 4}], %v;",
        ]
    body.append("ret;\nREADER:")
    for i, name in enumerate(names):
        body += [
            f"POLL{i}: ld.relaxed.gpu.global.u32 %v, [%at+{16 * i + 4}]; {name};",
            f"setp.eq.u32 %q, %v, 0; @%q bra POLL{i};",
            f"ld.global.u32 %v, [%at+{16 * i}]; st.global.u32 [%at+{16 * i + 8}], %v;",
        ]
    cells = np.zeros((len(names), 4), np.uint32)
    wanted = cells.copy()
    wanted[:, 0] = wanted[:, 2] = np.arange(len(names)) + 40
    wanted[:, 1] = 1
    return KernelCase(
        _text("\n".join(body)), (cells,), {0: wanted}, grid=(2, 1, 1), block=(1, 1, 1)
    )


KERNELS = {
    **answers_by(
        {
            "barrier.cluster": _of_clusters,
            "fence": _fence,
            "membar": _fence,
            "griddepcontrol": _fence,
            **dict.fromkeys(("bar{.cta}.red", "barrier{.cta}.red"), _red),
            **dict.fromkeys(("bar{.cta}.arrive", "barrier{.cta}.arrive"), _arrive),
            **dict.fromkeys(("bar{.cta}.sync", "barrier{.cta}.sync"), _sync),
        },
        barriers.FORMS,
    ),
    # The first thread waits, with plain loads, for a later store of the second one.
    "nanosleep.u32 t": KernelCase(
        _text(
            """
            setp.eq.u32 %p, %tid, 0; mov.u32 %v, 9;
            @%p bra WAIT;
            st.global.u32 [%at], %v; ret;
            WAIT: nanosleep.u32 100; ld.global.u32 %v, [%at]; setp.ne.u32 %q, %v, 9; @%q bra WAIT;
            st.global.u32 [%at+4], %v;
            """
        ),
        (poison(2, np.uint32),),
        {0: np.array([9, 9], np.uint32)},
        block=(2, 1, 1),
    ),
}
