"""Figures without a GPU: of machine code, against budgets, and what happens beyond a budget."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from importlib import import_module
from itertools import chain

import pytest

from cudakern.engines.base import KernelSpec
from cudakern.operators.gather.plan import specialise as gather
from cudakern.operators.gather.plan import specialise_last_axis
from cudakern.operators.operator import specialisations
from perf.cases import MODULES, find
from perf.static import (
    allowances,
    budgets,
    budgets_indexing,
    cubins,
    host_cost,
    kernels,
    traffic,
)
from perf.static import command as static
from perf.static.budgets import survey
from perf.static.cubins import architectures
from perf.static.faults import Fault, Kind
from perf.static.host_cost import Row
from perf.static.kernels import BudgetedKernel, reduce_kernel
from perf.static.occupancy import LIMITS, resident_blocks
from perf.static.reading import main_loop, vector_loops, widest
from tests.helpers.rows import each

LISTING = """
.text.ck_made_up:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;
.L_x_2:
        /*0020*/                   LDG.E.NA.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E.U16 R8, desc[UR4][R2.64] ;
        /*0040*/                   IADD3 R2, R2, 0x10, RZ ;
        /*0050*/                   STG.E.EF.128 desc[UR4][R10.64], R4 ;
        /*0060*/               @P0 BRA `(.L_x_2) ;
        /*0070*/                   IADD3 R2, R2, 0x10, RZ ;
        /*0080*/              @!P0 BRA `(.L_x_3) ;
        /*0090*/               @P1 BRA `(.L_x_1) ;
.L_x_3:
        /*00a0*/                   LDS R4, [R6] ;
        /*00b0*/               @P2 BRA `(.L_x_3) ;
        /*00c0*/                   EXIT ;
.L_x_4:
        /*00d0*/                   BRA `(.L_x_4) ;
"""


def test_the_main_loop_is_the_inner_one_that_moves_vectors():
    listing = cubins.parse(LISTING)["ck_made_up"]
    assert len(listing.code) == 14
    (loop,) = vector_loops(listing)
    assert loop == main_loop(listing)
    assert listing.code[loop.first].startswith("LDG.E.NA.128")
    assert loop.instructions == 5
    assert (loop.vectors, loop.moved) == (2, 34)
    assert loop.per_vector == pytest.approx(5 * 16 / 34)
    assert (widest(listing.code, "LDG"), widest(listing.code, "STG")) == (128, 128)
    assert widest(listing.code, "LDL") == 0
    assert main_loop(cubins.parse(LISTING.replace(".128", ".64"))["ck_made_up"]) is None


@each(
    ("arch", "registers", "shared", "threads", "blocks"),
    [
        ("sm_75", 64, 0, 256, 4),  # 8 warps of 64 x 32 registers: 16 K; or 1024 threads
        ("sm_90", 65, 0, 256, 3),  # 2304 registers for a warp: 7 in each quarter, 28 in all
        ("sm_86", 40, 0, 256, 6),  # 1536 threads
        ("sm_120", 255, 0, 256, 1),
        ("sm_90", 96, 0, 32, 20),  # 3072 registers for a warp: 5 in each quarter
        ("sm_75", 16, 0, 32, 16),  # by blocks
        ("sm_75", 32, 32 * 1024, 256, 2),  # by shared memory, of 64 KiB
        ("sm_86", 32, 33 * 1024, 256, 2),  # of 100 KiB, 34 each
        ("sm_90", 32, 113 * 1024 + 1, 256, 1),  # of 228 KiB
    ],
)
def test_occupancy_is_that_of_the_published_limits(arch, registers, shared, threads, blocks):
    assert resident_blocks(arch, registers, shared, threads) == blocks


def test_the_rotation_covers_all_groups_and_architectures():
    chosen, listed = kernels.rotation(), kernels.list_kernels()
    times = Counter(kernel.entry for _, kernel in chosen)
    assert set(times.values()) == {1}
    assert set(times) == {kernel.entry for kernel in (*listed, *kernels.RARE)}
    assert {*times} >= {spec.entry for spec in specialisations()}
    archs = {}
    for arch, kernel in chosen:
        archs.setdefault(kernel.group, set()).add(arch)
    for group, count in Counter(kernel.group for kernel in listed).items():
        assert len(archs[group]) >= min(2, count), group
    met = {(kernel.operator, kernel.variant, arch) for arch, kernel in chosen}
    wanted = {(k.operator, k.variant, arch) for k in listed for arch in architectures()}
    few = {"check", "rows"}  # which have 4 kernels, rows of searches
    assert {variant for _, variant, _ in wanted - met} <= few
    batches = kernels.batches(chosen)
    assert sum(len(batch) for _, batch in batches) == len(chosen)
    assert all(len({kernel.operator for kernel in batch}) == 1 for _, batch in batches)


def test_the_cover_has_each_value_of_each_macro_of_a_variant():
    def facts(found):
        return {(*k.text, define) for k in found for define in k.spec.defines}

    chosen = kernels.cover()
    assert facts(chosen) == facts([*kernels.list_kernels(), *kernels.RARE])
    assert len(chosen) < len(kernels.list_kernels()) / 8


SUM = reduce_kernel("blocks", "SUM", "FLOAT32", rank=1)


def test_an_allowance_fits_a_kernel_and_says_why():
    for allowance in (*allowances.ALLOWANCES, *chain(*allowances.EARLIER.values())):
        assert allowance.reason
        fitting = [kernel for kernel in kernels.distinct() if allowance.fits(kernel)]
        assert fitting, allowance.reason
        excuses = allowance.spilled or allowance.loads
        assert excuses or min(map(allowance.instructions, fitting)) > allowances.MOST
    assert {arch for _, archs in allowances.EARLIER for arch in archs} <= {*LIMITS}


def test_the_first_allowance_that_fits_counts():
    filled = BudgetedKernel(gather("packed", 1, "int32", "fill", wide=False))
    assert allowances.allowed(SUM, "sm_90", "99.0") == (62, ())
    most, counted = allowances.allowed(filled, "sm_90", "99.0")
    assert (most, len(counted)) == (235, 1)
    of_int16 = reduce_kernel("blocks", "L2", "INT16", rank=1)  # for an earlier compiler
    most, counted = allowances.allowed(of_int16, "sm_120", "13.2.86")
    assert (most, [a.most for a in counted]) == (235, [95, 235])
    assert allowances.allowed(of_int16, "sm_90", "13.2.86")[0] == 95


def test_any_other_operator_is_held_to_the_general_budget():
    made = BudgetedKernel(KernelSpec("made", "plain", "ck_made_plain", (), most_shared=8192))
    assert allowances.allowed(made, "sm_90", "99.0") == (allowances.MOST, ())
    assert budgets.rules_of(made) is budgets_indexing
    assert budgets_indexing.max_registers(made) == budgets_indexing.MAX_REGISTERS
    assert budgets_indexing.loads_of(made) == 0


def spills(stack, local=0):
    return Fault(Kind.SPILLS, cubins.Usage(64, stack, 0, local))


def test_an_earlier_compiler_is_excused_for_a_kind_of_fault_and_a_figure():
    staged = BudgetedKernel(specialise_last_axis(1, "int32", "wrap", staged=True))
    _, (spilling,) = allowances.allowed(staged, "sm_90", "12.9.86")
    faults = (spills(8), spills(16), spills(8, 8), Fault(Kind.REGISTERS, 8, 64))
    assert [*map(spilling.excuses, faults)] == [True, False, False, False]
    reloads = [Fault(Kind.USELESS, f"{name} R2, [R1]") for name in ("LDL.64", "STL", "LD")]
    assert [*map(spilling.excuses, reloads)] == [True, True, False]
    few = reduce_kernel("columns", "L2", "INT16", rank=1, width=16)
    (waiting,) = [a for a in allowances.allowed(few, "sm_120", "12.9.86")[1] if a.loads]
    faults = (Fault(Kind.LOADS, [2, 1], 3), Fault(Kind.LOADS, [1], 3), spills(8))
    assert [*map(waiting.excuses, faults)] == [True, False, False]


@pytest.fixture
def few(monkeypatch):
    """Leave only two kernels to compile."""
    found = [pair for pair in kernels.rotation() if pair[1].group == ("one_hot", "stream")][:2]
    monkeypatch.setattr(kernels, "rotation", lambda: found)
    monkeypatch.setattr(kernels, "everything", lambda: found * 3)
    return found


ARGUMENTS = ["code", "--jobs", "1"]


def test_figures_are_written_and_a_broken_budget_is_named(few, tmp_path, capsys, monkeypatch):
    path = tmp_path / "new" / "static.json"
    assert static.main([*ARGUMENTS, "--json", str(path)]) == 0
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["broken"] == []
    rows = data["machine_code"]
    assert {(row["arch"], row["entry"]) for row in rows} == {(a, s.entry) for a, s in few}
    for row in rows:
        assert 0 < row["registers"] <= 64
        assert row["store_bits"] == 128
        assert row["per_16_bytes"] == pytest.approx(row["loop_instructions"] / 4)
        assert row["warps"] == 8 * row["blocks"] >= 32
    text = capsys.readouterr().out
    assert "2 of 6" in text
    assert "broken" not in text
    monkeypatch.setattr(budgets_indexing, "MAX_REGISTERS", 8)
    assert static.main(ARGUMENTS) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "broken" in line]
    assert len(lines) == len(few)
    for arch, kernel in few:
        expected = re.compile(rf"broken: {kernel.entry}, {arch}: \d+ registers, more than 8")
        assert any(map(expected.fullmatch, lines)), lines


def test_slow_code_is_seen(monkeypatch):
    (figures,) = survey("sm_90", [SUM])
    assert not figures.faults
    many = BudgetedKernel(dataclasses.replace(SUM.spec, resident_blocks=9), SUM.reduction)
    monkeypatch.setattr(budgets, "MIN_BYTES_IN_FLIGHT", 2**20)
    found = budgets.throughput_faults(many, figures, loads=8, most=3)
    assert [str(fault).partition(" ")[2] for fault in found] == [
        "blocks, not 9",
        "bytes in flight, not 1048576",
        "instructions for 16 bytes, more than 3",
    ]


def test_traffic_is_held_to_what_a_line_may_move():
    (line,) = find(["O-8"])[0].lines
    tight = dataclasses.replace(line, moved=0.5)
    moved, broken = traffic.measure([("O-8", line), ("O-8", tight)])
    assert moved.least == line.workload.traffic(cached=False).total
    assert moved.fault() is None
    title = f"O-8, {line.workload.title}"
    assert broken.fault() == f"{title}: moves {moved.ratio:.3f} of its bytes, not 0.5"


@each(
    ("row", "scale", "fault"),
    [
        (Row("compiled a", 2.9, 1.0, 3.0), 1.0, None),
        (Row("compiled a", 3.1, 9.0, 3.0), 1.0, "compiled a: 3.10 us, more than 3.00"),
        (Row("a(x)", 12.5, 4.0, 8.0, 1.0), 1.0, "a(x): 12.50 us, more than 12.00"),
        (Row("a(x)", 19.0, 4.0, 8.0, 1.0), 2.0, None),
        (Row("a(x)", 3.7, 2.0, 0.0, 1.8), 2.0, "a(x): 3.70 us, more than 3.60"),
    ],
)
def test_host_cost_is_held_to_a_budget(row, scale, fault):
    assert row.fault(scale) == fault
    reference = host_cost.REFERENCE_YARDSTICK
    assert host_cost.scale_of(scale * reference) == pytest.approx(scale)
    assert host_cost.scale_of(reference / 2) == 1  # a fast machine does not shrink budgets


def test_a_broken_host_budget_ends_with_1(monkeypatch, capsys):
    slow = Row("compiled a", 7.0, 1.0, 3.0)
    monkeypatch.setattr(host_cost, "measure", lambda: ([slow], 2.0))
    monkeypatch.setattr(static, "time_first_calls", list)
    monkeypatch.setattr(static, "time_import", lambda: slow)
    assert static.main(["host"]) == 1
    assert "broken: compiled a: 7.00 us, more than 6.00" in capsys.readouterr().out


def test_every_graph_of_the_cases_is_built(monkeypatch, capsys):
    pytest.importorskip("dask", reason="dask is not installed")
    graphs = import_module("perf.static.graphs")
    monkeypatch.setattr(graphs, "CHUNKS", 100)
    assert graphs.measure() == []
    shown = capsys.readouterr().out
    assert all(title in shown for module in MODULES.values() for title in module.GRAPHS)
