"""Which cases of a table run: some of them, or with ``pytest --thorough`` all."""

from __future__ import annotations

from itertools import product

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


def examples(count):
    """Return how many examples hypothesis draws: a tenth, in a thorough run all."""
    return count if is_thorough() else -(-count // 10)


def covering(*axes):
    """Return as many rows as the longest axis has values, in which each value of each axis occurs.

    Whenever an axis begins anew, it skips as many values as there are axes before it: so axes of
    one length do not stay in step. A thorough run has every combination.
    """
    axes = [list(axis) for axis in axes]
    if is_thorough():
        return list(product(*axes))
    return [
        tuple(axis[(k + n * (k // len(axis))) % len(axis)] for n, axis in enumerate(axes))
        for k in range(max(map(len, axes)))
    ]
