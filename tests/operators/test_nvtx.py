"""NVTX ranges: around each public call if a tool listens, and otherwise none."""

from __future__ import annotations

import json
import os

from tests.helpers.operator_samples import functions
from tests.helpers.processes import printed
from tests.helpers.readmes import ROOT
from tests.helpers.rows import each

NVTX = '''
"""A stand-in for the package nvtx that keeps what it is told."""
events = []

class Domain:
    def __init__(self, name):
        self.name = name

    def get_registered_string(self, string):
        return ANSWER

    def get_event_attributes(self, message=None, color=None, category=None, payload=None):
        return (message, payload)

    def push_range(self, attributes=None):
        events.append([self.name, *attributes])

    def pop_range(self):
        events.append("pop")

def get_domain(name=None):
    return Domain(name)
'''


def run(folder, code, *, answer="object()", **environment):
    """Run code in a process of its own, beside a stand-in; return the JSON that it printed."""
    (folder / "nvtx.py").write_text(NVTX.replace("ANSWER", answer))
    environment = {"NVTX_INJECTION64_PATH": None} | environment
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return json.loads(printed(code, cwd=folder, PYTHONPATH=paths, **environment))


CALLS = """
import inspect, json, nvtx
import numpy as np
import cudakern as ck
from cudakern.operators import nvtx_ranges
from tests.helpers.bindings import DESC, INDICES, X
from tests.helpers.every_function import CASES
from tests.helpers.operator_samples import functions

def told(*calls):
    nvtx.events.clear()
    for call in calls:
        try:
            call()
        except ck.DescriptorError:
            pass
    return nvtx.events[:]

def marked():
    with nvtx_ranges.mark_range("R-1 line", 2**40):
        pass

operator = ck.compile_operator(DESC)
print(json.dumps({
    "functions": told(*(
        lambda case=CASES[f.__name__]: case.call(*case.operands) for f in functions()
    )),
    "compiled": told(lambda: operator(X, INDICES), lambda: operator(X, INDICES)),
    "failed": told(lambda: ck.gather(X, [0], axis=5)),
    "marked": told(marked),
    "result": operator(X, INDICES).tolist() == X[INDICES[0]].tolist(),
    "names": [ck.reduce.__doc__[:6], ck.reduce.__qualname__],
    "parameters": [list(inspect.signature(f).parameters) for f in (
        ck.argwhere, ck.CompiledOperator.__call__)],
}))
"""


def test_every_public_call_is_a_range_where_a_tool_listens(tmp_path):
    told = run(tmp_path, CALLS, NVTX_INJECTION64_PATH="tool.so")

    def ranges(*names):
        return [e for name in names for e in (["cudakern", f"cudakern:{name}", None], "pop")]

    assert told == {
        "functions": ranges(*(function.__name__ for function in functions())),
        "compiled": ranges("gather", "gather"),
        "failed": ranges("gather"),
        "marked": [["cudakern", "R-1 line", 2**40], "pop"],
        "result": True,
        "names": ["Reduce", "reduce"],
        "parameters": [["x"], ["self", "inputs", "out"]],
    }


UNCHANGED = """
import json, sys
BEFORE
import cudakern as ck
from cudakern.operators import nvtx_ranges

def f():
    pass

with nvtx_ranges.mark_range("a line", 1):
    same = nvtx_ranges.nvtx_range("x")(f) is f and nvtx_ranges.nvtx_range_of_method(f) is f
print(json.dumps([same, hasattr(ck.gather, "__wrapped__"), sys.modules.get("nvtx") is not None]))
"""


@each(
    ("environment", "before", "imported"),
    [
        ({}, "", False),
        ({"NVTX_INJECTION64_PATH": ""}, "", False),
        ({"NVTX_INJECTION64_PATH": "tool.so"}, "sys.modules['nvtx'] = None", False),
        ({"NVTX_INJECTION64_PATH": "tool.so"}, "", True),
    ],
    ids=["no-tool", "empty", "no-nvtx", "tool-not-listening"],
)
def test_functions_stay_themselves_where_nothing_listens(tmp_path, environment, before, imported):
    code = UNCHANGED.replace("BEFORE", before)
    assert run(tmp_path, code, answer="None", **environment) == [True, False, imported]
