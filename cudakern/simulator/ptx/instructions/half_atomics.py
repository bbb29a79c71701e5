"""Atomics on half-precision floats: in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "half_atomics.hpp"

FORMS = rows("""
UNDEFINED: use
SEM: relaxed acquire release acq_rel
SCOPE: cta cluster gpu sys
SPACE: global shared shared::cta shared::cluster
TYPE: f16 bf16 f16x2 bf16x2
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.noftz.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = atomic_half<{T}>({a}, {b}, half_add, {site})
SPACE: global
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.noftz.L2::cache_hint.TYPE d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) = atomic_half<{T}>({a}, {b}, half_add, {site})
OP: add min max
TYPE: f16 bf16
VECTOR: v2 v4 v8
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.OP.noftz.VECTOR.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = each_half({d}, {a}, {b}, half_{OP}, {site});
TYPE: f16x2 bf16x2
PAIRS: v2 v4
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.OP.noftz.PAIRS.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = each_half({d}, {a}, {b}, half_{OP}, {site});
SEM: relaxed release
SPACE: global shared shared::cta shared::cluster
TYPE: f16 bf16 f16x2 bf16x2
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.noftz.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = (void)atomic_half<{T}>({a}, {b}, half_add, {site})
SPACE: global
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.noftz.L2::cache_hint.TYPE [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) = (void)atomic_half<{T}>({a}, {b}, half_add, {site})
OP: add min max
TYPE: f16 bf16
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.OP.noftz.VECTOR.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = each_half({b}, {a}, {b}, half_{OP}, {site});
TYPE: f16x2 bf16x2
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.OP.noftz.PAIRS.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = each_half({b}, {a}, {b}, half_{OP}, {site});
""")
