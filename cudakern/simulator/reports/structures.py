"""What a checked launch gets and what it leaves behind, as in launch_api.hpp."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from cudakern.simulator.operands import BufferStructure
from cudakern.simulator.ptx.module import STRUCTURES

if TYPE_CHECKING:
    from collections.abc import Sequence


class FindingStructure(ctypes.Structure):
    """ck_sim_finding."""

    _fields_ = (
        ("kind", ctypes.c_char * 24),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
        ("site", ctypes.c_void_p),
        ("other_block", ctypes.c_uint32 * 3),
        ("other_thread", ctypes.c_uint32 * 3),
        ("other_site", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("space", ctypes.c_uint32),
        ("object", ctypes.c_uint32),
        ("offset", ctypes.c_int64),
        ("bytes", ctypes.c_uint32),
        ("access", ctypes.c_uint32),
        ("reason", ctypes.c_uint32),
    )


class TrafficStructure(ctypes.Structure):
    """ck_sim_traffic."""

    _fields_ = (
        ("site", ctypes.c_void_p),
        ("kind", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("requests", ctypes.c_uint64),
        ("accesses", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("sectors", ctypes.c_uint64),
        ("wavefronts", ctypes.c_uint64),
    )


class OptionsStructure(ctypes.Structure):
    """ck_sim_options."""

    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("resident", ctypes.c_uint32),
        ("most_resident", ctypes.c_uint32),
        ("checks", ctypes.c_uint32),
        ("counts", ctypes.c_uint32),
        ("strict", ctypes.c_uint32),
        ("buffers", ctypes.POINTER(BufferStructure)),
        ("buffer_count", ctypes.c_uint32),
        ("pointers", ctypes.POINTER(ctypes.c_uint64)),
        ("pointer_count", ctypes.c_uint32),
        ("variables", ctypes.c_void_p),
        ("variable_count", ctypes.c_uint32),
        ("sample", ctypes.c_uint64),
        ("executions", ctypes.POINTER(ctypes.c_uint64)),
        ("findings", ctypes.POINTER(FindingStructure)),
        ("finding_count", ctypes.c_uint64),
        ("traffic", ctypes.POINTER(TrafficStructure)),
        ("traffic_count", ctypes.c_uint64),
    )


_CHECKED = (BufferStructure, FindingStructure, TrafficStructure, OptionsStructure)


def require_same_sizes(runtime: ctypes.CDLL, *, checked: bool) -> None:
    """Raise AssertionError unless a runtime's structures are as large as they are here."""
    _require("ck_sim_sizes", runtime, STRUCTURES)
    if checked:
        _require("ck_sim_checked_sizes", runtime, _CHECKED)


def _require(name: str, runtime: ctypes.CDLL, known: Sequence[type[ctypes.Structure]]) -> None:
    theirs = (ctypes.c_uint32 * len(known)).in_dll(runtime, name)
    for structure, size in zip(known, theirs, strict=True):
        if ctypes.sizeof(structure) != size:
            requirement = f"{structure.__name__} must have the {size} bytes that {name} tells"
            message = f"cudakern: {requirement}; got {ctypes.sizeof(structure)}"
            raise AssertionError(message)
