"""Asynchronous copies and mbarriers: in sections 9.7.9 and 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "ptx.hpp"

#: `counted`: effects of a bulk copy, which is checked as an access to its mbarrier; `arrival`: what
#: an asynchronous store does to its mbarrier.
_COUNTED = {
    "counted": "reads, writes, atomic, 8 bytes, relaxed cluster, proxy",
    "arrival": "reads, writes, atomic, 8 bytes, release cluster",
}
#: A hint for the cache, and its operand.
_HINTS = (
    {"hint": "", "policy": ""},
    {"hint": ".L2::cache_hint", "policy": ", policy:b64"},
)
_ARRIVALS = (
    {"section": "9.7.13.15.13", "name": "arrive", "drops": "0", "count_drops": "0"},
    {"section": "9.7.13.15.14", "name": "arrive_drop", "drops": "1", "count_drops": "{n}"},
)
#: An order comes with its scope.
_ORDERS = (
    {"order": "", "own_order": ""},
    {"order": ".SEM.SCOPE", "own_order": ".release.cta"},
)
_TESTS = (
    {"name": "test_wait", "hint": "", "tries": "0"},
    {"name": "try_wait", "hint": "", "tries": "1"},
    {"name": "try_wait", "hint": ", t:u32", "tries": "1"},
)

FORMS = (
    rows(
        """
UNDEFINED: use
LEVEL: ca cg
SPACE: shared shared::cta
PREFETCH: L2::64B L2::128B L2::256B
9.7.9.25.3.1 cp.async.LEVEL.SPACE.global$hint{.PREFETCH} [a], [b], n:u32$policy
    (reads, writes, n bytes) = ck_sim_copy_later({a}, {b}, {n}, {n}, {site});
# With the size of the source, or a condition to ignore it; the size first: it takes constants too.
9.7.9.25.3.1 cp.async.LEVEL.SPACE.global$hint{.PREFETCH} [a], [b], n:u32, s:u32$policy
    (reads, writes, n bytes) = ck_sim_copy_later({a}, {b}, {n}, {s}, {site});
9.7.9.25.3.1 cp.async.LEVEL.SPACE.global$hint{.PREFETCH} [a], [b], n:u32, i:pred$policy
    (reads, writes, n bytes) = ck_sim_copy_later({a}, {b}, {n}, {i} ? 0 : {n}, {site});
SPACE: shared::cta shared::cluster
9.7.9.25.4.1 cp.async.bulk.SPACE.global.mbarrier::complete_tx::bytes$hint
    [a], [b], n:u32, [c]$policy ($counted) = ck_sim_bulk_later({a}, {b}, {n}, {c}, {site});
9.7.9.25.4.1 cp.async.bulk.global.shared::cta.bulk_group$hint [a], [b], n:u32$policy
    (reads, writes, n bytes, proxy) = ck_sim_bulk_later({a}, {b}, {n}, nullptr, {site});
9.7.9.25.4.1 cp.async.bulk.prefetch.L2.global$hint [a], n:u32$policy (nothing) =
    (void){a}; (void){n};
""",
        *(hint | _COUNTED for hint in _HINTS),
    )
    + rows(
        """
UNDEFINED: use
9.7.9.25.4.1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
    [a], [b], n:u32, [c] ($counted) = ck_sim_bulk_later({a}, {b}, {n}, {c}, {site});
9.7.9.25.3.2 cp.async.commit_group (nothing) = ck_sim_copy_commit();
9.7.9.25.3.3 cp.async.wait_group n:u32 (nothing) = ck_sim_copy_wait({n}, 0);
9.7.9.25.3.3 cp.async.wait_all (nothing) = ck_sim_copy_wait(0, 1);
9.7.9.25.3.2 cp.async.bulk.commit_group (nothing) = ck_sim_bulk_commit();
9.7.9.25.3.3 cp.async.bulk.wait_group{.read} n:u32 (nothing) = ck_sim_bulk_wait({n});
SPACE: shared::cluster
TYPE: b32 b64 u32 u64 s32 s64 f32 f64
9.7.9.12 st.async{.weak}{.SPACE}.mbarrier::complete_tx::bytes.TYPE [a], b, [c]
    (writes, moves, proxy; $arrival) = store_now({a}, {b}, {c}, {site}, {arrival});
9.7.9.12 st.async{.weak}{.SPACE}.mbarrier::complete_tx::bytes.v2.TYPE [a], b, [c]
    (writes, moves, proxy; $arrival) = store_now({a}, {b}, {c}, {site}, {arrival});
TYPE: b32 u32 s32 f32
9.7.9.12 st.async{.weak}{.SPACE}.mbarrier::complete_tx::bytes.v4.TYPE [a], b, [c]
    (writes, moves, proxy; $arrival) = store_now({a}, {b}, {c}, {site}, {arrival});
SPACE: shared shared::cta
9.7.13.15.9 mbarrier.init{.SPACE}.b64 [a], n:u32 (writes, mbarrier) =
    ck_sim_mbarrier_init({a}, {n}, {site});
9.7.13.15.10 mbarrier.inval{.SPACE}.b64 [a] (writes, mbarrier) =
    ck_sim_mbarrier_invalidate({a}, {site});
9.7.13.15.15 cp.async.mbarrier.arrive{.noinc}{.SPACE}.b64 [a]
    (reads, writes, atomic, 8 bytes, release cta) = ck_sim_copy_arrive({a}, !{noinc}, {site});
9.7.13.15.17 mbarrier.pending_count.b64 d:u32, s (whole) = ck_sim_mbarrier_pending({s})
""",
        _COUNTED,
    )
    + rows(
        """
UNDEFINED: use
SCOPE: cta cluster
SPACE: shared shared::cta shared::cluster
9.7.13.15.11 mbarrier.expect_tx$order{.SPACE}.b64 [a], n:u32
    (reads, writes, atomic, mbarrier, relaxed cta) =
    ck_sim_mbarrier_arrive({a}, 0, 0, (s32){n}, {site});
9.7.13.15.12 mbarrier.complete_tx$order{.SPACE}.b64 [a], n:u32
    (reads, writes, atomic, mbarrier, relaxed cta) =
    ck_sim_mbarrier_arrive({a}, 0, 0, -(s32){n}, {site});
""",
        {"order": ""},
        {"order": ".relaxed.SCOPE"},
    )
    + rows(
        """
UNDEFINED: use
SEM: release relaxed
SCOPE: cta cluster
SPACE: shared shared::cta shared::cluster
$section mbarrier.$name$order{.SPACE}.b64 d, [a]
    (reads, writes, atomic, mbarrier, release cta) =
    ck_sim_mbarrier_arrive({a}, 1, $drops, 0, {site})
$section mbarrier.$name$order{.SPACE}.b64 d, [a], n:u32
    (reads, writes, atomic, mbarrier, release cta) =
    ck_sim_mbarrier_arrive({a}, {n}, $count_drops, 0, {site})
$section mbarrier.$name.expect_tx$order{.SPACE}.b64 d, [a], n:u32
    (reads, writes, atomic, mbarrier, release cta) =
    ck_sim_mbarrier_arrive({a}, 1, $drops, (s32){n}, {site})
SPACE: shared shared::cta
$section mbarrier.$name.noComplete$own_order{.SPACE}.b64 d, [a], n:u32
    (reads, writes, atomic, mbarrier, release cta) =
    ck_sim_mbarrier_arrive({a}, {n}, $count_drops, 0, {site})
""",
        *(arrival | order for arrival in _ARRIVALS for order in _ORDERS),
    )
    + rows(
        """
UNDEFINED: use
SEM: acquire relaxed
SCOPE: cta cluster
SPACE: shared shared::cta
9.7.13.15.16 mbarrier.$name$order{.SPACE}.b64 p:pred, [a], s$hint
    (reads, atomic, mbarrier, acquire cta, waits) =
    ck_sim_mbarrier_test({a}, {s}, $tries, {site}) != 0
9.7.13.15.16 mbarrier.$name.parity$order{.SPACE}.b64 p:pred, [a], s:u32$hint
    (reads, atomic, mbarrier, acquire cta, waits) =
    ck_sim_mbarrier_test_parity({a}, {s}, $tries, {site}) != 0
""",
        *(test | order for test in _TESTS for order in _ORDERS),
    )
)
