"""The structures that Python and the runtimes exchange, as the headers of those declare them.

Nothing can be assigned to a field that no header declares.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TYPE_CHECKING

from cudakern.simulator.headers import STRUCTURES, declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ParameterKind(IntEnum):
    """What a kernel's parameter is, as libraries tell it."""

    OTHER = 0
    POINTER = 1
    INTEGER = 2
    FLOATING = 3
    #: An address or an integer of its size: PTX does not tell them apart.
    WORD = 4


@declared("runtime/runtime.hpp", "Site")
class SiteStruct(ctypes.Structure):
    """An instruction that can wait, fail or access memory."""

    __slots__ = ()


@declared("runtime/scheduler.hpp", "ck_sim_report")
class ReportStruct(ctypes.Structure):
    """What a failed launch leaves behind."""

    __slots__ = ()


@declared("runtime/launch.hpp", "ck_sim_shape")
class ShapeStruct(ctypes.Structure):
    """The shape of a launch, and which of its blocks run side by side."""

    __slots__ = ()


@declared("runtime/runtime_api.hpp", "ck_sim_shared_object")
class SharedObjectStruct(ctypes.Structure):
    """A variable in shared memory."""

    __slots__ = ()


@declared("runtime/runtime_api.hpp", "ck_sim_kernel")
class KernelStruct(ctypes.Structure):
    """What a library of kernels tells about one."""

    __slots__ = ()


@declared("runtime/runtime_api.hpp", "ck_sim_variable")
class VariableStruct(ctypes.Structure):
    """A variable of a module."""

    __slots__ = ()


@declared("runtime/runtime_api.hpp", "ck_sim_instruction")
class InstructionStruct(ctypes.Structure):
    """How often a PTX instruction stands in a basic block."""

    __slots__ = ()


@declared("runtime/runtime_api.hpp", "ck_sim_refusal")
class RefusalStruct(ctypes.Structure):
    """An entry that is not executed, and why."""

    __slots__ = ()


@declared("checker/launch_api.hpp", "ck_sim_buffer")
class BufferStruct(ctypes.Structure):
    """An array of a checked launch, or what several that overlap cover together."""

    __slots__ = ()


@declared("checker/launch_api.hpp", "ck_sim_pointer")
class PointerStruct(ctypes.Structure):
    """An address among the parameters."""

    __slots__ = ()


@declared("checker/launch_api.hpp", "ck_sim_finding")
class FindingStruct(ctypes.Structure):
    """One thing that a launch did and must not do."""

    __slots__ = ()


@declared("checker/launch_api.hpp", "ck_sim_traffic")
class TrafficStruct(ctypes.Structure):
    """What the requests of one kind at one instruction add up to."""

    __slots__ = ()


@declared("checker/launch_api.hpp", "ck_sim_options")
class OptionsStruct(ctypes.Structure):
    """What a checked launch gets besides what a plain one gets, and what it leaves."""

    __slots__ = ()


def layout_checks(rooms: Iterable[str]) -> str:
    """Return C++ that compiles if the structures of some rooms are as Python has them."""
    checks = (
        f'static_assert({what} == {value}, "headers.py must read {name} as it is compiled");\n'
        for struct, (structure, header) in STRUCTURES.items()
        if header.partition("/")[0] in rooms
        for name, what, value in _layout(struct, structure)
    )
    return f"namespace ck_sim {{\n{''.join(checks)}}}\n"


def _layout(struct: str, structure: type[ctypes.Structure]) -> Iterator[tuple[str, str, int]]:
    """Yield what is measured, in words and in C++, and what it is in Python."""
    for field, *_ in structure._fields_:
        offset = getattr(structure, field).offset
        yield f"{struct}::{field}", f"offsetof({struct}, {field})", offset
    yield struct, f"sizeof({struct})", ctypes.sizeof(structure)
