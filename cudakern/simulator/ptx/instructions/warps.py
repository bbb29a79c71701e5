"""What the lanes of a warp do together: in section 9.7.13 of the PTX ISA manual, and shuffles."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "warps.hpp"

FORMS = rows("""
UNDEFINED: lanes
MODE: up down bfly idx
9.7.9.6 shfl.sync.MODE.b32 d|p:pred, a, b, c, m (waits, moves, lane) =
    Shuffle_{MODE}({a}, {b}, {c}) meets {m}: {met}.value; {met}.in_range
# No other instruction of a warp orders memory.
9.7.13.2 bar.warp.sync m:u32 (waits, use, fences, acq_rel cta) = Nothing() meets {m}:
9.7.13.7 vote.sync.all.pred d, a, m:u32 (waits) = Vote({a}) meets {m}: {met}.all()
9.7.13.7 vote.sync.any.pred d, a, m:u32 (waits) = Vote({a}) meets {m}: {met}.any()
9.7.13.7 vote.sync.uni.pred d, a, m:u32 (waits) = Vote({a}) meets {m}: {met}.uniform()
9.7.13.7 vote.sync.ballot.b32 d, a:pred, m:u32 (waits) = Vote({a}) meets {m}: {met}.ballot
TYPE: b32 b64
9.7.13.8 match.any.sync.TYPE d:u32, a, m:u32 (waits) = Match({a}) meets {m}: {met}.same
9.7.13.8 match.all.sync.TYPE d:u32|p:pred, a, m:u32 (waits) =
    Match({a}) meets {m}: {met}.all(); {met}.all() != 0
9.7.13.9 activemask.b32 d (waits, use) = ck_sim_converge({site})
OP: add min max
TYPE: u32 s32
9.7.13.10 redux.sync.OP.TYPE d, a, m:u32 (waits) =
    Redux<{T}>({a}, redux_{OP}) meets {m}: {met}.value
OP: and or xor
9.7.13.10 redux.sync.OP.b32 d, a, m (waits) = Redux<u32>({a}, redux_{OP}) meets {m}: {met}.value
OP: min max
9.7.13.10 redux.sync.OP{.abs}{.NaN}.f32 d, a, m:u32 (waits) =
    FloatRedux({a}, redux_{OP}, {abs}, {NaN}) meets {m}: {met}.result()
9.7.13.14 elect.sync d:u32|p:pred, m:u32 (waits) =
    Vote(true) meets {m}: {met}.first(); {met}.first() == {lane}
""")
