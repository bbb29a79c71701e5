"""The functions that NVRTC's code calls without defining them."""

from __future__ import annotations

from cudakern.simulator.ptx.effects import parse_effects

#: Their effects; ptx.hpp has functions ``call_...`` for them.
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
