"""Whose a source file is: a header of CUDA, CuPy, libcu++ or CUB, or the user's own."""

from __future__ import annotations

import re

#: Files of CUDA, CuPy, libcu++ and CUB, wherever they are installed, and the standard headers.
_HEADER = re.compile(
    r"(?:/cupy/_core/include|/nvidia/\w+/include|/usr/local/cuda[^/]*|/targets/[\w-]+/include"
    r"|/_?cccl|/libcudacxx|(?:^|/)cooperative_groups|(?:^|/)cuda/std"
    r"|/cudakern/simulator/(?:sources/headers|cupy_stand_in/include))/"
    r"|(?:^|/)(?:cub|thrust)/(?:agent|block|detail|device|grid|iterator|system|thread|warp|util)"
    r"|(?:^|/)(?:cooperative_groups|cuda_fp16|cuda_bf16|cuda_fp8)\.hp?p?$"
    r"|^cupy\.(?:Elementwise|Reduction)Kernel$"  # text around the user's
)
_INCLUDED = re.compile(r".*/(?:include(?:/cccl)?|_cccl/\w+|sources/headers)/(.+)")


def is_header(file: str) -> bool:
    """Return whether a file is one of CUDA, CuPy, libcu++, CUB or ours, and not the user's own.

    Examples
    --------
    >>> from cudakern.simulator.ptx.header_files import is_header
    >>> is_header("/usr/local/cuda/include/cooperative_groups.h"), is_header("cub/kernel.cu")
    (True, False)
    """
    return _HEADER.search(file) is not None and not file.endswith(".cu")


def without_folder(file: str) -> str:
    """Return a header as it is included, any other file as it is."""
    name = _INCLUDED.fullmatch(file) if is_header(file) else None
    return file if name is None else name[1]
