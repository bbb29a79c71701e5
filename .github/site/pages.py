"""The pages of the site: the repository's own, and one for each public name."""

from __future__ import annotations

import enum
import inspect
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING

from notebooks import NOTEBOOKS

import cudakern
import cudakern.dask

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
MODULES = (cudakern, cudakern.simulator, cudakern.dask)
#: The files besides the README, by the heading that they stand under in the side bar.
FILES = {
    "Operators": [
        "cudakern/operators/README.md",
        "cudakern/operators/porting.md",
        "cudakern/operators/reference.md",
        "cudakern/operators/descriptors.md",
    ],
    "Simulator": [
        "cudakern/simulator/README.md",
        "cudakern/simulator/reference.md",
        "cudakern/simulator/memory_model.md",
        "cudakern/simulator/limits.md",
        "cudakern/simulator/cupy_stand_in/README.md",
    ],
    "API": [f"api/{module.__name__}.md" for module in MODULES],
    "Development": [
        "CONTRIBUTING.md",
        "kernels/README.md",
        "cudakern/simulator/ptx/README.md",
        "perf/README.md",
        "tests/container/README.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ],
}
#: The headings of a module's page, and which names stand under each: the first that fits.
KINDS = {
    "Functions": inspect.isfunction,
    "Descriptors": lambda value: value.__name__.endswith("OperatorDesc"),
    "Enumerations": lambda value: issubclass(value, enum.Enum),
    "Errors and warnings": lambda value: issubclass(value, Exception),
    "Classes": inspect.isclass,
}


#: Values of enumerations have no docstrings, and their docstrings have these attributes.
MEMBERS = "   :undoc-members:\n   :exclude-members: bits, itemsize, label\n"
#: A link to another file, and to which part of it.
_LINK = re.compile(r"(?<=\]\()(?!https:)([^)\s#]+)(#[^)\s]*)?(?=\))")


def page(file: str) -> str:
    """Return the file of the site's sources that a page is: a README is the index of its folder."""
    return file.removeprefix("cudakern/").replace("README", "index").lower()


PAGES = {"README.md": page("README.md")} | {
    file: page(file) for heading, files in FILES.items() for file in files if heading != "API"
}


def kinds(module: ModuleType) -> dict[str, list[str]]:
    """Return the public names of a module by heading."""
    found: dict[str, list[str]] = {heading: [] for heading in KINDS}
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.ismodule(value) and not isinstance(value, str):
            found[next(heading for heading, fits in KINDS.items() if fits(value))].append(name)
    return {heading: names for heading, names in found.items() if names}


def write_module(module: ModuleType, folder: Path) -> None:
    """Write the page of a module, and a page for each of its names."""
    text = [f"# `{module.__name__}`\n\n```{{eval-rst}}\n.. module:: {module.__name__}\n```\n"]
    for heading, names in kinds(module).items():
        text += [f"## {heading}", ""]
        for name in names:
            path = f"{module.__name__}.{name}"
            first = (
                (inspect.getdoc(getattr(module, name)) or "").split("\n\n")[0].replace("\n", " ")
            )
            text.append(f"- [`{name}`]({path}.md): {first}")
            directive = "autofunction" if heading == "Functions" else "autoclass"
            members = MEMBERS if heading == "Enumerations" else ""
            own = f"# `{path}`\n\n```{{eval-rst}}\n.. {directive}:: {path}\n{members}```\n"
            (folder / f"{path}.md").write_text(own, encoding="utf-8")
        entries = [f"{name} <{module.__name__}.{name}>" for name in names]
        text += ["", *contents(*entries)]
    (folder / f"{module.__name__}.md").write_text("\n".join(text), encoding="utf-8")


def contents(*entries: str, caption: str = "") -> list[str]:
    """Return the lines of a table of contents that only the side bar shows."""
    caption = f":caption: {caption}\n" if caption else ""
    return ["```{toctree}", f":hidden:\n{caption}", *entries, "```", ""]


def linked(text: str, file: str) -> str:
    """Return the text of a page with links from where the site has it to where it has others."""
    here = PurePosixPath(PAGES[file]).parent

    def link(found: re.Match[str]) -> str:
        target = normpath(PurePosixPath(file).parent / found[1])
        of_site = PAGES[target] if target.endswith(".md") else f"repository/{target}"
        return relpath(of_site, here) + (found[2] or "")

    return _LINK.sub(link, text)


def written(file: str) -> str:
    """Return the text of a page, with a link to its notebook and the side bar's contents."""
    text = linked((ROOT / file).read_text(encoding="utf-8"), file)
    for notebook, (of, _) in NOTEBOOKS.items():
        if of == file:
            title, rest = text.split("\n", 1)
            link = f"`As a notebook <../notebooks/{notebook}.ipynb>`__"
            text = f"{title}\n\n```{{eval-rst}}\n{link}\n```\n{rest}"
    if file == "README.md":
        for caption, files in FILES.items():
            entries = [PAGES.get(file, file).removesuffix(".md") for file in files]
            text += "\n".join(["", *contents(*entries, caption=caption)])
    return text


def write(folder: Path) -> None:
    """Write all pages, and a link to the repository, whose other files the pages link to."""
    (folder / "repository").symlink_to(ROOT)
    for file, of_site in PAGES.items():
        path = folder / of_site
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(file), encoding="utf-8")
    (folder / "api").mkdir()
    for module in MODULES:
        write_module(module, folder / "api")
