"""What bytes of registers and kinds of addresses are: the manual's tables."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import Kernel, Oracle, poison

#: The bytes of the result, highest first, for each selector, of b's bytes 7 to 4 and a's 3 to 0.
CHOSEN = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt(words, a, b, c):
    """Choose bytes of two words; with its highest bit, a selector means the byte's sign."""
    both = np.stack([a, b], axis=1).view("u1").reshape(-1, 8)
    made = np.empty((len(a), 4), "u1")
    for place in range(4):
        if words["MODE"] == "none":
            chosen = c >> np.uint32(4 * place) & 15
        else:
            table = [int(row[3 - place]) for row in CHOSEN[words["MODE"]]]
            chosen = np.array(table)[c & 3]
        byte = both[np.arange(len(a)), chosen & 7]
        made[:, place] = np.where(chosen & 8, np.where(byte & 0x80, 0xFF, 0), byte)
    return made.view("u4")[:, 0]


ORACLES = {
    "prmt.b32{.MODE} d, a, b, c": Oracle(
        prmt,
        values={"a": (0x03020100, 0x83828180, 0x7F80FF00), "b": (0x07060504, 0x87868584)},
    ),
}

ADDRESSES = ("global", "shared", "local")
ASK = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .shared .align 4 .b8 shared_bytes[16];
    .local .align 4 .b8 local_bytes[16];
    .reg .b64 %global, %shared, %local; .reg .b32 %x; .reg .pred %p;
    ld.param.u64 %global, [out];
    mov.u64 %shared, shared_bytes;
    cvta.shared.u64 %shared, %shared;
    mov.u64 %local, local_bytes;
    cvta.local.u64 %local, %local;
    {}
    ret;
}}
"""


def isspacep(name, words):
    """Ask for the space of an address in each of them."""
    del words
    asked = "".join(
        f"{name} %p, %{space}; selp.u32 %x, 1, 0, %p; st.global.u32 [%global+{4 * i}], %x;"
        for i, space in enumerate(ADDRESSES)
    )
    space = name.split(".")[1].partition("::")[0]
    answer = np.array([address == space for address in ADDRESSES], "u4")
    return Kernel(ASK.format(asked), (poison(3, "u4"),), {0: answer}, block=(1, 1, 1))


KERNELS = {
    f"isspacep.{space} p:pred, a:u64": isspacep
    for space in ("SPACE", "shared::cluster", "local", "global")
}
