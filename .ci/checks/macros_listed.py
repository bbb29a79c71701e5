"""Fail on a CK_ macro of the kernels that kernels/README.md does not list."""

from __future__ import annotations

import re
import sys
from pathlib import Path

kernels = Path("kernels")
used: set[str] = set()
for path in [*kernels.rglob("*.cu"), *kernels.rglob("*.cuh")]:
    used |= set(re.findall(r"\bCK_[A-Z0-9_]+\b", path.read_text(encoding="utf-8")))
listed = set(re.findall(r"\bCK_[A-Z0-9_]+\b", (kernels / "README.md").read_text(encoding="utf-8")))
missing = {name for name in used - listed if not name.endswith("_")}
if missing:
    sys.exit(f"kernels/README.md must list {', '.join(sorted(missing))}")
