"""What instructions do to memory, against answers from section 9.7 of the PTX ISA manual."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cudakern.simulator
from cudakern.simulator.ptx import accesses
from cudakern.simulator.ptx.instructions import CHAPTERS, table

#: Bytes; then bits, a scope and a space, each as runtime.hpp calls it.
ANSWERS = {
    # Loads and stores are weak unless they name an order (9.7.9.8, 9.7.9.11).
    "ld.u32": "4 Reads",
    "ld.weak.global.f64": "8 Reads kGlobal",
    "ld.global.v4.u32": "16 Reads kGlobal",
    "ld.global.v2.b16": "4 Reads kGlobal",
    "ld.global.v8.b32": "32 Reads kGlobal",
    "ld.global.v4.b64": "32 Reads kGlobal",
    "ld.global.b128": "16 Reads kGlobal",
    "ld.global.nc.L1::no_allocate.L2::128B.v4.f32": "16 Reads kGlobal",
    "ldu.global.v2.u32": "8 Reads kGlobal",
    "ld.shared.u8": "1 Reads kShared",
    "ld.shared::cta.u8": "1 Reads kShared",
    "ld.shared::cluster.u8": "1 Reads kCluster",
    "ld.const.s16": "2 Reads kConst",
    "ld.local.f32": "4 Reads kLocal",
    "ld.global.cg.u32": "4 Reads kGlobal",
    "ld.volatile.shared.u32": "4 Reads Strong Volatile kSys kShared",
    "ld.relaxed.gpu.global.u32": "4 Reads Strong kGpu kGlobal",
    "ld.relaxed.cta.shared.u64": "8 Reads Strong kCta kShared",
    "ld.acquire.sys.u32": "4 Reads Strong Acquires kSys",
    "ld.acquire.cluster.shared::cluster.u32": "4 Reads Strong Acquires kCluster kCluster",
    "ld.mmio.relaxed.sys.global.u32": "4 Reads Strong kSys kGlobal",
    "st.global.u32": "4 Writes kGlobal",
    "st.global.wt.v2.f64": "16 Writes kGlobal",
    "st.volatile.u16": "2 Writes Strong Volatile kSys",
    "st.relaxed.cluster.shared::cluster.b32": "4 Writes Strong kCluster kCluster",
    "st.release.gpu.global.b64": "8 Writes Strong Releases kGpu kGlobal",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32": ("8 Writes kCluster"),
    # Parameters are not checked.
    "ld.param.u64": "",
    "ld.param::entry.u64": "",
    "st.param.b32": "",
    # Atomics are relaxed, of the GPU, unless they say otherwise (9.7.13.5).
    "atom.add.u32": "4 Reads Writes Atomic Strong kGpu",
    "atom.global.cas.b64": "8 Reads Writes Atomic Strong kGpu kGlobal",
    "atom.shared.cas.b16": "2 Reads Writes Atomic Strong kGpu kShared",
    "atom.acq_rel.sys.global.add.f32": (
        "4 Reads Writes Atomic Strong Acquires Releases kSys kGlobal"
    ),
    "atom.add.acquire.gpu.u32": "4 Reads Writes Atomic Strong Acquires kGpu",
    "atom.relaxed.cta.global.min.s64": "8 Reads Writes Atomic Strong kCta kGlobal",
    "atom.exch.b128": "16 Writes Atomic Strong kGpu",
    "atom.release.cta.shared.exch.b32": "4 Writes Atomic Strong Releases kCta kShared",
    "atom.global.add.noftz.f16x2": "4 Reads Writes Atomic Strong kGpu kGlobal",
    "atom.global.v4.f32.add": "16 Reads Writes Atomic Strong kGpu kGlobal",
    "red.global.add.u32": "4 Reads Writes Atomic Strong kGpu kGlobal",
    "red.release.sys.global.add.u64": "8 Reads Writes Atomic Strong Releases kSys kGlobal",
    "red.global.add.noftz.v8.bf16": "16 Reads Writes Atomic Strong kGpu kGlobal",
    # mbarriers: arrivals release and tests acquire, in the block (9.7.13.15).
    "mbarrier.init.shared::cta.b64": "8 Writes kShared",
    "mbarrier.inval.shared.b64": "8 Writes kShared",
    "mbarrier.arrive.shared.b64": "8 Reads Writes Atomic Strong Releases kCta kShared",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64": (
        "8 Reads Writes Atomic Strong Releases kCluster kCluster"
    ),
    "mbarrier.arrive.relaxed.cta.b64": "8 Reads Writes Atomic Strong kCta",
    "mbarrier.arrive_drop.noComplete.b64": "8 Reads Writes Atomic Strong Releases kCta",
    "mbarrier.expect_tx.relaxed.cta.shared.b64": "8 Reads Writes Atomic Strong kCta kShared",
    "mbarrier.complete_tx.b64": "8 Reads Writes Atomic Strong kCta",
    "mbarrier.test_wait.shared.b64": "8 Reads Atomic Strong Acquires kCta kShared",
    "mbarrier.try_wait.parity.acquire.cluster.b64": "8 Reads Atomic Strong Acquires kCluster",
    "mbarrier.try_wait.relaxed.cluster.b64": "8 Reads Atomic Strong kCluster",
    "mbarrier.pending_count.b64": "",
    "cp.async.mbarrier.arrive.noinc.shared.b64": (
        "8 Reads Writes Atomic Strong Releases kCta kShared"
    ),
    # Copies, whose size is an operand; what bulk copies do to their mbarriers (9.7.9.25).
    "cp.async.ca.shared.global": "0 Reads Writes kShared",
    "cp.async.cg.shared::cta.global.L2::128B": "0 Reads Writes kShared",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes": (
        "8 Reads Writes Atomic Strong kCluster kCluster"
    ),
    "cp.async.bulk.global.shared::cta.bulk_group": "0 Reads Writes kGlobal",
    "cp.async.bulk.prefetch.L2.global": "",
    "cp.async.commit_group": "",
    "cp.async.wait_all": "",
    "cp.async.bulk.wait_group.read": "",
    # Matrices: a row, or what a lane moves at once.
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": "16 Reads kShared",
    "stmatrix.sync.aligned.m8n8.x1.b16": "16 Writes",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16": "2 Reads kGlobal",
    "wmma.load.b.sync.aligned.col.m8n8k32.s4": "4 Reads",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.u8": "1 Reads kShared",
    "wmma.store.d.sync.aligned.row.m8n8k4.f64": "8 Writes",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32": "",
    # Fences and barriers (9.7.13.3, 9.7.13.4).
    "fence.acq_rel.gpu": "0 Acquires Releases kGpu",
    "fence.sc.cta": "0 Acquires Releases kCta",
    "fence.cluster": "0 Acquires Releases kCluster",
    "fence.acquire.sys": "0 Acquires kSys",
    "fence.release.gpu": "0 Releases kGpu",
    "fence.mbarrier_init.release.cluster": "0 Releases kCluster",
    "fence.acquire.sync_restrict::shared::cluster.cluster": "0 Acquires kCluster",
    "membar.cta": "0 Acquires Releases kCta",
    "membar.gl": "0 Acquires Releases kGpu",
    "membar.sys": "0 Acquires Releases kSys",
    "fence.proxy.async": "",
    "membar.proxy.alias": "",
    "barrier.cluster.arrive": "0 Releases kCluster",
    "barrier.cluster.arrive.relaxed.aligned": "0 kCluster",
    "barrier.cluster.wait.acquire.aligned": "0 Acquires kCluster",
    "barrier.sync.aligned": "",
    "bar.sync": "",
    "shfl.sync.idx.b32": "",
    "add.u32": "",
    "memcpy": "0 Reads Writes",
    "memset": "0 Writes",
    "malloc": "",
}
_HEADER = (Path(cudakern.simulator.__file__).parent / "runtime" / "runtime.hpp").read_text("utf-8")


def _enumerators(name):
    found = re.search(rf"enum class {name} : uint32_t {{([^}}]*)}}", _HEADER)[1]
    return [word.strip() for word in found.split(",")]


def _shift(name):
    return int(re.search(rf"constexpr int k{name}Shift = (\d+);", _HEADER)[1])


BITS = {name: int(bit) for name, bit in re.findall(r"k(\w+) = 1u << (\d+);", _HEADER)}


def word(answer):
    """Return an answer as the bits that runtime.hpp gives them."""
    size, *parts = answer.split() or ["0"]
    bits = [part for part in parts if not part.startswith("k")]
    made = int(size) | sum(1 << BITS[part] for part in bits)
    names = [part for part in parts if part.startswith("k")]
    if names and (not bits or {"Strong", "Acquires", "Releases"} & {*bits}):
        made |= _enumerators("Scope").index(names.pop(0)) << _shift("Scope")
    return made | sum(_enumerators("Space").index(name) << _shift("Space") for name in names)


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_instruction_does_to_memory(name):
    assert accesses.access_of(name) == word(ANSWERS[name])


def test_the_instructions_of_the_answers_exist():
    structural = {"ld", "ldu", "st", "malloc", "memcpy", "memset"}
    names = [name for name in ANSWERS if name.partition(".")[0] not in structural]
    unknown = [name for name in names if name not in table() and "v4.f32.add" not in name]
    assert not unknown


def test_each_row_that_can_access_memory_has_an_answer():
    answered = {name.partition(".")[0] for name in ANSWERS}
    hints = {"applypriority", "discard", "createpolicy"}
    rows = {
        form.opcode
        for chapter in CHAPTERS
        for form in __import__(
            f"cudakern.simulator.ptx.instructions.{chapter}", fromlist=["FORMS"]
        ).FORMS
        if any(position[0].is_address for position in form.operands)
    }
    assert rows - hints <= answered
