"""Modules are imported at their first use, on any thread, also amid handlers and forks."""

from __future__ import annotations

import pickle

import pytest

import cudakern as ck
from cudakern.simulator import RawKernel
from tests.helpers.processes import printed
from tests.helpers.rows import each


def imported(program):
    """Return the modules that a program imports, without NumPy's and those that NumPy imports.

    Some versions of NumPy import inspect, which imports ten more; these do not count.
    """
    before = "import sys, inspect, numpy\nbefore = set(sys.modules)\n"
    return set(printed(f"{before}{program}\nprint(*set(sys.modules) - before)").split())


def test_what_is_not_used_is_not_imported():
    assert printed("import sys, cudakern; print('numpy' in sys.modules)") == "False\n"
    assert len(imported("import cudakern as ck")) <= 12
    assert len(imported("from cudakern import gather")) <= 50
    call = "import cudakern as ck\nck.gather([5, 6], [1])\n"
    printed(call)  # compiles the kernel
    modules = imported(call)
    libraries = {"cupy", "dask", "jax", "numba", "rich", "torch"}
    assert not {name for name in modules if name.split(".")[0] in libraries}


@each("package", [ck, ck.simulator], ids=["cudakern", "simulator"])
def test_names_of_a_package(package):
    """Names are resolved at their first use; type checkers read imports that never run."""
    assert dir(package) == package.__all__ == sorted({*package.__all__})
    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match=f"^module '{package.__name__}' has no attribute 'no'"):
        package.no  # noqa: B018
    assert not hasattr(package, "__path__of__")


@each(
    "way",
    [
        "import cudakern; print(cudakern.simulator.RawKernel)",
        "import cudakern.simulator; print(cudakern.simulator.RawKernel)",
        "from cudakern import *; print(simulator.RawKernel)",
        f"import pickle; print(pickle.loads({pickle.dumps(RawKernel)!r}))",
        "import cudakern; print(cudakern.errors.AxisError and cudakern.simulator.RawKernel)",
    ],
)
def test_every_way_to_names(way):
    assert printed(way) == f"{RawKernel}\n"


THREADS = """
import sys, threading
import cudakern as ck
sys.setswitchinterval(1e-5)
names, found = [*ck.__all__] * 2, []
together = threading.Barrier(len(names))

def look(name):
    together.wait()
    found.append((name, getattr(ck, name)))

threads = [threading.Thread(target=look, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), all(getattr(ck, name) is value for name, value in found))
"""


def test_many_threads_come_first():
    assert printed(THREADS).split() == [str(2 * len(ck.__all__)), "True"]


#: A program that does something when a module is imported.
AMID = """
import os, signal, sys, threading, time
from importlib import import_module
import cudakern as ck

class Amid:
    def find_spec(self, name, path, target=None):
        if name in moments:
            moments.pop(name)()
        return None

sys.meta_path.insert(0, Amid())
signal.alarm(30)
"""

HANDLERS = """
came = threading.Event()
seen = []

def handle(*_):
    came.set()
    seen.append((ck.gather([5, 6], [1]).tolist(), ck.reduce([5, 6], "sum").tolist()))

def interrupt():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    came.wait(60)
    came.clear()

signal.signal(signal.SIGUSR1, handle)
moments = dict.fromkeys(
    (
        "cudakern.operators.gather.plan",
        "cudakern.operators.reduce.plan",
        "cudakern.engines.simulator",
        "cudakern.simulator.libraries.loader",
        "cudakern.simulator.reports.sessions",
    ),
    interrupt,
)
print(ck.gather([7, 8], [0]), ck.reduce([7, 8], "max"), ck.simulator.checked.__name__)
print(*seen)
print(moments)
"""


def test_a_handler_amid_an_import_finds_all():
    lines = printed(AMID + HANDLERS).splitlines()
    assert lines == ["[7] 8 checked", " ".join(["([6], 11)"] * 5), "{}"]


AMID_ANOTHER = """
seen = []

def handle(*_):
    seen.append(ck.gather([5, 6], [1]).tolist())

signal.signal(signal.SIGUSR1, handle)
moments = {"difflib": lambda: signal.raise_signal(signal.SIGUSR1)}
import difflib  # which the package imports, too
print(*seen)
"""


def test_a_handler_amid_the_import_of_what_the_package_imports():
    """If the thread waited for another one, it would hold a lock that the other one waits for."""
    assert printed(AMID + AMID_ANOTHER) == "[6]\n"


FORK = """
os.dup2(os.open(ERRORS, os.O_CREAT | os.O_RDWR), 2)
begun = threading.Event()

def work():
    result = ck.gather([7, 8], [0]).tolist()
    ck.simulator.checked
    import_module("cudakern.simulator.ptx.instructions").table()
    return result

def pause():
    begun.set()
    time.sleep(0.1)

moments = {MODULE: pause}
thread = threading.Thread(target=work)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(10)
    os._exit(*work())
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@each(
    "module",
    ["cudakern.operators.gather.plan", "ml_dtypes", "cudakern.simulator.ptx.instructions.video"],
)
def test_a_fork_amid_an_import_waits_for_its_end(module, tmp_path):
    errors = tmp_path / "errors"
    program = FORK.replace("MODULE", repr(module)).replace("ERRORS", repr(str(errors)))
    assert printed(AMID + program, flags=("-W", "ignore")) == "7\n"
    assert errors.read_text(encoding="utf-8") == ""


def test_without_room_for_a_thread_all_is_imported_nevertheless():
    program = """
import _thread
def full(*_):
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = full
import cudakern as ck
print(ck.DataType.FLOAT32.name, ck.simulator.RawKernel.__name__)
"""
    assert printed(program) == "FLOAT32 RawKernel\n"
