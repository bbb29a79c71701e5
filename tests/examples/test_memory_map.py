"""Rows of a file of vectors that does not fit into memory, or should not be loaded."""

from __future__ import annotations

import re
import resource
import sys

import numpy as np
import pytest

import cudakern as ck
from tests.examples.memory_map import WIDTH, read_rows, write_rows
from tests.helpers.places import same_bytes

COUNT = 2 * 2**30 // (4 * WIDTH) + 1  # float32, more than 2 GiB
ROWS = np.append(np.random.default_rng(9).integers(1, COUNT - 2, 50), [0, COUNT - 1, -2])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Make a file of which only some rows are on the disk."""
    path = tmp_path_factory.mktemp("map") / "vectors"
    with path.open("wb") as file:
        file.truncate(4 * WIDTH * COUNT)
    np.memmap(path, np.float32, "r+").reshape(-1, WIDTH)[ROWS] = vectors_of(ROWS)
    return path


def vectors_of(rows):
    """Return the values of these rows in the file."""
    return ((rows % COUNT)[:, None] + np.linspace(0, 1, WIDTH)).astype(np.float32)


def most_memory():
    """Return the peak memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def test_rows_alone_are_read(path):
    before = most_memory()
    assert same_bytes(read_rows(path, ROWS), vectors_of(ROWS))
    assert most_memory() - before < 2**28


def test_rows_go_to_another_file(path, tmp_path):
    write_rows(path, ROWS, tmp_path / "result")
    written = np.fromfile(tmp_path / "result", np.float32).reshape(-1, WIDTH)
    assert same_bytes(written, vectors_of(ROWS))


def test_a_file_to_read_is_not_written(path):
    message = "gather: out must be writeable; got a read-only array"
    vectors = np.memmap(path, np.float32, "r", shape=(3, WIDTH))
    with pytest.raises(ck.BindingError, match=f"^{re.escape(message)}$"):
        ck.gather(np.ones((5, WIDTH), np.float32), ROWS[:3], out=vectors)
