"""The structures that Python and the runtimes exchange, as the headers of those declare them."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TYPE_CHECKING

from cudakern.simulator.runtime.abi_parser import STRUCTURES, read_structure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ParameterKind(IntEnum):
    """The kind of a kernel's parameter, as libraries describe it."""

    OTHER = 0
    POINTER = 1
    INTEGER = 2
    FLOATING = 3
    #: An address or an integer of its size: PTX does not distinguish them.
    WORD = 4


SiteStruct = read_structure("runtime/runtime.hpp", "Site")
ReportStruct = read_structure("runtime/scheduler.hpp", "ck_sim_report")
ShapeStruct = read_structure("runtime/launch.hpp", "ck_sim_shape")
PythonStruct = read_structure("runtime/ticks.hpp", "ck_sim_python")
SharedObjectStruct = read_structure("runtime/runtime_api.hpp", "ck_sim_shared_object")
KernelStruct = read_structure("runtime/runtime_api.hpp", "ck_sim_kernel")
VariableStruct = read_structure("runtime/runtime_api.hpp", "ck_sim_variable")
SymbolStruct = read_structure("runtime/runtime_api.hpp", "ck_sim_symbol")
RefusalStruct = read_structure("runtime/runtime_api.hpp", "ck_sim_refusal")
BufferStruct = read_structure("checker/launch_api.hpp", "ck_sim_buffer")
PointerStruct = read_structure("checker/launch_api.hpp", "ck_sim_pointer")
KnownStruct = read_structure("checker/launch_api.hpp", "ck_sim_known")
FindingStruct = read_structure("checker/launch_api.hpp", "ck_sim_finding")
TrafficStruct = read_structure("checker/launch_api.hpp", "ck_sim_traffic")
OptionsStruct = read_structure("checker/launch_api.hpp", "ck_sim_options")

#: Part of a compiler's message if Python lays out a structure otherwise.
LAYOUT_DIFFERS = "as it is compiled"


def layout_checks(rooms: Iterable[str]) -> str:
    """Return C++ that compiles only if Python and the compiler lay out structures alike."""
    checks = (
        f'static_assert({what} == {value}, "abi_parser.py must read {field} {LAYOUT_DIFFERS}");\n'
        for name, (type_, header) in STRUCTURES.items()
        if header.partition("/")[0] in rooms
        for field, what, value in _layout(name, type_)
    )
    return f"namespace ck_sim {{\n{''.join(checks)}}}\n"


def _layout(name: str, type_: type[ctypes.Structure]) -> Iterator[tuple[str, str, int]]:
    """Yield a measure in words, in C++, and its value in Python."""
    for field, *_ in type_._fields_:
        yield f"{name}::{field}", f"offsetof({name}, {field})", getattr(type_, field).offset
    yield name, f"sizeof({name})", ctypes.sizeof(type_)
