"""The words of a PTX text, and the constants that are made of them."""

from __future__ import annotations

import operator
import re
import struct
from functools import cache
from string import ascii_letters
from typing import TYPE_CHECKING, NoReturn

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.model import Immediate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: A comment, or a string, which can hold what looks like one. What does not end goes to the end.
_COMMENT = re.compile(r'//[^\n]*|/\*(?:.*?\*/|.*)|"(?:[^"\\\n]|\\[^\n])*+"?', re.DOTALL)
#: The most frequent ones first. Of those that start alike, the longer one comes first.
_WORD = re.compile(
    r"[A-Za-z_$%][\w$]*(?:\.[A-Za-z_]\w*(?:::\w+)*|\.\d+\w+(?:::\w+)*)*"
    r"|[{}()\[\];:,@+\-*/%^~?]"
    r"|\.[A-Za-z_]\w*(?:::\w+)*"
    r"|0[fF][0-9A-Fa-f]{8}\b|0[dD][0-9A-Fa-f]{16}\b"
    r"|\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+"
    r"|0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|\d+U?"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|<<|>>|<=|>=|==|!=|&&|\|\||[!=|<>&.]",
    re.ASCII,
)
_WORD_OR_NOT = re.compile(_WORD.pattern + r'|"[^\n]*|\S', re.ASCII)
_NAMES_START = frozenset("_$%" + ascii_letters)
_FLOATS = {"0f": 4, "0d": 8}
_BASES = {"0x": 16, "0b": 2}
_SIGNS = {"-", "~", "!", "+"}
_WARP_SIZE = 32
_BITS = 64
_MAX_NUMBER = 9  # digits of a line, a file or a number of registers
#: Digits of a number of 64 bits in binary, and what stands before and after them.
_MAX_DIGITS = 67
#: What follows constants most of the time.
_ENDS = ([","], [";"], ["]"], [")"], ["}"])


def _divide(a: int, b: int) -> int:
    """Return the quotient rounded to zero, and 0 by zero."""
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0


#: Operators that bind alike, the loosest first.
_OPERATORS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divide, "%": lambda a, b: a - b * _divide(a, b)},
)


def _wrap(value: int) -> int:
    """Return an integer as one of 64 bits: signed, or unsigned where it does not fit otherwise."""
    half = 1 << (_BITS - 1)
    return value if -half <= value < 2 * half else (value + half) % (2 * half) - half


def _strip_comment(match: re.Match[str]) -> str:
    """Return the line breaks of a comment, a whole string, or a mark of an open comment."""
    text = match[0]
    if text[0] == '"':
        return text
    is_open = text[1] == "*" and (text[-2:] != "*/" or len(text) < len("/**/"))
    return ("/*" if is_open else " ") + "\n" * text.count("\n")


class Tokens:
    """The words of a text, which are taken up one after the other."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source  # the text's name in errors
        plain = _COMMENT.sub(_strip_comment, text).rstrip("\0")
        self.words: list[str] = []  # the last two are empty, since code looks one word ahead
        self.at = 0  # the next one
        self._lines: list[int] = []  # that words stand in
        find = cache(_WORD_OR_NOT.findall)  # many lines occur several times
        for number, line in enumerate(plain.split("\n"), 1):
            words = find(line)
            self.words += words
            self._lines += [number] * len(words)
        self.words += ["", ""]
        self._lines += [plain.count("\n") + 1] * 2
        none = {word for word in {*self.words} if word and not _WORD.fullmatch(word)}
        if none:
            self.at = next(i for i, word in enumerate(self.words) if word in none)
            self.fail("must be PTX")

    @property
    def next(self) -> str:
        """The word to take up next."""
        return self.words[self.at]

    def line(self, back: int = 0) -> int:
        """Return the line of the next word, or of one before it."""
        return self._lines[max(self.at - back, 0)]

    def fail(self, requirement: str, got: str | None = None, back: int = 0) -> NoReturn:
        """Raise KernelCompileError at the next word, or at one before it."""
        got = self.next if got is None else got
        shown = repr(got) if got else "the end of the text"
        log = f"{self.source}:{self.line(back)}: error: {requirement}; got {shown:.60}"
        raise KernelCompileError(self.source, (), log)

    def take(self) -> str:
        """Take up a word; at the end of the text, an empty one."""
        word = self.words[self.at]
        self.at += word != ""
        return word

    def accept(self, word: str) -> bool:
        """Take up a word if it is next."""
        is_next = self.words[self.at] == word
        self.at += is_next
        return is_next

    def expect(self, word: str) -> None:
        """Take up a word, which must be next."""
        if not self.accept(word):
            self.fail(f"must have {word!r} here")

    def items(self, end: str = "") -> Iterator[None]:
        """Stop at each item of a list with commas, up to its end or while commas follow."""
        while not (end and self.accept(end)):
            yield
            if not self.accept(","):
                if end:
                    self.expect(end)
                return

    def skip_to(self, end: str) -> None:
        """Take up all words to one, which must come, and that."""
        try:
            self.at = self.words.index(end, self.at) + 1
        except ValueError:
            self.at = len(self.words) - 2
            self.expect(end)

    def skip_parentheses(self) -> None:
        """Take up parentheses with all that is in them."""
        self.expect("(")
        depth = 1
        while depth and self.next:
            depth += {"(": 1, ")": -1}.get(self.take(), 0)

    def is_name(self) -> bool:
        """Return whether a name is next."""
        word = self.words[self.at]
        return word[:1] in _NAMES_START and word != "%"

    def name(self) -> str:
        """Take up a name."""
        if not self.is_name():
            self.fail("must have a name here")
        return self.take()

    def number(self) -> int:
        """Take up a decimal number."""
        word = self.take()
        if not word.isdecimal():
            self.fail("must have a number here", word, int(word != ""))
        if len(word.lstrip("0")) > _MAX_NUMBER:
            self.fail("must have a smaller number here", word, 1)
        return int(word)

    def text(self) -> str:
        """Take up a string."""
        if self.next[:1] != '"':
            self.fail("must have a string here")
        return self.take()[1:-1]

    def integer(self) -> int:
        """Take up an expression that is a constant integer."""
        value = self.constant()
        if value.float_bytes:
            self.fail("must have an integer here", self.words[self.at - 1], 1)
        return value.value

    def constant(self) -> Immediate:
        """Take up a constant expression."""
        if self.words[self.at + 1 : self.at + 2] in _ENDS and self.next[:1].isdigit():
            return self._constant_of(self.take())
        value = self._binary(0)
        if self.accept("?"):
            first = self.constant()
            self.expect(":")
            second = self.constant()
            return first if value.value else second
        return value

    def _binary(self, level: int) -> Immediate:
        if level == len(_OPERATORS):
            return self.unary()
        left = self._binary(level + 1)
        while self.next in _OPERATORS[level]:
            calculate = _OPERATORS[level][self.take()]
            right = self._binary(level + 1)
            if left.float_bytes or right.float_bytes:
                self.fail("must have integers around an operator", self.words[self.at - 1], 1)
            left = Immediate(_wrap(int(calculate(left.value, right.value))))
        return left

    def unary(self) -> Immediate:
        """Take up a constant with the signs before it, or one in parentheses."""
        word = self.take()
        if word in _SIGNS:
            inner = self.unary()
            value = inner.value
            if inner.float_bytes:
                flip = 1 << (8 * inner.float_bytes - 1) if word == "-" else 0
                return Immediate(value ^ flip, inner.float_bytes)
            signed = {"-": -value, "~": ~value, "!": int(not value), "+": value}[word]
            return Immediate(_wrap(signed))
        if word == "(":
            return self._in_parentheses()
        if word == "WARP_SZ":
            return Immediate(_WARP_SIZE)
        if not word[:1].isdigit():
            self.fail("must have a constant here", word, int(word != ""))
        return self._constant_of(word)

    def _in_parentheses(self) -> Immediate:
        if self.next in {".s64", ".u64"}:
            is_signed = self.take() == ".s64"
            self.expect(")")
            value = self.unary().value % 2**64
            return Immediate(value - 2**64 if is_signed and value >> 63 else value)
        inner = self.constant()
        self.expect(")")
        return inner

    def offset(self) -> int:
        """Take up what is added to a name: constants with signs, or nothing."""
        total = 0
        while self.next in {"+", "-"}:
            sign = 1 if self.take() == "+" else -1
            summand = self.unary()
            if summand.float_bytes:
                self.fail("must have an integer here", self.words[self.at - 1], 1)
            total += sign * summand.value
        return _wrap(total) if total else 0

    def _constant_of(self, word: str) -> Immediate:
        """Return the constant that the word taken up last is."""
        start, digits = word[:2].lower(), word.rstrip("uU")
        if start in _FLOATS:
            return Immediate(int(f"0x{word[2:]}", 0), _FLOATS[start])
        if start not in _BASES and not digits.isdecimal():
            return Immediate(int.from_bytes(struct.pack("<d", float(word)), "little"), 8)
        is_octal = len(digits) > 1 and digits[0] == "0" and not set(digits) & {"8", "9"}
        base = _BASES.get(start, 8 if is_octal else 10)
        text = digits[2:] if start in _BASES else digits
        value = int(text, base) if len(digits) <= _MAX_DIGITS else 1 << _BITS
        if value >> _BITS:
            self.fail("must have integers of at most 64 bits", word, 1)
        return Immediate(value)
