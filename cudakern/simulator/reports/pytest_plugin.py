"""A pytest plugin: tests whose kernels run checked in the simulator.

A test marked ``cudakern_checked`` runs inside of `cudakern.simulator.checked`, once for each seed,
and fails if anything is found; for the seed None it runs plain::

    @pytest.mark.cudakern_checked(seeds=range(5), resident_blocks=8, strict=True)
    def test_histogram(): ...

``pytest --cudakern-checked=0,1,2`` runs every test so; with ``--cudakern-checked-strict``, whatever
runs checked is ``checked(strict=True)``. The fixture ``cudakern_checked`` gives a
test the report, marked or not.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from contextlib import AbstractContextManager

    from cudakern.simulator import CheckReport

_MARK = "cudakern_checked"
_SEED = "cudakern_checked_seed"
#: Of a test that asked for the fixture: the block it runs in.
_OPEN = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that has every test checked."""
    group = parser.getgroup("cudakern")
    group.addoption(
        "--cudakern-checked",
        default="",
        metavar="SEEDS",
        help="run every test inside of cudakern.simulator.checked, once for each of these seeds "
        "(integers, separated by commas)",
    )
    group.addoption(
        "--cudakern-checked-strict",
        action="store_true",
        help="have tests that run inside of cudakern.simulator.checked run with strict=True",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and refuse seeds that are none."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(seeds=(0,), resident_blocks=4, strict=False): run the test inside of "
        "cudakern.simulator.checked, once for each seed",
    )
    _seeds(config)


def _seeds(config: pytest.Config) -> list[int]:
    seeds = config.getoption("--cudakern-checked", default="")
    try:
        return [int(seed) for seed in seeds.split(",") if seed.strip()]
    except ValueError:
        message = f"--cudakern-checked must be integers separated by commas; got {seeds!r}"
        raise pytest.UsageError(message) from None


@pytest.fixture
def cudakern_checked_seed() -> int | None:
    """Give the seed of the test, None for one that does not run checked."""
    return None


@pytest.fixture
def cudakern_checked(
    request: pytest.FixtureRequest, cudakern_checked_seed: int | None
) -> Iterator[CheckReport]:
    """Run a test inside of `cudakern.simulator.checked`; give it the report."""
    with ExitStack() as stack:
        report = stack.enter_context(_checked(request.node, cudakern_checked_seed or 0))
        request.node.stash[_OPEN] = stack
        yield report


def _checked(item: pytest.Item, seed: int) -> AbstractContextManager[CheckReport]:
    from cudakern.simulator import checked  # noqa: PLC0415  pytest loads this file everywhere

    mark = item.get_closest_marker(_MARK)
    arguments = {} if mark is None else mark.kwargs
    strict = arguments.get("strict", False) or item.config.getoption("--cudakern-checked-strict")
    return checked(seed, arguments.get("resident_blocks", 4), strict)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test its seeds."""
    mark = metafunc.definition.get_closest_marker(_MARK)
    seeds = _seeds(metafunc.config)
    if mark is not None and not seeds:
        seeds = [*mark.kwargs.get("seeds", (0,))]
    if seeds:
        metafunc.fixturenames.append(_SEED)
        ids = ["plain" if seed is None else f"seed{seed}" for seed in seeds]
        metafunc.parametrize(_SEED, seeds, ids=ids)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a test that has a seed inside of `cudakern.simulator.checked`."""
    opened = pyfuncitem.stash.get(_OPEN, None)
    if opened is not None:
        with opened.pop_all():  # what was found is the test's failure, not its fixture's
            return (yield)
    callspec = getattr(pyfuncitem, "callspec", None)
    seed = None if callspec is None else callspec.params.get(_SEED)
    if seed is None:
        return (yield)
    with _checked(pyfuncitem, seed):
        return (yield)
