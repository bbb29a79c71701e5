"""What is said without a GPU: figures of machine code, budgets, what is done when one breaks."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

from cudakern.errors import KernelCompileError
from cudakern.operators.gather.plan import specialise as gather
from cudakern.operators.gather.plan import specialise_last_axis
from cudakern.operators.specialisations import specialisations
from perf.cases import find
from perf.static import (
    allowances,
    budgets,
    budgets_indexing,
    cubins,
    first_call,
    host_cost,
    kernels,
    traffic,
)
from perf.static import command as static
from perf.static.budgets import survey
from perf.static.cubins import architectures
from perf.static.host_cost import Row
from perf.static.kernels import BudgetedKernel, reduce_kernel
from perf.static.occupancy import LIMITS, resident_blocks
from perf.static.reading import main_loop, vector_loops, widest
from tests.helpers.processes import is_alive
from tests.helpers.readmes import ROOT
from tests.helpers.samples import sample

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


def test_code_without_vectors_has_no_main_loop():
    text = LISTING.replace(".128", ".64")
    assert main_loop(cubins.parse(text)["ck_made_up"]) is None


@pytest.mark.parametrize(
    ("arch", "registers", "shared", "threads", "blocks"),
    [
        ("sm_75", 64, 0, 256, 4),  # 8 warps by 64 x 32 registers: 16 K; 1024 threads as well
        ("sm_75", 32, 0, 256, 4),  # by threads
        ("sm_90", 64, 0, 256, 4),
        ("sm_90", 65, 0, 256, 3),  # 2304 registers for a warp: 7 in each quarter, 28 in all
        ("sm_90", 32, 0, 256, 8),
        ("sm_80", 80, 0, 256, 3),
        ("sm_100", 128, 0, 256, 2),
        ("sm_86", 40, 0, 256, 6),  # 1536 threads
        ("sm_120", 255, 0, 256, 1),
        ("sm_90", 96, 0, 32, 20),  # 3072 registers for a warp: 5 in each quarter
        ("sm_75", 16, 0, 32, 16),  # by blocks
        ("sm_86", 16, 0, 32, 16),
        ("sm_89", 16, 0, 32, 24),
        ("sm_90", 16, 0, 32, 32),
        ("sm_75", 32, 32 * 1024, 256, 2),  # by shared memory: 64 KiB
        ("sm_80", 32, 40 * 1024, 256, 4),  # of 164 KiB, 41 each
        ("sm_86", 32, 33 * 1024, 256, 2),  # of 100 KiB, 34 each
        ("sm_90", 32, 113 * 1024, 256, 2),  # of 228 KiB, 114 each
        ("sm_90", 32, 113 * 1024 + 1, 256, 1),
    ],
)
def test_occupancy_is_that_of_the_published_limits(arch, registers, shared, threads, blocks):
    assert resident_blocks(arch, registers, shared, threads) == blocks


def test_the_rotation_covers_all_groups_and_architectures():
    chosen, listed = kernels.rotation(), kernels.listed()
    times = Counter(kernel.entry for _, kernel in chosen)
    assert set(times.values()) == {1}
    assert set(times) == {kernel.entry for kernel in (*listed, *kernels.RARE)}
    assert {*times} >= {spec.entry for spec in specialisations()}
    groups = Counter(kernel.group for kernel in listed)
    assert len([group for group in groups if group[0] == "reduce"]) == 178
    archs = {}
    for arch, kernel in chosen:
        archs.setdefault(kernel.group, set()).add(arch)
    for group, count in groups.items():
        assert len(archs[group]) >= min(2, count), group
    met = {(kernel.operator, kernel.variant, arch) for arch, kernel in chosen}
    wanted = {(k.operator, k.variant, arch) for k in listed for arch in architectures()}
    assert {variant for _, variant, _ in wanted - met} <= {"check"}  # of 4 kernels


def test_all_is_every_kernel_for_every_architecture():
    pairs = kernels.everything()
    assert len(pairs) == len({(arch, kernel.entry) for arch, kernel in pairs})
    listed = {kernel.entry for kernel in kernels.listed()}
    for arch in architectures():
        assert listed <= {kernel.entry for of, kernel in pairs if of == arch}
    batches = kernels.batches(pairs)
    assert sum(len(batch) for _, batch in batches) == len(pairs)
    assert all(len({kernel.operator for kernel in batch}) == 1 for _, batch in batches)


def test_the_cover_has_each_value_of_each_macro_of_a_variant():
    def facts(found):
        return {(k.operator, k.label, define) for k in found for define in k.spec.defines}

    chosen = kernels.cover()
    assert facts(chosen) == facts([*kernels.listed(), *kernels.RARE])
    assert len(chosen) < len(kernels.listed()) / 8


def test_an_architecture_that_is_not_served_is_named(capsys):
    assert static.main([*ARGUMENTS, "--cover", "sm_61"]) == 1
    assert "must serve the architecture: " in capsys.readouterr().out


SUM = reduce_kernel("stream", "SUM", "FLOAT32", rank=1)
WIDE = reduce_kernel("vectors", "SUM", "FLOAT64", wide=True, rank=1, width=16)


@pytest.mark.parametrize(("kernel", "blocks", "shared"), [(SUM, 4, 32), (WIDE, 2, 4096)])
def test_what_a_kernel_is_launched_with(kernel, blocks, shared):
    assert kernel.spec.resident_blocks == blocks
    assert kernel.dynamic_shared == shared


def test_an_allowance_fits_a_kernel_and_says_why():
    for allowance in allowances.ALLOWANCES:
        assert allowance.most > allowances.MOST
    for earlier in allowances.EARLIER:
        assert earlier.excused or earlier.most > allowances.MOST
        assert set(earlier.archs) <= {*LIMITS}
    for allowance in (*allowances.ALLOWANCES, *allowances.EARLIER):
        assert allowance.reason
        assert any(map(allowance.fits, kernels.distinct())), allowance.reason


STAGED = BudgetedKernel(specialise_last_axis(1, "int32", "wrap", staged=True))


@pytest.mark.parametrize(
    ("kernel", "arch", "version", "most", "excuses"),
    [
        (STAGED, "sm_90", "12.9.86", 62, True),
        (STAGED, "sm_90", "13.1.80", 62, False),
        (STAGED, "sm_80", "12.9.86", 62, False),
        (reduce_kernel("stream", "L2", "INT16", rank=1), "sm_120", "13.2.86", 109, False),
        (reduce_kernel("stream", "L2", "INT16", rank=1), "sm_90", "13.2.86", 62, False),
    ],
)
def test_earlier_compilers_are_allowed_more(kernel, arch, version, most, excuses):
    allowed, excused = allowances.allowed(kernel, arch, version)
    assert allowed == most
    assert "8 bytes of stack and 0 of local memory, not none".startswith(excused) == excuses
    assert not "16 bytes of stack and 0 of local memory, not none".startswith(excused)


@pytest.mark.parametrize(
    ("kernel", "most"),
    [
        (SUM, 62),
        (BudgetedKernel(gather("packed", 1, "int32", "fill", wide=False)), 235),
        (BudgetedKernel(gather("scalars", 1, "int64", "wrap", wide=True)), 120),
        (reduce_kernel("stream", "ARGMAX", "FLOAT16", rank=1), 70),
        (reduce_kernel("columns", "L1", "INT8", width=16), 124),
        (reduce_kernel("vectors", "LOG_SUM_EXP", "FLOAT64", rank=1, width=16), 335),
    ],
)
def test_the_first_allowance_that_fits_counts(kernel, most):
    assert allowances.allowed(kernel, "sm_90", "99.0") == (most, ())


@pytest.fixture
def few(monkeypatch):
    """Let two kernels be all there are to compile."""
    found = [pair for pair in kernels.rotation() if pair[1].group == ("one_hot", "stream")][:2]
    monkeypatch.setattr(kernels, "rotation", lambda: found)
    return found


ARGUMENTS = ["code", "--jobs", "1"]


def test_figures_are_written(few, tmp_path, capsys):
    path = tmp_path / "new" / "static.json"
    assert static.main([*ARGUMENTS, "--json", str(path)]) == 0
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema"] == static.SCHEMA
    assert data["broken"] == []
    rows = data["machine_code"]
    assert {(row["arch"], row["entry"]) for row in rows} == {(a, s.entry) for a, s in few}
    for row in rows:
        assert row["variant"] == "stream"
        assert 0 < row["registers"] <= 64
        assert row["store_bits"] == 128
        assert row["per_16_bytes"] == pytest.approx(row["loop_instructions"] / 4)
        assert row["blocks"] >= 4
        assert row["warps"] == 8 * row["blocks"]
    text = capsys.readouterr().out
    assert f"{len(few)} of {len(kernels.everything())}" in text
    assert "broken" not in text


@pytest.mark.parametrize(
    ("option", "read"),
    [(["--every", "2"], 1), (["--operators", "one_hot"], 2), (["--operators", "reduce"], 0)],
)
def test_a_part_of_the_kernels_is_read(few, monkeypatch, option, read):
    found = []
    monkeypatch.setattr(static, "survey", lambda arch, kernels: found.append((arch, kernels)) or [])
    assert static.main([*ARGUMENTS, *option]) == 0
    assert sorted(found, key=str) == sorted(((a, [k]) for a, k in few[:read]), key=str)


def test_the_cover_is_read_for_one_architecture(monkeypatch):
    found = []
    monkeypatch.setattr(static, "compile_all", lambda chosen, *_: ([], found.extend(chosen) or []))
    assert static.main([*ARGUMENTS, "--cover", "sm_80"]) == 0
    assert found == [("sm_80", kernel) for kernel in kernels.cover()]


def test_processes_find_the_same(few):
    alone = static.compile_all(few, 1)
    assert alone == static.compile_all(few, 2)
    assert len(alone[0]) == len(few)


#: Behind a shell's & Ctrl-C is ignored.
STATIC = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from perf.__main__ import main
sys.exit(main(["static", "code", "--jobs", "2"]))
"""


def test_ctrl_c_ends_the_processes():
    with subprocess.Popen([sys.executable, "-c", STATIC], stderr=subprocess.PIPE, cwd=ROOT) as main:
        children = Path(f"/proc/{main.pid}/task/{main.pid}/children")
        while len(children.read_text().split()) < 3:  # with the one that multiprocessing needs
            assert main.poll() is None
            time.sleep(0.01)
        started = children.read_text().split()
        main.send_signal(signal.SIGINT)
        try:
            _, said = main.communicate(timeout=60)
        finally:
            main.kill()
    assert said.splitlines()[-1] == b"perf static: stopped"
    assert b"Traceback" not in said
    assert main.returncode == 130
    while any(map(is_alive, started)):
        time.sleep(0.01)


def test_a_broken_budget_is_named(few, monkeypatch, capsys):
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
    assert [fault.partition(" ")[2] for fault in found] == [
        "blocks, not 9",
        "bytes in flight, not 1048576",
        "instructions for 16 bytes, more than 3",
    ]


def test_code_that_does_not_compile_is_named(monkeypatch, capsys):
    error = KernelCompileError("gather.cu", (), "no such")
    monkeypatch.setattr(static, "survey", mock.Mock(side_effect=error))
    monkeypatch.setattr(kernels, "rotation", lambda: [("sm_90", SUM)])
    assert static.main([*ARGUMENTS, "--operators", "reduce"]) == 1
    named = f"broken: sm_90, {SUM.entry} to {SUM.entry}: gather.cu: the kernel must compile"
    assert f"{named}; no such" in capsys.readouterr().out


def test_what_is_missing_is_one_line(monkeypatch, capsys):
    missing = mock.Mock(side_effect=FileNotFoundError("it must be installed"))
    monkeypatch.setattr(cubins, "tools", missing)
    assert static.main(ARGUMENTS) == 1
    assert capsys.readouterr().out == "it must be installed\n"
    missing.assert_called_with("cuobjdump")


def test_traffic_is_held_to_what_a_line_may_move():
    (line,) = find(["O-8"])[0].lines
    tight = dataclasses.replace(line, moved=0.5)
    moved, broken = traffic.move_all([("O-8", line), ("O-8", tight)])
    assert moved.least == line.workload.traffic(cached=False).total
    assert moved.fault() is None
    title = f"O-8, {line.workload.title}"
    assert broken.fault() == f"{title}: moves {moved.ratio:.3f} of its bytes, not 0.5"


@pytest.mark.parametrize(
    ("row", "scale", "fault"),
    [
        (Row("compiled a", 2.9, 1.0, 3.0), 1.0, None),
        (Row("compiled a", 3.1, 9.0, 3.0), 1.0, "compiled a: 3.10 us, more than 3.00"),
        (Row("compiled a", 5.9, 1.0, 3.0), 2.0, None),
        (Row("a(x)", 11.0, 4.0, 8.0), 1.0, None),
        (Row("a(x)", 12.5, 4.0, 8.0), 1.0, "a(x): 12.50 us, more than 12.00"),
        (Row("a(x)", 19.0, 4.0, 8.0), 2.0, None),
        (Row("a(x)", 99.0, None, None), 1.0, None),
    ],
)
def test_host_cost_is_held_to_a_budget(row, scale, fault):
    assert row.fault(scale) == fault


def test_budgets_grow_with_a_slower_machine_but_never_shrink():
    reference = host_cost.REFERENCE_YARDSTICK
    assert host_cost.scale_of(3 * reference) == pytest.approx(3)
    assert host_cost.scale_of(reference / 2) == 1


def test_host_cost_has_every_call(monkeypatch):
    monkeypatch.setattr(host_cost, "CALLS", 10)
    monkeypatch.setattr(host_cost, "REPEATS", 2)
    rows, scale = host_cost.measure()
    assert scale >= 1
    of_numpy = [row for row in rows if row.name.endswith("NumPy arrays")]
    assert len(of_numpy) == 9
    for row in of_numpy:
        assert row.budget == (3.6 if row.name.startswith("compiled") else 8)
        assert 0 < row.numpy < 1000
        assert 0 < row.microseconds < 1000


def test_the_first_call_of_a_process_is_measured(monkeypatch):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    monkeypatch.setattr(first_call, "PROCESSES", 2)
    assert set(first_call.OPERATORS) == set(first_call.calls())
    monkeypatch.setattr(first_call, "OPERATORS", sample(first_call.OPERATORS, 5))
    rows = first_call.first_calls()
    assert [row.name.split()[1] for row in rows] == [*first_call.OPERATORS]
    assert {row.budget for row in rows} == {6500}
    assert all(100 < row.microseconds < 1e6 for row in rows)


def test_the_import_of_functions_is_measured(monkeypatch):
    monkeypatch.setattr(first_call, "PROCESSES", 2)
    row = first_call.imports()
    assert row.budget == 40_000
    assert 1000 < row.microseconds < 5e6


def test_a_broken_host_budget_ends_with_1(monkeypatch, capsys):
    slow = Row("compiled a", 7.0, 1.0, 3.0)
    monkeypatch.setattr(host_cost, "measure", lambda: ([slow], 2.0))
    monkeypatch.setattr(static, "first_calls", list)
    monkeypatch.setattr(static, "imports", lambda: slow)
    assert static.main(["host"]) == 1
    assert "broken: compiled a: 7.00 us, more than 6.00" in capsys.readouterr().out


@pytest.mark.parametrize(("figures", "rounds"), [((9, 1), 2), ((1, 9), 1), ((9, 9, 9, 1), 3)])
def test_host_cost_is_measured_again_while_a_budget_is_broken(monkeypatch, figures, rounds):
    taken = []

    def least(calls):
        taken.append(figures[len(taken)])
        return dict.fromkeys(calls, taken[-1]) | {"yardstick": host_cost.REFERENCE_YARDSTICK}

    monkeypatch.setattr(host_cost, "least_microseconds", least)
    least_of_all = {row.microseconds for row in host_cost.measure()[0]}
    assert (least_of_all, len(taken)) == ({min(taken)}, rounds)
