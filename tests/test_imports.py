"""What is imported when: nothing before its first use, on any thread, amid handlers and forks."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

import cudakern as ck
from cudakern.simulator import RawKernel
from tests.helpers.processes import printed

PACKAGES = [pytest.param(ck, id="cudakern"), pytest.param(ck.simulator, id="simulator")]


def imported(program):
    """Return the modules that a program leaves imported besides NumPy's and those of Python.

    Some versions of NumPy bring inspect, which brings ten more; none of these counts.
    """
    before = "import sys, inspect, numpy\nbefore = set(sys.modules)\n"
    return set(printed(f"{before}{program}\nprint(*set(sys.modules) - before)").split())


def belongs(modules, *packages):
    """Return the modules that are in packages, or are these."""
    return {m for m in modules if any(f"{m}.".startswith(f"{name}.") for name in packages)}


def test_import_takes_what_finds_the_rest():
    modules = imported("import cudakern as ck")
    assert belongs(modules, "cudakern") == {"cudakern", "cudakern._forks", "cudakern._lazy"}
    assert len(modules) <= 12
    assert printed("import sys, cudakern; print('numpy' in sys.modules)") == "False\n"


def test_a_function_comes_without_engines_and_other_operators():
    modules = imported("from cudakern import gather")
    assert belongs(modules, "cudakern.engines") == {
        "cudakern.engines",
        "cudakern.engines.base",
        "cudakern.engines.cuda",
        "cudakern.engines.cuda.library",
        "cudakern.engines.installation",
    }
    others = [
        f"cudakern.operators.{name}" for name in ("gather_nd", "nonzero", "one_hot", "reduce")
    ]
    absent = ["cudakern.simulator", "cudakern.dask", "cudakern.operators.compiled", *others]
    assert not belongs(modules, *absent)
    assert not belongs(modules, "cupy", "dask", "importlib.metadata", "numpy.ma", "subprocess")
    assert len(modules) <= 50


def test_a_call_of_what_is_compiled_needs_neither_translator_nor_reports():
    call = "import cudakern as ck\nck.gather([5, 6], [1])\n"
    printed(call)
    modules = imported(call)
    assert "cudakern.simulator.loading" in modules
    instructions, reports = "cudakern.simulator.ptx.instructions", "cudakern.simulator.reports"
    names = [f"cudakern.simulator.{name}" for name in ("raw", "ptx.parse", "ptx.translate")]
    assert not belongs(modules, *names, instructions, reports, "dask", "numpy.ma", "rich")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_of_names_is_what_type_checkers_read(package):
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (block,) = [n for n in tree.body if isinstance(n, ast.If) and isinstance(n.test, ast.Name)]
    homes = {}
    for node in block.body:
        home = node.module.removeprefix(package.__name__).removeprefix(".")
        homes |= {alias.name: home or alias.name for alias in node.names}
    assert homes == vars(package)["_HOMES"]
    assert set(homes) | {"__version__"} == {*package.__all__, "__version__"}
    assert dir(package) == sorted(package.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_that_are_not_there(package):
    with pytest.raises(AttributeError, match=f"^module '{package.__name__}' has no attribute 'no'"):
        package.no  # noqa: B018
    assert not hasattr(package, "__path__of__")


def test_errors_are_found_without_an_import_of_their_own():
    program = "import cudakern\nprint(cudakern.errors.AxisError.__name__)\n"
    assert printed(program).split() == ["AxisError"]


def test_every_way_to_the_simulator():
    ways = [
        "import cudakern; print(cudakern.simulator.RawKernel)",
        "from cudakern import simulator; print(simulator.RawKernel)",
        "import cudakern.simulator; print(cudakern.simulator.RawKernel)",
        "from cudakern.simulator import RawKernel; print(RawKernel)",
        "from cudakern import *; print(simulator.RawKernel)",
        "from cudakern.simulator import *; print(RawKernel)",
        "import pickle; print(pickle.loads(" + repr(pickle.dumps(RawKernel)) + "))",
    ]
    shown = f"{RawKernel}\n"
    assert [printed(way) for way in ways] == [shown] * len(ways)
    assert "simulator" in printed("import cudakern; print(*dir(cudakern))").split()


def test_names_are_looked_up_once(monkeypatch):
    program = """
import cudakern as ck
from cudakern import _lazy
first = ck.gather, ck.simulator, ck.simulator.checked
del _lazy.load
print((ck.gather, ck.simulator, ck.simulator.checked) == first)
"""
    assert printed(program) == "True\n"
    monkeypatch.setattr(ck, "gather", "another")
    assert ck.gather == "another"


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
        "cudakern.simulator.loading",
        "cudakern.simulator.reports.checking",
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
    """The thread that waited for another one would hold what that waits for."""
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


@pytest.mark.parametrize(
    "module",
    [
        "cudakern.operators.gather.plan",
        "ml_dtypes",
        "cudakern.simulator.observation",
        "cudakern.simulator.ptx.instructions.video",
    ],
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
