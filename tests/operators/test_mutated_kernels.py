"""Kernels of the operators with one word of their order taken out: the checker finds each.

That the kernels as they are have no findings, in three orders, is what the tests of each operator
say; here it is said once more for the very calls that are to fail.
"""

from __future__ import annotations

import ctypes
import shutil
from typing import NamedTuple

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines import base, kernel_text
from cudakern.engines.base import THREADS
from cudakern.operators.gather import plan as gather_plan
from cudakern.operators.gather_nd import plan as gather_nd_plan
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.simulator import checked
from cudakern.values import layout
from tests.helpers.bound import limit_blocks
from tests.helpers.rows import each
from tests.helpers.samples import sample
from tests.planted_faults import texts_of

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("sharing")]

RNG = np.random.default_rng(8)
COLUMNS = RNG.random((2000, 33), np.float32)
ROW = RNG.random(20_003, np.float32)
LONG_ROW = RNG.random(2_200_000, np.float32)  # more states than a warp combines
TRIPLES = RNG.random((900, 3), np.float32)
SPARSE = (RNG.random((5000, 8)) < 0.3).astype(np.int32)
TABLE = RNG.integers(0, 100, (20, 30, 2)).astype(np.uint8)
TUPLES = RNG.integers(0, 20, (5000, 2)).astype(np.int32)
BYTES = RNG.integers(0, 100, (40, 99)).astype(np.uint8)
WIDE = RNG.random((40, 64), np.float32)
LONG = RNG.random((8, 9000), np.float32)
PICKS = RNG.integers(0, 64, 300).astype(np.int32)
LAST_EPOCH = 2**18 - 1
#: One is enough for all: the checker knows what nothing orders, whichever comes first.
SEED = 0

CALLS = {
    "columns": lambda: ck.reduce(COLUMNS, "sum", 0),
    "blocks": lambda: ck.reduce(ROW, "sum", 0),
    "many blocks": lambda: ck.reduce(LONG_ROW, "sum", 0),
    "tiles": lambda: ck.reduce(TRIPLES, "sum", 1),
    "vectors": lambda: ck.reduce(WIDE, "sum", 0),
    "nonzero": lambda: ck.argwhere(SPARSE),
    "nonzero columns": lambda: ck.argwhere(SPARSE.reshape(100, 400).T),
    "last epoch": lambda: (_begin_last_epoch(), ck.argwhere(SPARSE)),
    "last axis": lambda: ck.gather(LONG[:, ::2], np.tile(PICKS, 4), 1),
    "last axis, staged": lambda: ck.gather(WIDE, PICKS, 1),
    "windows": lambda: ck.gather(LONG, np.tile(PICKS, 4), 1),
    "packed": lambda: ck.gather(TRIPLES, np.tile(PICKS, 10)),
    "spliced": lambda: ck.gather(BYTES, PICKS % 40),
    "gather_nd": lambda: ck.gather_nd(TABLE, TUPLES),
}


def _begin_last_epoch():
    """Have the blocks of the next call clear the words that they exchange."""
    address = engines.engine_for(engines.HOST).workspace(8 * (2 + 4096))
    ctypes.c_uint64.from_address(address).value = LAST_EPOCH << 32


class Mutation(NamedTuple):
    """A fault in a kernel, and a call that depends on what is lost."""

    name: str
    call: str  # one of CALLS
    file: str  # below kernels/
    change: str  # as in tests/planted_faults.py; its text stands in the file once
    #: Whether strict launches alone find it: in others a barrier that follows serves as a fence.
    strict: bool = False

    def __str__(self):
        return self.name

    def plant(self, source):
        """Return a kernel's text with the fault."""
        text, fault = texts_of(self.change)
        assert source.count(text) == 1
        return source.replace(text, fault)


BARRIER = "§__syncthreads();§§"
PTX, TREE, LOOK_BACK = "common/ptx.cuh", "reduce/tree.cuh", "nonzero/look_back.cuh"
LAST_AXIS, SPLICE, NONZERO = "gather/last_axis.cuh", "common/splice.cuh", "nonzero_coordinates.cu"
WRITER = "nonzero/coordinate_writer.cuh"
FENCE = "§    __threadfence();\n§§"

MUTATIONS = [
    Mutation(*row)
    for row in (
        *((f"count_by_{how}", "columns", PTX, f"atom.§acq_rel.gpu§{how}§.global.inc.u32", strict)
          for how, strict in (("relaxed.gpu", False), ("acquire.gpu", False), ("release.gpu", True),
                              ("acq_rel.cta", False))),
        ("count_before_all_wrote", "columns", TREE, f"  {BARRIER}\n  bool last"),
        ("fold_by_who_comes_first", "blocks", TREE, " ==§\n           blocks - 1;§ 0;§"),
        ("fold_of_a_block", "vectors", TREE, f"part_of, write);\n  {BARRIER}\n"),
        ("fold_of_levels", "columns", TREE, f"  if (count == 1) return;\n  {BARRIER}\n"),
        ("fold_of_warps", "many blocks", TREE, f"room[warp].state = one;\n    {BARRIER}\n"),
        ("tiles", "tiles", "reduce/tiles.cuh", f"  {BARRIER}\n  const char* const first"),
        ("word_stored_weakly", "nonzero", PTX, "st.§relaxed.gpu.§§global.u64"),
        ("word_stored_for_the_block", "nonzero", PTX, "st.relaxed.§gpu§cta§.global.u64"),
        ("ticket_before_others_read_it", "nonzero", NONZERO, f"  {BARRIER}\n  // While"),
        ("counts_before_others_wrote", "nonzero", NONZERO,
         f"    {BARRIER}\n    const uint32 upcoming"),
        ("places_while_others_read", "nonzero", WRITER,
         "if (tile.total != 0) §sync_first_threads<32 * kWarps>()§§;\n"),
        ("row_of_the_next_tile_in_its_place", "nonzero", NONZERO, "turn §^= 1§= 0§)"),
        ("bits_before_others_wrote", "nonzero columns", "nonzero/columns.cuh",
         f"    {BARRIER}\n    // Words"),
        ("clearing_without_a_release", "last epoch", LOOK_BACK, f"{FENCE}    before"),
        ("clearing_without_an_acquire", "last epoch", LOOK_BACK, f"{FENCE}  }}", True),
        ("indices_before_others_wrote", "last axis", LAST_AXIS, f"  {BARRIER}\n  for (uint64 row"),
        ("rows_while_others_pick", "last axis, staged", LAST_AXIS,
         f"    {BARRIER}  // the next rows"),
        ("window_while_others_pick", "windows", "gather/windows.cuh",
         f"      {BARRIER}\n      reader.begin()"),
        ("places_of_rows_while_others_read", "packed", "gather.cu", f"    {BARRIER}  // the table"),
        ("words_before_others_wrote", "spliced", SPLICE, f"    {BARRIER}\n    for"),
        ("tuples_while_others_read", "gather_nd", "gather_nd.cu",
         f"      {BARRIER}  // the tuples or"),
        ("table_before_others_wrote", "gather_nd", "gather_nd.cu",
         f"    }}\n    {BARRIER}\n  }}"),
    )
]  # fmt: skip
SOME = sample(MUTATIONS, 15)


def _tiling(_problem, items, _bytes, words):
    return 1, -(-items // (THREADS * words))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Have small arrays take several blocks and turns, and nothing be left of other tests."""
    monkeypatch.setattr(nonzero_plan, "_tiling", _tiling)
    monkeypatch.setattr(nonzero_plan, "MIN_TILE_BYTES", 0)
    monkeypatch.setattr(nonzero_plan, "COUNTED_COLUMNS_SIZE", 0)
    limit_blocks(monkeypatch, 7)
    monkeypatch.setattr(gather_nd_plan, "STAGED_BYTES", 64)
    monkeypatch.setattr(gather_plan, "LAST_AXIS_BLOCKS", 2)
    monkeypatch.setattr(gather_plan, "LAST_AXIS_LEAST_BLOCKS", 5)
    monkeypatch.setattr(gather_plan, "MULTIPROCESSORS", 1)
    monkeypatch.setattr(layout, "SHARED_BYTES", 48 * 1024)
    monkeypatch.setattr(base, "MAX_BLOCKS", 2)
    workspaces = engines.engine_for(engines.HOST)._workspaces  # noqa: SLF001
    monkeypatch.setattr(workspaces, "by_size", {})


@each("call", dict.fromkeys(m.call for m in SOME))
def test_nothing_is_found_in_the_kernels_as_they_are(call):
    with checked(SEED, strict=True) as report:
        CALLS[call]()
    assert report.launches == (2 if "columns" in call and "nonzero" in call else 1)


@pytest.mark.parametrize("mutation", SOME)
def test_mutation_is_found(tmp_path, monkeypatch, mutation):
    copy = tmp_path / "kernels"
    shutil.copytree(kernel_text.kernel_folder(), copy)
    source = (copy / mutation.file).read_text(encoding="utf-8")
    (copy / mutation.file).write_text(mutation.plant(source), encoding="utf-8")
    monkeypatch.setattr(kernel_text, "kernel_folder", lambda: copy)
    with checked(SEED, strict=mutation.strict) as report:
        CALLS[mutation.call]()
        found, report.findings = report.findings, []
    races = [finding for finding in found if finding.kind == "race"]
    assert races
    assert all(finding.source[0].startswith("kernels/") for finding in races)
