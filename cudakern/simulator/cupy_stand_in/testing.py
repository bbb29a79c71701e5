"""What `cupy.testing` has besides NumPy's assertions: arrays, loops over dtypes, comparisons."""

from __future__ import annotations

import inspect
import itertools
import os
import random
import sys
import unittest
import warnings
from collections import ChainMap
from contextlib import contextmanager
from functools import partial, wraps
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.process.lazy import load
from cudakern.simulator.cupy_stand_in.functions import wrap_assertion
from cudakern.simulator.cupy_stand_in.names import MODULES, NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
    kind = np.dtype(dtype).kind
    start = max(start, 0) if kind in {"b", "u"} else start
    stop = min(stop, 1) if kind == "b" else stop
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


#: What `fix_random` is amid: the states of generators that it gives back at the end.
_kept: list[tuple[Any, Any]] = []


def _seed() -> None:
    _kept.append((random.getstate(), np.random.get_state()))  # noqa: NPY002  of what tests draw from
    if len(_kept) == 1:
        random.seed(99)
        np.random.seed(100)  # noqa: NPY002  cupy.random draws from it, too


def _unseed() -> None:
    of_python, of_numpy = _kept.pop()
    if not _kept:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002


def generate_seed() -> int:
    """Return a seed, in a test with `fix_random`."""
    if not _kept:
        message = "cupy.testing.generate_seed: a test with fix_random is required"
        raise AssertionError(message)
    return int(np.random.randint(0x7FFFFFFF))  # noqa: NPY002


def fix_random() -> Callable[[Any], Any]:
    """Return a decorator for a test, or a unittest.TestCase, that draws numbers of a fixed seed."""

    def decorate(test: Any) -> Any:
        if inspect.isfunction(test) and test.__name__.startswith("test_"):

            @wraps(test)
            def run(*args: Any, **kwargs: Any) -> None:
                _seed()
                try:
                    test(*args, **kwargs)
                finally:
                    _unseed()

            return run
        if isinstance(test, type) and issubclass(test, unittest.TestCase):
            own: Any = test.setUp

            @wraps(own)
            def set_up(self: unittest.TestCase) -> None:
                _seed()
                self.addCleanup(_unseed)
                own(self)

            test.setUp = set_up  # type: ignore[method-assign]
            return test
        message = "cupy.testing.fix_random: a function test_... or a unittest.TestCase is "
        message += f"required; got {test!r}"
        raise ValueError(message)

    return decorate


# Conditions


def installed(*specifiers: str) -> bool:
    """Return whether packages are installed, in versions that requirements allow."""
    requirements = load("packaging.requirements")
    for specifier in specifiers:
        wanted = requirements.Requirement(specifier)
        try:
            is_here = wanted.name == "cupy"
            version = MODULES["cupy"].__version__ if is_here else metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            return False
        if not wanted.specifier.contains(version, prereleases=True):
            return False
    return True


def with_requires(*requirements: str) -> Decorator:
    """Return a decorator that skips a test unless packages are installed."""
    return _skip_if(not installed(*requirements), f"requires: {','.join(requirements)}")


def _skip_if(condition: bool, reason: str) -> Decorator:
    """Return a decorator that skips a test as a whole, also one with a loop around it."""
    if find_spec("pytest") is None:
        return unittest.skipIf(condition, reason)
    skip: Decorator = load("pytest").mark.skipif(condition, reason=reason)
    return skip


def numpy_satisfies(version_range: str) -> bool:
    """Return whether NumPy is of a version."""
    return installed(f"numpy{version_range}")


def multi_gpu(gpu_num: int) -> Decorator:
    """Return a decorator that skips a test unless there are so many devices."""
    count = MODULES["cupy"].cuda.runtime.getDeviceCount()
    return _skip_if(count < gpu_num, f"{gpu_num} GPUs required")


def slow(*args: Any) -> Any:
    """Mark a test as slow."""
    return load("pytest").mark.slow(*args)


# Loops


def _loop(
    names: Sequence[str], rows: Iterable[Sequence[Any]], *, goes_on: bool = True
) -> Decorator:
    """Return a decorator that calls a test once for each row of values of some arguments.

    A row that is skipped does not end the loop, if it ``goes_on``.
    """
    each = [dict(zip(names, row, strict=True)) for row in rows]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> None:
            for row in each:
                what = ", ".join(f"{key}={value}" for key, value in row.items())
                try:
                    test(*args, **kwargs, **row)
                except _skips() as skip:
                    if not goes_on:
                        raise
                    print(f"skipped: {what} ({skip})")  # noqa: T201  as CuPy does
                except Exception as error:
                    error.add_note(f"with {what}")
                    raise

        return _hiding(test, names, run)

    return decorate


def _hiding(
    test: Callable[..., Any], names: Iterable[str], run: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function in place of a test, without arguments that pytest must not see."""
    signature = inspect.signature(partial(test, **dict.fromkeys(names)))
    kept = [p for name, p in signature.parameters.items() if name not in {*names}]
    result = wraps(test)(run)
    result.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return result


def for_dtypes(dtypes: Iterable[Any], name: str = "dtype") -> Decorator:
    """Return a decorator that calls a test with each of some dtypes."""
    return _loop([name], [[np.dtype(dtype).type] for dtype in dtypes])


def _int_dtypes(no_bool: bool) -> tuple[Any, ...]:
    return (*_SIGNED, *_UNSIGNED, *(() if no_bool else (np.bool_,)))


def _all_dtypes(no_float16: bool, no_bool: bool, no_complex: bool) -> tuple[Any, ...]:
    halves = () if no_float16 else (np.float16,)
    return (*_FLOATS, *halves, *_int_dtypes(no_bool), *(() if no_complex else _COMPLEX))


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
    return for_dtypes(_int_dtypes(no_bool), name)


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
    types, count = [*types], len(names)
    if full is None:
        full = os.environ.get("CUPY_TEST_FULL_COMBINATION", "0") != "0"
    if full:
        return _loop(names, itertools.product(types, repeat=count))
    draw = random.Random(0)  # noqa: S311  all are one type, then each in an order of its own
    columns = [types + draw.sample(types, len(types)) for _ in names]
    return _loop(names, dict.fromkeys(zip(*columns, strict=True)))


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
    return for_dtypes_combination(_int_dtypes(no_bool), names, full)


def for_signed_dtypes_combination(
    names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Decorator:
    """Return a decorator that calls a test with signed dtypes for several arguments."""
    return for_dtypes_combination(_SIGNED, names, full)


def for_unsigned_dtypes_combination(
    names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Decorator:
    """Return a decorator that calls a test with unsigned dtypes for several arguments."""
    return for_dtypes_combination(_UNSIGNED, names, full)


def for_orders(orders: Iterable[Any], name: str = "order") -> Decorator:
    """Return a decorator that calls a test with each order."""
    return _loop([name], ([order] for order in orders), goes_on=False)


def for_CF_orders(name: str = "order") -> Decorator:  # noqa: N802  CuPy's name
    """Return a decorator that calls a test with the orders C and F, and with none."""
    return for_orders((None, "C", "F", "c", "f"), name)


# Parameters


def product(parameter: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of values of names, which are sorted."""
    names = sorted(parameter)
    rows = itertools.product(*(parameter[name] for name in names))
    return [dict(zip(names, row, strict=True)) for row in rows]


def product_dict(*parameters: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return all combinations of rows, each joined."""
    return [dict(ChainMap(*map(dict, reversed(rows)))) for rows in itertools.product(*parameters)]


#: How long the text of a value may be in a test's name.
_LONGEST = 100


def _name_of(tests: str, index: int, row: Mapping[str, Any]) -> str:
    texts = {key: str(getattr(value, "__name__", repr(value))) for key, value in row.items()}
    values = ", ".join(f"{key}={texts[key][:_LONGEST]}" for key in sorted(texts))
    return f"{tests}_param_{index}_{{{values}}}"


def parameterize(*params: Mapping[str, Any], _ids: bool = True) -> Callable[[type], type | None]:
    """Return a decorator that runs the tests of a class for rows of its attributes."""

    def decorate(tests: type) -> type | None:
        if not issubclass(tests, unittest.TestCase):
            return _parameterized(tests, params, named=_ids)
        module = sys.modules[tests.__module__]  # which gets a class a row in place of this one
        for index, row in enumerate(params):
            name = _name_of(tests.__name__, index, row)
            attributes = {
                k: staticmethod(v) if inspect.isfunction(v) else v for k, v in row.items()
            }
            made = type(name, (tests,), attributes | {"__module__": module.__name__})
            setattr(module, name, made)
        return None

    return decorate


def _parameterized(tests: type, params: Sequence[Mapping[str, Any]], *, named: bool) -> type:
    """Return a class whose tests pytest runs for each row."""
    pytest = load("pytest")

    def assign(self: Any, _cupy_testing_param: Mapping[str, Any]) -> None:
        vars(self).update(_cupy_testing_param)

    fixture = pytest.fixture(autouse=True)(assign)
    made = type(tests.__name__, (tests,), {"_cupy_testing_parameterize": fixture})
    made.__module__ = tests.__module__
    rows = [
        pytest.param(row, id=_name_of("", i, row) if named else str(i))
        for i, row in enumerate(params)
    ]
    marked: type = pytest.mark.parametrize("_cupy_testing_param", rows)(made)
    return marked


# Comparisons


def assert_array_equal(
    actual: Any,
    desired: Any,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
    strides_check: bool = False,
) -> None:
    """Raise AssertionError unless arrays are equal, and their strides too if that is asked."""
    compare = wrap_assertion(np.testing.assert_array_equal)
    compare(actual, desired, err_msg, verbose, strict=strict)
    if strides_check:
        np.testing.assert_equal(actual.strides, desired.strides, f"strides; {err_msg}", verbose)


def assert_array_list_equal(
    xlist: Any, ylist: Any, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError unless two lists, or two tuples, are of equal arrays."""
    if type(xlist) is not type(ylist) or type(xlist) not in {list, tuple}:
        message = "two lists or two tuples are required, "
        message += f"got {type(xlist).__name__} and {type(ylist).__name__}"
        raise AssertionError(message)
    np.testing.assert_equal(len(xlist), len(ylist), err_msg)
    for x, y in zip(xlist, ylist, strict=True):
        assert_array_equal(x, y, err_msg, verbose)


@contextmanager
def assert_warns(expected: Any) -> Iterator[None]:
    """Raise AssertionError unless there is a warning of a class; show no warning at all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(warning.message, expected) for warning in caught):
        message = f"{expected} is required, got {[str(warning.message) for warning in caught]}"
        raise AssertionError(message)


#: Errors are of one kind if they are instances of the same ones of these.
_KINDS = (
    AttributeError, IndexError, TypeError, ValueError, NotImplementedError, DeprecationWarning,
    np.exceptions.AxisError, np.linalg.LinAlgError, Exception,
)  # fmt: skip


def _skips() -> tuple[type[BaseException], ...]:
    """Return the exceptions that skip a test."""
    pytest = sys.modules.get("pytest")
    return (unittest.SkipTest, *([] if pytest is None else [pytest.skip.Exception]))


def _outcome(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    compared: tuple[type[BaseException], ...] = (Exception, *_skips())
    try:
        return call(), None
    except compared as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is None:
            raise  # the test does not take its arguments
        return None, error


def _module(name: str) -> Any:
    """Return a module, at once if it is there, as tests ask for it many times."""
    return sys.modules.get(name) or load(name)


def _compare_both(
    compare: Callable[[Any, Any], None],
    name: str,
    sp_name: str | None,
    scipy_name: str | None,
    accept_error: Any = False,
) -> Decorator:
    """Return a decorator that calls a test with CuPy and NumPy, and compares what it returns."""
    modules = {name: ("cupy", "numpy"), sp_name: ("cupyx.scipy.sparse", "scipy.sparse")}
    modules[scipy_name] = "cupyx.scipy", "scipy"
    wanted = {key: pair for key, pair in modules.items() if key}

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> None:
            outcomes = []
            for side in (0, 1):
                given = {key: _module(pair[side]) for key, pair in wanted.items()}
                outcomes.append(_outcome(partial(test, *args, **kwargs, **given)))
            (mine, error), (exact, other) = outcomes
            if error is None and other is None:
                compare(mine, exact)
            else:
                _check_errors(error, other, accept_error)

        return _hiding(test, wanted, run)

    return decorate


def _check_errors(
    error: BaseException | None, other: BaseException | None, accept_error: Any
) -> None:
    """Raise AssertionError unless CuPy's error and NumPy's are of one kind, which is accepted."""
    both = error, other
    if all(isinstance(one, _skips()) for one in both):
        if type(error) is type(other) and error.args == other.args:  # type: ignore[union-attr]
            raise other  # type: ignore[misc]
        reason = "one reason to skip is required"
    elif error is None or other is None:
        reason = "errors of both are required"
    elif any(isinstance(error, kind) != isinstance(other, kind) for kind in _KINDS):
        reason = "errors of one kind are required"
    else:
        accepted = Exception if accept_error is True else (accept_error or ())
        if all(isinstance(one, accepted) for one in both):
            return
        reason = f"{accepted or 'no error'} is required"
    message = f"{reason}; cupy: {error!r}; numpy: {other!r}"
    raise AssertionError(message) from (other if error is None else error)


def _require(condition: object, what: str, mine: object, exact: object) -> None:
    if not condition:
        message = f"{what} is required; cupy: {mine}; numpy: {exact}"
        raise AssertionError(message)


def _as_arrays(mine: Any, exact: Any, sp_name: str | None, same_format: bool) -> tuple[Any, Any]:
    """Return results as two arrays; raise AssertionError unless they are of the same kind."""
    own = MODULES["cupy"].ndarray
    both, types = (mine, exact), (type(mine), type(exact))
    if sp_name and _module("cupyx.scipy.sparse").issparse(mine):
        _require(_module("scipy.sparse").issparse(exact), "a sparse matrix of each", *types)
        _require(not same_format or mine.format == exact.format, "one format", *both)
        return mine.toarray(), exact.toarray()
    if isinstance(mine, own):
        is_of_numpy = isinstance(exact, np.ndarray | np.generic) and not isinstance(exact, own)
        _require(is_of_numpy, "an array of each", *types)
        return both
    if all(isinstance(one, np.poly1d) for one in both):
        _require(mine.variable == exact.variable, "one variable", *both)
        return mine.coeffs, exact.coeffs
    _require(all(map(np.isscalar, both)), "an array of each, or two scalars", *types)
    if all(isinstance(one, np.generic) for one in both):
        return both
    return MODULES["cupy"].array(mine), np.array(exact)


def _compare_results(
    check: Callable[[Any, Any], None], given: Mapping[str, Any], mine: Any, exact: Any
) -> None:
    """Raise AssertionError unless arrays, scalars or lists of these compare well."""
    _require(mine is not None and exact is not None, "a result of each", mine, exact)
    one, other = (r if isinstance(r, tuple | list) else [r] for r in (mine, exact))
    _require(len(one) == len(other), "one number of results", len(one), len(other))
    for got, wanted in zip(one, other, strict=True):
        x, y = _as_arrays(got, wanted, given["sp_name"], given["_check_sparse_format"])
        if given["type_check"]:
            _require(x.dtype == y.dtype, "one dtype", x.dtype, y.dtype)
        if given["contiguous_check"] and isinstance(wanted, np.ndarray):
            for flag in ("c_contiguous", "f_contiguous"):
                kept = getattr(x.flags, flag) or not getattr(y.flags, flag)
                _require(kept, f"{flag} as of numpy", x.strides, y.strides)
        _require(x.shape == y.shape, "one shape", x.shape, y.shape)
        check(x, y)


def _tolerance(value: Any, dtype: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = value.get(dtype.type, value.get("default"))
    if found is None:
        message = f"a tolerance for {dtype} or 'default' is required; got {value}"
        raise TypeError(message)
    return found


def _require_tolerances(given: Mapping[str, Any]) -> None:
    """Raise TypeError for tolerances by dtype that CuPy refuses."""
    for table in (given.get("rtol"), given.get("atol")):
        if not isinstance(table, dict):
            continue
        if not given["type_check"]:
            message = f"a number for a tolerance is required without type_check; got {table}"
            raise TypeError(message)
        if unknown := [key for key in table if type(key) is not type and key != "default"]:
            message = f"types as numpy.float32, or 'default', are required; got {unknown}"
            raise TypeError(message)


#: What decorators do with results, and the options of assertions, with CuPy's defaults.
_HOW = {
    "name": "xp", "type_check": True, "accept_error": False, "sp_name": None, "scipy_name": None,
    "contiguous_check": False, "_check_sparse_format": True,
}  # fmt: skip
_OPTIONS = {
    "rtol": 1e-7, "atol": 0, "err_msg": "", "verbose": True, "decimal": 6, "nulp": 1, "maxulp": 1,
    "dtype": None, "strides_check": False,
}  # fmt: skip
_COMMON = "name type_check accept_error sp_name scipy_name"


def _comparison(
    assertion: Callable[..., object], order: str, **otherwise: Any
) -> Callable[..., Decorator]:
    """Return the decorator of CuPy's that compares by an assertion.

    ``order`` are its options, in CuPy's order; ``otherwise`` are other defaults.
    """
    defaults = _HOW | _OPTIONS | otherwise
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(name, kind, default=defaults[name]) for name in order.split()]
    )

    def make(*values: Any, **options: Any) -> Decorator:
        bound = signature.bind(*values, **options)
        given: dict[str, Any] = defaults | bound.arguments
        _require_tolerances(given)
        passed = {key: given[key] for key in signature.parameters if key not in _HOW}

        def check(x: Any, y: Any) -> None:
            assertion(x, y, **{key: _tolerance(value, x.dtype) for key, value in passed.items()})

        compare = partial(_compare_results, check, given)
        names = {key: given[key] for key in ("name", "sp_name", "scipy_name", "accept_error")}
        return _compare_both(compare, **names)

    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


def _old(decorator: Callable[..., Decorator], name: str) -> Callable[..., Decorator]:
    """Return a decorator that warns, as CuPy's, that it is deprecated."""

    @wraps(decorator)
    def make(*values: Any, **options: Any) -> Decorator:
        warnings.warn(f"cupy.testing.{name} is deprecated", DeprecationWarning, stacklevel=2)
        return decorator(*values, **options)

    return make


_TEXTS = "err_msg verbose"
_of_numpy = {name: wrap_assertion(getattr(np.testing, name)) for name in NAMES["testing"]}
numpy_cupy_allclose = _comparison(
    _of_numpy["assert_allclose"],
    f"rtol atol {_TEXTS} {_COMMON} contiguous_check _check_sparse_format",
    contiguous_check=True,
)
numpy_cupy_array_almost_equal = _comparison(
    _of_numpy["assert_array_almost_equal"], f"decimal {_TEXTS} {_COMMON}"
)
numpy_cupy_array_almost_equal_nulp = _comparison(
    _of_numpy["assert_array_almost_equal_nulp"], f"nulp {_COMMON}"
)
numpy_cupy_array_equal = _comparison(assert_array_equal, f"{_TEXTS} {_COMMON} strides_check")
numpy_cupy_array_list_equal = _old(
    _comparison(assert_array_equal, f"{_TEXTS} name sp_name scipy_name", type_check=False),
    "numpy_cupy_array_list_equal",
)
numpy_cupy_array_less = _comparison(_of_numpy["assert_array_less"], f"{_TEXTS} {_COMMON}")
numpy_cupy_array_max_ulp = _comparison(_of_numpy["assert_array_max_ulp"], f"maxulp dtype {_COMMON}")


def numpy_cupy_equal(
    name: str = "xp", sp_name: str | None = None, scipy_name: str | None = None
) -> Decorator:
    """Return a decorator that compares what a test returns with CuPy and with NumPy."""

    def compare(mine: Any, exact: Any) -> None:
        if mine != exact:
            _require(False, "one result", mine, exact)

    return _compare_both(compare, name, sp_name, scipy_name)


def _numpy_cupy_raises(
    name: str = "xp",
    sp_name: str | None = None,
    scipy_name: str | None = None,
    accept_error: Any = Exception,
) -> Decorator:
    """Return a decorator for tests that raise an error with CuPy and with NumPy."""
    compare = partial(_require, False, "an error of each")
    return _compare_both(compare, name, sp_name, scipy_name, accept_error)


numpy_cupy_raises = _old(_numpy_cupy_raises, "numpy_cupy_raises")
