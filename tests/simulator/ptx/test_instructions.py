"""Rows of the instruction table against the answers of their chapters: of matrices a third."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from cudakern.simulator.ptx import instructions
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough, sample
from tests.helpers.simulated import ZIGLANG
from tests.simulator.ptx.harness import Chapter

#: How many rows of a chapter another compiler gets.
SAMPLE = 3


def forms_of(name):
    """Return the rows of a chapter."""
    return tuple(importlib.import_module(f"{instructions.__name__}.{name}").FORMS)


def answers_of(name):
    """Return oracles and kernels of a chapter by pattern; rows without answers fail one by one."""
    module = f"tests.simulator.ptx.oracles_{name}"
    if importlib.util.find_spec(module) is None:
        return {}, {}
    answers = importlib.import_module(module)
    return getattr(answers, "ORACLES", {}), getattr(answers, "KERNELS", {})


def chapter_of(name, every=1):
    """Return each so many-th row of a chapter, with all answers."""
    return Chapter(sample(forms_of(name), every), *answers_of(name))


def check(chapter):
    """Check all rows of a chapter."""
    each("form", chapter.forms, ids=lambda form: form.pattern)(chapter.check)()


@pytest.mark.parametrize("name", instructions.CHAPTERS)
def test_rows_give_the_answers_of_their_oracles(name):
    chapter = chapter_of(name, 3 if name == "matrix" else 1)
    assert {*chapter.answers} <= {form.pattern for form in forms_of(name)}
    check(chapter)


@pytest.mark.skipif(not is_thorough(), reason="a thorough run has rows with ziglang")
def test_sample_of_rows_with_ziglang(monkeypatch):
    pytest.importorskip("ziglang")
    monkeypatch.setenv("CUDAKERN_CXX", ZIGLANG)
    forms, oracles, kernels = [], {}, {}
    for name in instructions.CHAPTERS:
        rows = forms_of(name)
        forms += rows[:: -(-len(rows) // SAMPLE)]
        some, others = answers_of(name)
        oracles, kernels = {**some, **oracles}, {**others, **kernels}
    check(Chapter(forms, oracles, kernels))
