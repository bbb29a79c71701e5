"""The parameters of kernels, as texts or symbols have them: names, and what they point to."""

from __future__ import annotations

import re
from typing import NamedTuple

from cudakern.simulator.ptx.symbols import find_symbols


class Numbers(NamedTuple):
    """Numbers that a pointer leads to."""

    name: str  # in C++
    kind: str  # NumPy's: i for all integers, f
    dtype: str  # whose bits they are in NumPy


#: By their names in C++.
_NUMBERS = {
    name: Numbers(name, kind, dtype)
    for kind, dtype, names in (
        ("i", "int16", ("short", "int16_t")),
        ("i", "uint16", ("unsigned short", "uint16_t")),
        ("i", "int32", ("int", "int32_t")),
        ("i", "uint32", ("unsigned int", "uint32_t")),
        ("i", "int64", ("long", "long long", "int64_t")),
        ("i", "uint64", ("unsigned long", "unsigned long long", "uint64_t", "size_t")),
        ("f", "float16", ("half", "__half")),
        ("f", "float32", ("float",)),
        ("f", "float64", ("double",)),
        ("f", "uint16", ("nv_bfloat16", "__nv_bfloat16")),
    )
    for name in names
}
_KEYWORDS = frozenset(("signed", "unsigned", "short", "long", "int", "float", "double"))
_QUALIFIERS = frozenset(("const", "volatile", "__restrict__", "__restrict"))
_PARAMETER = re.compile(r"([\w:\s]+)(?:\*([\w\s]*)|(\[\s*\w*\s*\]))")
#: What may stand between a word such as struct and the name that it declares.
_BETWEEN = r"(?:\s+(?:class|struct)\b)?(?:\s+\w+\s*\([^()]*\))*"
_MACRO_OPTION = re.compile(r"-D|--define-macro=?")
#: Types of C++ by their letters in symbols. Those with a question mark are never judged.
_LETTERS = dict.fromkeys("vwbcahnoegz", "?") | {
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}
#: By the letter before a type, what it adds behind the type's name: pointers, references, arrays,
#: qualified types; arguments of the template.
_PREFIXES = {"P": "*", "R": "&", "O": "&", "A": "[]", "K": "", "V": "", "r": "", "T": ""}
_COUNT = re.compile(r"\d{1,9}")
_NUMBER = re.compile(r"([0-9A-Z]{0,4})_")
_LITERAL = re.compile(r"L[a-z]n?\d+E")
_SIZE = re.compile(r"\d+_")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
#: Attributes such as __launch_bounds__(256), the name, the parameters in the first group, the body.
_KERNEL = r"\b__global__\b(?:[^;{{}}()]|\({nested}\))*?\b{name}\s*\(({nested})\)\s*\{{"
_ENTRY = re.compile(r"\.entry\s+([\w$]+)(?:\s*\(([^()]*)\))?")
_ARGUMENTS = re.compile(r"<[^<>]*>")  # of templates
_NAME = re.compile(r"[\s*&]([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")


def find_declared_parameters(text: str, kernel: str) -> str | None:
    """Return a kernel's parameters as its text declares them; None unless one kernel is found."""
    name = kernel.partition("<")[0].rpartition("::")[2].strip()
    pattern = _KERNEL.format(name=re.escape(name), nested=_NESTED)
    lists = re.findall(pattern, _COMMENT.sub(" ", text))
    return " ".join(lists[0].split()) if name and len(lists) == 1 else None


def find_entry_parameters(ptx: str, kernel: str) -> str | None:
    """Return a kernel's parameters as PTX declares them; None unless one kernel is found."""
    lists = dict(_ENTRY.findall(_COMMENT.sub(" ", ptx)))
    symbols = find_symbols(kernel, list(lists))
    return " ".join(lists[symbols[0]].replace(".param", "").split()) if len(symbols) == 1 else None


def find_parameter_names(text: str, kernel: str) -> tuple[str, ...]:
    """Return the parameters' names, some of them empty; nothing unless one kernel is found."""
    names = [_NAME.search(parameter) for parameter in _split_parameters(text, kernel)]
    return tuple("" if match is None or match[1].startswith("__") else match[1] for match in names)


def _split_parameters(text: str, kernel: str) -> list[str]:
    """Return a kernel's declared parameters, with ``!`` for the arguments of templates."""
    parameters = find_declared_parameters(text, kernel)
    while parameters and _ARGUMENTS.search(parameters):
        parameters = _ARGUMENTS.sub("!", parameters)
    return parameters.split(",") if parameters else []


def find_pointer_targets(
    symbol: str, text: str, options: tuple[str, ...], count: int
) -> list[Numbers | None]:
    """Return what each of a kernel's parameters points to; None where that is not known.

    ``text`` is CUDA C++, or empty. Types that it defines itself are not known.
    """
    if symbol.startswith("_Z"):
        try:
            types = _Symbol(symbol).parameters()
        except (ValueError, IndexError, RecursionError):  # a symbol that is not understood
            types = []
        names = [name[:-1] if name.endswith("*") else "" for name in types]
    else:
        names = _find_declared_types(text, symbol, options)
    return [_NUMBERS.get(name) for name in names] if len(names) == count else [None] * count


def _find_declared_types(text: str, kernel: str, options: tuple[str, ...]) -> list[str]:
    """Return the types that the parameters of an ``extern "C"`` kernel point to; or empty words."""
    names = [_read_type(parameter) for parameter in _split_parameters(text, kernel)]
    lines = "\n".join((text, *(f"#define {_MACRO_OPTION.sub('', o, 1)}" for o in options)))
    return ["" if name is None or _is_defined(name, lines) else name for name in names]


def _read_type(parameter: str) -> str | None:
    match = _PARAMETER.match(parameter.strip())
    if match is None or re.search(r"[*&\[]", parameter[match.end() :]):
        return None
    words = [word for word in match[1].split() if word not in _QUALIFIERS]
    if match[3]:
        words = words[:-1]  # the parameter's own name
    if not words or not _KEYWORDS.issuperset(words):
        name = words[0] if len(words) == 1 else ""
        return name.removeprefix("::").removeprefix("cuda::").removeprefix("std::")
    if {"float", "double"} & {*words}:
        return words[0] if len(words) == 1 else None
    size = " ".join(word for word in words if word in {"short", "long"}) or "int"
    return f"unsigned {size}" if "unsigned" in words else size


def _is_defined(name: str, text: str) -> bool:
    """Return whether a text gives a type's name, or a word of it, a meaning of its own."""
    words = "|".join(map(re.escape, name.split()))
    own = rf"#\s*define\s+(?:{words})\b"
    if not _KEYWORDS.issuperset(name.split()):
        own += rf"|\btypedef\b[^;]*\b{words}\s*[;,\[)]|\}}[\s*]*{words}\s*[;,\[]"
        own += rf"|\b(?:using|struct|class|union|enum|typename){_BETWEEN}\s+(?:[\w:]*::)?{words}\b"
    return re.search(own, text) is not None


class _Symbol:
    """The parts of a symbol of C++ that types of kernels have."""

    def __init__(self, symbol: str) -> None:
        self.text = symbol
        self.at = len("_Z")
        self.seen: list[str] = []  # what S_, S0_, ... stand for
        self.arguments: list[str] = []  # of the function's template: what T_, T0_, ... stand for

    def parameters(self) -> list[str]:
        """Return the types of the parameters: ``float*`` for any pointer to floats."""
        if self._name(of_function=True):
            self._type()  # of the result
        types = []
        while self.at < len(self.text):
            types.append(self._type())
        return [] if types == ["?"] and self.text.endswith("v") else types

    def _accept(self, word: str) -> bool:
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(self.text)
        self.at = match.end()
        return match

    def _note(self, name: str) -> str:
        self.seen.append(name)
        return name

    def _name(self, *, of_function: bool = False) -> str:
        """Take a name, of a type or of the function; return its arguments, or its last word."""
        nested = self._accept("N")
        name, is_template = "", False
        while True:
            if self._accept("I"):
                arguments = self._arguments()
                is_template, name = True, "?"
                if of_function:
                    self.arguments = arguments
            elif self.text[self.at] == "S":
                name, is_template = self._substitution(), False
                if nested or self.text[self.at] == "I":
                    continue
                return name
            else:
                length = int(self._take(_COUNT)[0])
                if length > len(self.text) - self.at:
                    raise ValueError(self.text)
                name, is_template = self.text[self.at : self.at + length], False
                self.at += length
            ends = self._accept("E") if nested else self.text[self.at : self.at + 1] != "I"
            if not (ends and of_function):
                self._note("?" if nested else name)
            if ends:
                return "?" * is_template if of_function else "?" if nested else name

    def _substitution(self) -> str:
        if self._accept("St"):
            return "std"
        self.at += 1
        if self.text[self.at] in "absiod":
            self.at += 1
            return "?"
        number = self._take(_NUMBER)[1]
        return self.seen[int(number, 36) + 1 if number else 0]

    def _arguments(self) -> list[str]:
        arguments = []
        while not self._accept("E"):
            if self.text[self.at] == "L":
                self._take(_LITERAL)
                arguments.append("?")
            else:
                arguments.append(self._type())
        return arguments

    def _type(self) -> str:
        letter = self.text[self.at]
        if letter in _LETTERS:
            self.at += 1
            return _LETTERS[letter]
        if letter in _PREFIXES:
            return self._note(self._compound())
        if letter != "S":
            return self._name()
        name = self._substitution()
        if name == "std":
            return self._name()
        if not self._accept("I"):
            return name
        self._arguments()
        return self._note("?")

    def _compound(self) -> str:
        """Take a type that is made of another one, or an argument of the template."""
        letter = self.text[self.at]
        self.at += 1
        if letter == "T":
            number = self._take(_NUMBER)[1]
            return self.arguments[int(number) + 1 if number else 0]
        if letter == "A":
            self._take(_SIZE)
        while letter in "KVr" and self.text[self.at] in "KVr":
            self.at += 1
        return self._type() + _PREFIXES[letter]
