"""Rows of the instruction table against the answers of their chapters: of matrices a third."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from cudakern.simulator.ptx import instructions
from tests.helpers.samples import is_thorough, sample
from tests.helpers.simulated import ZIGLANG
from tests.simulator.ptx.harness import Chapter

#: How many rows of a chapter another compiler gets.
SAMPLE = 3 if is_thorough() else 1


def _chapter(name, most=None):
    """Return a chapter's rows with their answers; rows without answers fail one by one."""
    forms = tuple(importlib.import_module(f"{instructions.__name__}.{name}").FORMS)
    forms = forms if most is None else forms[:: -(-len(forms) // most)]
    answers = f"tests.simulator.ptx.oracles_{name}"
    if importlib.util.find_spec(answers) is None:
        return Chapter(forms, {}, {})
    module = importlib.import_module(answers)
    return Chapter(forms, getattr(module, "ORACLES", {}), getattr(module, "KERNELS", {}))


CHAPTERS = {name: _chapter(name) for name in instructions.CHAPTERS}
ROWS = [
    pytest.param(chapter, form, id=f"{name}-{form.pattern}")
    for name, chapter in CHAPTERS.items()
    for form in sample(chapter.forms, 3 if name == "matrix" else 1)
]


@pytest.mark.parametrize(("chapter", "form"), ROWS)
def test_row_gives_the_answers_of_its_oracle(chapter, form):
    chapter.check(form)


@pytest.mark.parametrize("name", CHAPTERS)
def test_sample_of_rows_with_ziglang(name, monkeypatch):
    pytest.importorskip("ziglang")
    monkeypatch.setenv("CUDAKERN_CXX", ZIGLANG)
    chapter = _chapter(name, SAMPLE)
    for form in chapter.forms:
        chapter.check(form)


@pytest.mark.parametrize("name", CHAPTERS)
def test_answers_belong_to_rows(name):
    chapter = CHAPTERS[name]
    assert {*chapter.answers} <= {form.pattern for form in chapter.forms}
