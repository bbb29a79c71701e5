"""What `cupy.testing` has besides NumPy's assertions: arrays, loops over dtypes, comparisons."""

from __future__ import annotations

import inspect
import itertools
import unittest
from collections import ChainMap
from functools import partial, wraps
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.process.lazy import load
from cudakern.simulator.cupy_stand_in.arrays import to_numpy
from cudakern.simulator.cupy_stand_in.functions import asnumpy
from cudakern.simulator.cupy_stand_in.names import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_FLOATS, _COMPLEX = (np.float64, np.float32), (np.complex64, np.complex128)
_SIGNED = tuple(np.dtype(char).type for char in "bhilq")
_UNSIGNED = tuple(np.dtype(char).type for char in "BHILQ")


# Arrays


def _made(values: Any, xp: Any, dtype: Any, shape: Any, order: str = "C") -> Any:
    wanted = np.dtype(dtype)
    if wanted == np.bool_:
        values = values % 2 == 0
    elif wanted.kind == "c":
        values = values + values * 1j
    return (xp or MODULES["cupy"]).array(values.astype(wanted).reshape(shape), order=order)


def shaped_arange(shape: Any, xp: Any = None, dtype: Any = np.float32, order: str = "C") -> Any:
    """Return an array of 1, 2, ..., or of which of these are even."""
    return _made(np.arange(1, np.prod(shape, dtype=int) + 1), xp, dtype, shape, order)


def shaped_reverse_arange(shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Return an array of ..., 2, 1, or of which of these are even."""
    return _made(np.arange(np.prod(shape, dtype=int), 0, -1), xp, dtype, shape)


def shaped_linspace(
    start: Any, stop: Any, shape: Any, xp: Any = None, dtype: Any = np.float32
) -> Any:
    """Return an array of numbers at equal distances."""
    values = np.linspace(start, stop, np.prod(shape, dtype=int))
    return (xp or MODULES["cupy"]).array(values.astype(dtype).reshape(shape))


def shaped_random(
    shape: Any,
    xp: Any = None,
    dtype: Any = np.float32,
    scale: float = 10,
    seed: int | None = 0,
    order: str = "C",
) -> Any:
    """Return an array of random numbers from 0 to ``scale``."""
    draw, wanted = np.random.RandomState(seed), np.dtype(dtype)
    if wanted == np.bool_:
        values = draw.randint(2, size=shape)
    else:
        values = draw.rand(*shape)
        values = (values + 1j * draw.rand(*shape) if wanted.kind == "c" else values) * scale
    return (xp or MODULES["cupy"]).asarray(values, dtype=wanted, order=order)


def generate_seed() -> int:
    """Return a seed that may be any."""
    return int(np.random.default_rng().integers(0x7FFFFFFF))


def fix_random() -> Callable[[Any], Any]:
    """Return a decorator for tests whose random numbers are those of a fixed seed."""

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for name in dir(test):
                if name.startswith("test"):
                    setattr(test, name, decorate(getattr(test, name)))
            return test

        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            np.random.seed(100)  # noqa: NPY002  of what CuPy's tests draw from
            return test(*args, **kwargs)

        return run

    return decorate


# Conditions


def installed(*specifiers: str) -> bool:
    """Return whether packages are installed, in versions that requirements allow."""
    if find_spec("packaging") is None:
        return True
    requirements = load("packaging.requirements")
    for specifier in specifiers:
        wanted = requirements.Requirement(specifier)
        try:
            version = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            return False
        if not wanted.specifier.contains(version, prereleases=True):
            return False
    return True


def with_requires(*requirements: str) -> Decorator:
    """Return a decorator that skips a test unless packages are installed."""
    return unittest.skipIf(not installed(*requirements), f"requires: {','.join(requirements)}")


def numpy_satisfies(version_range: str) -> bool:
    """Return whether NumPy is of a version."""
    return installed(f"numpy{version_range}")


def multi_gpu(gpu_num: int) -> Decorator:
    """Return a decorator that skips a test unless there are so many devices."""
    count = MODULES["cupy"].cuda.runtime.getDeviceCount()
    return unittest.skipIf(count < gpu_num, f"{gpu_num} GPUs required")


def slow(*args: Any) -> Any:
    """Mark a test as slow."""
    return load("pytest").mark.slow(*args)


# Loops


def _loop(name: str, values: Iterable[Any]) -> Decorator:
    """Return a decorator that calls a test once for each value of an argument."""
    each = [*values]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        return _hiding(test, [{name: value} for value in each])

    return decorate


def _hiding(test: Callable[..., Any], rows: Sequence[dict[str, Any]]) -> Callable[..., Any]:
    """Return a test that is called with rows of arguments, which pytest does not see."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        for row in rows:
            try:
                test(*args, **kwargs, **row)
            except unittest.SkipTest:
                raise
            except Exception as error:
                error.add_note(f"with {', '.join(f'{k}={v}' for k, v in row.items())}")
                raise

    run.__signature__ = inspect.signature(partial(test, **rows[0]) if rows else test)  # type: ignore[attr-defined]
    return _without(run, rows[0] if rows else {})


def _without(run: Any, names: Iterable[str]) -> Callable[..., Any]:
    """Return a test whose signature lacks some arguments."""
    signature = run.__signature__
    kept = [p for name, p in signature.parameters.items() if name not in {*names}]
    run.__signature__ = signature.replace(parameters=kept)
    result: Callable[..., Any] = run
    return result


def for_dtypes(dtypes: Iterable[Any], name: str = "dtype") -> Decorator:
    """Return a decorator that calls a test with each of some dtypes."""
    return _loop(name, (np.dtype(dtype).type for dtype in dtypes))


def _all_dtypes(no_float16: bool, no_bool: bool, no_complex: bool) -> tuple[Any, ...]:
    halves, truths = () if no_float16 else (np.float16,), () if no_bool else (np.bool_,)
    return (*_FLOATS, *halves, *_SIGNED, *_UNSIGNED, *truths, *(() if no_complex else _COMPLEX))


def for_all_dtypes(
    name: str = "dtype", no_float16: bool = False, no_bool: bool = False, no_complex: bool = False
) -> Decorator:
    """Return a decorator that calls a test with each dtype."""
    return for_dtypes(_all_dtypes(no_float16, no_bool, no_complex), name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Decorator:
    """Return a decorator that calls a test with each floating dtype."""
    return for_dtypes(_FLOATS if no_float16 else (*_FLOATS, np.float16), name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Decorator:
    """Return a decorator that calls a test with each integer dtype."""
    return for_dtypes((*_SIGNED, *_UNSIGNED, *(() if no_bool else (np.bool_,))), name)


def for_signed_dtypes(name: str = "dtype") -> Decorator:
    """Return a decorator that calls a test with each signed dtype."""
    return for_dtypes(_SIGNED, name)


def for_unsigned_dtypes(name: str = "dtype") -> Decorator:
    """Return a decorator that calls a test with each unsigned dtype."""
    return for_dtypes(_UNSIGNED, name)


def for_complex_dtypes(name: str = "dtype") -> Decorator:
    """Return a decorator that calls a test with each complex dtype."""
    return for_dtypes(_COMPLEX, name)


def for_dtypes_combination(
    types: Sequence[Any], names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Decorator:
    """Return a decorator that calls a test with dtypes for several arguments."""
    count = len(types)
    rows: Iterable[tuple[Any, ...]] = itertools.product(types, repeat=len(names))
    if not full:  # each type of each argument once
        rows = [
            tuple(types[(i + i // count * k) % count] for k in range(len(names)))
            for i in range(count)
        ]
    each = [dict(zip(names, row, strict=True)) for row in rows]
    return lambda test: _hiding(test, each)


def for_all_dtypes_combination(
    names: Sequence[str] = ("dtype",),
    no_float16: bool = False,
    no_bool: bool = False,
    full: bool | None = None,
    no_complex: bool = False,
) -> Decorator:
    """Return a decorator that calls a test with dtypes of any kind for several arguments."""
    return for_dtypes_combination(_all_dtypes(no_float16, no_bool, no_complex), names, full)


def for_int_dtypes_combination(
    names: Sequence[str] = ("dtype",), no_bool: bool = False, full: bool | None = None
) -> Decorator:
    """Return a decorator that calls a test with integer dtypes for several arguments."""
    types = (*_SIGNED, *_UNSIGNED, *(() if no_bool else (np.bool_,)))
    return for_dtypes_combination(types, names, full)


def for_orders(orders: Iterable[Any], name: str = "order") -> Decorator:
    """Return a decorator that calls a test with each order."""
    return _loop(name, orders)


def for_CF_orders(name: str = "order") -> Decorator:  # noqa: N802  CuPy's name
    """Return a decorator that calls a test with the orders C and F."""
    return for_orders(("C", "F"), name)


# Parameters


def product(parameter: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of values of names."""
    rows = itertools.product(*parameter.values())
    return [dict(zip(parameter, row, strict=True)) for row in rows]


def product_dict(*parameters: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return all combinations of rows, each joined."""
    return [dict(ChainMap(*map(dict, reversed(rows)))) for rows in itertools.product(*parameters)]


def parameterize(*params: Mapping[str, Any], _ids: bool = True) -> Callable[[type], type]:
    """Return a decorator that runs the tests of a class for rows of its attributes."""
    pytest = load("pytest")

    def assign(self: Any, _cupy_testing_param: Mapping[str, Any]) -> None:
        vars(self).update(_cupy_testing_param)

    def decorate(tests: type) -> type:
        fixture = pytest.fixture(autouse=True)(assign)
        made = type(tests.__name__, (tests,), {"_cupy_testing_parameterize": fixture})
        made.__module__ = tests.__module__
        named = [pytest.param(row, id=str(i)) for i, row in enumerate(params)]
        marked: type = pytest.mark.parametrize("_cupy_testing_param", named)(made)
        return marked

    return decorate


# Comparisons


def assert_array_list_equal(
    xlist: Sequence[Any], ylist: Sequence[Any], err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError unless arrays of two lists are equal."""
    np.testing.assert_equal(len(xlist), len(ylist), err_msg)
    for x, y in zip(xlist, ylist, strict=True):
        np.testing.assert_array_equal(to_numpy(x), to_numpy(y), err_msg, verbose)


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except unittest.SkipTest:
        raise
    except Exception as error:  # noqa: BLE001  to be compared
        return None, error


def _compare_both(
    check: Callable[[Any, Any], None],
    name: str,
    scipy_name: str | None,
    accept_error: Any,
    *,
    type_check: bool,
) -> Decorator:
    """Return a decorator that calls a test with CuPy and NumPy, and compares what it returns."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        hidden = [n for n in (name, scipy_name) if n]

        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            results = []
            for library in ("cupy", "numpy"):
                given = {name: load(library)}
                if scipy_name:
                    given[scipy_name] = load("cupyx.scipy" if library == "cupy" else "scipy")
                results.append(_outcome(partial(test, *args, **kwargs, **given)))
            _check_outcomes(results, check, accept_error, type_check=type_check)

        run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
        return _without(run, hidden)

    return decorate


def _check_outcomes(
    results: Sequence[tuple[Any, Exception | None]],
    check: Callable[[Any, Any], None],
    accept_error: Any,
    *,
    type_check: bool,
) -> None:
    (mine, error), (wanted, other) = results
    if error is not None or other is not None:
        accepted = Exception if accept_error is True else (accept_error or ())
        if error is None or other is None or not isinstance(error, accepted):
            message = f"cupy: {error!r}; numpy: {other!r}"
            raise AssertionError(message) from (error or other)
        return
    pairs = zip(mine, wanted, strict=True) if isinstance(wanted, tuple | list) else [(mine, wanted)]
    for got, exact in pairs:
        x, y = asnumpy(got), np.asarray(exact)
        if type_check:
            np.testing.assert_equal(x.dtype, y.dtype, "dtypes of cupy and numpy")
        check(x, y)


def _tolerance(value: Any, dtype: Any) -> Any:
    if not isinstance(value, dict):
        return value
    known = {np.dtype(k): v for k, v in value.items() if k != "default"}
    return known[dtype] if dtype in known else value.get("default", 1e-7)


_COMMON = "name type_check accept_error sp_name scipy_name"


def _comparison(
    assertion: Callable[..., object], own: str, more: str = _COMMON
) -> Callable[..., Decorator]:
    """Return the decorator of CuPy's that compares by an assertion of NumPy's.

    ``own`` are the options of the assertion, ``more`` those of the decorator, in CuPy's order.
    """
    order = own.split() + more.split()

    def make(*values: Any, **options: Any) -> Decorator:
        given = dict(zip(order, values, strict=False)) | options
        passed = {key: given.pop(key) for key in own.split() if key in given}
        if unknown := given.keys() - order:
            message = f"cupy.testing: unexpected arguments {', '.join(sorted(unknown))}"
            raise TypeError(message)

        def check(x: Any, y: Any) -> None:
            kept = {
                key: _tolerance(value, x.dtype) if key in {"rtol", "atol"} else value
                for key, value in passed.items()
            }
            assertion(x, y, **kept)

        return _compare_both(
            check,
            given.get("name", "xp"),
            given.get("scipy_name"),
            given.get("accept_error", False),
            type_check=given.get("type_check", True),
        )

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=None) for name in order]
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return make


_TEXTS = "err_msg verbose"
_testing = np.testing
numpy_cupy_allclose = _comparison(
    _testing.assert_allclose,
    f"rtol atol {_TEXTS}",
    f"{_COMMON} contiguous_check _check_sparse_format",
)
numpy_cupy_array_almost_equal = _comparison(_testing.assert_array_almost_equal, f"decimal {_TEXTS}")
numpy_cupy_array_almost_equal_nulp = _comparison(_testing.assert_array_almost_equal_nulp, "nulp")
numpy_cupy_array_equal = _comparison(
    _testing.assert_array_equal, _TEXTS, f"{_COMMON} strides_check"
)
numpy_cupy_array_list_equal = _comparison(
    _testing.assert_array_equal, _TEXTS, "name sp_name scipy_name"
)
numpy_cupy_array_less = _comparison(_testing.assert_array_less, _TEXTS)
numpy_cupy_array_max_ulp = _comparison(_testing.assert_array_max_ulp, "maxulp dtype")


def numpy_cupy_equal(
    name: str = "xp", sp_name: str | None = None, scipy_name: str | None = None
) -> Decorator:
    """Return a decorator that compares what a test returns with CuPy and with NumPy."""
    del sp_name
    return _compare_both(np.testing.assert_equal, name, scipy_name, False, type_check=False)


def numpy_cupy_raises(
    name: str = "xp",
    sp_name: str | None = None,
    scipy_name: str | None = None,
    accept_error: Any = Exception,
) -> Decorator:
    """Return a decorator for tests that raise an error with CuPy and with NumPy."""
    del sp_name

    def fail(*_: Any) -> None:
        message = "neither cupy nor numpy has raised an error"
        raise AssertionError(message)

    return _compare_both(fail, name, scipy_name, accept_error, type_check=False)
