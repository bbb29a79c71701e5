"""How many blocks of a kernel a multiprocessor holds, by NVIDIA's published limits."""

from __future__ import annotations

from typing import NamedTuple

WARP = 32
#: Registers of a multiprocessor, the same for all; four parts of it have a quarter each.
REGISTERS = 64 * 1024
_PARTS = 4
#: Registers are given to a warp in units of so many.
_REGISTER_UNIT = 256


class Limits(NamedTuple):
    """What a multiprocessor has, and what each block takes of it."""

    threads: int
    blocks: int
    shared: int  # bytes of shared memory
    reserved: int  # bytes of it that each block takes for the system
    unit: int  # bytes that the rest of a block's is rounded to


#: CUDA C++ Programming Guide, technical specifications per compute capability.
LIMITS = {
    "sm_70": Limits(2048, 32, 96 * 1024, 0, 256),
    "sm_75": Limits(1024, 16, 64 * 1024, 0, 256),
    "sm_80": Limits(2048, 32, 164 * 1024, 1024, 128),
    "sm_86": Limits(1536, 16, 100 * 1024, 1024, 128),
    "sm_89": Limits(1536, 24, 100 * 1024, 1024, 128),
    "sm_90": Limits(2048, 32, 228 * 1024, 1024, 128),
    "sm_100": Limits(2048, 32, 228 * 1024, 1024, 128),
    "sm_120": Limits(1536, 24, 100 * 1024, 1024, 128),
}


def resident_blocks(arch: str, registers: int, shared: int, threads: int) -> int:
    """Return how many blocks a multiprocessor holds at once: `shared` has no reserved bytes."""
    limits = LIMITS[arch]
    warps = -(-threads // WARP)
    per_warp = -(-registers * WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    fitting_warps = REGISTERS // _PARTS // per_warp * _PARTS
    blocks = min(limits.blocks, limits.threads // (warps * WARP), fitting_warps // warps)
    taken = -(-(shared + limits.reserved) // limits.unit) * limits.unit
    return min(blocks, limits.shared // taken) if taken else blocks
