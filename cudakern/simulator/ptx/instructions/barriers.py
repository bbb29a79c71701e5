"""Barriers and fences: in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.ptx.forms import Form

HEADER = "barriers.hpp"
_SCOPE = "cta cluster gpu sys"


def _barriers(name: str, aligned: str) -> Iterator[Form]:
    """Return the forms of ``bar``, or of ``barrier`` with or without ``.aligned``."""
    section = "9.7.13.1"
    for operands, threads in (("a:u32", "0"), ("a:u32, b:u32", "{b}")):
        yield form(
            section,
            f"{name}{{.cta}}.sync{aligned} {operands}",
            f"sync_block({{a}}, {threads}, {{site}});",
        )
        yield form(
            section,
            f"{name}{{.cta}}.red.popc{aligned}.u32 d, {operands}, c:pred",
            f"(u32)vote_block(ck_sim::Barrier::kCount, {{a}}, {threads}, {{c}}, {{site}})",
        )
        for op, kind in (("and", "kAnd"), ("or", "kOr")):
            yield form(
                section,
                f"{name}{{.cta}}.red.{op}{aligned}.pred p, {operands}, c:pred",
                f"vote_block(ck_sim::Barrier::{kind}, {{a}}, {threads}, {{c}}, {{site}}) != 0",
            )
    yield form(
        section,
        f"{name}{{.cta}}.arrive{aligned} a:u32, b:u32",
        "ck_sim_barrier_arrive({a}, {b}, {site});",
    )


FORMS = (
    *_barriers("bar", ""),
    *_barriers("barrier", "{.aligned}"),
    form("9.7.13.3", "barrier.cluster.arrive{.SEM}{.aligned}", "ck_sim_cluster_arrive({site});",
         SEM="release relaxed"),
    form("9.7.13.3", "barrier.cluster.wait{.acquire}{.aligned}", "ck_sim_cluster_wait({site});"),
    # Memory accesses of the host are ordered no less than these ask for.
    form("9.7.13.4", "membar.LEVEL", "fence({site});", LEVEL="cta gl sys"),
    form("9.7.13.4", "fence{.SEM}.SCOPE", "fence({site});", SEM="sc acq_rel acquire release",
         SCOPE=_SCOPE),
    form("9.7.13.4", "fence.RESTRICTED.cluster", "fence({site});",
         RESTRICTED="acquire.sync_restrict::shared::cluster release.sync_restrict::shared::cta "
                    "mbarrier_init.release"),
    form("9.7.13.4", "fence.proxy.KIND", "fence({site});",
         KIND="alias async async.global async.shared::cta async.shared::cluster"),
    form("9.7.13.4", "membar.proxy.KIND", "fence({site});",
         KIND="alias async async.global async.shared::cta async.shared::cluster"),
    # A launch starts when the one before it has ended.
    form("9.7.13.13", "griddepcontrol.ACTION", "(void)0;", ACTION="launch_dependents wait"),
    form("9.7.19.2", "nanosleep.u32 t", "(void){t}; ck_sim_yield(0, {site});"),
)  # fmt: skip
