"""Tensor descriptors: DirectML's buffer tensors in Python, with every documented rule.

Source: DirectML reference, ``DML_BUFFER_TENSOR_DESC`` and ``DML_TENSOR_FLAGS``. The rules T1 to T20
are listed in operators/descriptors.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from math import prod
from typing import TYPE_CHECKING, SupportsIndex

from cudakern.errors import (
    DescriptorError,
    DTypeError,
    describe_value,
    did_you_mean_member,
    dtype_error,
)
from cudakern.operators.feature_level import FeatureLevel
from cudakern.values.dtypes import (
    EXTENSIONS,
    SIXTY_FOUR_BITS,
    UP_TO_32_BITS,
    DataType,
    data_type_hint,
    list_types,
)
from cudakern.values.layout import MAX_DIMENSIONS, overlaps_itself, packed_strides
from cudakern.values.validation import as_integer, integer_of, tuple_hint

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_ELEMENTS = 2**32 - 1
MAX_STRIDE = 2**32 - 1
OLD_DIMENSIONS = (4, 5)  # below feature level 3_0


class TensorFlags(IntFlag):
    """Flags of a tensor, with the values of ``DML_TENSOR_FLAGS``.

    OWNED_BY_DML marks an input that is given once, to ``CompiledOperator.initialize``, and kept.
    """

    NONE = 0
    OWNED_BY_DML = 1


@dataclass(frozen=True)
class TensorDesc:
    """A tensor in a buffer: its data type, sizes and strides.

    A descriptor may be built from any values; ``validate`` of the operator descriptor that holds it
    says which rule they break.

    Parameters
    ----------
    data_type : DataType
        Element type.
    sizes : sequence of int
        Sizes in elements, outermost first.
    strides : sequence of int, optional
        Strides in elements; None means packed, row-major. A stride of zero repeats data.
    total_tensor_size_in_bytes : int, optional
        Bytes of the buffer that the tensor occupies; None means the minimum
        (`minimum_tensor_size_in_bytes`).
    guaranteed_base_offset_alignment : int, optional
        0, or a power of two in bytes of which the bound offset is promised to be a multiple.
    flags : TensorFlags, optional
        ``TensorFlags.NONE`` or ``TensorFlags.OWNED_BY_DML``.

    Raises
    ------
    DTypeError
        A size, a stride or another value is not an integer.

    Examples
    --------
    >>> import cudakern as ck
    >>> desc = ck.TensorDesc(ck.DataType.FLOAT16, (2, 3), strides=(4, 1))  # a gap in each row
    >>> desc.sizes, desc.element_strides, desc.total_bytes
    ((2, 3), (4, 1), 16)
    """

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    total_tensor_size_in_bytes: int | None = None
    guaranteed_base_offset_alignment: int = 0
    flags: TensorFlags = TensorFlags.NONE

    if TYPE_CHECKING:  # takes integers of any kind, and keeps Python's

        def __init__(
            self,
            data_type: DataType,
            sizes: Iterable[SupportsIndex],
            strides: Iterable[SupportsIndex] | None = None,
            total_tensor_size_in_bytes: SupportsIndex | None = None,
            guaranteed_base_offset_alignment: SupportsIndex = 0,
            flags: TensorFlags = TensorFlags.NONE,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", as_integers("TensorDesc", "sizes", self.sizes))
        if self.strides is not None:
            strides = as_integers("TensorDesc", "strides", self.strides)
            object.__setattr__(self, "strides", strides)
        object.__setattr__(self, "data_type", _as_member("data_type", self.data_type, DataType))
        object.__setattr__(self, "flags", _as_member("flags", self.flags, TensorFlags))
        for field in ("total_tensor_size_in_bytes", "guaranteed_base_offset_alignment"):
            value = getattr(self, field)
            if value is not None or field.startswith("guaranteed"):
                object.__setattr__(self, field, as_integer("TensorDesc", field, value))

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Strides in elements, the packed ones when none are given."""
        return packed_strides(self.sizes, 1) if self.strides is None else self.strides

    @property
    def total_bytes(self) -> int:
        """``total_tensor_size_in_bytes``, or the minimum when it is None."""
        if self.total_tensor_size_in_bytes is None:
            return minimum_tensor_size_in_bytes(self)
        return self.total_tensor_size_in_bytes


def as_integers(descriptor: str, field: str, values: Iterable[SupportsIndex]) -> tuple[int, ...]:
    """Return the values of a descriptor's field; raise DTypeError unless all are integers."""
    try:
        integers = tuple(map(integer_of, values))
    except Exception:  # noqa: BLE001  whatever the class of a value raises
        found = describe_value(values)
        if isinstance(values, DataType):
            found += ": data_type and sizes are swapped"
        requirement = f"must be a sequence of integers; got {found}{tuple_hint(values)}"
        raise dtype_error(descriptor, field, requirement) from None
    return tuple(as_integer(descriptor, field, integer) for integer in integers)


def _as_member(field: str, value: object, enumeration: type[IntEnum | IntFlag]) -> int:
    """Return the value of a field as a member of an enumeration, or as an integer for the rules."""
    try:
        number = as_integer("TensorDesc", field, value)
    except DTypeError:
        is_type = enumeration is DataType
        hint = data_type_hint(value) if is_type else did_you_mean_member(value, enumeration)
        requirement = f"must be a {enumeration.__name__}; got {describe_value(value)}{hint}"
        raise dtype_error("TensorDesc", field, requirement) from None
    try:
        return enumeration(number)
    except ValueError:
        return number


def minimum_tensor_size_in_bytes(desc: TensorDesc) -> int:
    """Return the bytes that a tensor's buffer must have at least: up to its last element, times 4.

    Parameters
    ----------
    desc : TensorDesc
        The tensor. Sizes of zero give 0.

    Returns
    -------
    int
        Bytes, rounded up to a multiple of 4. Computed without a limit of 32 bits (DirectML
        reference, ``DML_BUFFER_TENSOR_DESC``, "calculating the minimum buffer size").

    Examples
    --------
    >>> import cudakern as ck
    >>> desc = ck.TensorDesc(ck.DataType.FLOAT16, (3, 3))
    >>> ck.minimum_tensor_size_in_bytes(desc)  # 18, rounded up
    20
    """
    value: object = desc
    if not isinstance(value, TensorDesc):
        requirement = f"must be a TensorDesc; got {describe_value(value)}"
        raise dtype_error("minimum_tensor_size_in_bytes", "desc", requirement)
    kind: object = desc.data_type
    if not isinstance(kind, DataType):
        raise DescriptorError("TensorDesc", "data_type", f"must be a DataType; got {kind}", "T2")
    if desc.strides is not None and len(desc.strides) != len(desc.sizes):
        requirement = f"must have {len(desc.sizes)} entries; got {len(desc.strides)}"
        raise DescriptorError("TensorDesc", "strides", requirement, "T5")
    if 0 in desc.sizes:
        return 0
    if desc.strides is None:
        elements = prod(desc.sizes)
    else:
        elements = 1 + sum((n - 1) * s for n, s in zip(desc.sizes, desc.strides, strict=True))
    return ((elements * desc.data_type.bits + 7) // 8 + 3) // 4 * 4


def check_tensor(
    name: str, field: str, desc: TensorDesc, level: FeatureLevel, *, output: bool
) -> None:
    """Raise DescriptorError for the first of the rules T1 to T16 that a tensor breaks."""

    def require(rule: str, part: str, condition: bool, requirement: str) -> None:  # noqa: FBT001
        if not condition:
            raise DescriptorError(name, f"{field}{part}", requirement, rule)

    extended = level is FeatureLevel.EXTENDED  # with sizes of zero, rank 0 and further types
    if not isinstance(desc, TensorDesc):
        raise DescriptorError(
            name, field, f"must be a TensorDesc; got {describe_value(desc)}", "T1"
        )
    kind, sizes, strides = desc.data_type, desc.sizes, desc.strides
    types = UP_TO_32_BITS | SIXTY_FOUR_BITS | (EXTENSIONS if extended else frozenset())
    if kind not in types:
        found = kind.name if isinstance(kind, DataType) else describe_value(kind)
        found += "; FeatureLevel.EXTENDED has it" if kind in EXTENSIONS else ""
        requirement = f"must be {list_types(member.name for member in types)}; got {found}"
        raise DescriptorError(name, f"{field}.data_type", requirement, "T2")
    rank = len(sizes)
    if level < FeatureLevel.LEVEL_3_0:
        require("T3", ".sizes", rank in OLD_DIMENSIONS, f"must have 4 or 5 entries; got {rank}")
    else:
        legal = 1 <= rank <= MAX_DIMENSIONS or (extended and rank == 0)
        requirement = f"must have 1 to {MAX_DIMENSIONS} entries; got {rank}"
        require("T3", ".sizes", legal, requirement)
    smallest = 0 if extended else 1
    enough = min(sizes, default=1) >= smallest
    require("T4", ".sizes", enough, f"must be at least {smallest}; got {sizes}")
    if strides is not None:
        requirement = f"must have {rank} entries; got {len(strides)}"
        require("T5", ".strides", len(strides) == rank, requirement)
        legal = all(0 <= stride <= MAX_STRIDE for stride in strides)
        require("T5", ".strides", legal, f"must lie in [0, 2^32 - 1]; got {strides}")
        if output:
            requirement = f"must give each element of {sizes} an address of its own; got {strides}"
            require("T10", ".strides", not overlaps_itself(sizes, strides), requirement)
    total, minimum = desc.total_tensor_size_in_bytes, minimum_tensor_size_in_bytes(desc)
    requirement = f"must be at least {minimum}; got {total}"
    enough = total is None or total >= minimum
    require("T11", ".total_tensor_size_in_bytes", enough, requirement)
    elements = prod(sizes)
    requirement = f"must hold at most 2^32 - 1 elements; got {elements}"
    require("T13", ".sizes", extended or elements <= MAX_ELEMENTS, requirement)
    align = desc.guaranteed_base_offset_alignment
    legal = align == 0 or (align >= kind.itemsize and align & (align - 1) == 0)
    requirement = f"must be 0 or a power of two of at least {kind.itemsize}; got {align}"
    require("T14", ".guaranteed_base_offset_alignment", legal, requirement)
    requirement = f"must be NONE or OWNED_BY_DML; got {desc.flags!r}"
    require("T16", ".flags", desc.flags in {0, 1}, requirement)
    requirement = f"must be NONE for an output; got {desc.flags!r}"
    require("T16", ".flags", not output or desc.flags == 0, requirement)
