"""Barriers and fences: in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "ptx.hpp"

_NAMES = (
    {"name": "bar", "flag": "", "aligned": ", aligned"},
    {"name": "barrier", "flag": "{.aligned}", "aligned": ""},
)
#: All threads of the block, or so many.
_THREADS = (
    {"operands": "a:u32", "threads": "0"},
    {"operands": "a:u32, b:u32", "threads": "{b}"},
)

FORMS = rows(
    """
UNDEFINED: use
9.7.13.1 $name{.cta}.sync$flag $operands (waits$aligned) =
    BlockMeeting(Barrier::kPlain, {a}, $threads, 0) meets block:
9.7.13.1 $name{.cta}.red.popc$flag.u32 d, $operands, c:pred (waits$aligned) =
    BlockMeeting(Barrier::kCount, {a}, $threads, {c}) meets block:
    (u32){met}.predicate
9.7.13.1 $name{.cta}.red.and$flag.pred p, $operands, c:pred (waits$aligned) =
    BlockMeeting(Barrier::kAnd, {a}, $threads, {c}) meets block:
    {met}.predicate != 0
9.7.13.1 $name{.cta}.red.or$flag.pred p, $operands, c:pred (waits$aligned) =
    BlockMeeting(Barrier::kOr, {a}, $threads, {c}) meets block:
    {met}.predicate != 0
""",
    *(name | threads for name in _NAMES for threads in _THREADS),
) + rows("""
UNDEFINED: use
9.7.13.1 bar{.cta}.arrive a:u32, b:u32 (fences, tells, aligned) =
    ck_sim_barrier_arrive({a}, {b}, {site});
9.7.13.1 barrier{.cta}.arrive{.aligned} a:u32, b:u32 (fences, tells) =
    ck_sim_barrier_arrive({a}, {b}, {site});
SEM: release relaxed
9.7.13.3 barrier.cluster.arrive{.SEM}{.aligned} (fences, tells, release cluster) =
    ck_sim_cluster_arrive({site});
9.7.13.3 barrier.cluster.wait{.acquire}{.aligned} (waits, acquire cluster) =
    ck_sim_cluster_wait({site});
# Memory accesses of the host are ordered no less than these ask for.
LEVEL: cta gl sys
9.7.13.4 membar.LEVEL (fences, sc gpu) = fence({site});
SEM: sc acq_rel acquire release
SCOPE: cta cluster gpu sys
9.7.13.4 fence{.SEM}.SCOPE (fences, acq_rel gpu) = fence({site});
9.7.13.4 fence.acquire.sync_restrict::shared::cluster.cluster (fences, acq_rel gpu) =
    fence({site});
9.7.13.4 fence.release.sync_restrict::shared::cta.cluster (fences, acq_rel gpu) = fence({site});
9.7.13.4 fence.mbarrier_init.release.cluster (fences, acq_rel gpu) = fence({site});
SPACE: global shared::cta shared::cluster
9.7.13.4 fence.proxy.async{.SPACE} (fences, proxy) = fence({site});
9.7.13.4 fence.proxy.alias (fences) = fence({site});
9.7.13.4 membar.proxy.alias (fences) = fence({site});
# A launch starts when the one before it has ended.
ACTION: launch_dependents wait
9.7.13.13 griddepcontrol.ACTION (nothing) = (void)0;
9.7.19.2 nanosleep.u32 t (yields) = (void){t}; ck_sim_yield({site});
""")
