"""What bytes of registers are: the manual's tables."""

from __future__ import annotations

import numpy as np

from tests.simulator.ptx.harness import Oracle

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
