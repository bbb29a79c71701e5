"""Fail on an issue form that GitHub would refuse, or that does not ask for what is needed."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

TYPES = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
INFO = "python -m cudakern info"


def faults(path: Path) -> list[str]:
    """Return what is wrong with a form."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = [field for field in form.get("body", []) if field.get("type") != "markdown"]
    labels = [field.get("attributes", {}).get("label") for field in fields]
    names = [field.get("id") for field in fields]
    rules = {
        "name, description and body": {*form} == {"name", "description", "body"},
        "known types": all(field.get("type") in TYPES for field in form.get("body", [])),
        "fields with labels": bool(fields) and all(labels),
        "fields with ids of their own": all(names) and len({*names}) == len(names),
        f"a field for `{INFO}`": path.stem != "bug" or any(INFO in str(label) for label in labels),
    }
    return [f"{path} must have {rule}" for rule, holds in rules.items() if not holds]


forms = sorted(Path(".github/ISSUE_TEMPLATE").glob("*.yml"))
found = [fault for path in forms for fault in faults(path)]
if "bug" not in {path.stem for path in forms}:
    found.append(".github/ISSUE_TEMPLATE must have bug.yml")
if not Path(".github/pull_request_template.md").exists():
    found.append(".github must have pull_request_template.md")
if found:
    sys.exit("\n".join(found))
