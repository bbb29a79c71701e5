"""Fail on a planted fault without a place of its own in the product, or without its tests."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.planted_faults import FAULTS, PRODUCT, SUFFIXES, Fault, texts_of  # noqa: E402


def product() -> str:
    """Return all that a fault may be planted in."""
    files = [f for part in PRODUCT for f in (ROOT / part).rglob("*") if f.suffix in SUFFIXES]
    return "\0".join(file.read_text(encoding="utf-8") for file in files)


def wrong(fault: Fault, text: str) -> list[str]:
    """Return what a fault has not, a line each."""
    count = text.count(texts_of(fault.change)[0])
    lines = [] if count == 1 else [f"its text stands {count} times"]
    for test in fault.tests.partition(" -k ")[0].split():
        path, *names = test.split("::")
        file = ROOT / "tests" / path
        tests = file.read_text(encoding="utf-8") if file.is_file() else ""
        missing = [name for name in names if f"def {name.partition('[')[0]}(" not in tests]
        if missing or not file.exists():
            lines.append(f"{test}: no such test")
    return [f"tests/planted_faults.py: {fault.name}: {line}" for line in lines]


text = product()
if lines := [line for fault in FAULTS for line in wrong(fault, text)]:
    sys.exit("\n".join(lines))
