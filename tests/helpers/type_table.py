"""The type tables of the copy operators, by the level that each row begins at."""

from __future__ import annotations

FLOATS = {"FLOAT32", "FLOAT16"}
SMALL = FLOATS | {"INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"}
ALL = SMALL | {"FLOAT64", "INT64", "UINT64"}
MORE = ALL | {"BOOL", "BFLOAT16", "COMPLEX64", "COMPLEX128"}
ONE_INDEX = {"UINT32"}
INDEX = {"INT64", "INT32", "UINT64", "UINT32"}
#: Data and index types at each level.
TABLE = {
    "LEVEL_1_0": (FLOATS, ONE_INDEX),
    "LEVEL_2_0": (FLOATS, ONE_INDEX),
    "LEVEL_2_1": (SMALL, ONE_INDEX),
    "LEVEL_3_0": (SMALL, INDEX),
    "LEVEL_3_1": (SMALL, INDEX),
    "LEVEL_4_0": (SMALL, INDEX),
    "LEVEL_4_1": (ALL, INDEX),
    "LEVEL_5_0": (ALL, INDEX),
    "LEVEL_5_1": (ALL, INDEX),
    "LEVEL_5_2": (ALL, INDEX),
    "LEVEL_6_0": (ALL, INDEX),
    "LEVEL_6_1": (ALL, INDEX),
    "LEVEL_6_2": (ALL, INDEX),
    "LEVEL_6_3": (ALL, INDEX),
    "LEVEL_6_4": (ALL, INDEX),
    "EXTENDED": (MORE, INDEX),
}
NAMES = sorted(MORE | {"UNKNOWN", "UINT4", "INT4"})


def expected_rule(kind, allowed, rule, level):
    """T2 for a type that no tensor has at the level, and otherwise the operator's own rule."""
    if kind in allowed:
        return None
    return rule if kind in (MORE if level == "EXTENDED" else ALL) else "T2"
