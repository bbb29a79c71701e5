"""NVTX ranges: around every public call where a tool listens, else nothing at all."""

from __future__ import annotations

import json
import os

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
from cudakern import _nvtx

x = np.arange(6, dtype=np.float32).reshape(2, 3)
ck.gather(x, [0])
ck.gather_nd(x, [[1, 2]])
ck.nonzero_coordinates(x)
ck.argwhere(x)
ck.nonzero(x)
ck.one_hot([1], 3)
ck.reduce(x, "sum")
names = [e[1] for e in nvtx.events[::2]]
nvtx.events.clear()

sizes = ((2, 3), (1, 1), (1, 3))
kinds = (ck.DataType.FLOAT32, ck.DataType.INT32, ck.DataType.FLOAT32)
operator = ck.compile_operator(ck.GatherOperatorDesc(*map(ck.TensorDesc, kinds, sizes), 0, 1))
tensors = ck.TensorDesc(ck.DataType.FLOAT32, (2, 3)), ck.TensorDesc(ck.DataType.FLOAT32, (1, 3))
adder = ck.compile_operator(ck.ReduceOperatorDesc(ck.ReduceFunction.SUM, *tensors, (0,)))
result = operator(x, np.array([[1]], np.int32)).tolist(), adder(x).tolist()
out = np.empty((1, 3), np.float32)
operator(x, np.array([[1]], np.int32), out=out)
compiled = [e[1] for e in nvtx.events[::2]]
nvtx.events.clear()

try:
    ck.gather(x, [0], axis=5)
except ck.DescriptorError:
    failed = list(nvtx.events)
nvtx.events.clear()
with _nvtx.marked("R-1 line", 2**40):
    pass
print(json.dumps({
    "names": names,
    "compiled": compiled,
    "result": result,
    "failed": failed,
    "marked": nvtx.events,
    "doc": ck.reduce.__doc__[:6],
    "name": ck.reduce.__qualname__,
    "signature": str(inspect.signature(ck.one_hot)) == str(inspect.signature(
        ck.one_hot.__wrapped__)),
    "parameters": list(inspect.signature(ck.CompiledOperator.__call__).parameters),
}))
"""


def test_every_public_call_is_a_range_where_a_tool_listens(tmp_path):
    told = run(tmp_path, CALLS, NVTX_INJECTION64_PATH="tool.so")
    named = [
        "gather",
        "gather_nd",
        "nonzero_coordinates",
        "argwhere",
        "nonzero",
        "one_hot",
        "reduce",
    ]
    assert told["names"] == [f"cudakern:{name}" for name in named]
    assert told["compiled"] == ["cudakern:gather", "cudakern:reduce", "cudakern:gather"]
    assert told["result"] == [[[3.0, 4.0, 5.0]], [[3.0, 5.0, 7.0]]]
    assert told["failed"] == [["cudakern", "cudakern:gather", None], "pop"]
    assert told["marked"] == [["cudakern", "R-1 line", 2**40], "pop"]
    assert told["doc"] == "Reduce"
    assert told["name"] == "reduce"
    assert told["signature"]
    assert told["parameters"] == ["self", "inputs", "out"]


UNCHANGED = """
import json, sys
BEFORE
import cudakern as ck
from cudakern import _nvtx

def f():
    pass

with _nvtx.marked("a line", 1):
    same = _nvtx.nvtx_range("x")(f) is f and _nvtx.nvtx_range_of_method(f) is f
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
