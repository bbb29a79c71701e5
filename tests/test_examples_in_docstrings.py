"""The examples in the package's docstrings hold, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from enum import Enum

import cudakern as ck
from tests.helpers.rows import each


def modules():
    """Yield the modules of the package, except those that need a package that is not installed."""
    for info in pkgutil.walk_packages(ck.__path__, "cudakern.", onerror=lambda _: None):
        if not info.name.endswith("__main__"):
            try:
                yield importlib.import_module(info.name)
            except ImportError as error:
                cause = error.__cause__ or error  # of cudakern.dask
                assert isinstance(cause, ModuleNotFoundError)
                assert not str(cause.name).startswith("cudakern")


EXAMPLES = {
    documented.name: documented
    for module in modules()
    for documented in doctest.DocTestFinder(exclude_empty=True).find(module)
    if documented.examples
}


def is_exempt(value):
    """Return whether a name may lack an example.

    Examples of functions raise the errors, an enumeration lists its members, and nobody calls
    either of them.
    """
    if isinstance(value, type):
        return issubclass(value, BaseException | Enum)
    return inspect.ismodule(value) or isinstance(value, str)


@each("name", EXAMPLES)
def test_examples_hold(name):
    found, said = EXAMPLES[name], []
    found.globs = {}  # an example imports what it needs
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=said.append)
    assert "".join(said) == ""


@each("module", [ck, ck.simulator])
def test_every_public_name_has_examples(module):
    values = [getattr(module, name) for name in module.__all__]
    names = [f"{v.__module__}.{v.__qualname__}" for v in values if not is_exempt(v)]
    assert len(names) >= 10
    assert [name for name in names if name not in EXAMPLES] == []
