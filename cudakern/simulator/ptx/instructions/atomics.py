"""Atomics: ``atom`` and ``red``, in section 9.7.13 of the PTX ISA manual."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "atomics.hpp"

#: The host's atomics are ordered, for all threads. Only those in global memory have hints.
FORMS = rows("""
UNDEFINED: use
SEM: relaxed acquire release acq_rel
SCOPE: cta cluster gpu sys
SPACE: global shared shared::cta shared::cluster
TYPE: u32 s32 u64
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = atomic_add<{T}>({a}, {b}, {site})
OP: inc dec
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.OP.u32 d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = atomic_{OP}<u32>({a}, {b}, {site})
EXTREME: min max
TYPE: u32 s32 u64 s64
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.EXTREME.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = atomic_{EXTREME}<{T}>({a}, {b}, {site})
LOGIC: and or xor
TYPE: b32 b64
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.LOGIC.TYPE d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = atomic_{LOGIC}<{T}>({a}, {b}, {site})
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.f32 d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) =
    atomic_add_f32({a}, {b}, flushes({me}, {a}, {access}), {site})
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.f64 d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) = atomic_add_f64({a}, {b}, {site})
TYPE: b32 b64 b128
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.exch.TYPE d, [a], b
    (writes, atomic, returns, relaxed gpu) = atomic_exchange<{T}>({a}, {b}, {site})
TYPE: b16 b32 b64 b128
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.cas.TYPE d, [a], b, c
    (reads, writes, atomic, returns, relaxed gpu) = atomic_cas<{T}>({a}, {b}, {c}, {site})
SPACE: global
TYPE: u32 s32 u64
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.L2::cache_hint.TYPE d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) = atomic_add<{T}>({a}, {b}, {site})
OP: inc dec
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.OP.L2::cache_hint.u32 d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) = atomic_{OP}<u32>({a}, {b}, {site})
EXTREME: min max
TYPE: u32 s32 u64 s64
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.EXTREME.L2::cache_hint.TYPE d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) = atomic_{EXTREME}<{T}>({a}, {b}, {site})
LOGIC: and or xor
TYPE: b32 b64
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.LOGIC.L2::cache_hint.TYPE d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) = atomic_{LOGIC}<{T}>({a}, {b}, {site})
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.L2::cache_hint.f32 d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) =
    atomic_add_f32({a}, {b}, flushes({me}, {a}, {access}), {site})
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.L2::cache_hint.f64 d, [a], b, policy:b64
    (reads, writes, atomic, returns, relaxed gpu) = atomic_add_f64({a}, {b}, {site})
TYPE: b32 b64 b128
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.exch.L2::cache_hint.TYPE d, [a], b, policy:b64
    (writes, atomic, returns, relaxed gpu) = atomic_exchange<{T}>({a}, {b}, {site})
VECTOR: v2 v4
9.7.13.5 atom{.SEM}{.SCOPE}{.SPACE}.add.VECTOR.f32 d, [a], b
    (reads, writes, atomic, returns, relaxed gpu) =
    each_add_f32({me}, {d}, {a}, {b}, {access}, {site});
SEM: relaxed release
SPACE: global shared shared::cta shared::cluster
TYPE: u32 s32 u64
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = (void)atomic_add<{T}>({a}, {b}, {site})
OP: inc dec
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.OP.u32 [a], b
    (reads, writes, atomic, relaxed gpu) = (void)atomic_{OP}<u32>({a}, {b}, {site})
EXTREME: min max
TYPE: u32 s32 u64 s64
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.EXTREME.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = (void)atomic_{EXTREME}<{T}>({a}, {b}, {site})
LOGIC: and or xor
TYPE: b32 b64
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.LOGIC.TYPE [a], b
    (reads, writes, atomic, relaxed gpu) = (void)atomic_{LOGIC}<{T}>({a}, {b}, {site})
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.f32 [a], b (reads, writes, atomic, relaxed gpu) =
    (void)atomic_add_f32({a}, {b}, flushes({me}, {a}, {access}), {site})
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.f64 [a], b
    (reads, writes, atomic, relaxed gpu) = (void)atomic_add_f64({a}, {b}, {site})
SPACE: global
TYPE: u32 s32 u64
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.L2::cache_hint.TYPE [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) = (void)atomic_add<{T}>({a}, {b}, {site})
OP: inc dec
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.OP.L2::cache_hint.u32 [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) = (void)atomic_{OP}<u32>({a}, {b}, {site})
EXTREME: min max
TYPE: u32 s32 u64 s64
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.EXTREME.L2::cache_hint.TYPE [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) = (void)atomic_{EXTREME}<{T}>({a}, {b}, {site})
LOGIC: and or xor
TYPE: b32 b64
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.LOGIC.L2::cache_hint.TYPE [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) = (void)atomic_{LOGIC}<{T}>({a}, {b}, {site})
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.L2::cache_hint.f32 [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) =
    (void)atomic_add_f32({a}, {b}, flushes({me}, {a}, {access}), {site})
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.L2::cache_hint.f64 [a], b, policy:b64
    (reads, writes, atomic, relaxed gpu) = (void)atomic_add_f64({a}, {b}, {site})
VECTOR: v2 v4
9.7.13.6 red{.SEM}{.SCOPE}{.SPACE}.add.VECTOR.f32 [a], b (reads, writes, atomic, relaxed gpu) =
    each_add_f32({me}, {b}, {a}, {b}, {access}, {site});
""")
