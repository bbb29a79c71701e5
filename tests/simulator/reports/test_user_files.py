"""Findings in kernels that are strings have places in the user's files."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cudakern.simulator.reports.findings import Finding
from cudakern.simulator.reports.user_files import Origins, describe_origins, find_place
from tests.helpers.rows import each

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
