"""Lines of the benchmark with what their launches have to do: a file beside this one, and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perf.model.gpus import GPUS
from perf.model.time import predict
from perf.model.work import Work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perf.model.gpus import Gpu
    from perf.model.time import Prediction

SCHEMA = 1
#: What a run prints beside what it measures; ``python -m perf model --json`` makes it.
PATH = Path(__file__).with_name("predictions.json")
#: Digits that a file keeps.
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A line, and what its launch has to do."""

    case: str
    line: str
    work: Work

    def predict(self, gpu: Gpu) -> Prediction:
        """Return what the line takes."""
        return predict(self.work, gpu)


def save(rows: Iterable[Row], gpu: Gpu, path: Path) -> None:
    """Write what launches have to do on a GPU, a line each, and what that takes by the model."""
    lines = []
    for row in rows:
        work = {
            name: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
            for name, value in asdict(row.work).items()
            if value
        }
        found = row.predict(gpu)
        named = {"case": row.case, "line": row.line, "total": round(found.total, 2)}
        lines.append(json.dumps(named | {"bound": found.bound} | work))
    head = json.dumps({"schema": SCHEMA, "gpu": gpu.name, "note": "a model, no measurement"})
    body = ",\n  ".join(lines)
    path.write_text(f'{head[:-1]}, "lines": [\n  {body}\n]}}\n', encoding="utf-8")


def load(path: Path = PATH) -> tuple[Gpu, list[Row]]:
    """Return the GPU of a file and its lines; ValueError if the file is of another schema."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        message = f"{path}: must have schema {SCHEMA}; got {data.get('schema')}"
        raise ValueError(message)
    rows = []
    for line in data["lines"]:
        del line["total"], line["bound"]
        rows.append(Row(line.pop("case"), line.pop("line"), Work(**line)))
    return GPUS[data["gpu"]], rows


def predicted_for(name: str) -> dict[tuple[str, str], float]:
    """Return the microseconds of each case's lines on a GPU of such a name, if there are any."""
    gpu, rows = load()
    if gpu.name not in name:
        return {}
    return {(row.case, row.line): row.predict(gpu).total for row in rows}
