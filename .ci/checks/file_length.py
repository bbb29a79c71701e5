"""Fail on a source file of more than 300 lines, tables of test cases aside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIMIT = 300
#: Tables of test cases, which are as long as there are cases.
TABLES = ("tests/simulator/broken_", "tests/simulator/correct_", "tests/simulator/test_traffic.py")
SUFFIXES = {".py", ".cu", ".cuh", ".cpp", ".hpp"}

listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)  # noqa: S607
long = [
    f"{name}: {count} lines"
    for name in listed.stdout.splitlines()
    if Path(name).suffix in SUFFIXES and Path(name).exists() and not name.startswith(TABLES)
    if (count := len(Path(name).read_text(encoding="utf-8").splitlines())) > LIMIT
]
if long:
    sys.exit(f"source files must have at most {LIMIT} lines:\n" + "\n".join(long))
