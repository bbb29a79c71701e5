"""The table of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from perf.model.time import in_flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.model.gpus import Gpu
    from perf.model.predictions import Row

_TERMS = ("memory", "l2", "port", "issue", "pipe", "flight", "serial", "latency", "tail")
_FIGURES = ("tasks", "fit", "waves", "KiB", "per 16 B")
_CAPTION = (
    "tasks: blocks, or tiles that blocks draw; fit: blocks that a multiprocessor holds; KiB: of "
    "loads in flight in the busiest; per 16 B: machine instructions; terms; what a call takes and "
    "what none gets below. Red: does not hold"
)


def table_of(rows: Sequence[Row], gpu: Gpu) -> Table:
    """Return the predictions of lines for a GPU."""
    title = f"{gpu.name}, microseconds: a model, no measurement"
    table = Table(title=title, caption=_CAPTION, box=SIMPLE_HEAD, collapse_padding=True)
    for heading in ("case", "line", "kernel"):
        table.add_column(heading, overflow="fold")
    for heading in (*_FIGURES, *_TERMS, "total", "roof", "ratio", "bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        work, found = row.work, row.predict(gpu)
        lanes = 32 * work.instructions
        cells = (
            *map(str, (work.tasks, work.resident, found.waves)),
            f"{in_flight(work, gpu) / 1024:.0f}",
            f"{lanes * 16 / work.least:.0f}",
            *(f"{getattr(found, term):.1f}" for term in _TERMS),
            f"{found.total:.1f}",
            f"{found.roofline:.1f}",
            f"{found.ratio:.2f}",
            found.bound,
        )
        kernel, style = work.kernel.removeprefix("ck_"), "" if found.holds else "red"
        table.add_row(row.case, row.line, kernel, *cells, style=style)
    return table
