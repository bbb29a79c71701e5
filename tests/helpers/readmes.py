"""The pages: README files and those beside them, and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path

import cudakern
from cudakern.engines.kernel_text import kernel_folder

ROOT = Path(__file__).parent.parent.parent
#: Where the folders of the repository are: the tests may run beside an installed package.
FOLDERS = {
    "cudakern": Path(cudakern.__file__).parent,
    "kernels": kernel_folder(),
    "perf": ROOT / "perf",
    "tests": ROOT / "tests",
}
#: The target of a link.
LINK = re.compile(r"\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def located(path):
    """Return where a file or folder of the repository is."""
    first, *rest = Path(path).parts
    return FOLDERS.get(first, ROOT / first).joinpath(*rest)


def readmes():
    """Return the paths of the README and of all pages in folders of the repository."""
    found = ["README.md"]
    for name, folder in FOLDERS.items():
        paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
        found += [f"{name}/{path}" for path in paths if not path.startswith("kernels/")]
    return sorted(found)


def read(path):
    """Return the text of a page, or of another file of the repository."""
    return located(path).read_text(encoding="utf-8")


def section(path, title):
    """Return the part of a page from a heading to the next one of its rank or above."""
    rank = len(title.split()[0])
    lines = read(path).split(f"\n{title}\n", 1)[1].splitlines(keepends=True)
    in_code = False
    for number, line in enumerate(lines):
        in_code ^= line.startswith("```")
        if not in_code and re.match(rf"#{{1,{rank}}} ", line):
            return "".join(lines[:number])
    return "".join(lines)


def rows(text):
    """Return the cells of each row of the tables in a text, without the tables' heads."""
    lines = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    rules = [number for number, cells in enumerate(lines) if set(cells) == {"---"}]
    heads = {number - above for number in rules for above in (0, 1)}
    return [cells for number, cells in enumerate(lines) if number not in heads]


def has_test(name):
    """Return whether there is a test ``file::function`` in the folder of tests."""
    file, _, function = name.partition("::")
    path = FOLDERS["tests"] / file
    return path.exists() and f"def {function}(" in path.read_text(encoding="utf-8")


def blocks(text):
    """Return each Python block with the output that follows before the next one, if any."""
    found = []
    for language, content in _BLOCK.findall(text):
        if language == "python":
            found.append((content, ""))
        else:
            found[-1] = (found[-1][0], content)
    return found
