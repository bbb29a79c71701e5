"""Kernel text on its way to the host's compiler: dynamic shared memory, macros, headers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cudakern.engines.simulator.explain import OPAQUE, line_of
from cudakern.engines.simulator.includes import HEADERS, INCLUDE_FILES

_HERE = Path(__file__).resolve().parent
#: Put in front of every kernel.
FIRST_HEADER = "cuda_host.hpp"
INCLUDED = ("-I.", "-include", FIRST_HEADER)
_ALWAYS = (
    FIRST_HEADER,
    *("runtime.hpp", "checked_api.hpp", "vector_types.hpp", "atomics.hpp", "intrinsics.hpp"),
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_DYNAMIC = re.compile(
    r"\bextern\b(?P<before>[^;{}=]*?)\b__shared__\b(?P<between>[^;{}=]*?)\b(?P<name>[A-Za-z_]\w*)"
    r"\s*\[\s*\](?P<rest>(?:\s*\[[^\]]*\])*)(?P<end>\s*;|[ \t]*(?=\n|\Z))"
)
#: A global variable, which the host can write; functions have parentheses.
_VARIABLE = re.compile(
    r"\b__device__\b(?!\s*(?:\(|\{|->|mutable\b|noexcept\b))(?=(?:[^;{}()=\[]|\b(?:__align__|alignas)\s*\([^()]*\))*[;=\[{])"
    r"(?![^;=\[{]*\boperator\b)"
)
_ATTRIBUTE = re.compile(
    r"\b(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_SCOPE = re.compile(r"\bnamespace\b[^;{}]*\{|\bextern\s*\{|\{|\}")


def without_comments(text: str) -> str:
    """Return the text with comments and literals blanked; lines stay lines."""
    return OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel source as it is compiled for the host.

    Attributes
    ----------
    source : str
        Name of the file, for errors and findings.
    text : str
        CUDA C++, unchanged.
    macros : tuple of (str, str)
        What the text is compiled with; not seen by the simulator's own headers.
    flags : tuple of str
        Further arguments of the compiler.
    directives : tuple of str
        Lines in front of the text, like the macros.
    """

    source: str
    text: str
    macros: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()

    def _included(self) -> dict[Path, str]:
        """Return the files of the caller that the text includes, however deep."""
        folders = [Path(flag[2:]) for flag in self.flags if flag.startswith("-I")]
        quoted = [Path(flag[7:]) for flag in self.flags if flag.startswith("-iquote")]
        found: dict[Path, str] = {}
        pending: list[tuple[str, list[Path]]] = [(self.text, [])]
        while pending:
            text, beside = pending.pop()
            for mark, name in _includes(text):
                places = [*beside, *quoted, *folders] if mark == '"' else folders
                path = next((p for place in places if (p := place / name).is_file()), None)
                if path is not None and path not in found:
                    found[path] = path.read_text(encoding="utf-8", errors="replace")
                    pending.append((found[path], [path.parent]))
        return found

    def parts(self, trailer: str = "") -> tuple[tuple[str, str], ...]:
        """Return the files to compile; the first one includes the others."""
        # Escaped as the preprocessor reads it.
        name = self.source.replace("\\", "\\\\").replace('"', '\\"')
        named = f'#line 1 "{name}"\n{_placed(self.text)}'
        # Not as -D: the simulator's own headers must not see them.
        defines = "".join(f"#define {key} {value}\n" for key, value in self.macros)
        defines += "".join(f"{line}\n" for line in self.directives)
        ending = f'\n#line 1 "ck_sim_entries.hpp"\n{trailer}' if trailer else ""
        # Nothing includes it: a library is another one when these files change.
        included = "".join(f"{path}\n{given}\n" for path, given in self._included().items())
        last = (("included.txt", included),) if included else ()
        return (("kernel.cpp", defines + named + ending), *_headers(), *last)


# One text has many specialisations.
_includes = lru_cache(maxsize=16)(_INCLUDE.findall)


@lru_cache(maxsize=16)
def _placed(text: str) -> str:
    return keep_variables(place_dynamic_shared(text))


def _headers() -> tuple[tuple[str, str], ...]:
    return (*read((*_ALWAYS, *HEADERS)), *INCLUDE_FILES.items())


def read(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return files of the simulator with their texts."""
    return _read(names, _HERE)


@lru_cache(maxsize=16)
def _read(names: tuple[str, ...], folder: Path) -> tuple[tuple[str, str], ...]:
    paths = [folder / name for name in names]
    return tuple((path.name, path.read_text(encoding="utf-8")) for path in paths)


def write(parts: tuple[tuple[str, str], ...], folder: Path) -> None:
    """Write files into a folder, creating the folders below it that their names ask for."""
    for name, text in parts:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def keep_variables(text: str) -> str:
    """Have the compiler take no ``__device__`` variable for one that nothing else can write."""
    plain = without_comments(text)
    pieces: list[str] = []
    end = 0
    for match in _VARIABLE.finditer(plain):
        pieces += (text[end : match.start()], "__attribute__((used))")
        end = match.end()
    return "".join(pieces) + text[end:]


def place_dynamic_shared(text: str) -> str:
    """Replace ``extern __shared__ T name[];`` by a reference to the block's dynamic memory.

    In a function it becomes a local reference; between functions, where it would be bound once and
    for all, a function of the same name in macro's clothing. Lines stay where they are.
    """
    plain = without_comments(text)
    if "__shared__" not in plain or not _DYNAMIC.search(plain):
        return text
    pieces: list[str] = []
    end = 0
    declared: set[str] = set()  # between functions
    for match in _DYNAMIC.finditer(plain):
        given = f"{match['before']} {match['between']}"
        kind = " ".join(_ATTRIBUTE.sub(" ", given.replace("\\\n", " ")).split())
        name, rest = match["name"], match["rest"]
        breaks = "".join(re.findall(r"\\?\n", match[0]))
        if name in declared:
            made = breaks
        elif _is_local(plain, match.start()):
            ending = ";" if match["end"] else ""
            made = f"CK_SIM_DYNAMIC({name}, {rest or ' '}, {kind}){ending}{breaks}"
        else:
            declared.add(name)
            number = line_of(text, match.end())
            made = (
                f"CK_SIM_DYNAMIC_FUNCTION(ck_sim_dynamic_{name}, {rest or ' '}, {kind})\n"
                f"#define {name} ck_sim_dynamic_{name}()\n#line {number}\n"
            )
        pieces += (text[end : match.start()], made)
        end = match.end()
    return "".join(pieces) + text[end:]


def _is_local(plain: str, position: int) -> bool:
    """Return whether a position lies in a function, or in a macro, which is used in one."""
    line = plain.rfind("\n", 0, position) + 1
    while line > 1 and plain[: line - 1].endswith("\\"):
        line = plain.rfind("\n", 0, line - 1) + 1
    if plain[line:position].lstrip().startswith("#"):
        return True
    depth = 0
    stack: list[bool] = []
    for scope in _SCOPE.finditer(plain, 0, position):
        if scope[0] == "}":
            depth -= stack.pop() if stack else 0
        else:
            stack.append(scope[0] == "{")
            depth += stack[-1]
    return depth > 0
