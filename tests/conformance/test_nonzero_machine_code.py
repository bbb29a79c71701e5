"""What the checks of the machine code find in kernels of nonzero_coordinates made worse."""

from __future__ import annotations

import shutil

import pytest

from cudakern.engines import sources
from cudakern.operators.gather.plan import specialise as specialise_gather
from cudakern.operators.nonzero.plan import specialise
from perf.static import cubins
from perf.static.budgets import resource_faults
from perf.static.budgets_indexing import code_faults, max_registers

STREAM = specialise("stream", 1, 4, wide=False)
COLUMNS = specialise("columns", 4, 8, wide=False)
STRIDED = specialise("strided", 2, 8, wide=True, rank=8)


@pytest.fixture
def worse(tmp_path, monkeypatch):
    """Return a function that replaces a text in the kernel sources, which is there once."""
    folder = tmp_path / "kernels"
    shutil.copytree(sources.kernel_folder(), folder)
    monkeypatch.setattr(sources, "kernel_folder", lambda: folder)

    def replace(old, new):
        texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.cu*")}
        (found,) = [path for path, text in texts.items() if old in text]
        assert texts[found].count(old) == 1
        found.write_text(texts[found].replace(old, new), encoding="utf-8")

    return replace


@pytest.mark.parametrize(
    ("spec", "old", "new", "fault"),
    [
        (
            STREAM,
            "@exists ld.global.nc.L1::no_allocate",
            "@exists ld.global.nc",
            "16-byte NA loads in flight: []",
        ),
        (
            STREAM,
            "static constexpr int kLoads = 8",
            "static constexpr int kLoads = 4",
            "16-byte NA loads in flight: [4",
        ),
        (COLUMNS, "uint32 kLoads = 4", "uint32 kLoads = 2", "16-byte loads in flight: [2"),
        (STRIDED, "kReads = 8", "kReads = 4", "reads of the look-back"),
        (STREAM, "lane, %%laneid;", "lane, 0;", "reads of the look-back behind a ticket: [0"),
        (STRIDED, "ld.relaxed", "ld.acquire", "a fence: CCTL"),
        (STREAM, "st.relaxed", "st.release", "a fence: MEMBAR|16-byte NA loads"),
        (STRIDED, "__stcs(address, value)", "*address = value", "no 16-byte store"),
    ],
)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_worse_code_is_seen(worse, arch, spec, old, new, fault):
    worse(old, new)
    code = cubins.sass(cubins.compile_kernel(spec, arch))[spec.entry].code
    faults = code_faults(spec, code)
    assert faults, "this change must not pass"
    assert all(wrong.startswith(tuple(fault.split("|"))) for wrong in faults), faults


ROWS = specialise_gather("rows", 16, "int32", "clamp", wide=False)


@pytest.mark.parametrize(("spec", "most"), [(ROWS, 64), (STREAM, 72)])
def test_a_register_too_many_is_seen(spec, most):
    limit = max_registers(spec)
    assert resource_faults(cubins.Usage(most, 0, 0, 0), limit) == []
    too_many = resource_faults(cubins.Usage(most + 1, 0, 0, 0), limit)
    assert too_many == [f"{most + 1} registers, more than {most}"]
