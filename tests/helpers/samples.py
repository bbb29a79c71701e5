"""Which cases of a table run: some of them, or with ``pytest --thorough`` all."""

from __future__ import annotations

_chosen = {"thorough": False}


def choose(*, thorough: bool) -> None:
    """Say, before any test is collected, whether all cases run."""
    _chosen["thorough"] = thorough


def is_thorough() -> bool:
    """Return whether all cases run."""
    return _chosen["thorough"]


def sample(cases, every, first=0):
    """Return each ``every``-th case from the first on; all of them in a thorough run."""
    return list(cases) if is_thorough() else list(cases)[first::every]
