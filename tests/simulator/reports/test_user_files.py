"""Findings in kernels that are strings have places in the user's files."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cudakern.display.styled_text import as_text
from cudakern.errors import SimulatorError
from cudakern.simulator import checked, traffic
from cudakern.simulator.reports.checked_tests import find_place
from cudakern.simulator.reports.findings import Finding, format_findings
from cudakern.simulator.reports.html import page
from cudakern.simulator.reports.user_files import Origins
from tests.helpers.pages import Page
from tests.helpers.rows import each
from tests.simulator.launches import schema

KERNEL = """\
__global__ void f(int* x, int n) {
  if (n > 1) {
    x[0] = 1;
  }
  x[n] = 2;
  if (n > 2) {
    x[0] = 1;
  }
  x[n + 1] = 3;
}
"""
TEST = "tests/test_f.py"
NOWHERE = (TEST, 42, None, False)


class Item:
    """Stands for a pytest item, with the part that is used."""

    def __init__(self, path):
        self.path = path
        self.config = self
        self.rootpath = path.parents[1]

    def reportinfo(self):
        return self.path, 41, "test"


def raised_in(*paths):
    """Return an error that a call in the last of these files raises, and calls in the others."""
    error, calls = ZeroDivisionError(), None
    for path in reversed(paths):
        try:
            exec(compile("1 / 0", str(path), "exec"))  # noqa: S102  nothing but that
        except ZeroDivisionError as raised:
            frame = raised.__traceback__.tb_next
            calls = type(frame)(calls, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return error.with_traceback(calls)


@pytest.fixture
def placed(tmp_path, monkeypatch):
    """Return a function that finds a kernel's line in a test file with a given text."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.delitem(sys.modules, __name__)  # which has the kernel, too
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()

    def find(text, kernel=KERNEL, line=5, file="f.cu", called=()):
        path = tmp_path / TEST
        path.write_text(text, encoding="utf-8")
        code = kernel.split("\n")[line - 1]
        column = len(code) - len(code.lstrip()) + 1
        source = (file, line)
        finding = Finding("race", "f", (0,), (0,), source, (source,), 0, 0, "message", code=code)
        origins = Origins({("", file): kernel}, raised_in(path, *called))
        origin = origins.find("", source, column)
        return find_place(replace(finding, column=column, origin=origin), Item(path))

    return find


INDENTED = textwrap.indent(KERNEL, " " * 8)
OTHER = "void g(int* x, int n) {\n  x[n] = 2;\n}\n"
WRITTEN = {
    "at the margin": f'CODE = """{KERNEL}"""\n',
    "from the second line on": f'"""Tests."""\n\nCODE = r"""\n{KERNEL}"""\n',
    "to be dedented": f"def test():\n    code = textwrap.dedent('''\n{INDENTED}    ''')\n",
    "as strings of one line": "CODE = (\n"
    + "".join(f"    '{line}\\n'\n" for line in KERNEL.splitlines())
    + ")\n",
    "with a line that is filled in": 'CODE = """' + KERNEL.replace("n > 1", "n > LIMIT") + '"""\n',
    "in a docstring": '"""\n' + "".join(f"... {line}\n" for line in KERNEL.splitlines()) + '"""\n',
    "behind a kernel like it": "\n".join(
        f'CODE = """{kernel}"""' for kernel in (KERNEL.replace("= 3", "= 4"), KERNEL)
    ),
    "in an f-string": 'CODE = f"""' + KERNEL.replace("{", "{{").replace("}", "}}") + '"""\n',
    "with windows' ends of lines": f'CODE = """{KERNEL}"""\n'.replace("\n", "\r\n"),
}


@each("how", WRITTEN)
def test_a_kernel_in_the_test(placed, how):
    text = WRITTEN[how]
    before = text.rpartition("x[n] = 2")[0]
    column = len(before) - before.rfind("\n")
    assert placed(text) == (TEST, before.count("\n") + 1, column, True)


@each(
    "text, line, found",
    [
        (f'A = 1\nCODE = """\n{KERNEL}"""\n', 3, 5),  # not another line with the same text
        (f'A = 1\nCODE = """\n{KERNEL}"""\n', 7, 9),
        (f'A = """{KERNEL}"""\nB = """{KERNEL}"""\n', 5, 5),
        # one line is filled in, of a template or from a macro; with too many, none is found
        (
            'A = """\n' + KERNEL.replace("x[n] = 2", "{where} = 2") + '"""\n',
            5,
            (TEST, 6, None, True),
        ),
        (
            'A = """\n' + KERNEL.replace("x[n] = 2;", "x[n] = TWO;") + '"""\n',
            5,
            (TEST, 6, None, True),
        ),
        (f'A = """{OTHER}"""\nB = """{KERNEL.replace("x[n] = 2", "x[n] = TWO")}"""\n', 5, 9),
        ('A = """\n' + KERNEL.replace("x[", "data[").replace("n", "SIZE") + '"""\n', 5, NOWHERE),
        ("", 5, NOWHERE),
        ("}\n" * 9, 4, NOWHERE),
        ('CODE = "".join(lines)\n', 4, NOWHERE),
    ],
)
def test_the_line_of_a_kernel(placed, text, line, found):
    place = placed(text, line=line)
    assert place == found if isinstance(found, tuple) else place[:2] == (TEST, found)


def test_a_kernel_elsewhere(placed, tmp_path, monkeypatch):
    def written(name, text=KERNEL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    other = written("library.py", f'CODE = """{KERNEL}"""\n')
    assert placed("import library\n", called=[other])[:2] == ("library.py", 5)
    assert placed("import library\n") == NOWHERE
    for folder in (".hidden", "node_modules", "sources/deep"):
        read = written(f"{folder}/f.cu")
    assert placed("CODE = read()\n") == ("sources/deep/f.cu", 5, 3, True)
    read.unlink()
    beside = written("tests/kernels.cuh", f"// Kernels.\n{KERNEL}")
    assert placed("CODE = read()\n") == ("tests/kernels.cuh", 6, 3, True)
    beside.unlink()
    # A file that the compiler read is preferred to copies as long as it has the line.
    path, copy = written("kernels/f.cu"), f'CODE = """{KERNEL}"""\n'
    assert placed(copy, file=str(path)) == ("kernels/f.cu", 5, 3, True)
    assert placed(copy, file="kernels/f.cu") == ("kernels/f.cu", 5, 3, True)
    monkeypatch.chdir(path.parent)
    assert placed(copy, file="f.cu") == ("kernels/f.cu", 5, 3, True)
    path.write_text("// Another kernel.\n" * 9)
    assert placed(copy, file="f.cu") == (TEST, 5, 3, True)
    monkeypatch.setitem(sys.modules, "library", SimpleNamespace(__file__=str(other)))
    assert placed("import library\n")[:2] == ("library.py", 5)


def test_the_root_is_that_of_the_repository(placed, tmp_path, monkeypatch):
    for folder, file in (("tests", "test_f.py"), ("elsewhere", TEST)):
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / folder))
        assert placed(f'"""{KERNEL}"""').file == file


ONE_LINE = 'extern "C" __global__ void f(int* x) { int i = threadIdx.x; x[i + 3] = 1; }'
FIRST, SECOND, THIRD = ONE_LINE[:38], ONE_LINE[38:60], ONE_LINE[60:]
PIECES = f"a = 1\nCODE = ('{FIRST}'\n '{SECOND}'\n '{THIRD}')\n"
FORMATTED = ONE_LINE.replace("{", "{{").replace("}", "}}").replace("3", "{N}")


@each(
    "text, column, line",
    [
        (PIECES, ONE_LINE.index("x[i") + 1, 4),
        (PIECES, ONE_LINE.index("int i") + 1, 3),
        (f"N = 3\n\nCODE = f'{FORMATTED}'\n", ONE_LINE.index("x[i") + 1, 3),
        (f'A = 1\nCODE = "{ONE_LINE}"\n'.replace('"C"', r"\"C\""), 1, 2),
        ("x[i + 5] = 1;\n", ONE_LINE.index("x[i") + 1, None),
    ],
)
def test_a_kernel_in_one_line(tmp_path, monkeypatch, text, column, line):
    monkeypatch.delitem(sys.modules, __name__, raising=False)
    (tmp_path / "script.py").write_text(text)
    origins = Origins({("", "f.cu"): ONE_LINE}, raised_in(tmp_path / "script.py"))
    found = origins.find("", ("f.cu", 1), column)
    assert found == (None if line is None else (str(tmp_path / "script.py"), line))


def test_what_python_escapes(tmp_path):
    kernel = 'if (n) { x[0] = 1; }\nif (m) { printf("m"); }'
    escaped = kernel.replace("{", "{{").replace("}", "}}")
    for text in (f'\nCODE = f"""{escaped}"""', '\nCODE = """' + kernel.replace('"', r"\"") + '"""'):
        (tmp_path / "script.py").write_text(text)
        origins = Origins({("", "f.cu"): kernel}, raised_in(tmp_path / "script.py"))
        assert origins.find("", ("f.cu", 2)) == (str(tmp_path / "script.py"), 3)


def test_a_text_that_is_made_of_parts(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, __name__)
    parts = ["__device__ void put(int* x) {\n  *x = 1;\n}\n", *[f"\n{OTHER}"] * 2, f"\n{KERNEL}"]
    text = "".join(f'PART = """{part}"""\n\n' for part in parts)
    (tmp_path / "parts.py").write_text(text)
    monkeypatch.setitem(sys.modules, "parts", SimpleNamespace(__file__=f"{tmp_path}/parts.py"))
    origins = Origins({("", "f.cu"): "".join(parts)}, raised_in("script.py"))
    for code in ("*x = 1;", "x[n] = 2;\n  if", "x[n + 1]"):
        before, whole = (t.partition(code)[0].count("\n") for t in (text, "".join(parts)))
        assert origins.find("", ("f.cu", whole + 1)) == (f"{tmp_path}/parts.py", before + 1)


def test_a_copy_comes_before_what_is_like_it(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, __name__)
    other = KERNEL.replace("n > 1", "n > 10")
    (tmp_path / "script.py").write_text(f'import library\nOTHER = """{other}"""\n')
    (tmp_path / "library.py").write_text(f'\n\nCODE = """{KERNEL}"""\n')
    monkeypatch.setitem(sys.modules, "library", SimpleNamespace(__file__=f"{tmp_path}/library.py"))
    origins = Origins({("", "f.cu"): KERNEL}, raised_in(tmp_path / "script.py"))
    assert origins.find("", ("f.cu", 2)) == (f"{tmp_path}/library.py", 4)


LINES = f"lines = ['{FIRST}']\nif n:\n  lines += ['{SECOND}']\nlines.append('{THIRD[:-2]}')\n"
FILLED_IN = """CODE = \'\'\'
extern "C" __global__ void f({T}* x) {{
  int i = {A};
  x[i] = ({T})(2);
}}
\'\'\'"""


@each(
    "text, kernel, line, found",
    [
        (LINES, f"{FIRST}\n{SECOND}\n{THIRD[:-2]}\n}}", 2, 3),  # not what is between
        (FILLED_IN, FILLED_IN.split("'''")[1].format(T="float", A="threadIdx.x"), 4, 4),
        ("a = 1\nb = add('T x, T y', 'T z', 'z = x+y')\n", "#define n 1\nz = x+y;\n", 2, 2),
        ("a = 1\nb = z = x+y\n", "#define n 1\nz = x+y;\n", 2, None),  # no text
    ],
)
def test_texts_that_are_put_together(tmp_path, monkeypatch, text, kernel, line, found):
    monkeypatch.delitem(sys.modules, __name__, raising=False)
    (tmp_path / "script.py").write_text(text)
    origins = Origins({("", "f.cu"): kernel}, raised_in(tmp_path / "script.py"))
    place = found and (str(tmp_path / "script.py"), found)
    assert origins.find("", ("f.cu", line), 1) == place


def test_what_many_kernels_have_in_common_is_no_origin(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, __name__)
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f()\n{\n"
    (tmp_path / "other.py").write_text(f'CODE = """{head}  ret;\n}}\n"""\n')
    monkeypatch.setitem(sys.modules, "other", SimpleNamespace(__file__=f"{tmp_path}/other.py"))
    ptx = f"{head}  st.global.u32 [%rd1], %r1;\n  st.global.u32 [%rd2], %r2;\n}}\n"
    assert Origins({("", "f.cu"): ptx}, raised_in("script.py")).find("", ("f.cu", 6)) is None


SCRIPT = """\
import numpy as np
import cudakern as ck

CODE = '''extern "C" __global__ void shift(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x + 1];
}'''

def run():
    shift = ck.simulator.RawKernel(CODE, "shift")
    shift((1,), (4,), (np.zeros(4, np.int32), np.zeros(4, np.int32)))
"""


def in_a_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_reports_of_a_script_tell_its_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    names = {"__name__": "script"}
    exec(compile(SCRIPT, str(path), "exec"), names)  # noqa: S102  our own
    line = SCRIPT.partition("  y[")[0].count("\n") + 1
    with pytest.raises(SimulatorError) as caught, checked() as report, traffic() as moved:
        in_a_thread(names["run"])
    (finding,) = caught.value.findings
    assert (finding.source, finding.origin) == (("shift.cu", 2), (str(path), line))
    told = f"shift.cu:2 is script.py:{line}"
    assert caught.value.__notes__ == [told]
    assert as_text(format_findings([finding])).endswith(f"\n{told}")
    assert {row.origin for row in moved.kernels[0].lines} == {finding.origin}
    assert str(moved).count(f"  {told}  ") == 2
    for session in (report, moved):
        record = json.loads(session.json())
        schema()(record)
        rows = record.get("findings") or record["kernels"][0]["lines"]
        assert all(row["origin"] == {"file": "script.py", "line": line} for row in rows)
        assert told in Page(page.render(session.report)).texts["main"]
