"""Address spaces, hints, stack and traps: in sections 9.7.9 and 9.7.19 of the PTX ISA manual.

Constant memory and parameters are no memory of their own here: ``isspacep`` of them is refused, and
a constant's generic address counts as global.
"""

from __future__ import annotations

from cudakern.simulator.ptx.forms import rows

HEADER = "ptx.hpp"

FORMS = rows("""
UNDEFINED: whole
SPACE: global local shared
9.7.9.19 isspacep.SPACE p:pred, a:u64 = is_{SPACE}({me}, (char*){a})
9.7.9.19 isspacep.shared::cta p:pred, a:u64 = is_shared({me}, (char*){a})
9.7.9.19 isspacep.shared::cluster p:pred, a:u64 = shared_rank({me}, (char*){a}) >= 0
9.7.9.23 mapa.shared::cluster.u32 d, a, b = map_shared({a}, {b})
9.7.9.23 mapa.shared::cluster.u64 d, a, b:u32 = (u64)map_shared((u32){a}, {b})
9.7.9.23 mapa.u64 d, a, b:u32 = (u64)map_generic({me}, (char*){a}, {b})
TYPE: u32 u64
9.7.9.24 getctarank.shared::cluster.TYPE d:u32, a = rank_of(me, (u32){a})
9.7.9.24 getctarank.u64 d:u32, a = (u32)shared_rank({me}, (char*){a})
# Hints.
9.7.9.15 applypriority{.global}.L2::evict_normal [a], n:u32 (nothing) = (void){a}; (void){n};
9.7.9.16 discard{.global}.L2 [a], n:u32 (nothing) = (void){a}; (void){n};
PRIMARY: L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged
SECONDARY: L2::evict_first L2::evict_unchanged
9.7.9.17 createpolicy.fractional.PRIMARY{.SECONDARY}.b64 d = 0ull
9.7.9.17 createpolicy.fractional.PRIMARY{.SECONDARY}.b64 d, a:f32 = (void){a}; {d} = 0;
9.7.9.17 createpolicy.range{.global}.PRIMARY{.SECONDARY}.b64 d, [a], n:u32, m:u32 (nothing) =
    (void){a}; (void){n}; (void){m}; {d} = 0;
9.7.9.17 createpolicy.cvt.L2.b64 d, a = (void){a}; {d} = 0;
9.7.19.1 brkpt (fails, use) = ck_sim_stop("trap", "the kernel must not reach a breakpoint", {site});
9.7.19.3 pmevent n:u32 (nothing) = (void){n};
9.7.19.3 pmevent.mask n:u32 (nothing) = (void){n};
9.7.19.4 trap (fails, ends, leaves, use) =
    ck_sim_stop("trap", "the kernel must not execute a trap", {site});
CHANGE: inc dec
9.7.19.5 setmaxnreg.CHANGE.sync.aligned.u32 n (nothing) = (void){n};
""")
