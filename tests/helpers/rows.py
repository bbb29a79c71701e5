"""One test for all rows of a table: far cheaper to collect than a test a row."""

from __future__ import annotations

import functools
import inspect

import pytest

from tests.helpers.checked import of_checked

#: Failures after which a test tries no more rows.
MOST = 10


def each(names, rows, ids=None):
    """Run a test for each of these rows; name those that fail.

    It takes what ``pytest.mark.parametrize`` takes, but no marks. The rows share the test's
    fixtures, so one whose rows change what a fixture gives keeps ``parametrize``. Where a test runs
    checked, each second row does, as each second case of it otherwise.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    rows = [*rows]
    given = [ids] * len(rows) if ids is None or callable(ids) else ids
    table = [_row(names, row, name) for row, name in zip(rows, given, strict=True)]
    assert table, "a table without rows tests nothing"

    def decorate(test):
        is_table = hasattr(test, "has_rows")

        @functools.wraps(test)
        def run_rows(**fixtures):
            failures = []
            for name, values in table if is_table else of_checked(table):
                try:
                    test(**values, **fixtures)
                except (Exception, SystemExit, pytest.fail.Exception) as error:  # noqa: BLE001
                    error.add_note(f"in the row {name()}")
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
        run_rows.has_rows = True
        return run_rows

    return decorate


def _row(names, row, given):
    """Return what gives the name of a row, and its values by argument."""
    if hasattr(row, "marks"):  # of pytest.param
        assert not row.marks, "a row with marks is a test of its own"
        given, row = row.id or given, row.values if len(names) > 1 else row.values[0]
    values = dict(zip(names, row if len(names) > 1 else (row,), strict=True))

    def name():
        if given is None:
            return ", ".join(f"{k}={v!r}" for k, v in values.items())
        return given(row) if callable(given) else given

    return name, values
