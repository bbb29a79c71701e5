"""The pages: their code runs and prints what they say, they are complete, their links lead on."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from operator import attrgetter
from pathlib import Path
from posixpath import normpath
from types import FunctionType

import pytest

import cudakern as ck
from cudakern.errors import SimulatorError
from cudakern.simulator.reports.findings import Finding
from tests.helpers.places import CUDA, DEVICE
from tests.helpers.processes import printed
from tests.helpers.programs import GPU_ALONE, ON_THE_HOST, chooses, every, missing, programs
from tests.helpers.readmes import FOLDERS, ROOT, blocks, located, read, readmes, rows, section

OPERATORS = "cudakern/operators/README.md"
REFERENCE = "cudakern/operators/reference.md"
DESCRIPTORS = "cudakern/operators/descriptors.md"
SIMULATOR = "cudakern/simulator/README.md"
STAND_IN = "cudakern/simulator/cupy_stand_in/README.md"
MISSING = "    // __syncthreads() is missing here\n"


def on_the_host():
    """Return a parameter for each block that needs no GPU, and no library that is not there."""
    return [
        pytest.param(*block, id=f"{path}-{number}")
        for path in readmes()
        for number, block in enumerate(blocks(read(path)))
        if GPU_ALONE not in block[0] and not missing(block[0])
    ]


def by_name(programs):
    """Return a parameter for each program."""
    return [pytest.param(program, id=program.name) for program in programs]


@pytest.mark.parametrize(("code", "expected"), on_the_host())
def test_block_prints_what_it_says(code, expected):
    assert printed(code, flags=("-W", "error")) == expected


NAMED = re.compile(r"`(?:tests/\S+/)?(test_\w+(?:\.py)?)`")


def test_tests_that_are_named_exist():
    paths = [*(ROOT / "tests").rglob("*.py")]
    files = {path.name for path in paths}
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    named = {name for path in readmes() for name in NAMED.findall(read(path))}
    assert len(named) > 2
    assert [n for n in named if n not in files and f"def {n}(" not in text] == []


FILE = re.compile(r"`(?:\.\./)*(\w[\w./]*\.(?:py|hpp|cpp))`")


@pytest.mark.parametrize("path", readmes())
def test_files_that_are_named_exist(path):
    files = [f"/{file.as_posix()}" for folder in FOLDERS.values() for file in folder.rglob("*.*")]
    named = FILE.findall(read(path))
    assert [name for name in named if not any(f.endswith(f"/{name}") for f in files)] == []


@pytest.mark.parametrize("program", by_name(programs(DEVICE)))
def test_program_prints_the_same_on_a_device(program):
    with ck.simulator.in_place_of_cupy():
        assert program.run() == program.printed


@pytest.mark.gpu
@pytest.mark.parametrize("program", by_name(programs(CUDA)))
def test_program_prints_the_same_on_a_gpu(program):
    assert program.run() == program.printed


def test_what_runs_on_the_host_alone_says_why():
    named = {
        program.name: [part for part in ON_THE_HOST if part in program.name + program.code]
        for program in every()
        if not chooses(program)
    }
    assert all(len(parts) == 1 for parts in named.values()), named
    assert {part for (part,) in named.values()} == {*ON_THE_HOST}


def names_of(code, library):
    """Return the dotted names of a library that code uses, without its first part."""
    attributes = {
        ast.unparse(node) for node in ast.walk(ast.parse(code)) if type(node) is ast.Attribute
    }
    return {
        name.partition(".")[2] for name in attributes if re.fullmatch(rf"{library}\.[\w.]+", name)
    }


def test_programs_take_nothing_but_what_cupy_has():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    chosen = filter(chooses, every())
    names = {name for p in chosen for way in ("xp", "cupy") for name in names_of(p.code, way)}
    assert {"where", "cuda.Stream"} <= names
    for name in names:
        attrgetter(name)(cupy)


def test_each_readme_has_its_blocks():
    assert len(blocks(read("README.md"))) == 1
    assert len(blocks(read(REFERENCE))) == 4
    assert len(blocks(read(DESCRIPTORS))) == 1
    assert len(blocks(read(STAND_IN))) == 3
    assert [bool(output) for _, output in blocks(read(SIMULATOR))] == [True] * 6 + [False]
    tutorial = blocks(read(OPERATORS))
    assert len(tutorial) == 10
    for code, output in tutorial:
        assert output
        compile(code, "README", "exec")


def is_operator(value):
    """Return whether a public value is the function of an operator."""
    return type(value) is FunctionType and value.__module__.startswith("cudakern.operators.")


def test_every_function_is_in_the_tutorial():
    text, reference = section(OPERATORS, "## Tutorial"), section(REFERENCE, "## Functions")
    functions = {name for name in ck.__all__ if is_operator(getattr(ck, name))}
    functions.remove("compile_operator")
    assert functions == set(re.findall(r"^\| `(\w+)\(", reference, re.MULTILINE))
    assert all(f"ck.{name}(" in text for name in functions)


def written(function):
    """Return a signature as people write it, without types."""
    parameters = inspect.signature(function).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return f"{function.__name__}{inspect.Signature(bare)}".replace("'", '"')


def test_signatures_are_those_of_the_functions():
    for call, *_ in rows(section(REFERENCE, "## Functions")):
        if "(" in call:  # the others are functions of reduce
            text = call.strip("`")
            assert text == written(getattr(ck, text.partition("(")[0]))


WRAPS = 'sums of integers wrap in their own type: dtype="int64"'
CLAMPS = 'an index out of range takes the nearest one: mode="raise"'


@pytest.mark.parametrize(
    ("function", "trap"), [("gather", CLAMPS), ("gather_nd", CLAMPS), ("reduce", WRAPS)]
)
def test_traps_are_told_where_they_are_met(function, trap):
    (row,) = re.findall(rf"^\| `{function}` \|.*$", read("README.md"), re.MULTILINE)
    assert f"**{trap}**" in row.replace("`", "")
    for file in ("function.py", "dask.py"):
        tree = ast.parse(read(f"cudakern/operators/{function}/{file}"))
        texts = [ast.get_docstring(n) for n in tree.body if getattr(n, "name", "") == function]
        lines = texts[-1].splitlines()[:3]  # the others are overloads
        assert lines[2].lower().startswith(f"**{trap}")


def headings(text):
    """Return the anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", readmes())
def test_links_lead_somewhere(path):
    text = read(path)
    is_checkout = (ROOT / "CONTRIBUTING.md").exists()
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        target = normpath(Path(path).parent / target) if target else path
        if not is_checkout and Path(target).parts[0] not in {*FOLDERS, "README.md"}:
            continue  # this folder has no copy of it
        assert located(target).exists(), link
        if anchor:
            assert anchor in headings(read(target)), link


def test_the_readme_says_where_its_links_lead():
    text = read("README.md")
    relative = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert relative
    assert "urls" not in project, "an index could show links that lead there"
    assert "clone of this repository, into which the links of this page lead" in text


def test_the_barrier_is_all_that_is_missing():
    code, _ = blocks(read(SIMULATOR))[0]
    assert code.count(MISSING) == 1
    fixed = code.replace(MISSING, "    __syncthreads();\n")
    assert printed(fixed, flags=("-W", "error")) == ""


def test_every_kind_and_field_of_a_finding_is_named():
    text = read(SIMULATOR)
    kinds = set(re.findall(r'``"(\w+)"``', Finding.__doc__))
    assert len(kinds) == 11
    assert all(f"`{name}`" in text for name in kinds | set(Finding.__dataclass_fields__))
    assert SimulatorError.__name__ in text


def sources():
    """Return the text of the package's Python files."""
    paths = FOLDERS["cudakern"].rglob("*.py")
    return " ".join(path.read_text(encoding="utf-8") for path in paths)


def test_the_readme_lists_every_variable():
    variables = set(re.findall(r"\bCUDAKERN_[A-Z_]+\b", sources()))
    assert len(variables) >= 5
    assert all(f"`{variable}`" in read("README.md") for variable in variables)


def test_every_rule_is_on_the_page_of_descriptors():
    text = section(DESCRIPTORS, "## Rules")
    rules = set(re.findall(r'"([TGNORZ]\d+)"', sources())) | {f"T{k}" for k in range(1, 21)}
    assert len(rules) > 30
    assert all(re.search(rf"\b{rule}\b", text) for rule in rules)
