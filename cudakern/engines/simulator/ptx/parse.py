"""PTX modules: text to dataclasses, by the grammar of the PTX ISA manual, version 9.

What is no PTX is an error that names the line. Instructions are not judged here: `translate` knows
which there are.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from cudakern.engines.simulator.ptx.forms import BYTES
from cudakern.errors import KernelCompileError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: With which NVRTC starts every text.
_OWN_HEADER = "__nv_nvrtc_builtin_header.h"
Place = tuple[str, int]
#: Innermost first: the line of an instruction, then the calls that were inlined around it.
Stack = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Register:
    """A register, special register, variable, label or function: an operand that is a name.

    Attributes
    ----------
    name : str
        As declared; those of inner scopes have a suffix.
    offset : int
        What is added to it.
    negated : bool
        Whether a predicate stands with an exclamation mark.
    """

    name: str
    offset: int = 0
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer, or the bits of a float of so many bytes (0 for an integer)."""

    value: int
    float_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """What stands in brackets: a register, variable or constant, and an offset in bytes."""

    base: Register | Immediate


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces or, for arguments of calls, in parentheses."""

    items: tuple[Operand, ...]


Operand = Register | Immediate | Address | Vector


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    name : str
        With all modifiers, such as ``"ld.global.u32"``.
    operands : tuple of Operand
        In order. A second result, behind ``|``, follows the first one.
    guard : Register or None
        The predicate that it is executed under.
    pairs : int
        How many of the operands are second results.
    line : int
        In the PTX text.
    stack : Stack
        In the source, as far as the PTX tells.
    """

    name: str
    operands: tuple[Operand, ...]
    guard: Register | None
    pairs: int
    line: int
    stack: Stack

    @property
    def words(self) -> list[str]:
        """The opcode and its modifiers."""
        return self.name.split(".")

    @property
    def place(self) -> Place | None:
        """The innermost line that is not in NVRTC's own header."""
        return next((one for one in self.stack if not one[0].endswith(_OWN_HEADER)), None)


@dataclass(frozen=True, slots=True)
class Label:
    """A place to branch to."""

    name: str


@dataclass(frozen=True, slots=True)
class Targets:
    """A table of labels (``.branchtargets``), of functions (``.calltargets``), or a prototype."""

    name: str
    labels: tuple[str, ...]
    parameters: int = 0
    results: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, register or parameter.

    Attributes
    ----------
    space : str
        ``"reg" "global" "const" "shared" "local" "param"``.
    type : str
        Of an element.
    name : str
        Unique in its function.
    alignment, size : int
        In bytes; the size is 0 for an array without one, and counts vectors.
    initial : tuple
        Elements: integers, or names of variables with offsets and masks.
    linkage : str
        ``"extern" "visible" "weak" "common"`` or empty.
    registers : int
        How many, where a name stands for several, such as ``%r<9>``.
    is_pointer : bool
        Whether a parameter is declared as a pointer.
    """

    space: str
    type: str
    name: str
    alignment: int
    size: int
    initial: tuple[Operand, ...] = ()
    linkage: str = ""
    registers: int = 0
    is_pointer: bool = False


Statement = Instruction | Label | Targets | Variable


@dataclass(slots=True)
class Function:
    """An entry or a function.

    Attributes
    ----------
    name : str
        Its symbol.
    is_entry : bool
        Whether it can be launched.
    parameters, results : list of Variable
        Of its declaration.
    directives : dict of str to tuple of int
        Such as ``"reqntid": (32, 1, 1)``.
    body : list of Statement or None
        None for a declaration.
    line : int
        In the PTX text.
    """

    name: str
    is_entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    body: list[Statement] | None = None
    line: int = 0
    linkage: str = ""


@dataclass(slots=True)
class Module:
    """A PTX module: its variables and functions by name."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|0[fF][0-9A-Fa-f]{8}\b|0[dD][0-9A-Fa-f]{16}\b"
    r"|\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+"
    r"|0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|\d+U?"
    r"|[A-Za-z_$%][\w$]*(?:\.[A-Za-z_]\w*(?:::\w+)*|\.\d+\w+(?:::\w+)*)*"
    r"|\.[A-Za-z_]\w*(?:::\w+)*"
    r"|<<|>>|<=|>=|==|!=|&&|\|\|"
    r"|[{}()\[\];:,@!=|<>+\-*/%&^~?.]"
)
_SPACES = frozenset({".reg", ".global", ".const", ".shared", ".local", ".param", ".sreg"})
_LINKAGES = frozenset({".extern", ".visible", ".weak", ".common"})
_PRECEDENCE = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_CALCULATE = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: int(a / b) if b else 0,
    "%": lambda a, b: a - b * int(a / b) if b else 0,
}


def parse(text: str, source: str = "module.ptx") -> Module:
    """Return the module of a PTX text.

    Raises
    ------
    KernelCompileError
        The text is no PTX; the message names the line.
    """
    return _Parser(text, source).module()


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.source = source
        plain = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        self.tokens: list[str] = []
        self.starts: list[int] = []
        self.lines = [match.start() for match in re.finditer(r"\n", plain)]
        end = 0
        for match in _TOKEN.finditer(plain):
            start = match.start()
            if plain[end:start].strip():
                self.starts.append(end)
                self._fail("must be PTX", plain[end:start].split()[0], at=len(self.starts) - 1)
            self.tokens.append(match[0])
            self.starts.append(start)
            end = match.end()
        if plain[end:].strip(" \t\r\n\0"):
            self.starts.append(end)
            self._fail("must be PTX", plain[end:].split()[0], at=len(self.starts) - 1)
        self.tokens.append("")
        self.starts.append(len(plain))
        self.at = 0
        self.files = self._files()
        self.stack: Stack = ()
        self.stacks: dict[tuple[Place, str], Stack] = {}  # by place and column
        self.scopes: list[dict[str, str]] = []
        self.fresh = count(1)

    # Tokens

    def _line(self, at: int | None = None) -> int:
        return bisect_right(self.lines, self.starts[self.at if at is None else at]) + 1

    def _fail(self, requirement: str, found: str, at: int | None = None) -> None:
        log = f"{self.source}:{self._line(at)}: error: {requirement}; got {found!r:.60}"
        raise KernelCompileError(self.source, (), log)

    def _next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def _accept(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def _expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            self._fail(f"must have {token!r} here", self.tokens[self.at])
        self.at += 1

    def _name(self) -> str:
        token = self.tokens[self.at]
        if not (token[:1].isalpha() or token[:1] in {"_", "$", "%"}) or token == "%":
            self._fail("must have a name here", token)
        self.at += 1
        return token

    def _integer(self) -> int:
        value = self._constant()
        if value.float_bytes:
            self._fail("must have an integer here", self.tokens[self.at - 1], self.at - 1)
        return value.value

    # Constants

    def _constant(self) -> Immediate:
        value = self._binary(0)
        if self._accept("?"):
            first = self._constant()
            self._expect(":")
            second = self._constant()
            return first if value.value else second
        return value

    def _binary(self, level: int) -> Immediate:
        if level == len(_PRECEDENCE):
            return self._unary()
        left = self._binary(level + 1)
        while self.tokens[self.at] in _PRECEDENCE[level]:
            operator = self._next()
            right = self._binary(level + 1)
            if left.float_bytes or right.float_bytes:
                self._fail("must have integers around an operator", operator, self.at - 1)
            left = Immediate(_CALCULATE[operator](left.value, right.value))
        return left

    def _unary(self) -> Immediate:
        token = self._next()
        if token in {"-", "~", "!", "+"}:
            value = self._unary()
            if value.float_bytes:
                flip = 1 << (8 * value.float_bytes - 1) if token == "-" else 0
                return Immediate(value.value ^ flip, value.float_bytes)
            given = value.value
            return Immediate({"-": -given, "~": ~given, "!": int(not given), "+": given}[token])
        if token == "(":
            if self.tokens[self.at] in {".s64", ".u64"}:
                cast = self._next()
                self._expect(")")
                value = self._unary().value % 2**64
                return Immediate(value - 2**64 if cast == ".s64" and value >> 63 else value)
            inner = self._constant()
            self._expect(")")
            return inner
        if not token[:1].isdigit():
            if token == "WARP_SZ":
                return Immediate(32)
            self._fail("must have a constant here", token, self.at - 1)
        return _number(token)

    # The module

    def module(self) -> Module:
        """Return the module."""
        made = Module()
        while token := self.tokens[self.at]:
            if token == ".version":
                self.at += 1
                major, _, minor = self._next().partition(".")
                if not major.isdigit() or not minor.isdigit():
                    self._fail("must have a version here", self.tokens[self.at - 1], self.at - 1)
                made.version = (int(major), int(minor))
            elif token == ".target":
                self.at += 1
                made.target = self._name()
                while self._accept(","):
                    self._name()
            elif token == ".address_size":
                self.at += 1
                if self._integer() != 64:
                    self._fail("must have addresses of 64 bits", self.tokens[self.at - 1])
            elif token == ".file":
                self._file()
            elif token == ".loc":
                self._location()
            elif token == ".section":
                self._section()
            elif token == ".pragma":
                self._skip_statement()
            elif token == ".alias":
                self.at += 1
                alias = self._name()
                self._expect(",")
                made.aliases[alias] = self._name()
                self._expect(";")
            elif token == ";":
                self.at += 1
            else:
                self._definition(made)
        if not made.version[0]:
            self._fail("must start with .version", self.tokens[0], 0)
        return made

    def _skip_statement(self) -> None:
        while self._next() not in {";", ""}:
            pass

    def _files(self) -> dict[int, str]:
        """Return the table of files, which stands at the end of the text."""
        tokens = self.tokens
        found = [i for i, token in enumerate(tokens) if token == ".file"]
        return {int(tokens[i + 1]): tokens[i + 2][1:-1] for i in found if i + 2 < len(tokens)}

    def _file(self) -> None:
        self.at += 3
        while self._accept(","):
            self._integer()

    def _section(self) -> None:
        while self._next() not in {"{", ""}:
            pass
        while self._next() not in {"}", ""}:
            pass

    def _location(self) -> None:
        """Take up ``.loc``: where the instructions that follow come from."""
        self.at += 1
        place = self._place()
        below: Stack = ()
        while self._accept(","):
            word = self._name()
            if word == "function_name":
                self._name()
                if self._accept("+"):
                    self._next()
            elif word == "inlined_at":
                call = self._place()
                below = self.stacks.get(call, (call[0],))  # told by an earlier directive
            else:
                self._fail("must be function_name or inlined_at", word, self.at - 1)
        self.stack = self.stacks[place] = (place[0], *below)

    def _place(self) -> tuple[Place, str]:
        file, line, column = (self._next() for _ in range(3))
        return (self.files.get(int(file), ""), int(line)), column

    def _definition(self, module: Module) -> None:
        linkage = ""
        while self.tokens[self.at] in _LINKAGES:
            linkage = self._next()[1:]
        token = self.tokens[self.at]
        if token in {".entry", ".func"}:
            function = self._function(linkage)
            known = module.functions.get(function.name)
            if known is None or known.body is None:
                module.functions[function.name] = function
        elif token in _SPACES:
            for variable in self._variables(linkage):
                known_variable = module.variables.get(variable.name)
                if known_variable is None or known_variable.linkage == "extern":
                    module.variables[variable.name] = variable
        else:
            self._fail("must have a directive of PTX here", token)

    # Variables

    def _variables(self, linkage: str = "") -> Iterator[Variable]:
        space = self._next()[1:]
        alignment, kind, lanes, pointer = self._attributes()
        while True:
            yield self._variable(space, alignment, kind, lanes, linkage, pointer=pointer)
            if not self._accept(","):
                break
        self._expect(";")

    def _attributes(self) -> tuple[int, str, int, bool]:
        """Take up alignment, type, vector size and ``.ptr`` of a declaration."""
        alignment, kind, lanes, pointer = 0, "", 1, False
        while (token := self.tokens[self.at]).startswith("."):
            self.at += 1
            if token == ".align":
                given = self._integer()
                alignment = alignment if pointer else given
            elif token == ".ptr":
                pointer = True
            elif token in {".v2", ".v4", ".v8"}:
                lanes = int(token[2:])
            elif token[1:] in BYTES:
                kind = token[1:]
            elif token == ".attribute":
                while self._next() != ")":
                    pass
            elif not (pointer and token in _SPACES) and token != ".attribute":
                self._fail("must have a type or alignment here", token, self.at - 1)
        if not kind:
            self._fail("must have a type", self.tokens[self.at])
        return alignment, kind, lanes, pointer

    def _variable(
        self, space: str, alignment: int, kind: str, lanes: int, linkage: str, *, pointer: bool
    ) -> Variable:
        name = self._name()
        registers = 0
        if self._accept("<"):
            registers = int(self._next())
            self._expect(">")
        elements, unsized = 1, False
        while self._accept("["):
            if self._accept("]"):
                unsized = True
            else:
                elements *= self._integer()
                self._expect("]")
        if self.scopes and space == "reg":
            name = self._declared(name, registers)
        elif self.scopes:
            name = self._declared(name)
        initial = tuple(self._initial()) if self._accept("=") else ()
        unit = BYTES[kind] * lanes
        if unsized and initial:
            elements, unsized = -(-len(initial) // lanes), False
        size = 0 if unsized else unit * elements
        return Variable(
            space, kind, name, alignment or unit, size, initial, linkage, registers, pointer
        )

    def _initial(self) -> Iterator[Operand]:
        if self._accept("{"):
            while not self._accept("}"):
                yield from self._initial()
                if not self._accept(","):
                    self._expect("}")
                    break
            return
        token = self.tokens[self.at]
        if token[0].isalpha() or token[0] in {"_", "$", "%"}:
            yield self._symbol()
        else:
            yield self._constant()

    def _symbol(self) -> Operand:
        """Take up an address in an initialiser: ``name``, ``generic(name)``, ``0xFF(name)``."""
        name = self._name()
        inner = name
        if name == "generic":
            self._expect("(")
            inner = self._name()
        offset = 0
        while self.tokens[self.at] in {"+", "-"}:
            sign = 1 if self._next() == "+" else -1
            offset += sign * self._unary().value
        if name == "generic":
            self._expect(")")
            while self.tokens[self.at] in {"+", "-"}:
                sign = 1 if self._next() == "+" else -1
                offset += sign * self._unary().value
        return Register(inner, offset)

    # Functions

    def _function(self, linkage: str) -> Function:
        line = self._line()
        is_entry = self._next() == ".entry"
        results: list[Variable] = []
        self.scopes = [{}]
        if not is_entry and self.tokens[self.at] == "(":
            results = self._parameters()
        function = Function(self._name(), is_entry, line=line, results=results, linkage=linkage)
        if self.tokens[self.at] == "(":
            function.parameters = self._parameters()
        while self.tokens[self.at].startswith("."):
            self._function_directive(function)
        if self._accept(";"):
            self.scopes = []
            return function
        self._expect("{")
        self.stack = ()
        function.body = list(self._body())
        self.scopes = []
        return function

    def _parameters(self) -> list[Variable]:
        self._expect("(")
        found: list[Variable] = []
        while not self._accept(")"):
            space = self._next()
            if space not in {".param", ".reg"}:
                self._fail("must have a parameter here", space, self.at - 1)
            alignment, kind, lanes, pointer = self._attributes()
            found.append(self._variable(space[1:], alignment, kind, lanes, "", pointer=pointer))
            if not self._accept(","):
                self._expect(")")
                break
        return found

    def _function_directive(self, function: Function) -> None:
        name = self._next()
        if name == ".pragma":
            self._skip_statement()
            return
        if name == ".attribute":
            while self._next() != ")":
                pass
            return
        values: list[int] = []
        while self.tokens[self.at][:1].isdigit():
            values.append(self._integer())
            if not self._accept(","):
                break
        function.directives[name[1:]] = tuple(values)

    # Statements

    def _declared(self, name: str, registers: int = 0) -> str:
        """Return the unique name of what the innermost scope declares."""
        unique = name if len(self.scopes) == 1 else f"{name}.{next(self.fresh)}"
        self.scopes[-1][f"{name}<" if registers else name] = unique
        return unique

    def _known(self, name: str) -> str:
        if len(self.scopes) > 1:
            stem = name.rstrip("0123456789")
            for scope in reversed(self.scopes[1:]):
                if name in scope:
                    return scope[name]
                if stem != name and f"{stem}<" in scope:
                    return scope[f"{stem}<"] + name[len(stem) :]
        return name

    def _labels_of_scope(self) -> None:
        """Note the labels of the scope that starts here: they may be used before."""
        depth = 0
        tokens = self.tokens
        for i in range(self.at, len(tokens)):
            token = tokens[i]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    return
            elif token == ":" and depth == 0 and tokens[i - 2] in {";", "{", "}", ":"}:
                self._declared(tokens[i - 1])

    def _body(self) -> Iterator[Statement]:
        depth = 1
        while depth:
            token = self.tokens[self.at]
            if token == "{":
                self.at += 1
                depth += 1
                self.scopes.append({})
                self._labels_of_scope()
            elif token == "}":
                self.at += 1
                depth -= 1
                if depth:
                    self.scopes.pop()
            elif token == ";":
                self.at += 1
            elif token == ".loc":
                self._location()
            elif token == ".pragma":
                self._skip_statement()
            elif token in _SPACES:
                yield from self._variables()
            elif token.startswith("."):
                self._fail("must have a directive of a function here", token)
            elif self.tokens[self.at + 1] == ":":
                name = self._known(self._name())
                self.at += 1
                table = self.tokens[self.at]
                if table in {".branchtargets", ".calltargets"}:
                    self.at += 1
                    yield Targets(name, tuple(self._table()))
                elif table == ".callprototype":
                    yield self._prototype(name)
                else:
                    yield Label(name)
            elif not token:
                self._fail("must end the function", "the end of the text")
            else:
                yield self._instruction()

    def _table(self) -> Iterator[str]:
        while True:
            yield self._known(self._name())
            if not self._accept(","):
                break
        self._expect(";")

    def _prototype(self, name: str) -> Targets:
        self.at += 1
        results = len(self._parameters()) if self.tokens[self.at] == "(" else 0
        self._name()
        parameters = len(self._parameters()) if self.tokens[self.at] == "(" else 0
        self._skip_statement()
        return Targets(name, (), parameters, results)

    def _instruction(self) -> Instruction:
        line = self._line()
        guard = None
        if self._accept("@"):
            negated = self._accept("!")
            guard = Register(self._known(self._name()), 0, negated)
        name = self._name()
        operands: list[Operand] = []
        pairs = 0
        while not self._accept(";"):
            operands.append(self._operand())
            if self._accept("|"):
                operands.append(self._operand())
                pairs += 1
            if not self._accept(","):
                self._expect(";")
                break
        return Instruction(name, tuple(operands), guard, pairs, line, self.stack)

    def _operand(self) -> Operand:
        token = self.tokens[self.at]
        if token == "{":
            return self._vector("}")
        if token == "(" and not self.tokens[self.at + 1][:1].isdigit():
            return self._vector(")")
        if token == "[":
            return self._address()
        if token == "!":
            self.at += 1
            return Register(self._known(self._name()), 0, negated=True)
        if token[0].isalpha() or token[0] in {"_", "$"} or (token[0] == "%" and len(token) > 1):
            if token == "WARP_SZ":
                return self._constant()
            return self._register()
        return self._constant()

    def _register(self) -> Register:
        name = self._known(self._name())
        offset = 0
        while self.tokens[self.at] in {"+", "-"}:
            sign = 1 if self._next() == "+" else -1
            offset += sign * self._unary().value
        return Register(name, offset)

    def _vector(self, end: str) -> Vector:
        self.at += 1
        items: list[Operand] = []
        while not self._accept(end):
            items.append(self._operand())
            if not self._accept(","):
                self._expect(end)
                break
        return Vector(tuple(items))

    def _address(self) -> Address | Vector:
        """Take up an address, or what textures and tensors have: a handle and coordinates."""
        self.at += 1
        token = self.tokens[self.at]
        base: Register | Immediate
        if token[0].isdigit() or token[0] in {"-", "("}:
            base = self._constant()
        else:
            base = self._register()
            if self._accept("["):  # name[4], an element of an array
                base = Register(base.name, base.offset + self._integer())
                self._expect("]")
        if self._accept("]"):
            return Address(base)
        items: list[Operand] = [Address(base)]
        while self._accept(","):
            items.append(self._operand())
        self._expect("]")
        return Vector(tuple(items))


def _number(token: str) -> Immediate:
    lower = token.lower()
    if lower.startswith("0f"):
        return Immediate(int(lower[2:], 16), 4)
    if lower.startswith("0d") and len(lower) == 18:
        return Immediate(int(lower[2:], 16), 8)
    if lower.startswith("0x"):
        return Immediate(int(lower.rstrip("u"), 16))
    if lower.startswith("0b"):
        return Immediate(int(lower.rstrip("u")[2:], 2))
    if "." in lower or "e" in lower:
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(lower)))[0], 8)
    digits = lower.rstrip("u")
    return Immediate(int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits))
