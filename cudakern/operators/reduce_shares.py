"""How blocks share a result, and what the launches of reduce have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern._layout import Dimension
from cudakern.engines.base import MULTIPROCESSORS, Launch
from cudakern.operators.base import Plan
from cudakern.operators.indexing import THREADS
from cudakern.operators.reduce_kernels import RANKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern._layout import ArgumentPacker
    from cudakern.engines.base import KernelSpec

#: Blocks that keep a large GPU busy: 4 for each multiprocessor. With fewer results, blocks share
#: them. This and what follows are estimates, no measurement yet.
BLOCKS = 4 * MULTIPROCESSORS
#: Bytes of x for a block that shares a result: at least, and where there are blocks enough.
MIN_SHARE_BYTES = 16 * 1024
SHARE_BYTES = 64 * 1024
#: Blocks that share results at most, in all; and those up to which shares stay small.
MAX_SHARES = 2048
MIN_SHARES = 256
#: Bytes of a share for a byte of states that its block exchanges: they are to stay 2 % of it.
SHARE_OF_STATES = 112
#: Bytes of x up to which one block is enough: counting blocks in takes longer than it saves.
ONE_BLOCK_BYTES = 64 * 1024
#: Bytes of the counters in front of a workspace, as in ``kernels/reduce/fold.cuh``, and the
#: least that follows: so that no other operator's workspace has the same size.
COUNTER_BYTES = 8192
MIN_STATES_BYTES = 64 * 1024

#: Blocks whose states are folded by one of them, as there; those are folded by the last one.
GROUP_BLOCKS = 32

#: No dimension: of what is kept or reduced, and of pieces.
POINT = (Dimension(1, (0, 0)),)
PIECE = (Dimension(1, (0,)),)


def shares_of(results: int, nbytes: int, states_bytes: int) -> int:
    """Return how many blocks share a result of ``nbytes``, each exchanging so many of states."""
    if results >= BLOCKS:
        return 1
    return max(1, nbytes // max(even_share(results * nbytes), SHARE_OF_STATES * states_bytes))


def even_share(nbytes: int) -> int:
    """Return the bytes of a share, of so many in all."""
    if nbytes <= ONE_BLOCK_BYTES:
        return ONE_BLOCK_BYTES
    return max(MIN_SHARE_BYTES, min(nbytes // MIN_SHARES, SHARE_BYTES), nbytes // MAX_SHARES)


def rank_of(*lists: Sequence[Dimension]) -> int:
    """Return the rank of the kernel that takes lists of dimensions."""
    return next(r for r in RANKS if r >= max(map(len, lists)))


def power_below(value: int) -> int:
    """Return the greatest power of two that is at most a value."""
    return 1 << (value.bit_length() - 1)


def power_above(value: int) -> int:
    """Return the least power of two that is at least a value."""
    return 1 << (value - 1).bit_length()


def plan_of(
    variant: str,
    spec: KernelSpec,
    blocks: int,
    shared: int,
    arguments: ArgumentPacker,
    splits: int = 1,
    states_bytes: int = 0,
) -> Plan:
    """Return a plan; where results are shared, ``splits`` blocks exchange states for each block."""
    launch = Launch(spec, (blocks * splits, 1, 1), (THREADS, 1, 1), shared, 3, arguments.done())
    if splits == 1:
        return Plan(variant, launch, 0)
    exchanged = blocks * (splits + -(-splits // GROUP_BLOCKS)) * states_bytes
    workspace = COUNTER_BYTES + max(MIN_STATES_BYTES, power_above(exchanged))
    return Plan(variant, launch, workspace, splits, states_bytes)
