"""The argument struct of a kernel: pointers, then fields as in ``kernels/``, without padding."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cudakern.values.layout import Dimension

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    #: A value of a field, or those of an array.
    Numbers = int | Sequence[int]


class Field(NamedTuple):
    """A field of an argument struct."""

    name: str  # as in the struct
    offset: int  # bytes from the end of the pointers
    nbytes: int
    #: A number or bytes; of an array a tuple, of dimensions one of (size, stride of each operand).
    value: Any


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a kernel gets besides addresses."""

    data: bytes  # the struct behind its pointers, padded to their alignment
    fields: tuple[Field, ...]  # in the struct's order

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  see Field
        """Return the value of a field."""
        return {field.name: field.value for field in self.fields}[name]


def prepare_division(divisor: int, bits: int) -> tuple[int, int, int, int]:
    """Return (divisor, multiplier, first shift, second shift) for ``kernels/common/division.cuh``.

    With N = ``bits``, t = floor(n * multiplier / 2^N), the quotient of any n below 2^N is
    ``(t + ((n - t) >> first)) >> second``. A divisor is at least 1 and below 2^bits.
    """
    shift = (divisor - 1).bit_length()
    multiplier = ((1 << bits) * ((1 << shift) - divisor)) // divisor + 1
    return divisor, multiplier % (1 << bits), min(shift, 1), max(shift - 1, 0)


class ArgumentPacker:
    """Writes an argument struct: each keyword is a field, in the order of the struct."""

    def __init__(self, *, wide: bool) -> None:
        self._bits = 64 if wide else 32
        self._data = bytearray()
        self._fields: list[Field] = []

    def offset(self, **fields: Numbers) -> ArgumentPacker:
        """Append values of the offset type, modulo its range."""
        return self._numbers(self._packed_offset, fields)

    def uint32(self, **fields: Numbers) -> ArgumentPacker:
        """Append 32-bit values."""
        return self._numbers(struct.Struct("I").pack, fields)

    def int64(self, **fields: Numbers) -> ArgumentPacker:
        """Append signed 64-bit values."""
        return self._numbers(struct.Struct("q").pack, fields)

    def divisor(self, *, wide: bool | None = None, **fields: Numbers) -> ArgumentPacker:
        """Append prepared divisors, of the offset type unless ``wide`` says otherwise."""
        bits = self._bits if wide is None else (64 if wide else 32)
        return self._numbers(lambda value: _packed_divisor(value, bits), fields)

    def raw(self, **fields: bytes) -> ArgumentPacker:
        """Append bytes as they are."""
        for name, data in fields.items():
            self._append(name, data, data)
        return self

    def dimensions(self, rank: int, **fields: Sequence[Dimension]) -> ArgumentPacker:
        """Append dimensions, preceded by as many of size 1 as make up ``rank``."""
        for name, dimensions in fields.items():
            operands = len(dimensions[0].strides) if dimensions else 1
            padding = [Dimension(1, (0,) * operands)] * (rank - len(dimensions))
            data = bytearray()
            for dimension in (*padding, *dimensions):
                data += _packed_divisor(dimension.size, self._bits)
                data += b"".join(map(self._packed_offset, dimension.strides))
            self._append(name, data, tuple((d.size, *d.strides) for d in dimensions))
        return self

    def done(self) -> Arguments:
        """Return the struct."""
        return Arguments(bytes(self._data) + bytes(-len(self._data) % 8), tuple(self._fields))

    def _packed_offset(self, value: int) -> bytes:
        return struct.pack("Q" if self._bits == 64 else "I", value % (1 << self._bits))  # noqa: PLR2004

    def _numbers(self, pack: Callable[[int], bytes], fields: dict[str, Numbers]) -> ArgumentPacker:
        for name, value in fields.items():
            if isinstance(value, int):
                self._append(name, pack(value), value)
            else:
                self._append(name, b"".join(map(pack, value)), tuple(value))
        return self

    def _append(self, name: str, data: bytes | bytearray, value: Any) -> None:  # noqa: ANN401  see Field
        self._fields.append(Field(name, len(self._data), len(data), value))
        self._data += data


def _packed_divisor(value: int, bits: int) -> bytes:
    """Return a ``Divisor`` of 32 or 64 bits."""
    return struct.pack("QQII" if bits == 64 else "IIII", *prepare_division(value, bits))  # noqa: PLR2004
