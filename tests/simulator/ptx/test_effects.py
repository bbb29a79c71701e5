"""Effects of instructions on memory, against answers from section 9.7 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx import access_bits
from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.instructions import table
from tests.helpers.rows import each

#: Bytes, then names from access_bits.py, a scope, a space, a vector's length.
ANSWERS = {
    # Loads and stores are weak unless they name an order (9.7.9.8, 9.7.9.11).
    "ld.u32": "4 reads",
    "ld.weak.global.f64": "8 reads global",
    "ld.global.v4.u32": "16 reads global v4",
    "ld.global.v2.b16": "4 reads global v2",
    "ld.global.v8.b32": "32 reads global v8",
    "ld.global.v4.b64": "32 reads global v4",
    "ld.global.b128": "16 reads global",
    "ld.global.nc.L1::no_allocate.L2::128B.v4.f32": "16 reads global noncoherent v4",
    "ldu.global.v2.u32": "8 reads global v2",
    "ld.shared.u8": "1 reads shared",
    "ld.shared::cta.u8": "1 reads shared",
    "ld.shared::cluster.u8": "1 reads shared::cluster",
    "ld.const.s16": "2 reads const",
    "ld.local.f32": "4 reads local",
    "ld.global.cg.u32": "4 reads global",
    "ld.volatile.shared.u32": "4 reads strong volatile sys shared",
    "ld.relaxed.gpu.global.u32": "4 reads strong gpu global",
    "ld.relaxed.cta.shared.u64": "8 reads strong cta shared",
    "ld.acquire.sys.u32": "4 reads strong acquires sys",
    "ld.acquire.cluster.shared::cluster.u32": "4 reads strong acquires cluster shared::cluster",
    "ld.mmio.relaxed.sys.global.u32": "4 reads strong sys global",
    "st.global.u32": "4 writes global",
    "st.global.wt.v2.f64": "16 writes global v2",
    "st.volatile.u16": "2 writes strong volatile sys",
    "st.relaxed.cluster.shared::cluster.b32": "4 writes strong cluster shared::cluster",
    "st.release.gpu.global.b64": "8 writes strong releases gpu global",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32": (
        "8 writes shared::cluster proxy v2"
    ),
    # Parameters are not checked.
    "ld.param.u64": "",
    "ld.param::entry.u64": "",
    "st.param.b32": "",
    # Atomics are relaxed, of the GPU, unless they say otherwise (9.7.13.5).
    "atom.add.u32": "4 reads writes atomic strong gpu",
    "atom.global.cas.b64": "8 reads writes atomic strong gpu global compares",
    "atom.shared.cas.b16": "2 reads writes atomic strong gpu shared compares",
    "atom.acq_rel.sys.global.add.f32": "4 reads writes atomic strong acquires releases sys global",
    "atom.add.acquire.gpu.u32": "4 reads writes atomic strong acquires gpu",
    "atom.relaxed.cta.global.min.s64": "8 reads writes atomic strong cta global",
    "atom.exch.b128": "16 writes atomic strong gpu",
    "atom.release.cta.shared.exch.b32": "4 writes atomic strong releases cta shared",
    "atom.global.add.noftz.f16x2": "4 reads writes atomic strong gpu global",
    "atom.global.add.v4.f32": "16 reads writes atomic strong gpu global v4",
    "red.global.add.u32": "4 reads writes atomic strong gpu global",
    "red.release.sys.global.add.u64": "8 reads writes atomic strong releases sys global",
    "red.global.add.noftz.v8.bf16": "16 reads writes atomic strong gpu global v8",
    # mbarriers: arrivals release and tests acquire, in the block (9.7.13.15).
    "mbarrier.init.shared::cta.b64": "8 writes shared mbarrier",
    "mbarrier.inval.shared.b64": "8 writes shared mbarrier invalidates",
    "mbarrier.arrive.shared.b64": "8 reads writes atomic strong releases cta shared mbarrier",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64": (
        "8 reads writes atomic strong releases cluster shared::cluster mbarrier"
    ),
    "mbarrier.arrive.relaxed.cta.b64": "8 reads writes atomic strong cta mbarrier",
    "mbarrier.arrive_drop.noComplete.b64": "8 reads writes atomic strong releases cta mbarrier",
    "mbarrier.expect_tx.relaxed.cta.shared.b64": "8 reads writes atomic strong cta shared mbarrier",
    "mbarrier.complete_tx.b64": "8 reads writes atomic strong cta mbarrier",
    "mbarrier.test_wait.shared.b64": "8 reads atomic strong acquires cta shared mbarrier",
    "mbarrier.try_wait.parity.acquire.cluster.b64": (
        "8 reads atomic strong acquires cluster mbarrier"
    ),
    "mbarrier.try_wait.relaxed.cluster.b64": "8 reads atomic strong cluster mbarrier",
    "mbarrier.pending_count.b64": "",
    "cp.async.mbarrier.arrive.noinc.shared.b64": "8 reads writes atomic strong releases cta shared",
    # Copies, whose size is an operand; what bulk copies do to their mbarriers (9.7.9.25).
    "cp.async.ca.shared.global": "reads writes shared",
    "cp.async.cg.shared::cta.global.L2::128B": "reads writes shared",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes": (
        "8 reads writes atomic strong cluster shared::cluster proxy"
    ),
    "cp.async.bulk.global.shared::cta.bulk_group": "reads writes global proxy",
    "cp.async.bulk.prefetch.L2.global": "",
    "cp.async.commit_group": "",
    "cp.async.wait_all": "",
    "cp.async.bulk.wait_group.read": "",
    # Matrices: a row, or what a lane moves at once.
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": "16 reads shared aligned",
    "stmatrix.sync.aligned.m8n8.x1.b16": "16 writes aligned",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16": "2 reads global aligned",
    "wmma.load.b.sync.aligned.col.m8n8k32.s4": "4 reads aligned",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.u8": "1 reads shared aligned",
    "wmma.store.d.sync.aligned.row.m8n8k4.f64": "8 writes aligned",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32": "aligned",
    # Fences and barriers (9.7.13.3, 9.7.13.4).
    "fence.acq_rel.gpu": "acquires releases gpu",
    "fence.sc.cta": "acquires releases sequential cta",
    "fence.cluster": "acquires releases cluster",
    "fence.acquire.sys": "acquires sys",
    "fence.release.gpu": "releases gpu",
    "fence.mbarrier_init.release.cluster": "releases cluster",
    "fence.acquire.sync_restrict::shared::cluster.cluster": "acquires cluster",
    "membar.cta": "acquires releases sequential cta",
    "membar.gl": "acquires releases sequential gpu",
    "membar.sys": "acquires releases sequential sys",
    "fence.proxy.async": "proxy",
    "fence.proxy.async.global": "global proxy",
    "fence.proxy.async.shared::cta": "shared proxy",
    "membar.proxy.alias": "",
    "barrier.cluster.arrive": "releases cluster",
    "barrier.cluster.arrive.relaxed.aligned": "cluster aligned",
    "barrier.cluster.wait.acquire.aligned": "acquires cluster aligned",
    "barrier.sync.aligned": "aligned",
    "bar.sync": "aligned",
    # Among collective operations of a warp, only this one orders memory (9.7.13.2).
    "bar.warp.sync": "acquires releases cta",
    "shfl.sync.idx.b32": "",
    "vote.sync.ballot.b32": "",
    "match.any.sync.b32": "",
    "redux.sync.add.u32": "",
    "elect.sync": "",
    "add.u32": "",
    "memcpy": "reads writes",
    "memset": "writes",
    "malloc": "",
}


#: Bits of `Site.access` by words of the answers.
BITS = access_bits.BITS | access_bits.SCOPES | access_bits.SPACES | access_bits.VECTORS


@each(("name", "answer"), ANSWERS.items())
def test_what_an_instruction_does_to_memory(name, answer):
    if name in BUILTINS:
        access = BUILTINS[name].access(())
    else:
        rows = (table().find(name, operands) for operands in range(8))
        access = next(row.access for row in rows if row is not None)
    assert access == sum(int(w) if w.isdecimal() else BITS[w] for w in answer.split())
