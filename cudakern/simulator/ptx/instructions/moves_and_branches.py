"""Moves, loads, stores, branches and calls, whose C++ depends on more than their types.

They are in sections 9.7.9 and 9.7.12 of the PTX ISA manual; `moves.py` and `branches.py` beside the
table write their C++.
"""

from __future__ import annotations

from cudakern.simulator.ptx.effects import parse_effects
from cudakern.simulator.ptx.forms import rows

HEADER = "ptx.hpp"

FORMS = rows("""
9.7.9.2 mov d, a (moves) = @move
# The first row that has all its modifiers in a name is the name's.
PARAMETER: param param::entry param::func
ORDER: volatile relaxed acquire release mmio
LANES: v2 v4 v8
# Past the caches of a multiprocessor: a loop may wait for another block with one.
CACHE: cv cg
9.7.9.8 ld.PARAMETER d, [a] (moves) = @load
9.7.9.8 ld.ORDER d, [a] (reads, moves, waits) = @load
9.7.9.8 ld.LANES d, [a] (reads, moves) = @load
9.7.9.8 ld.CACHE d, [a] (reads, moves, waits) = @load
9.7.9.8 ld d, [a] (reads, moves) = @load
9.7.9.10 ldu d, [a] (reads, moves) = @load
9.7.9.11 st.PARAMETER [a], b (moves) = @store
9.7.9.11 st.ORDER [a], b (writes, moves, waits) = @store
9.7.9.11 st [a], b (writes, moves) = @store
# There are no caches.
9.7.9.14 prefetch [a] (nothing) = @nothing
9.7.9.14 prefetchu [a] (nothing) = @nothing
9.7.9.20 cvta d, a = @convert_address
9.7.12.3 bra a (ends) = @branch
9.7.12.4 brx a, b (fails, ends) = @branch_by_table
9.7.12.5 call (d), f, (a) (waits, ends) = @call
9.7.12.6 ret (ends) = @leave_function
9.7.12.7 exit (ends) = @exit_thread
""")

#: What NVRTC's code calls without defining it; ptx.hpp has functions ``call_...`` for them.
BUILTINS = {
    name: parse_effects(words)
    for name, words in {
        "vprintf": "nothing",
        "__assertfail": "fails",
        "malloc": "nothing",
        "free": "nothing",
        "memcpy": "reads, writes, n bytes",
        "memset": "writes, n bytes",
    }.items()
}
