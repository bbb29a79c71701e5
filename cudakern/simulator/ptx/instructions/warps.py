"""What the lanes of a warp do together: in section 9.7.13 of the PTX ISA manual, and shuffles."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "warps.hpp"

FORMS = rows("""
MODE: up down bfly idx
9.7.9.6 shfl.sync.MODE.b32 d|p:pred, a, b, c, m (waits) =
    d_shuffle({d}, {p}, shuffle<k_{MODE}>(me, {a}, {b}, {c}, {m}, {site}));
# No other instruction of a warp orders memory.
9.7.13.2 bar.warp.sync m:u32 (waits, fences, acq_rel cta) = sync_warp({m}, {site});
9.7.13.7 vote.sync.all.pred d, a, m:u32 (waits) = vote({a}, {m}, {site}).all()
9.7.13.7 vote.sync.any.pred d, a, m:u32 (waits) = vote({a}, {m}, {site}).any()
9.7.13.7 vote.sync.uni.pred d, a, m:u32 (waits) = vote({a}, {m}, {site}).uniform()
9.7.13.7 vote.sync.ballot.b32 d, a:pred, m:u32 (waits) = vote({a}, {m}, {site}).ballot
TYPE: b32 b64
9.7.13.8 match.any.sync.TYPE d:u32, a, m:u32 (waits) = match({a}, {m}, {site}).same
9.7.13.8 match.all.sync.TYPE d:u32|p:pred, a, m:u32 (waits) =
    {d} = match({a}, {m}, {site}).all(); {p} = {d} != 0;
9.7.13.9 activemask.b32 d (waits) = ck_sim_converge({site})
OP: add min max
TYPE: u32 s32
9.7.13.10 redux.sync.OP.TYPE d, a, m:u32 (waits) = redux<{T}>({a}, {m}, redux_{OP}, {site})
OP: and or xor
9.7.13.10 redux.sync.OP.b32 d, a, m (waits) = redux<u32>({a}, {m}, redux_{OP}, {site})
OP: min max
9.7.13.10 redux.sync.OP{.abs}{.NaN}.f32 d, a, m:u32 (waits) =
    redux_f32({a}, {m}, redux_{OP}, {abs}, {NaN}, {site})
9.7.13.14 elect.sync d:u32|p:pred, m:u32 (waits) = {d} = elect({m}, {site}); {p} = {d} == me->lane;
""")
