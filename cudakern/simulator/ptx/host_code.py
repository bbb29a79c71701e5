"""Host code of a file of CUDA C++, which NVRTC does not take: left out by what NVRTC says of it.

A file is compiled as it is. If NVRTC refuses it, what each of its errors lies in is looked at. Of a
function for the host the body goes, of other declarations for the host all. Then NVRTC is asked
again, until it takes the rest, or until all errors lie in device code. A name that goes hides what
it has hidden before: of a class and of a function its declaration stays, a variable or a type
becomes a class without members. So what a kernel needs is missing, and not another thing. Lines
keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx import standard_headers
from cudakern.simulator.ptx.declarations import (
    ATTRIBUTES,
    BRANCHES,
    CLASS_KEYS,
    Declaration,
    Token,
    Unclear,
    declarations_of,
    tokens_of,
    without_template,
)
from cudakern.simulator.ptx.instructions.moves_and_branches import BUILTINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    #: Compiles another text of the file, with texts for headers by the names of their includes.
    Attempt = Callable[[str, Mapping[str, str]], tuple[bytes, str]]

_MOST_ATTEMPTS = 24
#: Headers that hold nothing for kernels: C++'s, POSIX's, those of CUDA's libraries for the host.
_HOST_HEADER = re.compile(
    r"algorithm|any|bitset|charconv|chrono|codecvt|complex|condition_variable|deque|exception"
    r"|execution|filesystem|format|forward_list|fstream|functional|future|initializer_list|iomanip"
    r"|ios|iosfwd|iostream|istream|iterator|list|locale|map|memory|mutex|numeric|optional|ostream"
    r"|queue|random|ranges|regex|set|shared_mutex|span|sstream|stack|stdexcept|streambuf|string"
    r"|string_view|system_error|thread|typeindex|typeinfo|unordered_map|unordered_set|valarray"
    r"|variant|vector|(?:ctype|errno|getopt|locale|omp|pthread|signal|time|unistd|wchar)\.h"
    r"|c(?:ctype|errno|locale|signal|time|wchar)|(?:sys|nvtx3|cooperative_groups/host)/.*"
    r"|(?:cublas|cublasLt|cublasXt|cublas_v2|cudaProfiler|cuda_profiler_api|cudnn|cufft|curand"
    r"|cusolverDn|cusparse|driver_functions|helper_(?:cuda|functions|timer|string)|mpi|nccl"
    r"|nvToolsExt|nvml|nvrtc)\.h|(?:torch|ATen|c10|pybind11|gtest|benchmark)/.*"
)
#: Those of libraries whose algorithms begin on the host.
_LIBRARY_HEADER = re.compile(r"thrust/(?!complex|pair|tuple).*|cub/(?:device/.*|cub\.cuh)")
#: What they declare, without what it is, so that NVRTC reads on after a use of it.
_STAND_IN = """#ifndef __CUDAKERN_LEFT_OUT
#define __CUDAKERN_LEFT_OUT
namespace std {
class string; class string_view; class istream; class ostream; class iostream; class stringstream;
class istringstream; class ostringstream; class fstream; class ifstream; class ofstream;
class runtime_error; class logic_error; class invalid_argument; class out_of_range; class thread;
class mt19937; class mt19937_64; class default_random_engine; class random_device; class mutex;
class once_flag; class condition_variable; class regex;
template <class> class function; template <class> class future;
template <class...> class vector; template <class...> class list; template <class...> class deque;
template <class...> class map; template <class...> class multimap; template <class...> class set;
template <class...> class unordered_map; template <class...> class unordered_set;
template <class...> class queue; template <class...> class priority_queue;
template <class...> class stack; template <class...> class unique_ptr;
template <class...> class shared_ptr; template <class...> class weak_ptr;
template <class...> class lock_guard; template <class...> class unique_lock;
template <class...> class uniform_int_distribution; template <class...> class normal_distribution;
template <class...> class uniform_real_distribution;
}
#endif
"""
_ERROR = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): (?:catastrophic )?error\b.*")
_MISSING = re.compile(r'open source file "([^"]+)"')
_DEFINE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*(?:line\b|\d)", re.MULTILINE)
_EXTERN = re.compile(
    r"^\.extern\s+(?:\.func\s+(?:\([^)]*\)\s*)?([\w$]+)|\.(?:global|const)\b[^;]*?([\w$]+)(?:\[\d*\])?;)",
    re.MULTILINE,
)
_POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)")  # a name
_MARKS = frozenset({"__device__", "__constant__", "__shared__", "__managed__", "__global__"})
#: What a macro pastes such a word from, and what other libraries call theirs.
_PASTED = re.compile(r"__\w*\s*##|##\s*\w*__")
_FOREIGN_MARK = re.compile(r"[A-Z\d_]*(?:DEVICE|GLOBAL|KERNEL)[A-Z\d_]*|_*HD_*")
#: What a declaration without a body must not say: that it is defined here, or for the host alone.
_SPECIFIERS = frozenset(
    ["inline", "__inline", "__inline__", "__forceinline__", "constexpr", "consteval", "__host__"]
)
_KEPT = BRANCHES | {"#define", "#undef"}
ADVICE = (
    "what is for kernels cannot be told from host code: make PTX of the file, with "
    'nvcc -ptx {stem}.cu -o {stem}.ptx, and give it as path="{stem}.ptx"'
)


@dataclass(slots=True)
class File:
    """A text that NVRTC reads, the user's own."""

    text: str
    names: set[str] = field(default_factory=set)  # what includes call it; none of the file itself


class Includes(NamedTuple):
    """What a file includes, however deep."""

    files: dict[Path, File]  # the user's own
    others: set[str]  # names of all other headers


class _Error(NamedTuple):
    message: str
    line: int
    column: int | None  # None if NVRTC has not shown it


class _Edit(NamedTuple):
    start: int
    end: int
    text: str  # what it becomes, before blanks
    names: list[str]  # of what is declared there
    is_class: bool = False


def compiled(
    text: str,
    shown: str,
    path: Path,
    includes: Includes,
    attempt: Attempt,
    first: KernelCompileError,
) -> tuple[bytes, str]:
    """Return PTX and NVRTC's log of a file without its host code.

    ``shown`` is what NVRTC calls the file, ``first`` its errors of all of it, which are raised if
    they are not about host code. KernelCompileError has errors about what is left otherwise.
    """
    rest = _Rest(text, shown, path, includes)
    error = first
    for _ in range(_MOST_ATTEMPTS):
        if not rest.leave_out(error.log):
            break
        try:
            result, log = attempt(rest.text, rest.headers)
        except KernelCompileError as again:
            error = again
            continue
        missing = rest.missing(result.decode(errors="replace"))
        if not missing:
            return result, log
        error = KernelCompileError(first.source, first.options, missing)
        break
    if error is first:
        raise first
    log = f"{error.log}\n\nWhat NVRTC said of the whole file:\n{first.log}"
    raise KernelCompileError(first.source, first.options, log, ADVICE.format(stem=path.stem))


class _Rest:
    """What is left of a file and of the user's headers that it includes."""

    def __init__(self, text: str, shown: str, path: Path, includes: Includes) -> None:
        self._main = code = File(text)
        self._includes = includes
        self._files = {_plain(path): code, **{_plain(p): f for p, f in includes.files.items()}}
        self._files[shown] = code
        texts = [file.text for file in self._files.values()]
        self._is_plain = not any(map(_LINE.search, texts))  # else lines are not those of files
        self._device = _marks(texts, _MARKS)
        self._kernel = _marks(texts, frozenset({"__global__"}))
        macros = [match for text in texts for match in _DEFINE.finditer(text)]
        self._known = {match[1] for match in macros}
        self._whole = frozenset(m[1] for m in macros if m[2].rstrip().endswith(("}", ";")))
        self._empty: set[str] = set()  # headers that are left out
        self._reasons: dict[str, str] = {}  # NVRTC's error, by names of what is left out
        self._begun = {id(file): file.text for file in self._files.values()}

    @property
    def text(self) -> str:
        """The file."""
        return self._main.text

    @property
    def headers(self) -> dict[str, str]:
        """The headers that are not as they lie in their folders, by the names of includes."""
        result = {n: _STAND_IN * bool(_HOST_HEADER.fullmatch(n)) for n in self._empty}
        for path, file in self._includes.files.items():
            if file.text != self._begun[id(file)]:
                first, *more = sorted(file.names)
                result[first] = f'#line 1 "{path}"\n{file.text}'
                result |= dict.fromkeys(more, f'#include "{first}"')
        return result

    def leave_out(self, log: str) -> bool:
        """Leave out what errors lie in, if it is for the host; return whether anything was."""
        wanted: dict[str, list[_Error]] = {}
        is_done = False
        for block in log.split("\n\n"):
            match = _ERROR.match(block)
            if match is None or not self._is_plain:
                continue
            missing = _MISSING.search(match[0])
            file = self._of(match["file"])
            if file is None or missing is not None:
                is_done |= self._leave_out_header(missing and missing[1], is_own=file is not None)
            else:
                error = _Error(match[0], int(match["line"]), _column(block))
                wanted.setdefault(match["file"], []).append(error)
        # An error before may have led to that of a class, which goes as a whole.
        for with_classes in (False, True):
            for name, errors in wanted.items():
                if not (is_done and with_classes):
                    is_done |= self._leave_out_of(self._of(name), errors, classes=with_classes)
        return is_done

    def missing(self, ptx: str) -> str:
        """Return NVRTC's error about what was left out and PTX uses; nothing if it has all."""
        for match in _EXTERN.finditer(ptx):
            symbol = match[1] or match[2]
            if symbol not in BUILTINS:
                known = (self._reasons[name] for name in self._reasons if name in symbol)
                return next(known, next(iter(self._reasons.values()), f"error: {symbol}"))
        return ""

    def _of(self, name: str) -> File | None:
        return self._files.get(name) or self._files.get(_plain(Path(name)))

    def _leave_out_header(self, missing: str | None, *, is_own: bool) -> bool:
        """Leave out headers after an error in one of them, or one about one that is missing."""
        others = set(self._includes.others)
        names: Iterable[str] = ()
        if not is_own:
            names = filter(_LIBRARY_HEADER.fullmatch, others - self._empty)
        if missing is not None and _HOST_HEADER.fullmatch(missing) and not (names := list(names)):
            others -= standard_headers.names()
            names = {missing, *filter(_HOST_HEADER.fullmatch, others)}
        count = len(self._empty)
        self._empty.update(names)
        return len(self._empty) > count

    def _leave_out_of(self, file: File | None, errors: list[_Error], *, classes: bool) -> bool:
        """Leave out what errors of a file lie in; classes, too, if asked."""
        others = (f.names for f in self._files.values() if f is not file)
        if file is None or not file.names.isdisjoint(name for names in others for name in names):
            return False  # NVRTC gets texts by such names
        text = file.text
        try:
            tokens = tokens_of(text)
            declarations = declarations_of(text, tokens, self._whole)
        except Unclear:
            return False
        kernels = [token.start for token in tokens if token.text in self._kernel]
        starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        edits: dict[tuple[int, int], str] = {}
        for error in errors:
            found = self._edits_for(error, text, starts, declarations)
            is_wanted = classes or not any(edit.is_class for edit in found)
            if is_wanted and not any(e.start <= at < e.end for e in found for at in kernels):
                for edit in found:
                    edits[edit.start, edit.end] = edit.text
                    for name in edit.names:
                        self._reasons.setdefault(name, error.message)
        for (start, end), mark in sorted(edits.items(), reverse=True):
            if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in edits):
                text = text[:start] + mark + _blank(text, tokens, start, end) + text[end:]
        is_changed = text != file.text
        file.text = text
        return is_changed

    def _edits_for(
        self, error: _Error, text: str, starts: list[int], declarations: list[Declaration]
    ) -> list[_Edit]:
        """Return what to do for an error; nothing if it lies in what must stay, perhaps in part."""
        if error.line >= len(starts):
            return []
        begin, end = starts[error.line - 1 : error.line + 1]
        column = error.column if error.column is not None and error.column < end - begin else None
        if column is not None:
            begin, end = begin + column, begin + column + 1
        found = _innermost(declarations, begin, end)
        made = [self._edits(text, one, one.body if column is None else begin) for one in found]
        return [edit for some in made for edit in some] if all(made) else []

    def _edits(self, text: str, one: Declaration, at: int) -> list[_Edit]:
        """Return what to do for an error at a place in a declaration; nothing if it must stay."""
        texts = one.texts
        start = without_template(texts)
        if self._is_for_device(text, one) or "static_assert" in texts or start == len(texts):
            return []
        is_special = texts[:3] == ["template", "<", ">"]
        is_body = one.kind == "function" and (at >= one.body or "__host__" in texts)
        if is_body and (is_special or not _is_outside(texts)):
            return _cut(one, one.body, _names(texts))
        whole = one if one.kind == "class" else one.outer
        if whole is one or (whole is not None and _may_be_data(texts[start:])):
            return self._edits_of_class(whole)
        if is_special or "enum" in texts or texts[start] in CLASS_KEYS:
            return []
        if texts[0] == "template" and start == 0:  # an instance
            is_sure = texts[1] in CLASS_KEYS or self._are_for_host(texts)
            return [_Edit(one.start, one.end, "", [])] if is_sure else []
        return _edits_of_name(text, one, texts[start])

    def _edits_of_class(self, one: Declaration) -> list[_Edit]:
        """Return what leaves of a class its declaration, or nothing that has its name."""
        texts = one.texts
        key = next(k for k, name in enumerate(texts) if name in CLASS_KEYS)
        after = texts.index("{}") + 1
        words = [
            t
            for t in texts[key + 1 : after]
            if t.isidentifier() and t not in {*ATTRIBUTES, "final"}
        ]
        is_plain = texts[after:] == [";"]
        if one.outer is not None and not (is_plain and words) and "typedef" not in texts:
            return self._edits_of_class(one.outer)
        if is_plain and words:
            ends = (t.start for t in one.outline if t.text in {":", "final", "{}"})
            return [edit._replace(is_class=True) for edit in _cut(one, next(ends), words)]
        names = _names(["", *texts[after:]])
        return [_hidden(one, names)._replace(is_class=True)] if names else []

    def _is_for_device(self, text: str, one: Declaration) -> bool:
        head = text[one.start : one.body or one.end]
        return any(
            token.text in self._device
            or (_FOREIGN_MARK.fullmatch(token.text) and token.text not in self._known)
            for token in tokens_of(head)
        )

    def _are_for_host(self, words: list[str]) -> bool:
        """Return whether functions are declared that are among some words, all for the host."""
        marks = [
            self._is_for_device(file.text, one)
            for file in self._files.values()
            for one in declarations_of(file.text, tokens_of(file.text), self._whole)
            if not {*words}.isdisjoint(_names(one.texts))
        ]
        return bool(marks) and not any(marks)


def _plain(path: Path) -> str:
    return str(path.resolve())


def _marks(texts: list[str], words: frozenset[str]) -> frozenset[str]:
    """Return the words and the macros that lead to one of them."""
    bodies: dict[str, set[str]] = {}
    for match in (match for text in texts for match in _DEFINE.finditer(text)):
        pasted = set(words) if _PASTED.search(match[2]) else set()
        bodies.setdefault(match[1], set()).update(re.findall(r"\w+", match[2]), pasted)
    while more := {n for n, body in bodies.items() if n not in words and words & body}:
        words |= more
    return words


def _column(block: str) -> int | None:
    """Return the column of an error, which a mark below its line shows behind two blanks."""
    lines = block.splitlines()
    marks = (line.index("^") - 2 for line in lines if line.strip() == "^")
    return next(marks, None)


def _innermost(declarations: list[Declaration], begin: int, end: int) -> Iterable[Declaration]:
    for one in declarations:
        if one.start < end and begin < one.end:
            inner = list(_innermost(one.members, begin, end))
            yield from inner or [one]


def _call(texts: list[str]) -> int | None:
    """Return where the parameters of a declared function are in an outline; None if it is none."""
    depth = 0
    if "operator" in texts:
        return texts.index("()") if "()" in texts else None
    for k, text in enumerate(texts):
        depth += (text == "<") - (text == ">")
        if text == "=":
            return None
        if text == "()" and depth == 0 and k and texts[k - 1] not in ATTRIBUTES:
            is_declarator = texts[k + 1 : k + 2] == ["()"] or not texts[k - 1].isidentifier()
            return None if is_declarator else k
    return None


def _is_outside(texts: list[str]) -> bool:
    """Return whether a function is a member that its class declares, too."""
    call = _call(texts) or 0
    name = texts.index("operator") if "operator" in texts else call - 1
    return texts[name - 1 : name] == ["::"] or texts[name - 2 : name] == ["::", "~"]


def _may_be_data(texts: list[str]) -> bool:
    """Return whether what a class is in memory may depend on a member."""
    call = _call(texts)
    if call is None:
        return texts[0] not in {"using", "typedef", "friend", "static"}
    if not {"virtual", "override", "final"}.isdisjoint(texts):
        return True
    # Without a constructor a class has another, and a macro's call may declare anything.
    words = [text for text in texts[:call] if text not in _SPECIFIERS | {"explicit", "~"}]
    return len(words) == 1 and "operator" not in texts


def _edits_of_name(text: str, one: Declaration, word: str) -> list[_Edit]:
    """Return what leaves nothing of a declaration that begins with a word but what it hides."""
    texts, names = one.texts, _names(one.texts)
    call = _call(texts)
    if word in {"friend", "namespace"} or "operator" in texts or (call and _is_outside(texts)):
        return [_Edit(one.start, one.end, "", names or texts[:call][-1:])]
    if word == "using":
        names = [texts[texts.index(word) + 1]] if "=" in texts else []
    elif not names:
        names = _POINTER.findall(text, one.start, one.end)[:1]
        if not names and "::" not in texts:
            return []
    return [_hidden(one, names)]


def _names(texts: list[str]) -> list[str]:
    """Return the names that an outline declares, without those that are declared elsewhere."""
    names, depth, last, is_open = [], 0, "", True
    call = _call(texts)
    for k, text in enumerate([*texts, ";"]):
        depth += (text == "<") - (text == ">")
        if is_open and (text in {"=", ",", ";", "[]", "{}", ":"} or k == call) and depth == 0:
            before = texts[k - 2] if k > 1 else ""
            if last and before != "::":
                names.append(last)
            is_open = False
        if text == "," and depth == 0:
            is_open = True
        last = text if text.isidentifier() else ""
    return [*dict.fromkeys(names)]


def _hidden(one: Declaration, names: list[str]) -> _Edit:
    """Return what leaves nothing of a declaration but names that cannot be used."""
    return _Edit(one.start, one.end, " ".join(f"struct {name};" for name in names), names)


def _cut(one: Declaration, at: int, names: list[str]) -> list[_Edit]:
    """Return what leaves of a declaration what is before a place, without what goes with a body."""
    needless = _SPECIFIERS if one.outer else _SPECIFIERS | {"static"}
    words = (t for t in one.outline if t.text in needless and t.start < at)
    return [_Edit(at, one.end, ";", names), *(_Edit(t.start, t.end, "", []) for t in words)]


def _blank(text: str, tokens: list[Token], start: int, end: int) -> str:
    """Return blanks for a part of a text, with its lines' ends and what the preprocessor needs."""
    parts: list[str] = []
    at = start
    kept = [t for t in tokens if start <= t.start < end and t.text in _KEPT]
    for token in (*kept, Token("", end, end)):
        parts += (re.sub(r"[^\r\n]", " ", text[at : token.start]), text[token.start : token.end])
        at = token.end
    return "".join(parts)
