"""Data types, feature levels and buffer sizes: the numbers of DirectML."""

from __future__ import annotations

import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc, TensorFlags

# Names in the order of the values of DML_TENSOR_DATA_TYPE, and the bits of an element.
NAMES = ["UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32", "INT16", "INT8"]
NAMES += ["FLOAT64", "UINT64", "INT64", "UINT4", "INT4"]
BITS = [0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4]
DATA_TYPES = list(zip(NAMES, range(14), BITS, strict=True))
EXTENDED_TYPES = [("BOOL", 8), ("BFLOAT16", 16), ("COMPLEX64", 64), ("COMPLEX128", 128)]
LARGE = 2**32 - 1
VERSIONS = [10, 20, 21, 30, 31, 40, 41, 50, 51, 52, 60, 61, 62, 63, 64]
LEVELS = [(f"{v // 10}_{v % 10}", int(f"0x{v}00", 16)) for v in VERSIONS]


@pytest.mark.parametrize(("name", "value", "bits"), DATA_TYPES)
def test_data_type_has_the_value_and_bits_of_directml(name, value, bits):
    assert DataType[name] == value
    assert DataType[name].bits == bits


@pytest.mark.parametrize(("name", "bits"), EXTENDED_TYPES)
def test_data_type_of_the_extension_has_a_value_of_its_own(name, bits):
    assert DataType[name].bits == bits
    assert DataType[name] not in range(14)


def test_data_types_are_those_of_directml_and_of_the_extension():
    expected = {name for name, *_ in DATA_TYPES} | {name for name, _ in EXTENDED_TYPES}
    assert set(DataType.__members__) == expected


@pytest.mark.parametrize(("label", "value"), LEVELS)
def test_feature_level_has_the_value_of_directml(label, value):
    level = FeatureLevel[f"LEVEL_{label}"]
    assert level == value
    assert level.label == label
    assert level < FeatureLevel.EXTENDED


def test_feature_levels_are_those_of_directml_and_extended():
    assert set(FeatureLevel.__members__) == {f"LEVEL_{label}" for label, _ in LEVELS} | {"EXTENDED"}


def test_tensor_flags_have_the_values_of_directml():
    assert TensorFlags.NONE == 0
    assert TensorFlags.OWNED_BY_DML == 1


@pytest.mark.parametrize(
    ("kind", "sizes", "strides", "expected"),
    [
        pytest.param("UINT8", (2, 3), None, 8, id="bytes-rounded-to-4"),
        pytest.param("FLOAT16", (3,), None, 8, id="halves-rounded-to-4"),
        pytest.param("UINT8", (1,), None, 4, id="single-byte"),
        pytest.param("FLOAT32", (2, 3), (5, 1), 32, id="padded"),
        pytest.param("FLOAT32", (2, 3), (0, 1), 12, id="broadcast"),
        pytest.param("FLOAT32", (2, 3), (1, 2), 24, id="permuted"),
        pytest.param("FLOAT64", (2, 3), (5, 1), 64, id="eight-bytes"),
        pytest.param("UINT4", (9,), None, 8, id="nibbles-rounded-up"),
        pytest.param("INT4", (8,), None, 4, id="nibbles-packed"),
        pytest.param("FLOAT32", (1, 3), (10**6, 1), 12, id="stride-of-size-1-is-irrelevant"),
        pytest.param("FLOAT32", (2, 3), (LARGE, 1), (2**32 + 2) * 4, id="strided-beyond-32-bits"),
        pytest.param("FLOAT64", (2, 2), (LARGE, LARGE), (2**33 - 1) * 8, id="both-beyond-32-bits"),
        pytest.param("FLOAT32", (65536, 65536), None, 2**34, id="packed-beyond-32-bits"),
        pytest.param("FLOAT32", (0, 3), None, 0, id="empty"),
        pytest.param("FLOAT32", (0, 3), (3, 1), 0, id="empty-strided"),
    ],
)
def test_minimum_tensor_size_of_documented_and_extreme_tensors(kind, sizes, strides, expected):
    desc = TensorDesc(DataType[kind], sizes, strides)
    assert ck.minimum_tensor_size_in_bytes(desc) == expected
