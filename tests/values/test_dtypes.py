"""Data types, feature levels and buffer sizes: the numbers of DirectML."""

from __future__ import annotations

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc, TensorFlags
from cudakern.operators.reduce.types import input_data_types
from cudakern.values import dtypes
from cudakern.values.dtypes import copyable_dtypes, known_dtypes, list_types
from tests.helpers.rows import each

# Names in the order of the values of DML_TENSOR_DATA_TYPE, and the bits of an element.
NAMES = ["UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32", "INT16", "INT8"]
NAMES += ["FLOAT64", "UINT64", "INT64", "UINT4", "INT4"]
BITS = [0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4]
DATA_TYPES = list(zip(NAMES, range(14), BITS, strict=True))
EXTENDED_TYPES = [("BOOL", 8), ("BFLOAT16", 16), ("COMPLEX64", 64), ("COMPLEX128", 128)]
LARGE = 2**32 - 1
VERSIONS = [10, 20, 21, 30, 31, 40, 41, 50, 51, 52, 60, 61, 62, 63, 64]
LEVELS = [(f"{v // 10}_{v % 10}", int(f"0x{v}00", 16)) for v in VERSIONS]


def test_numbers_and_bits_are_those_of_directml():
    values = {name: value for name, value, _ in DATA_TYPES}
    assert {t.name: t.value for t in DataType if t.value < len(NAMES)} == values
    bits = {name: n for name, _, n in DATA_TYPES} | dict(EXTENDED_TYPES)
    assert {t.name: t.bits for t in DataType} == bits
    assert (TensorFlags.NONE, TensorFlags.OWNED_BY_DML) == (0, 1)


def test_feature_levels_are_those_of_directml_and_one_above():
    *levels, extended = sorted(FeatureLevel)
    assert [(level.label, level.value) for level in levels] == LEVELS
    assert [level.name for level in levels] == [f"LEVEL_{label}" for label, _ in LEVELS]
    assert extended is FeatureLevel.EXTENDED


def members(text, names):
    """Return the names that a list of a message stands for."""
    found = []
    for part in text.replace(" or ", ", ").split(", "):
        first, _, last = part.partition(" to ")
        family = first.rstrip("0123456789")
        steps = [f"{family}{2**k}" for k in range(10)]
        if last:
            found += steps[steps.index(first) : steps.index(last) + 1]
        elif part.endswith("*"):
            found += [name for name in names if name.startswith(part[:-1])]
        else:
            found.append(part)
    return found


LISTED = {
    "INT8": "INT8",
    "UINT32 INT32": "INT32 or UINT32",
    "INT32 UINT32 INT64 UINT64": "INT32, INT64, UINT32 or UINT64",
    "FLOAT32 FLOAT16 UINT8 UINT16 UINT32": "UINT8 to UINT32, FLOAT16 or FLOAT32",
    "complex128 bool complex64 bfloat16": "bool, bfloat16, complex64 or complex128",
    "float8_e5m2 float32 float8_e4m3 int8 int16 int32 int64": (
        "int8 to int64, float32, float8_e4m3 or float8_e5m2"
    ),
    "float8_e5m2 float8_e4m3 float8_e3m4": "float8_*",
}


@each("names", LISTED)
def test_names_of_data_types_are_listed_in_groups(names):
    assert list_types(names.split()) == LISTED[names]


TABLES = [
    dtypes.FLOATS_16_32, dtypes.INTEGERS_8_TO_32, dtypes.UP_TO_32_BITS, dtypes.INDEX_TYPES,
    dtypes.UP_TO_32_BITS | dtypes.SIXTY_FOUR_BITS | dtypes.EXTENSIONS,
    *[kinds for f in ck.ReduceFunction for _, kinds in input_data_types(f)],
    known_dtypes(), copyable_dtypes(),
]  # fmt: skip


@each("table", TABLES)
def test_a_list_stands_for_what_it_was_made_of(table):
    names = [kind.name for kind in table]
    assert sorted(members(list_types(names), names)) == sorted(names)


@each(
    ("kind", "sizes", "strides", "expected"),
    [
        ("UINT8", (2, 3), None, 8),  # bytes-rounded-to-4
        ("UINT4", (9,), None, 8),  # nibbles-rounded-up
        ("FLOAT32", (1, 3), (10**6, 1), 12),  # stride-of-size-1-is-irrelevant
        ("FLOAT32", (2, 3), (LARGE, 1), (2**32 + 2) * 4),  # strided-beyond-32-bits
        ("FLOAT64", (2, 2), (LARGE, LARGE), (2**33 - 1) * 8),  # both-beyond-32-bits
        ("FLOAT32", (65536, 65536), None, 2**34),  # packed-beyond-32-bits
        ("FLOAT32", (0, 3), None, 0),  # empty
        ("FLOAT32", (0, 3), (3, 1), 0),  # empty-strided
    ],
)
def test_minimum_tensor_size_of_documented_and_extreme_tensors(kind, sizes, strides, expected):
    desc = TensorDesc(DataType[kind], sizes, strides)
    assert ck.minimum_tensor_size_in_bytes(desc) == expected
