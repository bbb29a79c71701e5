"""What Python and the runtimes exchange: the structures of their headers, in the same order."""

from __future__ import annotations

import ctypes
from typing import Any

#: As declarations call them; a structure by its name.
_TYPES: dict[str, Any] = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "i64": ctypes.c_int64,
    "text": ctypes.c_char_p,
    "address": ctypes.c_void_p,
}


def _fields(*declarations: str) -> list[tuple[str, Any]]:
    """Return the fields of declarations such as ``"u32 block[3], bytes"`` or ``"u64* counts"``."""
    made = []
    for declaration in declarations:
        kind, _, names = declaration.partition(" ")
        stem = kind.rstrip("*")
        of = _TYPES.get(stem) or globals()[stem]
        for name in names.split(", "):
            field, _, count = name.rstrip("]").partition("[")
            made.append((field, of * int(count) if count else of))
        if kind != stem:
            made[-1] = (made[-1][0], ctypes.POINTER(of))
    return made


class Report(ctypes.Structure):
    """ck_sim_report of scheduler.hpp: what a failed launch leaves behind."""

    _fields_ = _fields("char kind[32], message[480]", "u32 block[3], thread[3]", "address site")


class Site(ctypes.Structure):
    """ck_sim::Site of runtime.hpp: an instruction that can wait, fail or access memory."""

    _fields_ = _fields("text file", "int line", "text opcode, stack", "u32 access, needed, number")


class SharedObject(ctypes.Structure):
    """ck_sim_shared_object of runtime_api.hpp."""

    _fields_ = _fields("text name", "u64 offset, bytes")


class Kernel(ctypes.Structure):
    """ck_sim_kernel of runtime_api.hpp."""

    _fields_ = _fields(
        "text name",
        "address entry",
        "u32 parameters",
        "u32* parameter_sizes",
        "u32 static_shared, shared_alignment, required_block[3], max_threads, cluster[3]",
        "u32 local_bytes",
        "SharedObject* shared_objects",
        "u32 shared_object_count, packed_shared, basic_blocks",
    )


class Variable(ctypes.Structure):
    """ck_sim_variable of runtime_api.hpp."""

    _fields_ = _fields("text name", "address place", "u64 bytes", "u32 is_constant, has_addresses")


class Instruction(ctypes.Structure):
    """ck_sim_instruction of runtime_api.hpp."""

    _fields_ = _fields("text kernel, name", "u32 block, count")


class Refusal(ctypes.Structure):
    """ck_sim_refusal of ptx.hpp."""

    _fields_ = _fields("text name, message")


class Buffer(ctypes.Structure):
    """ck_sim_buffer of launch_api.hpp."""

    _fields_ = _fields("u64 host, bytes", "u32 phase, flags", "address valid, unwritten")
    _fields_ += _fields("u64 address")


class Finding(ctypes.Structure):
    """ck_sim_finding of launch_api.hpp."""

    _fields_ = _fields(
        *("char kind[24]", "u32 block[3], thread[3]", "address site"),
        *("u32 other_block[3], other_thread[3]", "address other_site"),
        *("text name", "u32 space, object", "i64 offset", "u32 bytes, access, reason"),
    )


class Traffic(ctypes.Structure):
    """ck_sim_traffic of launch_api.hpp."""

    _fields_ = _fields(
        "address site", "u32 kind, unused", "u64 requests, accesses, bytes, sectors, wavefronts"
    )


class Options(ctypes.Structure):
    """ck_sim_options of launch_api.hpp."""

    _fields_ = _fields(
        *("u64 seed", "u32 resident, most_resident, checks, counts, strict"),
        *("Buffer* buffers", "u32 buffer_count", "u64* pointers", "u32 pointer_count"),
        *("address variables", "u32 variable_count", "u64 sample", "u64* executions"),
        *("Finding* findings", "u64 finding_count", "Traffic* traffic", "u64 traffic_count"),
    )


#: In the order in which the runtimes tell their sizes; the second table is that of the checked one.
SIZES: dict[str, tuple[type[ctypes.Structure], ...]] = {
    "ck_sim_sizes": (Report, Kernel, Variable, Site, SharedObject, Instruction),
    "ck_sim_checked_sizes": (Buffer, Finding, Traffic, Options),
}


def require_same_sizes(runtime: ctypes.CDLL, *, checked: bool) -> None:
    """Raise AssertionError unless a runtime's structures are as large as they are here."""
    for name, known in [*SIZES.items()][: 1 + checked]:
        theirs = (ctypes.c_uint32 * len(known)).in_dll(runtime, name)
        for structure, size in zip(known, theirs, strict=True):
            if ctypes.sizeof(structure) != size:
                requirement = f"{structure.__name__} must have the {size} bytes that {name} tells"
                message = f"cudakern: {requirement}; got {ctypes.sizeof(structure)}"
                raise AssertionError(message)
