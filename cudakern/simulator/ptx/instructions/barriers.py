"""Barriers and fences: in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "ptx.hpp"

_THREADS = (("a:u32", "0"), ("a:u32, b:u32", "{b}"))
_BARRIERS = tuple(
    {"name": name, "al": aligned, "a": operands, "n": threads}
    for name, aligned in (("bar", ""), ("barrier", "{.aligned}"))
    for operands, threads in _THREADS
)

FORMS = (
    *rows(
        """
9.7.13.1 $name{.cta}.sync$al $a = sync_block({a}, $n, {site});
9.7.13.1 $name{.cta}.red.popc$al.u32 d, $a, c:pred =
    (u32)vote_block(ck_sim::Barrier::kCount, {a}, $n, {c}, {site})
9.7.13.1 $name{.cta}.red.and$al.pred p, $a, c:pred =
    vote_block(ck_sim::Barrier::kAnd, {a}, $n, {c}, {site}) != 0
9.7.13.1 $name{.cta}.red.or$al.pred p, $a, c:pred =
    vote_block(ck_sim::Barrier::kOr, {a}, $n, {c}, {site}) != 0
""",
        *_BARRIERS,
    ),
    *rows("""
9.7.13.1 bar{.cta}.arrive a:u32, b:u32 = ck_sim_barrier_arrive({a}, {b}, {site});
9.7.13.1 barrier{.cta}.arrive{.aligned} a:u32, b:u32 = ck_sim_barrier_arrive({a}, {b}, {site});
SEM: release relaxed
9.7.13.3 barrier.cluster.arrive{.SEM}{.aligned} = ck_sim_cluster_arrive({site});
9.7.13.3 barrier.cluster.wait{.acquire}{.aligned} = ck_sim_cluster_wait({site});
# Memory accesses of the host are ordered no less than these ask for.
LEVEL: cta gl sys
9.7.13.4 membar.LEVEL = fence({site});
SEM: sc acq_rel acquire release
SCOPE: cta cluster gpu sys
9.7.13.4 fence{.SEM}.SCOPE = fence({site});
RESTRICTED: acquire.sync_restrict::shared::cluster release.sync_restrict::shared::cta
    mbarrier_init.release
9.7.13.4 fence.RESTRICTED.cluster = fence({site});
KIND: alias async async.global async.shared::cta async.shared::cluster
9.7.13.4 fence.proxy.KIND = fence({site});
9.7.13.4 membar.proxy.KIND = fence({site});
# A launch starts when the one before it has ended.
ACTION: launch_dependents wait
9.7.13.13 griddepcontrol.ACTION = (void)0;
9.7.19.2 nanosleep.u32 t = (void){t}; ck_sim_yield(0, {site});
"""),
)
