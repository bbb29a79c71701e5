"""Rows of the instruction table against the answers of their chapters; a third of matrix rows."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from cudakern.simulator.ptx import instructions
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough
from tests.helpers.simulated import ZIGLANG
from tests.simulator.ptx.harness import Chapter


def forms_of(name):
    """Return the rows of a chapter."""
    return tuple(importlib.import_module(f"{instructions.__name__}.{name}").FORMS)


def answers_of(name):
    """Return oracles and kernels of a chapter by pattern; each row without an answer fails."""
    module = f"tests.simulator.ptx.oracles_{name}"
    if importlib.util.find_spec(module) is None:
        return {}, {}
    answers = importlib.import_module(module)
    return getattr(answers, "ORACLES", {}), getattr(answers, "KERNELS", {})


def chapter_of(name, every=1):
    """Return a chapter with every n-th of its rows, and all answers."""
    return Chapter(forms_of(name)[::every], *answers_of(name))


@pytest.mark.parametrize("compiler", ["default", "ziglang"][: 1 + is_thorough()])
@pytest.mark.parametrize("name", instructions.CHAPTERS)
def test_rows_give_the_answers_of_their_oracles(monkeypatch, name, compiler):
    """With another compiler, only three rows run."""
    forms = forms_of(name)
    every = 3 if name == "matrix" and not is_thorough() else 1
    if compiler == "ziglang":
        monkeypatch.setenv("CUDAKERN_CXX", ZIGLANG)
        every = -(-len(forms) // 3)
    chapter = chapter_of(name, every)
    assert {*chapter.answers} <= {form.pattern for form in forms}
    each("form", chapter.forms, ids=lambda form: form.pattern)(chapter.check)()
