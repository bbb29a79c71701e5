"""The pages: their code runs and prints what they say; they are complete; their links work."""

from __future__ import annotations

import inspect
import re
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
from tests.helpers.programs import GPU_ALONE, missing, programs
from tests.helpers.readmes import FOLDERS, LINK, ROOT, blocks, located, read, readmes, rows, section
from tests.helpers.rows import each

REFERENCE = "cudakern/operators/reference.md"
DESCRIPTORS = "cudakern/operators/descriptors.md"
SIMULATOR = "cudakern/simulator/README.md"
FINDINGS = "cudakern/simulator/reference.md"
MISSING = "    // __syncthreads() is missing here\n"


def of_page(path):
    """Return the blocks of a page that need neither a GPU nor a missing library."""
    return [b for b in blocks(read(path)) if GPU_ALONE not in b[0] and not missing(b[0])]


#: Runs programs one by one.
RUN = """
import sys
for number, code in enumerate(sys.argv[1:]):
    print(f"block {number}", flush=True)
    exec(compile(code, f"block {number}", "exec"), {"__name__": "__main__"})
"""


@pytest.mark.parametrize("path", [path for path in readmes() if of_page(path)])
def test_blocks_print_what_they_say(path):
    codes, outputs = zip(*of_page(path), strict=True)
    expected = "".join(f"block {number}\n{output}" for number, output in enumerate(outputs))
    assert printed(RUN, *codes, flags=("-W", "error")) == expected


FILE = re.compile(r"`(?:\.\./)*(\w[\w./]*\.(?:py|hpp|cpp))`")
TEST = re.compile(r"`(?:[\w/]+/)?(?:(\w+\.(?:py|cu))::)?(test_\w+(?:\.py)?|(?<=::)\w+)`")


def test_tests_that_are_named_exist():
    texts = {}
    for path in (path for path in (ROOT / "tests").rglob("*.*") if path.suffix in {".py", ".cu"}):
        texts[path.name] = texts.get(path.name, "") + path.read_text(encoding="utf-8")
    named = {name for path in readmes() for name in TEST.findall(read(path))}
    assert len(named) > 30
    for file, name in named:
        text = texts.get(file, "") if file else "".join(texts.values())
        marks = (f"def {name}(", f"//// {name}(")
        assert name in texts or any(mark in text for mark in marks), (file, name)


@each("path", readmes())
def test_files_that_are_named_exist(path):
    files = [f"/{file.as_posix()}" for folder in FOLDERS.values() for file in folder.rglob("*.*")]
    named = FILE.findall(read(path))
    assert [name for name in named if not any(f.endswith(f"/{name}") for f in files)] == []


@each("program", programs(DEVICE), ids=attrgetter("name"))
def test_program_prints_the_same_on_a_device(program):
    with ck.simulator.in_place_of_cupy(devices=program.devices):
        assert program.run() == program.printed


def test_a_program_is_for_two_devices():
    (program,) = [program for program in programs(DEVICE) if program.devices == 2]
    assert program.code in section(REFERENCE, "### Two GPUs, streams, devices")


@pytest.mark.gpu
@each("program", programs(CUDA), ids=attrgetter("name"))
def test_program_prints_the_same_on_a_gpu(program):
    assert program.run() == program.printed


def is_operator(value):
    """Return whether a public value is the function of an operator."""
    return type(value) is FunctionType and value.__module__.startswith("cudakern.operators.")


def written(function):
    """Return a signature without types."""
    parameters = inspect.signature(function).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return f"{function.__name__}{inspect.Signature(bare)}".replace("'", '"')


#: Functions that are not operators.
OTHERS = {"compile_operator", "minimum_tensor_size_in_bytes"}


def test_signatures_are_those_of_the_functions():
    calls = [call.strip("`") for call, *_ in rows(section(REFERENCE, "## Functions"))]
    found = {
        call.partition("(")[0]: call for call in calls if "(" in call
    }  # without the names of reduce's functions
    functions = {name for name in ck.__all__ if is_operator(getattr(ck, name))} - OTHERS
    assert found.keys() == functions
    assert {name: written(getattr(ck, name)) for name in found} == found


def headings(text):
    """Return the anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


@each("path", readmes())
def test_links_lead_somewhere(path):
    text = read(path)
    is_checkout = (ROOT / "CONTRIBUTING.md").exists()
    for link in LINK.findall(text):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        target = normpath(Path(path).parent / target) if target else path
        if not is_checkout and Path(target).parts[0] not in {*FOLDERS, "README.md"}:
            continue  # this copy does not have the page
        assert located(target).exists(), link
        if anchor:
            assert anchor in headings(read(target)), link


def test_the_barrier_is_all_that_is_missing():
    code, _ = blocks(read(SIMULATOR))[0]
    assert code.count(MISSING) == 1
    fixed = code.replace(MISSING, "    __syncthreads();\n")
    assert printed(fixed, flags=("-W", "error")) == ""


def test_every_kind_and_field_of_a_finding_is_named():
    text = section(FINDINGS, "## Findings")
    kinds = set(re.findall(r'``"(\w+)"``', Finding.__doc__))
    assert len(kinds) == 11
    assert all(f"`{name}`" in text for name in kinds | set(Finding.__dataclass_fields__))
    assert SimulatorError.__name__ in text


def sources():
    """Return the text of the package's Python files."""
    paths = FOLDERS["cudakern"].rglob("*.py")
    return " ".join(path.read_text(encoding="utf-8") for path in paths)


def test_the_reference_lists_every_variable():
    variables = set(re.findall(r"\bCUDAKERN_[A-Z_]+\b", sources()))
    assert len(variables) >= 5
    text = section(REFERENCE, "## Environment")
    assert all(f"`{variable}`" in text for variable in variables)


def test_every_rule_is_on_the_page_of_descriptors():
    text = section(DESCRIPTORS, "## Rules")
    rules = set(re.findall(r'"([TGNORZ]\d+)"', sources())) | {f"T{k}" for k in range(1, 21)}
    assert len(rules) > 30
    assert all(re.search(rf"\b{rule}\b", text) for rule in rules)
