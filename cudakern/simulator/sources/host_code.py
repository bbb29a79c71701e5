"""Host code of a file of CUDA C++, which NVRTC refuses: its errors show what to leave out.

A file is compiled as it is. If NVRTC refuses it, it is compiled without headers for the host. Then
the declaration around each error is reduced: a function for the host loses its body, a class all
but its name, and other declarations become namespaces of the names that they declare. NVRTC tries
again, until it takes the rest or all errors lie in device code. A kernel that needs a reduced name
does not compile, instead of finding another meaning: the namespace hides what the name has hidden
before. Lines keep their numbers.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.symbols import demangle
from cudakern.simulator.sources import declarations, includes, standard_headers
from cudakern.simulator.sources.declarations import (
    BRANCHES,
    CLASS_KEYS,
    Declaration,
    Token,
    Unclear,
    declarations_of,
    is_class,
    tokens_of,
)
from cudakern.simulator.sources.includes import digest_of, includes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from cudakern.simulator.sources.includes import File, Includes

    #: Compiles another text of the file, with texts for headers by the names of their includes.
    Attempt = Callable[[str, Mapping[str, str]], tuple[bytes, str]]

#: How a file without its host code begins: marks of host functions vanish, and classes of the
#: standard library are declared, so that NVRTC reads on after their use.
HEAD = """#include <bits/stdc++.h>
#undef __host__
#define __host__
namespace std {
class string; class istream; class ostream; template <class> class function;
template <class...> class vector; template <class...> class map; template <class...> class set;
template <class...> class unordered_map; template <class...> class list;
template <class...> class unique_ptr; template <class...> class shared_ptr;
extern istream& cin; extern ostream &cout, &cerr; ostream& endl(ostream&);
}
"""
_MOST_ATTEMPTS = 24
#: Headers that hold nothing for kernels: C++'s, C's and POSIX's, those of libraries for the host.
_HOST_HEADER = re.compile(
    r"\w+|thrust/(?!complex|functional|iterator/|pair|tuple).*|cub/(?:cub\.cuh|device/.*)"
    r"|(?:arpa|ATen|bits|boost|c10|cooperative_groups/host|fmt|GL|GLFW|gtest|linux|net|netinet"
    r"|nlohmann|nvtx3|opencv2|pybind11|spdlog|sys|tbb|torch|X11)/.*"
    r"|(?:aio|alloca|byteswap|cblas|complex|ctype|dirent|dlfcn|endian|err|errno|error|execinfo"
    r"|fcntl|features|fenv|fftw3|getopt|glob|hdf5|iso646|jpeglib|libgen|libintl|locale|malloc|mpi"
    r"|nccl|netdb|npp\w*|numa|nvjpeg|nvml|nvrtc|nvToolsExt|omp|png|poll|pthread|pwd|regex|sched"
    r"|search|semaphore|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|strings|syslog|termios"
    r"|tgmath|uchar|unistd|utime|values|wchar|wctype|windows|zlib|\w+intrin|helper_(?!math)\w+"
    r"|cu(?:blas\w*|da_?[pP]rofiler\w*|da_\w+_interop|daGL|dnn\w*|fft\w*|file|pti\w*|rand"
    r"|solver\w*|sparse\w*|tensor\w*))\.h"
)
_CUFFT = """#pragma once
#include <cuComplex.h>
typedef float cufftReal; typedef double cufftDoubleReal;
typedef cuComplex cufftComplex; typedef cuDoubleComplex cufftDoubleComplex;
"""
#: What kernels use of headers that are otherwise for the host.
_FOR_KERNELS = {
    "cub/cub.cuh": "".join(
        f"#include <cub/block/block_{name}.cuh>\n"
        for name in ("load", "radix_sort", "reduce", "scan", "store")
    ),
    "cublas_v2.h": "#include <cuComplex.h>\n",
    "cufft.h": _CUFFT,
    "cufftXt.h": _CUFFT,
}
#: gcc's header of all standard headers, which also stands for what they include of each other.
_ALL_STANDARD = "bits/stdc++.h"
_NO_MEMBER = re.compile(r'^(.+\(\d+\)): error: namespace "std" has no member', re.MULTILINE)
_ERROR = re.compile(
    r"^(.+)\((\d+)\): (?:catastrophic )?error\b(.*(?:\n(?!.+\(\d+\): ).+)*)", re.MULTILINE
)
#: The line of an error, and what shows where in it.
_SHOWN = re.compile(r"^  (.*)\n  (\s*)\^$", re.MULTILINE)
_FAILED = "static assertion failed"
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_EXTERN = re.compile(
    r"^\.extern \.(?!shared)(?:func\s*\([^)]*\))?[^;]*?([\w$]+)\s*(?:[;\[]|\n\()", re.MULTILINE
)
#: Variables with initial values, which may be addresses.
_INITIALIZED = re.compile(
    r"^\.(?:visible |weak )?\.?global [^;=]*?([\w$]+)(?:\[[^=]*)? = ([^;]*);", re.MULTILINE
)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*")
_WORD = re.compile(r"\w+")
_MARKS = frozenset({"__device__", "__constant__", "__shared__", "__managed__", "__global__"})
#: Words that a declaration without a body must not have: they ask for a definition.
_DEFINED_INSIDE = re.compile(r"\b(?:inline|__inline|__inline__|__forceinline__|constexpr)\b")
_DEFINED = re.compile(rf"\bstatic\b|{_DEFINED_INSIDE.pattern}")
#: Declarations that must stay, or that have no names, as instances of templates.
_STAY = frozenset({"enum", "template<>"})
_KEPT = BRANCHES | {"#define", "#undef"}
ADVICE = "if nvcc takes the file, make PTX of it, with nvcc -ptx {stem}.cu -o {stem}.ptx, "
ADVICE += 'and give it as path="{stem}.ptx"'


@cache
def digest_code() -> str:
    """Return a digest that changes with the code that is left out."""
    files = (__file__, declarations.__file__, includes.__file__)
    return digest_of(Path(str(file)) for file in files)


def compile_device_code(
    source: str, path: Path, includes: Includes, attempt: Attempt, first: KernelCompileError
) -> tuple[bytes, str]:
    """Return PTX and NVRTC's log of a file without its host code.

    ``source`` is NVRTC's name of the file. ``first`` are the errors of the whole file, which are
    raised unless they are about host code; otherwise KernelCompileError has those of the rest.
    """
    rest = _Rest(source, path, includes)
    for number in range(_MOST_ATTEMPTS):
        try:
            result, log = attempt(rest.text, rest.headers)
        except KernelCompileError as error:
            before = rest.of_kernels
            is_less = rest.leave_out(error.log)
            said = _sort_errors(error.log, rest.of_kernels)
            if is_less and rest.of_kernels.isdisjoint(before):
                continue
            if not number and rest.is_whole:
                log = _sort_errors(first.log, rest.of_kernels)
                raise KernelCompileError(first.source, first.options, log) from None
        else:
            ptx = result.decode(errors="replace")
            needed = {*_EXTERN.findall(ptx)}.difference(BUILTINS)
            if rest.leave_out_variables(_find_tables(ptx, needed.union(_ENTRY.findall(ptx)))):
                continue
            if not needed:
                return result, log
            names = ", ".join(sorted(needed))
            said = f"error: kernels need {names}, which is host code or not there"
        break
    raise KernelCompileError(first.source, first.options, said, ADVICE.format(stem=path.stem))


def holds_kernels(ptx: str) -> bool:
    """Return whether variables hold addresses of kernels, which only the host can use."""
    return bool(_find_tables(ptx, _ENTRY.findall(ptx)))


def _find_tables(ptx: str, symbols: Iterable[str]) -> set[str]:
    """Return the names of variables that hold addresses of some symbols."""
    wanted = {*symbols}
    return {
        demangle(match[1]).rpartition("::")[2]
        for match in _INITIALIZED.finditer(ptx)
        if not wanted.isdisjoint(_SYMBOL.findall(match[2]))
    }


def _sort_errors(log: str, of_kernels: Collection[str]) -> str:
    """Return a log with the errors of kernels first, and those of launches last."""
    blocks = log.split("\n\n")
    blocks.sort(key=lambda text: (text.partition(":")[0] not in of_kernels, "<<<" in text))
    return "\n\n".join(blocks)


class _Rest:
    """What is left of a file and of the user's headers that it includes."""

    def __init__(self, source: str, path: Path, includes: Includes) -> None:
        self._includes = includes
        self._files = {path.resolve(): includes.main, **includes.files}
        self._source = source
        texts = [file.text for file in self._files.values()]
        macros = [match.groups() for text in texts for match in _DEFINE.finditer(text)]
        self._device = _find_macros_of(_MARKS, macros)
        self._kernel = _find_macros_of({"__global__"}, macros)
        self._whole = frozenset(name for name, body in macros if body.rstrip().endswith(("}", ";")))
        self.of_kernels: set[str] = set()  # lines of the last errors that lie in device code
        self._hidden: set[str] = set()  # names of variables and types that have been left out
        self._emptied: set[str] = set()  # names of classes that have lost all else
        self._needs_standard = _ALL_STANDARD in includes.others

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out, or given to NVRTC that it had not before."""
        return self.headers == {_ALL_STANDARD: ""}

    @property
    def text(self) -> str:
        return self._includes.main.text_with(self._find_given())

    def _find_given(self) -> set[Path]:
        """Return the headers that NVRTC gets as texts: what is changed, and what includes it."""
        files = self._includes.files
        given, more = set[Path](), {path for path, file in files.items() if file.is_changed}
        while not more <= given:
            given |= more
            more = {p for p, file in files.items() if not given.isdisjoint(file.included.values())}
        return given

    @property
    def headers(self) -> dict[str, str]:
        """The headers that differ from those in their folders, by what includes call them."""
        others = self._includes.others - standard_headers.list_names()
        if "curand_kernel.h" in others:  # needs it
            others.discard("curand.h")
        result = dict.fromkeys(filter(_HOST_HEADER.fullmatch, others), "")
        result[_ALL_STANDARD] = standard_headers.include_all() if self._needs_standard else ""
        result |= {name: text for name, text in _FOR_KERNELS.items() if name in others}
        given = self._find_given()
        for path in given:
            text = self._includes.files[path].text_with(given)
            result[str(path)] = f'#line 1 "{path}"\n{text}'
        main = self._includes.main
        for mark, name in main.included.keys() - includes_in(main.text):  # by an option
            if (path := main.included[mark, name]) in given:
                result[name] = f'#include "{path}"'
        return result

    def leave_out(self, log: str) -> bool:
        """Leave out the host code around errors; return whether there was any."""
        self.of_kernels = set()
        errors: dict[str, list[tuple[int, str]]] = {}
        for name, line, said in _ERROR.findall(log):
            errors.setdefault(name, []).append((int(line), said))
        # An error before may have led to that of a class, which goes as a whole.
        for kinds in ({"function", "other"}, {"class"}):
            done = [self._leave_out_of(name, some, kinds) for name, some in errors.items()]
            if is_less := any(done):
                self.leave_out_variables(self._hidden, "extern")
                break
        unknown = self.of_kernels.intersection(_NO_MEMBER.findall(log))
        if unknown and not self._needs_standard:
            self._needs_standard = True
            self.of_kernels = set()
            return True
        return is_less

    def leave_out_variables(self, names: set[str], word: str = "") -> bool:
        """Leave out the variables with some names, whose declarations may need to have a word."""
        done = False
        for file in self._files.values() if names else ():
            wanted = [
                one
                for one in (self._find_declarations(file) if word in file.text else ())
                if one.kind == "other" and word in ("", *one.texts) and self._is_host(file, one)
                if not names.isdisjoint(_find_names(one.texts) or ())
            ]
            done |= self._reduce(file, wanted)
        return done

    def _leave_out_of(
        self, name: str, errors: list[tuple[int, str]], kinds: Collection[str]
    ) -> bool:
        """Leave out the declarations of some kinds around errors of a file, by their lines."""
        is_main = name == self._source
        file = self._includes.main if is_main else self._files.get(Path(name).resolve())
        if file is None:
            return False
        found = self._find_declarations(file)
        starts = [0, *(match.end() for match in re.finditer("\n", file.text)), len(file.text)]
        wanted: dict[int, Declaration] = {}
        for line, said in ((line, said) for line, said in errors if line < len(starts)):
            start, end = starts[line - 1 : line + 1]
            at = start + _find_column(said, file.text[start:end])
            for one in _select_on_line(found, start, end, at):
                is_wrong = _FAILED in said and "static_assert" in one.texts
                if self._is_host(file, one) and not is_wrong:
                    wanted[one.start] = one
                else:
                    self.of_kernels.add(f"{name}({line})")
        return self._reduce(file, [one for one in wanted.values() if one.kind in kinds])

    def _find_declarations(self, file: File) -> list[Declaration]:
        try:
            return declarations_of(file.text, tokens_of(file.text), self._whole)
        except Unclear:
            return []

    def _is_host(self, file: File, one: Declaration) -> bool:
        return self._device.isdisjoint(_WORD.findall(file.text[one.start : one.body]))

    def _reduce(self, file: File, wanted: list[Declaration]) -> bool:
        """Reduce declarations, unless they must stay; return whether the text is another now."""
        text = file.text
        tokens = tokens_of(text) if wanted else []
        kernels = [token.start for token in tokens if token.text in self._kernel]
        for one in sorted(wanted, key=attrgetter("start"), reverse=True):
            is_kernel = any(one.start <= at < one.end for at in kernels)
            names = _find_names(one.texts) if one.kind == "other" else []
            if names is None and not self._emptied.isdisjoint(_find_owners(one.texts)):
                names = []  # a member of such a class
            if is_kernel or names is None:
                continue
            self._hidden.update(names)
            if one.kind == "class":
                pairs = pairwise(one.texts)
                self._emptied.add(next(name for key, name in pairs if key in CLASS_KEYS))
            hidden = " ".join(f"namespace {name} {{}}" for name in names)
            start = one.start if one.kind == "other" else one.body
            defined = _DEFINED_INSIDE if one.is_member else _DEFINED
            head = defined.sub("", text[one.start : start])
            mark = hidden if one.kind == "other" else ";"
            blank = _blank(text, tokens, start, one.end)
            text = text[: one.start] + head + mark + blank + text[one.end :]
        is_changed = text != file.text
        file.text, file.is_changed = text, file.is_changed or is_changed
        return is_changed


def _find_macros_of(words: Collection[str], macros: list[tuple[str, ...]]) -> set[str]:
    """Return some words and the macros that expand to one of them."""
    bodies = [(name, frozenset(_WORD.findall(body))) for name, body in macros]
    result, size = set(words), 0
    while len(result) > size:
        size = len(result)
        result |= {name for name, body in bodies if not result.isdisjoint(body)}
    return result


def _find_column(said: str, line: str) -> int:
    """Return where in a line an error is; -1 if it shows another text, as that of a macro."""
    shown = _SHOWN.search(said)
    if shown is None or shown[1].rstrip() != includes.as_shown(line).rstrip():
        return -1
    before = line.encode(errors="surrogateescape")[: len(shown[2])]  # NVRTC counts bytes
    return len(before.decode(errors="replace"))


def _select_on_line(found: list[Declaration], start: int, end: int, at: int) -> list[Declaration]:
    """Return the declarations at a place, or else on its line; only functions if some are."""
    on_line = [one for one in found if one.start < end and start < one.end]
    result = [one for one in on_line if one.start <= at < one.end] if at >= start else []
    result = result or on_line
    return [one for one in result if one.kind == "function"] or result


def _find_names(texts: list[str]) -> list[str] | None:
    """Return the names that a declaration hides; None if it must stay, or they are unclear."""
    if not _STAY.isdisjoint(texts):
        return None
    # These have none; the last is an instance.
    if "operator" in texts or "static_assert" in texts[:1] or "template" in texts[:2]:
        return []
    if "{}" in texts and is_class(texts[: (end := texts.index("{}"))]):
        name = texts[end - 1]
        texts = [*([] if name in CLASS_KEYS else [name, ","]), *texts[end + 1 :]]
    names: list[str] = []
    depth, is_open, is_value = 0, True, False
    for k, text in enumerate(texts):
        if text == "<":
            depth += not is_value or _is_of_template(texts[k:])
        depth -= text == ">" and (depth > 0 or not is_value)
        if depth == 0 and is_open and text in {"=", ",", ";", "()", "[]", "{}", ":"}:
            is_unclear = text == "()" and texts[k + 1 : k + 2] == ["()"]
            if k == 0 or not texts[k - 1].isidentifier() or is_unclear:
                return None
            is_elsewhere = texts[0] != "using" and texts[k - 2] in {"::", "~"}
            names.append("" if is_elsewhere else texts[k - 1])
            is_open = False
        if depth == 0:
            is_open |= text == ","
            is_value = text != "," and (is_value or text == "=")
    return None if depth or not names else [name for name in names if name]


def _find_owners(texts: list[str]) -> list[str]:
    """Return the names that qualify the first name that is declared, without arguments."""
    names: list[str] = []
    depth, is_name = 0, True
    ends = {"operator", "()", "=", "{}", "[]", ";"}
    end = next((k + (text == "operator") for k, text in enumerate(texts) if text in ends), None)
    for text in reversed(texts[:end]):
        depth += (text == ">") - (text == "<")
        if depth or text in {"<", "~"}:
            continue
        if is_name:
            names.append(text)
        elif text != "::":
            break
        is_name = not is_name
    return names[1:]


def _is_of_template(texts: list[str]) -> bool:
    """Return whether the ``<`` that begins a part of a value holds arguments of a template."""
    depth = 0
    for text, after in pairwise(texts):
        depth += (text == "<") - (text == ">")
        if depth == 0:
            return after in {"()", "{}", "::", ",", ";", "?"}
    return False


def _blank(text: str, tokens: list[Token], start: int, end: int) -> str:
    """Return blanks for a part of a text, with its lines' ends and what the preprocessor needs."""
    parts: list[str] = []
    at = start
    kept = [t for t in tokens if start <= t.start < end and t.text in _KEPT]
    for token in (*kept, Token("", end, end)):
        parts += (re.sub(r"[^\r\n]", " ", text[at : token.start]), text[token.start : token.end])
        at = token.end
    return "".join(parts)
