"""What notebooks show of reports, kernels and operators, and of uncaught errors."""

from __future__ import annotations

import pickle
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule
from cudakern.simulator.reports import notebook
from cudakern.simulator.reports.ipython import format_error
from tests.helpers.pages import CONTRAST, Page
from tests.helpers.processes import printed
from tests.helpers.readmes import read
from tests.helpers.recorded_cupy import on_device, recorded

TOTAL = """extern "C" __global__ void total(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *y = s[0];
}"""


#: This file, and the number of the kernel's first line there.
FILE = "tests/simulator/reports/test_notebook.py"
FIRST = read(FILE).partition("void total(")[0].count("\n") + 1


@pytest.fixture(scope="module")
def checked():
    x, y = np.ones(128, np.float32), np.zeros(1, np.float32)
    with suppress(ck.SimulatorError), ck.simulator.checked() as report:
        RawKernel(TOTAL, "total")((1,), (128,), (x, y))
    return report


@pytest.fixture(scope="module")
def traffic():
    x, y = np.ones(128, np.float32), np.zeros(1, np.float32)
    with ck.simulator.traffic() as report:
        RawKernel(TOTAL, "total")((1,), (128,), (x, y))
    return report


def operator():
    square = ck.TensorDesc(ck.DataType.FLOAT32, (2, 2))
    column = ck.TensorDesc(ck.DataType.FLOAT32, (2, 1))
    return ck.compile_operator(ck.ReduceOperatorDesc("max", square, column, axes=(1,)))


def text_of(thing):
    """Return the text that a notebook shows; the HTML must be valid, short and complete."""
    fragment = thing if isinstance(thing, str) else thing._repr_html_()
    page = Page(fragment)
    assert not page.references
    assert not page.scripts
    assert "\x1b" not in fragment
    assert not re.search(r"[;\"]color|background|#fff|#000", fragment)
    return re.sub(r"\s+", " ", " ".join(page.data)).strip()


def test_a_finding_and_a_report_of_findings(checked):
    (finding,) = checked.findings
    told = text_of(finding)
    assert str(finding) in told.replace("total : race : ", "total: race: ")
    for words in ("s[threadIdx.x] += s[threadIdx.x + half];", f"read by block {finding.block}"):
        assert words in told
    assert text_of(checked) == f"1 finding in 1 launch {told}"
    many = [replace(finding, kernel=f"k{n}<int>") for n in range(9)]
    notes = [f"not checked: {n}" for n in range(6)]
    report = replace(checked.report, findings=many, notes=notes, launches=12)
    told = text_of(notebook.render(report))
    assert told.startswith("9 findings in 12 launches k0<int> : race")
    assert "k4<int>" in told
    assert "k5<int>" not in told
    assert told.endswith("4 and 4 more findings and 1 more note: report.html(path) shows all")


def test_nothing_found():
    with ck.simulator.checked() as report:
        pass
    assert text_of(report) == "nothing found in 0 launches"
    with ck.simulator.traffic() as report:
        pass
    assert text_of(report) == "no launches"


def test_a_report_of_traffic(traffic):
    (kernel,) = traffic.kernels
    told = text_of(kernel)
    assert told.startswith(
        "total: 1 launch of 1 block; 516 bytes requested, 544 moved, 95% efficiency "
        "line access array requests a request bytes requested bytes moved efficiency "
        f"total.cu:8 is {FILE}:{FIRST + 7} store y 1 1.00 sectors 4 32 12% "
        f"total.cu:3 is {FILE}:{FIRST + 2} load x 4 4.00 sectors 512 512 100% "
    )
    assert "shared load s " in told
    assert text_of(traffic) == f"memory traffic of 1 kernel {told}"
    kernel = replace(kernel, lines=kernel.lines * 4, sampled=0)
    assert "of 1 block, of which 0 ran;" in text_of(kernel)
    left = 4 * len(traffic.kernels[0].lines) - 8
    assert text_of(kernel).endswith(f"and {left} more lines: report.html(path) shows all")
    report = replace(traffic.report, kernels=[traffic.kernels[0]] * 4)
    told = text_of(notebook.render(report))
    assert told.startswith("memory traffic of 4 kernels")
    assert told.endswith("and 1 more kernel: report.html(path) shows all")


def test_kernels_are_shown_without_being_compiled():
    code = f"{TOTAL} no C++"
    architecture = "RawKernel for compute_90, not compiled yet"
    shown = f"total(const float* x, float* y) {architecture}"
    assert text_of(RawKernel(code, "total")) == shown
    module = RawModule(code=code, name_expressions=["&x<y>"])
    assert text_of(module) == "module.cu with &x<y> RawModule for compute_90, not compiled yet"


def test_a_compiled_operator():
    assert text_of(operator()) == (
        "reduce, function=MAX, axes=(1,) tensor sizes strides data type "
        "input_tensor (2, 2) (2, 1) FLOAT32 output_tensor (2, 1) (1, 1) FLOAT32 "
        "feature level 6_4, variant tiles"
    )


def test_coordinates():
    found = ck.nonzero_coordinates(np.eye(20))
    rows = " ".join(f"{n} {n}" for n in (0, 1, 2))
    rows += " ... ... " + " ".join(f"{n} {n}" for n in (17, 18, 19))
    shape = "coordinates of shape (400, 2), uint32"
    assert text_of(found) == f"nonzero coordinates: count 20 axis 0 axis 1 {rows} {shape}"
    found = ck.nonzero_coordinates([0, 0])
    assert text_of(found) == "nonzero coordinates: count 0 coordinates of shape (2, 1), uint32"


def test_coordinates_on_a_gpu_are_not_read(tmp_path):
    with recorded(tmp_path) as record:
        told = text_of(ck.nonzero_coordinates(on_device(np.array([[0, 3], [5, 0]]))))
    assert not record.synchronisations
    expected = "nonzero coordinates: count <on the device> coordinates of shape (4, 2), uint32"
    assert told == expected


def test_text_stands_out_on_light_and_dark(checked, traffic, browser, tmp_path):
    shown = [checked, traffic, *traffic.kernels, operator(), ck.nonzero_coordinates([0, 7])]
    body = "".join(thing._repr_html_() for thing in shown)
    (tmp_path / "a.html").write_text(f"<!doctype html>{body}", "utf-8")
    page = browser.open(tmp_path / "a.html")
    for text, ground in (("#000", "#fff"), ("#fff", "#111")):
        page.add_style_tag(content=f"body {{ color: {text}; background: {ground} }}")
        count, faults = page.evaluate(CONTRAST)
        assert count > 50
        assert not faults


SHELL = """
import re, sys, tempfile
import numpy as np
import cudakern as ck
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
shell.push({"np": np, "ck": ck})
for cell in CELLS:
    shell.run_cell(cell, store_history=True)
"""


CELLS = (
    f"""code = '''{TOTAL}'''
total = ck.simulator.RawKernel(code, "total")
x, y = np.ones(128, np.float32), np.zeros(1, np.float32)""",
    "with ck.simulator.checked():\n    total((1,), (128,), (x, y))",
    "def launch(kernel):\n    kernel((1,), (1,), ())",
    '''launch(ck.simulator.RawKernel("""#include <cmath>
extern "C" __global__ void f(float* x) {
  float scale = 2;
\\tx[threadIdx.x] = scael * x[threadIdx.x];
  int i = "a";
}""", "f", jitify=True))''',
)
SHOWN = """\
SimulatorError: 1 finding

total: race: total.cu:6: read of 4 bytes at element 56 of shared array s of 512 bytes, in units of \
4 bytes must be ordered with the write at total.cu:6 by block (0, 0, 0), thread (56, 0, 0): no \
barrier does, nor a release with an acquire (block (0, 0, 0), thread (24, 0, 0))
  total.cu:6 |     if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
             |                             ^ read by block (0, 0, 0), thread (24, 0, 0) and 31 more
             |                               write by block (0, 0, 0), thread (56, 0, 0)
total.cu:6 is Cell In[1]:6

Cell In[2], line 1: with ck.simulator.checked():
KernelCompileError: f.cu: the kernel must compile; f.cu(4): error: identifier "scael" is undefined

  2 | extern "C" __global__ void f(float* x) {
  3 |   float scale = 2;
> 4 |     x[threadIdx.x] = scael * x[threadIdx.x];
    |                      ^
  5 |   int i = "a";
  6 | }
f.cu:4 is Cell In[4]:4
and 1 more error: error.log has all

Cell In[4], line 1: launch(ck.simulator.RawKernel(\"\"\"#include <cmath>
Cell In[3], line 2: kernel((1,), (1,), ())
"""


def test_errors_in_cells(tmp_path):
    program = f"CELLS = {CELLS!r}\n{SHELL}"
    text = printed(program, flags=("-W", "ignore"), IPYTHONDIR=str(tmp_path))
    assert re.sub(r"\x1b\[[\d;]*m", "", text) == SHOWN


PTX = (
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f()\n{\n  add.foo %a, %b;\n}\n"
)


def compile_error(**arguments):
    """Return the error of a module without its traceback, as if it came from another process."""
    with pytest.raises(ck.KernelCompileError) as caught:
        RawModule(**arguments).get_function("f").compile()
    arrived = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  our own bytes
    return arrived.with_traceback(None)  # tblib, which dask loads, pickles tracebacks


def format_findings(error):
    return [re.sub(r"\x1b\[[\d;]*m", "", line) for line in format_error(error)]


def test_errors_have_their_lines(tmp_path):
    error = compile_error(code='extern "C" __global__ void f() {\r\n  y = 3;\r\n}\r\n')
    lines = ['  1 | extern "C" __global__ void f() {', "> 2 |   y = 3;", "    |   ^", "  3 | }"]
    assert format_findings(error)[2:6] == lines
    error = compile_error(code=PTX)
    lines = ["  4 | .visible .entry f()", "  5 | {", "> 6 |   add.foo %a, %b;", "  7 | }"]
    assert format_findings(error) == [f"KernelCompileError: {error}", "", *lines, ""]
    (tmp_path / "a.cuh").write_text("\n\n__device__ int a() { return b; }\n", encoding="utf-8")
    (tmp_path / "k.cu").write_text('#include "a.cuh"\nextern "C" __global__ void f() { a(); }\n')
    lines = format_findings(compile_error(path=str(tmp_path / "k.cu")))
    assert lines[lines.index("> 3 | __device__ int a() { return b; }") + 1].endswith("^")


def test_an_error_whose_text_is_not_there_has_the_line_of_the_log():
    log = 'k.cu(40): error: identifier "b" is undefined\n    return b;\n           ^\n\n'
    error = ck.KernelCompileError("k.cu", (), log)
    assert format_findings(error)[1:] == ["", "> 40 |   return b;", "     |          ^", ""]
    assert format_findings(ck.KernelCompileError("k.cu", (), "nvcc died")) == [
        "KernelCompileError: k.cu: the kernel must compile; nvcc died",
        "",
    ]


def test_errors_without_findings_and_with_others_say_so():
    error = ck.SimulatorError("deadlock", "f", (0, 0, 0), (1, 0, 0), "nobody\x1b[2J runs")
    error.add_note("seen in the second batch")
    error.__cause__ = ValueError("too late\nfor this")
    assert format_findings(error) == [
        r"SimulatorError: f: nobody\x1b[2J runs (block (0, 0, 0), thread (1, 0, 0))",
        "and then ValueError: too late",
        "seen in the second batch",
        "",
    ]
