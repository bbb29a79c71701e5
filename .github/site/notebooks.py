"""Notebooks made from pages and executed; they must print what the pages say."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import jupytext
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from nbformat import NotebookNode

#: The page of each notebook, and which of its sections it has.
NOTEBOOKS = {
    "tutorial": ("cudakern/operators/README.md", ["Tutorial"]),
    "check_a_kernel": ("cudakern/simulator/README.md", ["Check a kernel", "Count traffic"]),
}
#: Text that a page shows behind a block: what it prints.
_PRINTED = re.compile(r"\A\s*```text\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https:)[^)]+\)")
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
_NEEDS = "It needs cudakern with the extra `simulator`, or `cuda12` or `cuda13` for a GPU."
_GPU_ALONE = "import cupy\n"
#: What a notebook adds to a line of a kernel: where that stands in a cell.
_CELL = re.compile(r" is Cell In\[\d+\]:\d+")


def sections(text: str, titles: list[str]) -> str:
    """Return a page's title and some of its sections of the second rank."""
    head, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    chosen = [part for part in parts if part[3:].split("\n", 1)[0] in titles]
    return "\n".join([head.split("\n", 1)[0], "", _NEEDS, "", *chosen])


def make(page: str, titles: list[str]) -> tuple[NotebookNode, list[str]]:
    """Return the notebook of a page, and what each of its blocks prints."""
    notebook = jupytext.reads(sections(page, titles), "md")
    notebook.metadata["kernelspec"] = _KERNEL
    printed: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed.append("")
            if cell.source.startswith(_GPU_ALONE):
                cell.metadata["tags"] = ["skip-execution"]
            continue
        if shown := _PRINTED.match(cell.source + "\n"):
            printed[-1] = shown[1]
            cell.source = cell.source[shown.end() :].strip()
        cell.source = _LINK.sub(r"\1", cell.source)  # the other pages are elsewhere
    notebook.cells = [cell for cell in notebook.cells if cell.source]
    return notebook, printed


def text_of(cell: NotebookNode) -> str:
    """Return what a cell printed, as in a file."""
    return _CELL.sub("", "".join(output.get("text", "") for output in cell.outputs))


def write(folder: Path, root: Path) -> list[str]:
    """Write the notebooks, executed; return what differs from the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    for name, (page, titles) in NOTEBOOKS.items():
        notebook, printed = make((root / page).read_text(encoding="utf-8"), titles)
        config = Config(KernelManager={"transport": "ipc"})
        client = NotebookClient(notebook, timeout=600, record_timing=False, config=config)
        client.execute(env={**os.environ, "CUDAKERN_QUIET": "1"})
        codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for cell, expected in zip(codes, printed, strict=True):
            if "tags" not in cell.metadata and text_of(cell) != expected:
                wrong.append(f"{name}: printed {text_of(cell)!r}; {page} has {expected!r}")
        nbformat.write(notebook, folder / f"{name}.ipynb")
    return wrong
