"""What to change at lines whose requests move more than they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.values.layout import SECTOR_BYTES

if TYPE_CHECKING:
    from cudakern.simulator.reports.traffic import LineTraffic

#: An efficiency below this is worth a look.
POOR = 0.5
_LANES = 32
#: Bytes that a wavefront moves: a word of each bank of shared memory.
_WAVEFRONT_BYTES = 128
_TOGETHER = "let neighbouring threads take neighbouring elements"


def advise(line: LineTraffic) -> str:
    """Return what to change at a line whose efficiency is poor; nothing for others."""
    if not line.requests:
        return ""
    asked = line.bytes_requested / line.requests
    if line.kind.startswith("constant"):
        many = line.wavefronts_per_request > 1 / POOR
        return "threads of a warp read different addresses: global memory serves those" * many
    if line.kind.startswith("shared"):
        is_poor = line.wavefronts_per_request * POOR > max(1, asked / _WAVEFRONT_BYTES)
        return _describe_conflict(line) * is_poor
    if not line.efficiency < POOR:
        return ""
    if line.kind.startswith("local"):
        return "threads of a warp use different indices: let all use the same one at a time"
    return _describe_gaps(line, line.sectors_per_request - asked / SECTOR_BYTES)


def _describe_conflict(line: LineTraffic) -> str:
    distance = line.distance
    if distance and distance % _WAVEFRONT_BYTES == 0:
        return f"neighbouring threads are {distance} bytes apart, in one bank: pad rows by a word"
    apart = f"neighbouring threads are {distance} bytes apart" if distance else "threads scatter"
    return f"{apart}, and several share a bank: let neighbouring threads take neighbouring words"


def _describe_gaps(line: LineTraffic, excess: float) -> str:
    """Return why a line's requests move more sectors than what they ask for fills."""
    lanes, width = line.accesses / line.requests, line.bytes_requested / line.accesses
    if excess < 1 or not line.neighbours:
        some = f"requests are of {lanes:.3g} of {_LANES} threads"
        return f"{some}: let neighbouring threads ask together, unless this is rare"
    distance = line.distance
    if distance is None:
        return "neighbouring threads are at scattered places: sort or group what they access"
    if distance > width:
        return f"neighbouring threads are {distance} bytes apart: {_TOGETHER}"
    runs = line.requests + line.neighbours - sum(line.strides.values())
    return f"only {line.accesses / runs:.3g} neighbouring threads are side by side: {_TOGETHER}"
