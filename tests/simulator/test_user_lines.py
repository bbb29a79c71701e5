"""Where findings in kernels that are strings lie in the files of who wrote them."""

from __future__ import annotations

import textwrap

import pytest

from cudakern.simulator.reports.findings import Finding
from cudakern.simulator.reports.user_lines import UserFiles

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


class Item:
    """What of a test of pytest is asked for."""

    def __init__(self, path):
        self.path = path
        self.config = self
        self.rootpath = path.parents[1]

    def reportinfo(self):
        return self.path, 41, "test"


@pytest.fixture
def placed(tmp_path, monkeypatch):
    """Return a function that places a line of a kernel in a test that has a text."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "tests").mkdir()

    def find(text, kernel=KERNEL, line=5, file="f.cu", called=(), column=None):
        path = tmp_path / "tests/test_f.py"
        path.write_text(text, encoding="utf-8")
        code = kernel.split("\n")[line - 1]
        column = len(code) - len(code.lstrip()) + 1 if column is None else column
        source = (file, line)
        finding = Finding("race", "f", (0,), (0,), source, (source,), 0, 0, "message", code=code)
        object.__setattr__(finding, "column", column)
        sources = {("", file): kernel}
        return UserFiles(Item(path), sources, [str(path) for path in called]).place(finding)

    return find


def expected(text, mark):
    """Return line and column of a mark's last place in a text."""
    before, found, _ = text.rpartition(mark)
    assert found
    return before.count("\n") + 1, len(before) - before.rfind("\n")


INDENTED = textwrap.indent(KERNEL, " " * 8)
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
    "with windows' ends of lines": f'CODE = """{KERNEL}"""\n'.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_kernel_in_the_test(placed, how):
    text = WRITTEN[how]
    assert placed(text) == ("tests/test_f.py", *expected(text, "x[n] = 2"), True)


FILLED_IN = {
    "in a template": (("x[n] = 2", "{where} = 2"), ("{\n", "{{\n")),
    "in many lines": (("int", "TYPE"), ("x[", "data["), ("= 1", "= ONE")),
    "of a macro": (("x[n] = 2;", "x[n] = TWO;"),),
}


@pytest.mark.parametrize("how", FILLED_IN)
def test_a_line_that_is_filled_in(placed, how):
    kernel = KERNEL
    for text, instead in FILLED_IN[how]:
        kernel = kernel.replace(text, instead)
    text = f'A = 1\n\nCODE = """\n{kernel}"""\n'
    assert placed(text) == ("tests/test_f.py", 8, None, True)


def test_the_same_line_of_another_kernel(placed):
    other = "void g(int* x, int n) {\n  x[n] = 2;\n}\n"
    text = f'A = """{other}"""\nB = """{KERNEL.replace("x[n] = 2", "x[n] = TWO")}"""\n'
    assert placed(text)[:2] == ("tests/test_f.py", 9)
    assert placed(text, other, 2)[:2] == ("tests/test_f.py", 2)


@pytest.mark.parametrize("line", [3, 7])
def test_lines_of_the_same_text_are_told_apart(placed, line):
    text = f'A = 1\nCODE = """\n{KERNEL}"""\n'
    assert placed(text, line=line)[:2] == ("tests/test_f.py", line + 2)


def test_kernels_of_the_same_text_are_the_first(placed):
    text = f'A = """{KERNEL}"""\nB = """{KERNEL}"""\n'
    assert placed(text)[:2] == ("tests/test_f.py", 5)


def test_a_kernel_in_what_the_test_calls(placed, tmp_path):
    other = tmp_path / "library.py"
    other.write_text(f'CODE = """{KERNEL}"""\n')
    assert placed("import library\n", called=[other])[:2] == ("library.py", 5)
    assert placed("import library\n")[:2] == ("tests/test_f.py", 42)


def test_a_kernel_that_was_read_from_a_file_elsewhere(placed, tmp_path):
    for folder in ("sources/deep", ".hidden", "node_modules"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f.cu").write_text(KERNEL)
    assert placed("CODE = read()\n") == ("sources/deep/f.cu", 5, 3, True)


@pytest.mark.parametrize("name", ["kernels.cu", "f.cuh"])
def test_a_kernel_that_was_read_from_a_file_beside_the_test(placed, tmp_path, name):
    (tmp_path / "tests" / name).write_text(f"// Kernels.\n{KERNEL}")
    assert placed("CODE = read()\n") == (f"tests/{name}", 6, 3, True)


def test_a_file_that_the_compiler_read(placed, tmp_path, monkeypatch):
    path = tmp_path / "kernels/f.cu"
    path.parent.mkdir()
    path.write_text(KERNEL)
    copy = f'CODE = """{KERNEL}"""\n'
    assert placed(copy, file=str(path)) == ("kernels/f.cu", 5, 3, True)
    assert placed(copy, file="kernels/f.cu") == ("kernels/f.cu", 5, 3, True)
    monkeypatch.chdir(path.parent)
    assert placed(copy, file="f.cu") == ("kernels/f.cu", 5, 3, True)
    path.write_text("// Another kernel.\n" * 9)
    assert placed(copy, file="f.cu") == ("tests/test_f.py", 5, 3, True)


@pytest.mark.parametrize("text", ["", "}\n" * 9, 'CODE = "".join(lines)\n'])
def test_a_kernel_that_is_nowhere(placed, text):
    assert placed(text) == ("tests/test_f.py", 42, None, False)
    assert placed(text, line=4) == ("tests/test_f.py", 42, None, False)


def test_the_root_is_that_of_the_repository(placed, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "tests"))
    assert placed(f'"""{KERNEL}"""').file == "test_f.py"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "elsewhere"))
    assert placed(f'"""{KERNEL}"""').file == "tests/test_f.py"
