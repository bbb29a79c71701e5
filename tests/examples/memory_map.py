"""Rows of a file of vectors that does not fit into memory, or should not be loaded."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import cudakern as ck

WIDTH = 256


def read_rows(path, rows):
    """Return rows of a file of vectors, without reading the others."""
    vectors = np.memmap(path, np.float32, "r").reshape(-1, WIDTH)
    return ck.gather(vectors, rows)


def write_rows(path, rows, result):
    """Write rows of a file of vectors to another file."""
    vectors = np.memmap(path, np.float32, "r").reshape(-1, WIDTH)
    ck.gather(vectors, rows, out=np.memmap(result, np.float32, "w+", shape=(len(rows), WIDTH)))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        path = Path(folder, "vectors")
        with path.open("wb") as file:
            file.truncate(4 * WIDTH * 3_000_000)  # 3 GB, none of it on the disk
        np.memmap(path, np.float32, "r+").reshape(-1, WIDTH)[2_999_999] = 7
        print("the first elements of three rows of 3 million:")
        print(read_rows(path, [0, -1, 1_000_000])[:, 0])
