"""Moves, loads, stores, branches and calls, whose C++ depends on more than their types.

They are in sections 9.7.9 and 9.7.12 of the PTX ISA manual; `moves.py` and `branches.py` write it.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "ptx.hpp"

FORMS = rows(
    """
UNDEFINED: move
TYPE: pred b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 b128
9.7.9.2 mov.TYPE d, a (moves, copies, points, cheap) = @move
UNDEFINED: pass
TYPE: b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 b128
PARAMETER: param param::entry param::func
SCOPE: cta cluster gpu sys
L1_EVICT: L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate
L2_EVICT: L2::evict_normal L2::evict_first L2::evict_last
PREFETCH: L2::64B L2::128B L2::256B
LANES: v2 v4 v8
# The first row that matches a name is the name's.
9.7.9.8 ld.PARAMETER{.LANES}.TYPE d, [a] (moves) = @load
UNDEFINED: load
ORDER: acquire relaxed
SPACE: global shared shared::cta shared::cluster
9.7.9.8 ld.ORDER.SCOPE{.SPACE}{.LANES}.TYPE d, [a] (reads, moves, yields) = @load
9.7.9.8 ld.ORDER.SCOPE{.global}$hints{.LANES}.TYPE d, [a] (reads, moves, yields) = @load
9.7.9.8 ld.ORDER.SCOPE{.global}$far.TYPE d, [a] (reads, moves, yields) = @load
9.7.9.8 ld.mmio.relaxed.sys{.global}.TYPE d, [a] (reads, moves, yields) = @load
9.7.9.8 ld.volatile{.SPACE}{.LANES}.TYPE d, [a] (reads, moves, yields) = @load
9.7.9.8 ld.volatile.local{.LANES}.TYPE d, [a] (reads, moves) = @load
9.7.9.8 ld.volatile{.global}.PREFETCH{.LANES}.TYPE d, [a] (reads, moves, yields) = @load
# Past the caches of a multiprocessor: a loop may wait for another block with one.
CACHE: cg cv
9.7.9.8 ld{.weak}{.SPACE}.CACHE.TYPE d, [a] (reads, moves, yields) = @load
9.7.9.8 ld{.weak}{.global}.CACHE{.L2::cache_hint}{.PREFETCH}.TYPE d, [a] (reads, moves, yields) =
    @load
CACHE: ca cg cs cv lu
SPACE: global shared shared::cta shared::cluster local const
9.7.9.8 ld{.weak}{.SPACE}{.CACHE}{.LANES}.TYPE d, [a] (reads, moves) = @load
9.7.9.8 ld{.weak}{.global}{.CACHE}{.L2::cache_hint}{.PREFETCH}{.LANES}.TYPE d, [a] (reads, moves) =
    @load
9.7.9.8 ld{.weak}{.global}$hints{.LANES}.TYPE d, [a] (reads, moves) = @load
9.7.9.8 ld{.weak}{.global}$far.TYPE d, [a] (reads, moves) = @load
CACHE: ca cg cs
9.7.9.8 ld.global.nc{.CACHE}{.L2::cache_hint}{.PREFETCH}{.LANES}.TYPE d, [a] (reads, moves) = @load
9.7.9.8 ld.global.nc$hints{.LANES}.TYPE d, [a] (reads, moves) = @load
9.7.9.8 ld.global.nc$far.TYPE d, [a] (reads, moves) = @load
9.7.9.10 ldu{.global}{.LANES}.TYPE d, [a] (reads, moves) = @load
PARAMETER: param param::func
UNDEFINED: pass
9.7.9.11 st.PARAMETER{.LANES}.TYPE [a], b (moves) = @store
UNDEFINED: store
ORDER: release relaxed
SPACE: global shared shared::cta shared::cluster
9.7.9.11 st.ORDER.SCOPE{.SPACE}{.LANES}.TYPE [a], b (writes, moves, tells) = @store
9.7.9.11 st.ORDER.SCOPE{.global}{.L1_EVICT}{.L2::cache_hint}{.LANES}.TYPE [a], b
    (writes, moves, tells) = @store
9.7.9.11 st.mmio.relaxed.sys{.global}.TYPE [a], b (writes, moves, tells) = @store
9.7.9.11 st.volatile{.SPACE}{.LANES}.TYPE [a], b (writes, moves, tells) = @store
9.7.9.11 st.volatile.local{.LANES}.TYPE [a], b (writes, moves) = @store
CACHE: wb cg cs wt
SPACE: global shared shared::cta shared::cluster local
9.7.9.11 st{.weak}{.SPACE}{.CACHE}{.LANES}.TYPE [a], b (writes, moves) = @store
9.7.9.11 st{.weak}{.global}{.CACHE}{.L2::cache_hint}{.LANES}.TYPE [a], b (writes, moves) = @store
9.7.9.11 st{.weak}{.global}{.L1_EVICT}{.L2::cache_hint}{.LANES}.TYPE [a], b (writes, moves) = @store
9.7.9.11 st{.weak}{.global}{.L1_EVICT}.L2_EVICT{.L2::cache_hint}.LANES.TYPE [a], b
    (writes, moves) = @store
# There are no caches.
UNDEFINED: whole
SPACE: global local
LEVEL: L1 L2
9.7.9.14 prefetch{.SPACE}.LEVEL [a] (nothing) = @nothing
LEVEL: L2::evict_last L2::evict_normal
9.7.9.14 prefetch{.global}.LEVEL [a] (nothing) = @nothing
9.7.9.14 prefetchu.L1 [a] (nothing) = @nothing
TYPE: u32 u64
SPACE: global local const param param::entry
9.7.9.20 cvta{.to}.SPACE.TYPE d, a (copies, points, cheap) = @convert_address
SPACE: shared shared::cta
9.7.9.20 cvta{.to}.SPACE.TYPE d, a (points, cheap) = @convert_address
SPACE: shared::cluster
9.7.9.20 cvta{.to}.SPACE.TYPE d, a (points) = @convert_cluster_address
UNDEFINED: use
9.7.12.3 bra{.uni} a (ends, jumps) = @branch
9.7.12.4 brx.idx{.uni} a, b (fails, ends, jumps) = @branch_by_table
9.7.12.5 call{.uni} (d), f, (a) (waits, ends, calls) = @call
9.7.12.6 ret{.uni} (ends, leaves) = @leave_function
9.7.12.7 exit (ends, leaves, exits) = @exit_thread
""",
    {
        "hints": "{.L1_EVICT}{.L2::cache_hint}{.PREFETCH}",
        "far": "{.L1_EVICT}.L2_EVICT{.L2::cache_hint}{.PREFETCH}.LANES",  # of 32 bytes
    },
)
