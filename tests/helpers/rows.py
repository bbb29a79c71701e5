"""One test for all rows of a table: far cheaper to collect than a test a row."""

from __future__ import annotations

import functools
import inspect

import pytest

#: Failures after which a test tries no more rows.
MOST = 10


def each(names, rows, ids=None):
    """Run a test for each of these rows; name those that fail.

    It takes what ``pytest.mark.parametrize`` takes, but no marks. The rows share the test's
    fixtures, so one whose rows change what a fixture gives keeps ``parametrize``.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [_row(names, row) for row in rows]
    if ids is not None:
        named = [ids(row) for row in rows] if callable(ids) else ids
        table = [(name, values) for name, (_, values) in zip(named, table, strict=True)]
    table = [(name or _shown(values), values) for name, values in table]
    assert table, "a table without rows tests nothing"

    def decorate(test):
        @functools.wraps(test)
        def run_rows(**fixtures):
            failures = []
            for name, values in table:
                try:
                    test(**values, **fixtures)
                except (Exception, SystemExit, pytest.fail.Exception) as error:  # noqa: BLE001
                    error.add_note(f"in the row {name}")
                    failures.append(error)
                if len(failures) == MOST:
                    break
            if len(failures) == 1:
                raise failures[0]
            if failures:
                more = ", and no more were tried" if len(failures) == MOST else ""
                message = f"{len(failures)} rows fail{more}"
                raise BaseExceptionGroup(message, failures)

        signature = inspect.signature(test)
        rest = [p for name, p in signature.parameters.items() if name not in names]
        assert len(rest) == len(signature.parameters) - len(names), f"no arguments {names}"
        run_rows.__signature__ = signature.replace(parameters=rest)
        return run_rows

    return decorate


def _row(names, row):
    """Return the name of a row, if it has one, and its values by argument."""
    name = getattr(row, "id", None)
    if hasattr(row, "marks"):  # of pytest.param
        assert not row.marks, "a row with marks is a test of its own"
        row = row.values if len(names) > 1 else row.values[0]
    values = row if len(names) > 1 else (row,)
    return name, dict(zip(names, values, strict=True))


def _shown(values):
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
