"""Other libraries with the same operators, as far as they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf.peers import cub, cuda_compute, cupy, onnxruntime, torch
from perf.peers.base import MissingPeerError

if TYPE_CHECKING:
    from perf.peers.base import Peer

#: Peers that take longest to get ready come last.
_MODULES = {
    "cub": cub,
    "cupy": cupy,
    "torch": torch,
    "cuda.compute": cuda_compute,
    "onnxruntime": onnxruntime,
}


def find_peers() -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that can be used here, and, in a line each, why others cannot, by name."""
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    for name, module in _MODULES.items():
        try:
            peers.extend(module.find())
        except MissingPeerError as error:
            missing[name] = str(error)
        except Exception as error:  # noqa: BLE001  a library may fail in any way when it starts
            text = " ".join(str(error).split())
            missing[name] = f"cannot be started: {type(error).__name__}: {text}"
    return peers, missing
