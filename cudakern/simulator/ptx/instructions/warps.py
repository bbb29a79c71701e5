"""What the lanes of a warp do together: in section 9.7.13 of the PTX ISA manual, and shuffles."""

from __future__ import annotations

from cudakern.simulator.ptx.forms import form

HEADER = "warps.hpp"

FORMS = (
    form("9.7.9.6", "shfl.sync.MODE.b32 d|p:pred, a, b, c, m",
         "d_shuffle({d}, {p}, shuffle<k_{MODE}>(me, {a}, {b}, {c}, {m}, {site}));",
         MODE="up down bfly idx"),
    form("9.7.13.2", "bar.warp.sync m:u32", "sync_warp({m}, {site});"),
    form("9.7.13.7", "vote.sync.all.pred d, a, m:u32", "vote({a}, {m}, {site}).all()"),
    form("9.7.13.7", "vote.sync.any.pred d, a, m:u32", "vote({a}, {m}, {site}).any()"),
    form("9.7.13.7", "vote.sync.uni.pred d, a, m:u32", "vote({a}, {m}, {site}).uniform()"),
    form("9.7.13.7", "vote.sync.ballot.b32 d, a:pred, m:u32", "vote({a}, {m}, {site}).ballot"),
    form("9.7.13.8", "match.any.sync.TYPE d:u32, a, m:u32", "match_any({a}, {m}, {site})",
         TYPE="b32 b64"),
    form("9.7.13.8", "match.all.sync.TYPE d:u32|p:pred, a, m:u32",
         "{d} = match_all({a}, {m}, {site}); {p} = {d} != 0;", TYPE="b32 b64"),
    form("9.7.13.9", "activemask.b32 d", "ck_sim_converge({site})"),
    form("9.7.13.10", "redux.sync.OP.TYPE d, a, m:u32", "redux<{T}>({a}, {m}, redux_{OP}, {site})",
         OP="add min max", TYPE="u32 s32"),
    form("9.7.13.10", "redux.sync.OP.b32 d, a, m", "redux<u32>({a}, {m}, redux_{OP}, {site})",
         OP="and or xor"),
    form("9.7.13.10", "redux.sync.OP{.abs}{.NaN}.f32 d, a, m:u32",
         "redux_f32({a}, {m}, redux_{OP}, {abs}, {NaN}, {site})", OP="min max"),
    form("9.7.13.14", "elect.sync d:u32|p:pred, m:u32",
         "{d} = elect({m}, {site}); {p} = {d} == me->lane;"),
)  # fmt: skip
