"""Modules that are imported at their first use, in any thread and any signal's handler."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from cudakern.process.forks import run_to_completion

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

#: The file and the function of Python that import a module, and hold its lock meanwhile.
_IMPORTING = "<frozen importlib._bootstrap>", "_find_and_load"


def load(name: str) -> ModuleType:
    """Return a module by its full name, importing it at first use.

    The import runs to completion: no signal's handler finds half of the module, and no forked
    process finds a lock of a thread that it does not have.
    """
    if _is_importing():  # the other thread could wait for a module of this one
        return import_module(name)
    try:
        return run_to_completion(lambda _: import_module(name))
    except BlockingIOError:  # there is no room for a thread
        return import_module(name)


def _is_importing() -> bool:
    """Return whether this thread is amid the import of a module."""
    frame = sys._getframe()  # noqa: SLF001  its documented name
    while frame.f_back is not None:
        frame = frame.f_back
        if (frame.f_code.co_filename, frame.f_code.co_name) == _IMPORTING:
            return True
    return False


#: The name in a module cupy that says: this is the simulator's, which stands for CuPy.
SIMULATED = "__cudakern_simulated__"


def is_cupy_simulated() -> bool:
    """Return whether what is imported as cupy stands for it in the simulator."""
    return getattr(sys.modules.get("cupy"), SIMULATED, False) is True


def is_cupy(value: object) -> bool:
    """Return whether a value is a CuPy array, without importing CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, getattr(cupy, "ndarray", ()))


def public_names(
    package: str, *modules: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Its names are those that it imports for type checkers, as ``from module import name as name``;
    each is imported at its first use. So are ``modules`` below it, which are not listed.
    """
    own, homes, home = sys.modules[package], dict.fromkeys(modules, package), ""
    with open(str(own.__file__), encoding="utf-8") as file:  # noqa: PTH123  pathlib takes 4 ms
        for words in map(str.split, file):
            if words[:1] == ["from"]:
                home, words = words[1], words[3:]  # noqa: PLW2901
            if words[1:2] == ["as"]:
                homes[words[0]] = home

    def find(name: str) -> object:
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=own)
        home = homes[name]
        value = load(f"{home}.{name}") if home == package else getattr(load(home), name)
        # The next look-up finds it there.
        return vars(own).setdefault(name, value)

    names = sorted({*homes, *({"__version__"} & {*vars(own)})} - {*modules})
    return names, find, lambda: names
