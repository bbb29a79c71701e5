"""What asynchronous copies and mbarriers must do. A copy happens when a thread waits for it."""

from __future__ import annotations

import numpy as np

from cudakern.simulator.ptx.instructions import asynchronous
from tests.simulator.ptx.harness import HEAD, KernelCase, answers_by, poison, spellings_together

_ENTRY = """\
.visible .entry k(.param .u64 out, .param .u64 in){directives}
{{
.reg .b32 %tid, %v, %n, %s, %far, %bar, %rank; .reg .b64 %at, %in, %state, %policy, %b;
.reg .b64 %x, %y; .reg .pred %p, %q;
.shared .align 128 .b8 cells[256]; .shared .align 8 .b64 bar;
ld.param.u64 %at, [out]; ld.param.u64 %in, [in]; mov.u32 %tid, %tid.x; mov.b64 %policy, 0;
mov.u32 %s, cells; mov.u32 %bar, bar;
{body}
ret;
}}
"""
_INPUT = np.arange(1, 257, dtype=np.uint8)
_OLD = 0xEE
_FILL = "mov.b64 %x, 0xEEEEEEEEEEEEEEEE; st.shared.v2.b64 [cells], {%x, %x};"
_SHOW = (
    "ld.shared.v2.b64 {%x, %y}, [cells]; st.global.v2.b64 [%at], {%x, %y}; add.u64 %at, %at, 16;"
)
_STATE = "selp.u32 %v, 1, 0, %p; st.global.u32 [%at], %v; add.u64 %at, %at, 4;"
_COUNT = "mbarrier.pending_count.b64 %v, %state; st.global.u32 [%at], %v; add.u64 %at, %at, 4;"


def _kernel(
    body: list[str], wanted: np.ndarray, *, blocks: int = 1, threads: int = 1, directives: str = ""
) -> KernelCase:
    text = HEAD + _ENTRY.format(body="\n".join(body), directives=directives)
    arguments = (poison(wanted.shape, wanted.dtype), _INPUT)
    return KernelCase(text, arguments, {0: wanted}, grid=(blocks, 1, 1), block=(threads, 1, 1))


def _copied(read: int, written: int) -> np.ndarray:
    cell = np.full(16, _OLD, np.uint8)
    cell[:written] = 0
    cell[:read] = _INPUT[:read]
    return cell


def _copies(form) -> KernelCase:
    """Test memory before and after the wait, for all sizes, with all sizes of the source."""
    body, wanted = [], []
    for name, words in spellings_together(form):
        for size in (4, 8, 16) if words["LEVEL"] == "ca" else (16,):
            rests = [("", size)]
            if "s:u32" in form.pattern:
                rests = [(f", {n}", n) for n in (0, 1, size // 2, size)]
            elif "i:pred" in form.pattern:
                rests = [(", %p", 0), (", !%p", size)]
            for rest, read in rests:
                policy = ", %policy" if "cache_hint" in name else ""
                body += ["setp.eq.u32 %p, %s, %s;", _FILL]
                body += [f"{name} [cells], [%in], {size}{rest}{policy};", _SHOW]
                body += ["cp.async.wait_all;", _SHOW]
                wanted += [np.full(16, _OLD, np.uint8), _copied(read, size)]
    return _kernel(body, np.stack(wanted))


def _groups() -> KernelCase:
    """Test three groups of one copy each; the copies happen from the oldest on."""
    body, wanted = [_FILL], []
    cell = np.full(16, _OLD, np.uint8)
    for i in range(3):
        body.append(f"cp.async.ca.shared.global [cells+{4 * i}], [%in+{4 * i}], 4;")
        body.append("cp.async.commit_group;")
    body.append("cp.async.ca.shared.global [cells+12], [%in+12], 4;")
    for pending, end in ((3, 0), (2, 4), (1, 8), (0, 12)):
        body += [f"cp.async.wait_group {pending};", _SHOW]
        cell = cell.copy()
        cell[:end] = _INPUT[:end]
        wanted.append(cell)
    body += ["cp.async.wait_all;", _SHOW]
    return _kernel(body, np.stack([*wanted, _INPUT[:16]]))


def _bulk(form) -> KernelCase:
    """Test that bulk copies into shared memory are complete when their bytes have been counted."""
    body, wanted = ["mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;"], []
    source = "%in"
    if ".shared::cta.mbarrier" in form.pattern:
        source = "cells+128"
        body.append("ld.global.v2.b64 {%x, %y}, [%in]; st.shared.v2.b64 [cells+128], {%x, %y};")
    for i, (name, _) in enumerate(spellings_together(form)):
        policy = ", %policy" if "cache_hint" in name else ""
        body += [
            f"{_FILL} mbarrier.arrive.expect_tx.shared.b64 %state, [bar], 16;",
            f"{name} [cells], [{source}], 16, [bar]{policy};",
            f"{_SHOW}\nWAIT{i}: mbarrier.try_wait.shared.b64 %p, [bar], %state; @!%p bra WAIT{i};",
            _SHOW,
        ]
        wanted += [np.full(16, _OLD, np.uint8), _INPUT[:16]]
    return _kernel(body, np.stack(wanted))


def _bulk_stores(form) -> KernelCase:
    """Test that bulk copies into global memory happen when a thread waits for their group."""
    names = [name for name, _ in spellings_together(form)]
    store = next((name for name in names if "bulk_group" in name), None)
    store = store or "cp.async.bulk.global.shared::cta.bulk_group"
    policy = ", %policy" if "cache_hint" in store else ""
    waits = [name for name in names if "wait_group" in name] or ["cp.async.bulk.wait_group"]
    body = ["ld.global.v2.b64 {%x, %y}, [%in]; st.shared.v2.b64 [cells], {%x, %y};"]
    for wait in waits:
        body += [f"mov.b64 %x, 0; st.global.v2.b64 [%at+{32 * len(waits)}], {{%x, %x}};"]
        place = f"[%at+{32 * len(waits)}]"
        body += [f"{store} {place}, [cells], 16{policy};", "cp.async.bulk.commit_group;"]
        body += [f"{wait} 1;", _look(place, 0), f"{wait} 0;", _look(place, 16)]
        body += ["add.u64 %at, %at, 32;"]
    answer = poison((4 * len(waits), 16), np.uint8)
    for i in range(len(waits)):
        answer[2 * i], answer[2 * i + 1] = 0, _INPUT[:16]
        answer[2 * len(waits) + 2 * i] = _INPUT[:16]
    return _kernel(body, answer)


def _look(place: str, to: int) -> str:
    return f"ld.global.v2.b64 {{%x, %y}}, {place}; st.global.v2.b64 [%at+{to}], {{%x, %y}};"


def _remote_stores(form) -> KernelCase:
    """Test blocks of a cluster that store into each other's shared memory and wait for stores."""
    body = [
        "mbarrier.init.shared.b64 [bar], 1; barrier.cluster.arrive; barrier.cluster.wait;",
        "mov.u32 %rank, %cluster_ctarank; xor.b32 %rank, %rank, 1;",
        "mapa.shared::cluster.u32 %far, %s, %rank; mapa.shared::cluster.u32 %n, %bar, %rank;",
        "mov.u32 %v, %ctaid.x;",
    ]
    spellings, wanted = spellings_together(form), []
    body.append(f"mad.wide.u32 %at, %v, {16 * len(spellings)}, %at; cvt.u64.u32 %b, %v;")
    for i, (name, words) in enumerate(spellings):
        size = int(words["TYPE"][1:]) // 8
        lanes = next((n for n in (2, 4) if f".v{n}." in form.pattern), 1)
        values = ", ".join(["%x", "%y", "%x", "%y"][:lanes])
        given = values if lanes == 1 else f"{{{values}}}"
        if size == 4:
            given = given.replace("%x", "%v").replace("%y", "%n")
        to, bar = ("[%far]", "[%tid]") if words["SPACE"] != "none" else ("[%in]", "[%policy]")
        generic = "mov.u64 %in, cells; cvta.shared.u64 %in, %in; mapa.u64 %in, %in, %rank;"
        generic += "mov.u64 %policy, bar; cvta.shared.u64 %policy, %policy;"
        body += [
            f"mad.lo.u64 %x, %b, 1000, {i}; add.u64 %y, %x, 7; cvt.u32.u64 %v, %x;",
            "mov.b64 %policy, 0; st.shared.v2.b64 [cells], {%policy, %policy};",
            "st.shared.v2.b64 [cells+16], {%policy, %policy};",
            "barrier.cluster.arrive; barrier.cluster.wait;",
            f"mbarrier.arrive.expect_tx.shared.b64 %state, [bar], {size * lanes};",
            "mov.u32 %tid, %n; cvt.u32.u64 %n, %y;" if size == 4 else "mov.u32 %tid, %n;",
            f"{generic} mapa.u64 %policy, %policy, %rank;",
            f"{name} {to}, {given}, {bar}; mov.u32 %n, %tid;",
            f"WAIT{i}: mbarrier.try_wait.shared.b64 %p, [bar], %state; @!%p bra WAIT{i};",
            f"ld.shared.v2.b64 {{%x, %y}}, [cells+{max(0, size * lanes - 16)}];",
            "st.global.v2.b64 [%at], {%x, %y}; add.u64 %at, %at, 16;",
            "barrier.cluster.arrive; barrier.cluster.wait;",
        ]
        rows = []
        for block in (0, 1):
            pair = np.array([(1 - block) * 1000 + i, (1 - block) * 1000 + i + 7], f"u{size}")
            cell = np.zeros(32, np.uint8)
            stored = np.tile(pair, 2)[:lanes].view(np.uint8)
            cell[: len(stored)] = stored
            start = max(0, size * lanes - 16)
            rows.append(cell[start : start + 16])
        wanted.append(rows)
    answer = np.ascontiguousarray(np.swapaxes(np.array(wanted), 0, 1))
    return _kernel(body, answer, blocks=2, directives=" .reqnctapercluster 2, 1, 1")


def _arrivals(form) -> KernelCase:
    """Test two phases of four arrivals each: pending counts, and whether each phase is over.

    Where arrivals drop out, two other threads arrive after them and make up the second phase.
    """
    body, wanted = [], []
    drops = "arrive_drop" in form.pattern
    for name, words in spellings_together(form):
        given = ", 2" if "n:u32" in form.pattern and "expect_tx" not in form.pattern else ""
        steps = 2 if given else 4
        if "expect_tx" in form.pattern:
            given = ", 16"
        is_far = words["SPACE"] == "shared::cluster"  # which returns no state
        state, place = ("_", "[%far]") if is_far else ("%state", "[bar]")
        body += [
            f"mbarrier.init.shared.b64 [bar], {6 if drops else 4};",
            "mov.u32 %rank, 0; mapa.shared::cluster.u32 %far, %bar, %rank;",
        ]
        if words["SPACE"] == "none":
            body.append("mov.u64 %b, bar; cvta.shared.u64 %b, %b;")
            place = "[%b]"
        for phase in range(2):
            left = 2 * drops
            if phase == 0 or not drops:
                left += 4
                for _ in range(steps):
                    body.append(f"{name} {state}, {place}{given};")
                    if not is_far:
                        body.append(_COUNT)
                        wanted.append(left)
                    left -= 4 // steps
            for i in range(left):
                body += ["mbarrier.arrive.shared.b64 %state, [bar];", _COUNT]
                wanted.append(left - i)
            body += [f"mbarrier.test_wait.parity.shared.b64 %p, [bar], {phase};", _STATE]
            has_bytes = "expect_tx" in form.pattern and not (drops and phase)
            wanted.append(0 if has_bytes else 1)
            if has_bytes:
                body += ["mbarrier.complete_tx.shared.b64 [bar], 64;"]
                body += [f"mbarrier.test_wait.parity.shared.b64 %p, [bar], {phase};", _STATE]
                wanted.append(1)
        body.append("mbarrier.inval.shared.b64 [bar];")
    return _kernel(body, np.array(wanted, np.uint32))


def _tests(form) -> KernelCase:
    """Test before and after the arrivals of the first phase and of the second."""
    body, wanted = [], []
    hint = ", 100" if "t:u32" in form.pattern else ""
    for name, words in spellings_together(form):
        place = "[bar]" if words["SPACE"] != "none" else "[%b]"
        body += ["mov.u64 %b, bar; cvta.shared.u64 %b, %b; mbarrier.init.shared.b64 [bar], 2;"]
        for phase in range(2):
            state = f"{phase}" if "parity" in name else "%state"
            for over in (0, 1):
                body += ["mbarrier.arrive.shared.b64 %state, [bar];"]
                body += [f"{name} %p, {place}, {state}{hint};", _STATE]
                wanted.append(over)
            if "parity" in name:  # also of the phase before
                body += [f"{name} %p, {place}, {1 - phase}{hint};", _STATE]
                wanted.append(0)
    return _kernel(body, np.array(wanted, np.uint32))


def _transactions(form) -> KernelCase:
    """Test that a phase is over when no bytes are missing."""
    body, wanted = [], []
    expects = "expect_tx" in form.pattern
    for name, words in spellings_together(form):
        place = {"none": "[%b]", "shared::cluster": "[%far]"}.get(words["SPACE"], "[bar]")
        first = f"{name} {place}" if expects else "mbarrier.expect_tx.shared.b64 [bar]"
        second = "mbarrier.complete_tx.shared.b64 [bar]" if expects else f"{name} {place}"
        body += [
            "mov.u64 %b, bar; cvta.shared.u64 %b, %b; mbarrier.init.shared.b64 [bar], 1;",
            "mov.u32 %rank, 0; mapa.shared::cluster.u32 %far, %bar, %rank;",
            f"{first}, 100; mbarrier.arrive.shared.b64 %state, [bar];",
        ]
        for part, over in ((40, 0), (60, 1)):
            body += [f"{second}, {part}; mbarrier.test_wait.shared.b64 %p, [bar], %state;", _STATE]
            wanted.append(over)
    return _kernel(body, np.array(wanted, np.uint32))


def _lives(form) -> KernelCase:
    """Test an mbarrier that is repeatedly initialized, used and invalidated."""
    body, wanted = [], []
    for name, words in spellings_together(form):
        generic = words["SPACE"] == "none"
        place = "[%b]" if generic else "[bar]"
        initialize, end = ("mbarrier.init.shared.b64 [bar], 3;", f"{name} {place};")
        if ".init" in name:
            initialize, end = f"{name} {place}, 3;", "mbarrier.inval.shared.b64 [bar];"
        body += [f"mov.u64 %b, bar; cvta.shared.u64 %b, %b; {initialize}"]
        body += ["mbarrier.arrive.shared.b64 %state, [bar];", _COUNT, end]
        wanted.append(3)
    return _kernel(body, np.array(wanted, np.uint32))


def _copy_arrivals(form) -> KernelCase:
    """Test 32 threads that copy four bytes each; the phase is over after all copies."""
    spellings, body = spellings_together(form), []
    body += ["mad.lo.u32 %n, %tid, 4, %s; mad.wide.u32 %in, %tid, 4, %in; setp.eq.u32 %q, %tid, 0;"]
    body += ["mad.wide.u32 %at, %tid, 4, %at; mov.u64 %b, bar; cvta.shared.u64 %b, %b;"]
    for i, (name, words) in enumerate(spellings):
        # Without .noinc, an arrival first increases the expected count by itself.
        count = 32 if words["noinc"] == "1" else 1
        place = "[%b]" if words["SPACE"] == "none" else "[bar]"
        body += [
            f"mov.u32 %v, 0; st.shared.u32 [%n], %v; @%q mbarrier.init.shared.b64 [bar], {count};",
            "bar.sync 0;",
            f"cp.async.ca.shared.global [%n], [%in], 4; {name} {place}; bar.sync 0;",
            f"{'@%q mbarrier.arrive.shared.b64 %state, [bar];' if count == 1 else ''}",
            f"WAIT{i}: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra WAIT{i};",
            "xor.b32 %rank, %tid, 31; mad.lo.u32 %rank, %rank, 4, %s;",
            "ld.shared.u32 %v, [%rank]; st.global.u32 [%at], %v; add.u64 %at, %at, 128;",
            "bar.sync 0;",
        ]
    wanted = np.tile(_INPUT[:128].view(np.uint32)[::-1], (len(spellings), 1))
    return _kernel(body, wanted, threads=32)


def _prefetches(form) -> KernelCase:
    policy = ", %policy" if "cache_hint" in form.pattern else ""
    body = [f"{name} [%in], 64{policy};" for name, _ in spellings_together(form)]
    body.append("mov.u32 %v, 6; st.global.u32 [%at], %v;")
    return _kernel(body, np.array([6], np.uint32))


_ARRIVE = next(f for f in asynchronous.FORMS if f.pattern.startswith("mbarrier.arrive.SEM"))
KERNELS = answers_by(
    {
        "cp.async.bulk.prefetch": _prefetches,
        "cp.async.bulk.shared": _bulk,
        "cp.async.bulk.SPACE": _bulk,
        "cp.async.bulk": _bulk_stores,
        "cp.async.mbarrier": _copy_arrivals,
        "cp.async.LEVEL": _copies,
        "cp.async": lambda _: _groups(),
        "st.async": _remote_stores,
        "mbarrier.arrive": _arrivals,
        "mbarrier.t": _tests,
        "mbarrier.expect": _transactions,
        "mbarrier.complete": _transactions,
        "mbarrier.i": _lives,
        "mbarrier.pending": lambda _: _arrivals(_ARRIVE),
    },
    asynchronous.FORMS,
)
