"""Asynchronous copies and mbarriers: in sections 9.7.9 and 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.forms import form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.ptx.forms import Form

HEADER = "asynchronous.hpp"
_SHARED = "shared shared::cta"
_ANY_SHARED = "shared shared::cta shared::cluster"
_SCOPES = "cta cluster"
_TRANSACTIONS = "mbarrier::complete_tx::bytes"
_PREFETCH = "L2::64B L2::128B L2::256B"


def _copies() -> Iterator[Form]:
    """Yield the forms of ``cp.async``: with a size of the source or a condition to ignore it."""
    for hint, policy in (("", ""), (".L2::cache_hint", ", policy:b64")):
        name = f"cp.async.LEVEL.SPACE.global{hint}{{.PREFETCH}}"
        sets = {"LEVEL": "ca cg", "SPACE": _SHARED, "PREFETCH": _PREFETCH}
        for operands, size in (
            ("", "{n}"),
            (", s:u32", "{s}"),  # first: it takes constants too
            (", i:pred", "{i} ? 0 : {n}"),
        ):
            yield form(
                "9.7.9.25.3.1",
                f"{name} [a], [b], n:u32{operands}{policy}",
                f"ck_sim_copy_later({{a}}, {{b}}, {{n}}, {size}, {{site}});",
                **sets,
            )


def _bulk_copies() -> Iterator[Form]:
    """Yield the forms of ``cp.async.bulk``."""
    section = "9.7.9.25.4.1"
    for hint, policy in (("", ""), (".L2::cache_hint", ", policy:b64")):
        yield form(
            section,
            f"cp.async.bulk.SPACE.global.{_TRANSACTIONS}{hint} [a], [b], n:u32, [c]{policy}",
            "ck_sim_bulk_later({a}, {b}, {n}, {c}, {site});",
            SPACE="shared::cta shared::cluster",
        )
        yield form(
            section,
            f"cp.async.bulk.global.shared::cta.bulk_group{hint} [a], [b], n:u32{policy}",
            "ck_sim_bulk_later({a}, {b}, {n}, nullptr, {site});",
        )
        yield form(
            section,
            f"cp.async.bulk.prefetch.L2.global{hint} [a], n:u32{policy}",
            "(void){a}; (void){n};",
        )
    yield form(
        section,
        f"cp.async.bulk.shared::cluster.shared::cta.{_TRANSACTIONS} [a], [b], n:u32, [c]",
        "ck_sim_bulk_later({a}, {b}, {n}, {c}, {site});",
    )


def _arrivals() -> Iterator[Form]:
    """Yield the forms of ``mbarrier.arrive`` and ``mbarrier.arrive_drop``."""
    for section, name, drops in (
        ("9.7.13.15.13", "arrive", "0"),
        ("9.7.13.15.14", "arrive_drop", "{n}"),
    ):
        one = "0" if drops == "0" else "1"
        sets = {"SEM": "release relaxed", "SCOPE": _SCOPES, "SPACE": _ANY_SHARED}
        ordered = "{.SEM}{.SCOPE}{.SPACE}.b64"
        yield form(
            section,
            f"mbarrier.{name}{ordered} d, [a]",
            f"ck_sim_mbarrier_arrive({{a}}, 1, {one}, 0, {{site}})",
            **sets,
        )
        yield form(
            section,
            f"mbarrier.{name}{{.noComplete}}{ordered} d, [a], n:u32",
            f"ck_sim_mbarrier_arrive({{a}}, {{n}}, {drops}, 0, {{site}})",
            **sets,
        )
        yield form(
            section,
            f"mbarrier.{name}.expect_tx{ordered} d, [a], n:u32",
            f"ck_sim_mbarrier_arrive({{a}}, 1, {one}, (s32){{n}}, {{site}})",
            **sets,
        )


def _tests() -> Iterator[Form]:
    """Yield the forms of ``mbarrier.test_wait`` and ``mbarrier.try_wait``."""
    sets = {"SEM": "acquire relaxed", "SCOPE": _SCOPES, "SPACE": _SHARED}
    ordered = "{.SEM}{.SCOPE}{.SPACE}.b64"
    for name, tries, hint in (
        ("test_wait", "0", ""),
        ("try_wait", "1", ""),
        ("try_wait", "1", ", t:u32"),
    ):
        yield form(
            "9.7.13.15.16",
            f"mbarrier.{name}{ordered} p:pred, [a], s{hint}",
            f"ck_sim_mbarrier_test({{a}}, {{s}}, {tries}, {{site}}) != 0",
            **sets,
        )
        yield form(
            "9.7.13.15.16",
            f"mbarrier.{name}.parity{ordered} p:pred, [a], s:u32{hint}",
            f"ck_sim_mbarrier_test_parity({{a}}, {{s}}, {tries}, {{site}}) != 0",
            **sets,
        )


FORMS = (
    *_copies(),
    form("9.7.9.25.3.2", "cp.async.commit_group", "ck_sim_copy_commit();"),
    form("9.7.9.25.3.3", "cp.async.wait_group n:u32", "ck_sim_copy_wait({n}, 0);"),
    form("9.7.9.25.3.3", "cp.async.wait_all", "ck_sim_copy_wait(0, 1);"),
    *_bulk_copies(),
    form("9.7.9.25.3.2", "cp.async.bulk.commit_group", "ck_sim_bulk_commit();"),
    form("9.7.9.25.3.3", "cp.async.bulk.wait_group{.read} n:u32", "ck_sim_bulk_wait({n});"),
    form("9.7.9.12", f"st.async{{.weak}}{{.SPACE}}.{_TRANSACTIONS}.TYPE [a], b, [c]",
         "store_now({a}, {b}, {c}, {site}, {arrival});", SPACE="shared::cluster",
         TYPE="b32 b64 u32 u64 s32 s64 f32 f64"),
    form("9.7.9.12", f"st.async{{.weak}}{{.SPACE}}.{_TRANSACTIONS}.VECTOR.TYPE [a], b, [c]",
         "store_now({a}, {b}, {c}, {site}, {arrival});", SPACE="shared::cluster", VECTOR="v2 v4",
         TYPE="b32 b64 u32 u64 s32 s64 f32 f64"),
    form("9.7.13.15.9", "mbarrier.init{.SPACE}.b64 [a], n:u32",
         "ck_sim_mbarrier_init({a}, {n}, {site});", SPACE=_SHARED),
    form("9.7.13.15.10", "mbarrier.inval{.SPACE}.b64 [a]",
         "ck_sim_mbarrier_invalidate({a}, {site});", SPACE=_SHARED),
    form("9.7.13.15.11", "mbarrier.expect_tx{.relaxed}{.SCOPE}{.SPACE}.b64 [a], n:u32",
         "ck_sim_mbarrier_arrive({a}, 0, 0, (s32){n}, {site});", SCOPE=_SCOPES,
         SPACE=_ANY_SHARED),
    form("9.7.13.15.12", "mbarrier.complete_tx{.relaxed}{.SCOPE}{.SPACE}.b64 [a], n:u32",
         "ck_sim_mbarrier_arrive({a}, 0, 0, -(s32){n}, {site});", SCOPE=_SCOPES,
         SPACE=_ANY_SHARED),
    *_arrivals(),
    form("9.7.13.15.15", "cp.async.mbarrier.arrive{.noinc}{.SPACE}.b64 [a]",
         "ck_sim_copy_arrive({a}, !{noinc}, {site});", SPACE=_SHARED),
    *_tests(),
    form("9.7.13.15.17", "mbarrier.pending_count.b64 d:u32, s", "ck_sim_mbarrier_pending({s})"),
)  # fmt: skip
