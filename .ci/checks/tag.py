"""Fail unless what is checked out can be released under a tag: ``tag.py TAG``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

(tag,) = sys.argv[1:]
package, changelog, project = (
    Path(name).read_text(encoding="utf-8")
    for name in ("cudakern/__init__.py", "CHANGELOG.md", "pyproject.toml")
)
version = re.findall(r'^__version__ = "(.+)"$', package, re.MULTILINE)[0]
dated = re.findall(r"^## \[(.+)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
repository = tomllib.loads(project)["tool"]["cudakern"]["repository"]
rules = {
    f"the tag must be v{version}, as cudakern/__init__.py says; got {tag}": tag == f"v{version}",
    f"CHANGELOG.md must have ## [{version}] - YYYY-MM-DD": version in dated,
    f"repository in pyproject.toml must be an address, https://...; got {repository!r}": (
        re.fullmatch(r"https://\S+", repository)
    ),
}
if found := [f"release: {rule}" for rule, holds in rules.items() if not holds]:
    sys.exit("\n".join(found))
