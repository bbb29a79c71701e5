"""PTX modules: from text to their parts, by the grammar of the PTX ISA manual, version 9.

A text that is not PTX is an error, which names the line. Instructions are not checked here: the
table of instructions knows them.
"""

from __future__ import annotations

from itertools import count
from math import prod
from typing import TYPE_CHECKING

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.model import (
    LANES,
    TYPE_BYTES,
    Address,
    Declaration,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Register,
    Targets,
    Vector,
    numbered,
)
from cudakern.simulator.ptx.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cudakern.simulator.ptx.model import Operand, SourceLine, Stack, Statement

_SPACES = frozenset({".reg", ".global", ".const", ".shared", ".local", ".param", ".sreg"})
_LINKAGES = frozenset({".extern", ".visible", ".weak", ".common"})
_ADDRESS_BITS = 64
_MAX_DIGITS = 6  # of a version
_MAX_ALIGNMENT = 1 << 20
_MAX_DIRECTIVE = (1 << 31) - 1  # a number behind a function's directive
_MAX_FILLED = 1 << 20  # values that fill up lists without being in the text
_MAX_CALLS = 100  # that an inlined instruction keeps: the innermost ones
_SCOPES_AND_LABELS = frozenset("{}:")
#: What follows an operand that is one word.
_ENDS = frozenset(",;]})|")
#: First characters of words that are not labels, even before a colon.
_NO_LABEL = frozenset('0123456789()[]{}:;,@!=|<>+-*/&^~?."')
#: What a declaration says before its names: alignment, type, lanes, whether it is a pointer.
_Attributes = tuple[int, str, int, bool]
#: Where an instruction comes from, and the column in each line, from 1.
_Columned = tuple["Stack", tuple[int, ...]]


def parse(text: str, source: str = "module.ptx") -> Module:
    """Return the module of a PTX text; KernelCompileError names the line that is not PTX."""
    try:
        return _Parser(Tokens(text, source)).module()
    except RecursionError:
        log = f"{source}: error: must nest expressions less deeply"
        raise KernelCompileError(source, (), log) from None


class _Parser:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._module = Module()
        self._files = self._table_of_files()
        self._lines: dict[tuple[str, ...], tuple[SourceLine, int]] = {}  # by their words
        self._stack: _Columned = ((), ())
        self._stacks: dict[tuple[SourceLine, int], _Columned] = {}  # by line and column
        self._defined: set[str] = set()  # functions and variables of the module
        self._scopes: list[dict[str, str]] = []
        #: Depths and unique names of what those scopes declare, the innermost last.
        self._visible: dict[str, list[tuple[int, str]]] = {}
        self._registers: dict[str, int] = {}  # how many a declared name stands for
        self._labels = self._labels_of_scopes()
        self._singles: dict[str, Register | Immediate] = {}  # operands of one word, outermost
        self._fresh = count(1)

    def module(self) -> Module:
        tokens = self.tokens
        directives: dict[str, Callable[[], None]] = {
            ".version": self._version,
            ".target": self._target,
            ".address_size": self._address_size,
            ".file": self._file,
            ".loc": self._location,
            ".section": self._section,
            ".pragma": lambda: tokens.skip_to(";"),
            ".alias": self._alias,
            ";": lambda: None,
        }
        while word := tokens.next:
            directive = directives.get(word)
            if directive is None:
                self._definition()
            else:
                tokens.take()
                directive()
        if not self._module.version[0]:
            tokens.at = 0
            tokens.fail("must start with .version")
        return self._module

    def _version(self) -> None:
        major, _, minor = self.tokens.take().partition(".")
        is_version = major.isdecimal() and minor.isdecimal() and len(major + minor) <= _MAX_DIGITS
        if not is_version:
            self.tokens.fail("must have a version here", f"{major}.{minor}", 1)
        self._module.version = (int(major), int(minor))

    def _target(self) -> None:
        self._module.target, *_ = [self.tokens.name() for _ in self.tokens.items()]

    def _section(self) -> None:
        """Pass over debugging data, or a comment."""
        tokens = self.tokens
        tokens.take()
        if tokens.next.startswith('"'):
            tokens.take()
            return
        tokens.expect("{")
        tokens.skip_to("}")

    def _address_size(self) -> None:
        if self.tokens.number() != _ADDRESS_BITS:
            found = self.tokens.words[self.tokens.at - 1]
            self.tokens.fail("must have addresses of 64 bits", found)

    def _alias(self) -> None:
        alias = self.tokens.name()
        self.tokens.expect(",")
        self._module.aliases[alias] = self.tokens.name()
        self.tokens.expect(";")

    def _definition(self) -> None:
        tokens, module = self.tokens, self._module
        linkage = ""
        while tokens.next in _LINKAGES:
            linkage = tokens.take()[1:]
        if tokens.next in {".entry", ".func"}:
            function = self._function(linkage)
            known = module.functions.get(function.name)
            if known is None or known.body is None:
                module.functions[function.name] = function
        elif tokens.next in _SPACES:
            for variable in self._variables(linkage):
                known_variable = module.variables.get(variable.name)
                if known_variable is None or known_variable.linkage == "extern":
                    module.variables[variable.name] = variable
                if linkage != "extern":
                    self._define(variable.name)
        else:
            tokens.fail("must have a directive of PTX here")

    def _define(self, name: str) -> None:
        """Note that the module has a function or variable; fail if it has another."""
        if name in self._defined:
            self.tokens.fail("must be defined once in a module", name, 1)
        self._defined.add(name)

    def _table_of_files(self) -> dict[int, str]:
        """Return the files that the text names; it does so at its end."""
        tokens, files = self.tokens, {}
        for _ in range(tokens.words.count(".file")):
            tokens.skip_to(".file")
            number = tokens.number()
            files[number] = tokens.text()
        tokens.at = 0
        return files

    def _file(self) -> None:
        self.tokens.number()
        self.tokens.text()
        while self.tokens.accept(","):
            self.tokens.integer()

    def _location(self) -> None:
        """Take up ``.loc``: where the instructions that follow come from."""
        tokens = self.tokens
        line = self._source_line()
        below: _Columned = ((), ())
        while tokens.accept(","):
            word = tokens.name()
            if word == "function_name":
                tokens.name()
                tokens.offset()
            elif word == "inlined_at":
                call = self._source_line()
                # An earlier directive has it.
                below = self._stacks.get(call, ((call[0],), (call[1],)))
            else:
                tokens.fail("must be function_name or inlined_at", word, 1)
        stack, columns = below
        self._stacks[line] = (line[0], *stack[:_MAX_CALLS]), (line[1], *columns[:_MAX_CALLS])
        if line[0][1] or not self._stack[0]:  # otherwise code of several lines: the last one stays
            self._stack = self._stacks[line]

    def _source_line(self) -> tuple[SourceLine, int]:
        """Take a line of the source, and the column in it."""
        tokens = self.tokens
        words = (*tokens.words[tokens.at : tokens.at + 3],)
        known = self._lines.get(words)
        if known is None:
            file, line, column = (tokens.number() for _ in range(3))
            known = self._lines[words] = (self._files.get(file, ""), line), column
        else:
            tokens.at += len(words)
        return known

    def _variables(self, linkage: str = "") -> Iterator[Declaration]:
        space = self.tokens.take()[1:]
        attributes = self._attributes()
        for _ in self.tokens.items():
            yield self._variable(space, attributes, linkage)
        self.tokens.expect(";")

    def _attributes(self) -> _Attributes:
        """Take up alignment, type, vector size and ``.ptr`` of a declaration."""
        tokens = self.tokens
        alignment, kind, lanes, is_pointer = 0, "", 1, False
        while (word := tokens.next).startswith("."):
            tokens.take()
            if word == ".align":
                size = tokens.integer()
                if not 1 <= size <= _MAX_ALIGNMENT or size & (size - 1):
                    requirement = f"must be aligned to a power of two of at most {_MAX_ALIGNMENT}"
                    tokens.fail(requirement, str(size), 1)
                alignment = alignment if is_pointer else size  # otherwise that of its target
            elif word == ".ptr":
                is_pointer = True
            elif word[1:] in LANES:
                lanes = LANES[word[1:]]
            elif word[1:] in TYPE_BYTES:
                kind = word[1:]
            elif word == ".attribute":
                tokens.skip_parentheses()
            elif not (is_pointer and word in _SPACES):
                tokens.fail("must have a type or an alignment here", word, 1)
        if not kind:
            tokens.fail("must have a type here")
        return alignment, kind, lanes, is_pointer

    def _variable(self, space: str, attributes: _Attributes, linkage: str = "") -> Declaration:
        tokens = self.tokens
        alignment, kind, lanes, is_pointer = attributes
        name = tokens.name()
        registers = 0
        if tokens.accept("<"):
            registers = tokens.number()
            tokens.expect(">")
        extents = self._extents()
        if self._scopes:
            name = self._declared(name, registers)
        initial: tuple[Operand, ...] = ()
        if tokens.accept("="):
            if space not in {"global", "const"}:
                tokens.fail("must be in global or constant memory to have a value", name, 1)
            initial = tuple(self._initial([*extents[1:], lanes] if extents else [lanes]))
            self._require_type(name, kind, initial)
        unit = TYPE_BYTES[kind] * lanes
        rows = prod(extents[1:])
        if extents[:1] == [0]:
            extents[0] = -(-len(initial) // (lanes * rows)) if rows else 0
        size = unit * prod(extents)
        if size >> _ADDRESS_BITS or TYPE_BYTES[kind] * len(initial) > size:
            tokens.fail("must have a size that its values fit in", name, 1)
        return Declaration(
            space, kind, name, alignment or unit, size, initial, linkage, registers, is_pointer
        )

    def _extents(self) -> list[int]:
        """Take up the extents of an array; 0 for one that is not given."""
        tokens = self.tokens
        extents: list[int] = []
        while tokens.accept("["):
            extents.append(0 if tokens.next == "]" and not extents else tokens.integer())
            if extents[-1] < 0:
                tokens.fail("must have an extent of at least 0", str(extents[-1]), 1)
            tokens.expect("]")
        return extents

    def _initial(self, extents: list[int]) -> list[Operand]:
        """Take up a value, or a list of those that have these extents, filled up with zeros."""
        tokens = self.tokens
        if not tokens.accept("{"):
            return [self._symbol() if tokens.is_name() else tokens.constant()]
        values: list[Operand] = []
        for _ in tokens.items("}"):
            is_list = tokens.next == "{"
            values += self._initial(extents[1:])
            if is_list:
                missing = -len(values) % max(prod(extents), 1)
                if missing > _MAX_FILLED:
                    requirement = f"must lack at most {_MAX_FILLED} values of a list"
                    tokens.fail(requirement, str(missing), 1)
                values += [Immediate(0)] * missing
        return values

    def _require_type(self, name: str, kind: str, values: Iterable[Operand]) -> None:
        """Fail at floats for a type that has other bits."""
        sizes = {0, TYPE_BYTES[kind]} | ({4, 8} if kind in {"f32", "f64"} else set())
        if any(isinstance(v, Immediate) and v.float_bytes not in sizes for v in values):
            self.tokens.fail(f"must have values of the type .{kind}", name, 1)

    def _symbol(self) -> Operand:
        """Take up an address in an initialiser: ``name + 4`` or ``generic(name)``."""
        tokens = self.tokens
        name = tokens.name()
        offset = 0
        if name == "generic" and tokens.accept("("):
            name = tokens.name()
            offset = tokens.offset()
            tokens.expect(")")
        return Register(name, offset + tokens.offset())

    def _function(self, linkage: str) -> Function:
        tokens = self.tokens
        line = tokens.line()
        is_entry = tokens.take() == ".entry"
        self._scopes, self._visible = [{}], {}
        results = [] if is_entry else self._parameters()
        function = Function(tokens.name(), is_entry, line=line, results=results, linkage=linkage)
        function.parameters = self._parameters()
        self._function_directives(function)
        if not tokens.accept(";"):
            tokens.expect("{")
            self._define(function.name)
            self._stack = ((), ())
            self._note_labels()
            function.body = list(self._body())
        self._scopes = []
        return function

    def _parameters(self) -> list[Declaration]:
        """Take up parameters in parentheses, if there are any."""
        tokens = self.tokens
        parameters: list[Declaration] = []
        for _ in tokens.items(")") if tokens.accept("(") else ():
            space = tokens.take()
            if space not in {".param", ".reg"}:
                tokens.fail("must have a parameter here", space, 1)
            parameters.append(self._variable(space[1:], self._attributes()))
        return parameters

    def _function_directives(self, function: Function) -> None:
        tokens = self.tokens
        while tokens.next.startswith("."):
            name = tokens.take()
            if name == ".pragma":
                tokens.skip_to(";")
            elif name == ".attribute":
                tokens.skip_parentheses()
            else:
                values = []
                while tokens.next[:1].isdigit():
                    values.append(tokens.integer())
                    if not 0 <= values[-1] <= _MAX_DIRECTIVE:
                        tokens.fail("must have a smaller number here", str(values[-1]), 1)
                    if not tokens.accept(","):
                        break
                function.directives[name[1:]] = tuple(values)

    def _declared(self, name: str, registers: int = 0) -> str:
        """Return the unique name of what the innermost scope declares."""
        scope = self._scopes[-1]
        key = f"{name}<" if registers else name
        if key in scope and name != "_":
            self.tokens.fail("must be declared once in a scope", name, 1)
        depth = len(self._scopes)
        unique = name if depth == 1 else f"{name}.{next(self._fresh)}."
        if key not in scope:
            self._visible.setdefault(key, []).append((depth, unique))
        scope[key] = unique
        self._registers[unique] = registers
        return unique

    def _leave_scope(self) -> None:
        for key in self._scopes.pop():
            self._visible[key].pop()

    def _known(self, name: str) -> str:
        """Return the unique name of a name in the innermost scope that declares it."""
        if len(self._scopes) <= 1:
            return name
        depth, found = (self._visible.get(name) or [(0, name)])[-1]
        for stem, number in numbered(name):
            for level, unique in reversed(self._visible.get(f"{stem}<", ())):
                if level <= depth:
                    break
                if number < self._registers[unique]:
                    depth, found = level, f"{unique}{number}"
        return found

    def _note_labels(self) -> None:
        """Declare the labels of the scope that starts here, which may be used before they stand."""
        tokens = self.tokens
        start = tokens.at
        for i in self._labels.get(start, ()):
            tokens.at = i + 1  # for errors
            self._declared(tokens.words[i])
        tokens.at = start

    def _labels_of_scopes(self) -> dict[int, list[int]]:
        """Return where labels stand, by where the scope starts that they are in."""
        words = self.tokens.words
        labels: dict[int, list[int]] = {}
        starts = [0]
        for i in [i for i, word in enumerate(words) if word in _SCOPES_AND_LABELS]:
            word = words[i]
            if word == "{":
                starts.append(i + 1)
            elif word == "}" and len(starts) > 1:
                starts.pop()
            elif word == ":" and i and words[i - 1][:1] not in _NO_LABEL:
                labels.setdefault(starts[-1], []).append(i - 1)
        return labels

    def _body(self) -> Iterator[Statement]:
        tokens = self.tokens
        while self._scopes:
            word = tokens.next
            if word in {"{", "}", ";", ".loc", ".pragma"}:
                self._handle_directive(tokens.take())
            elif word in _SPACES:
                yield from self._variables()
            elif word[:1] in {"", "."}:
                tokens.fail("must have a statement of a function here")
            elif tokens.words[tokens.at + 1] == ":":
                yield self._labelled()
            else:
                yield self._instruction()

    def _handle_directive(self, word: str) -> None:
        """Deal with scopes, which end with the function's, source lines and pragmas."""
        if word == "{":
            self._scopes.append({})
            self._note_labels()
        elif word == "}":
            self._leave_scope()
        elif word == ".loc":
            self._location()
        elif word == ".pragma":
            self.tokens.skip_to(";")

    def _labelled(self) -> Statement:
        tokens = self.tokens
        name = self._known(tokens.name())
        tokens.expect(":")
        if tokens.accept(".branchtargets") or tokens.accept(".calltargets"):
            labels = tuple(self._known(tokens.name()) for _ in tokens.items())
            tokens.expect(";")
            return Targets(name, labels)
        if tokens.accept(".callprototype"):
            return Targets(name, (), self._prototype(name))
        return Label(name)

    def _prototype(self, name: str) -> Function:
        """Take up what stands behind ``.callprototype``."""
        tokens = self.tokens
        self._scopes.append({})
        function = Function(name, is_entry=False, line=tokens.line())
        function.results = self._parameters()
        tokens.expect("_")
        function.parameters = self._parameters()
        self._function_directives(function)
        tokens.expect(";")
        self._leave_scope()
        return function

    def _instruction(self) -> Instruction:
        tokens = self.tokens
        line = tokens.line()
        guard = None
        if tokens.accept("@"):
            negated = tokens.accept("!")
            guard = Register(self._known(tokens.name()), 0, negated)
        name = tokens.name()
        operands: list[Operand] = []
        pairs = 0
        is_call = name.partition(".")[0] == "call"
        for _ in tokens.items(";"):
            operands.append(self._operand(is_call=is_call))
            if len(operands) == 1 and tokens.accept("|"):
                operands.append(self._operand())
                pairs = 1
        return Instruction(name, tuple(operands), guard, pairs, line, *self._stack)

    def _operand(self, *, is_call: bool = False) -> Operand:
        """Take up an operand; parentheses enclose the arguments of a call, or constants."""
        tokens = self.tokens
        word = tokens.next
        is_single = len(self._scopes) == 1 and tokens.words[tokens.at + 1] in _ENDS
        if is_single and word in self._singles:
            tokens.at += 1
            return self._singles[word]
        if word == "{" or (word == "(" and is_call):
            tokens.take()
            return Vector(tuple(self._operand() for _ in tokens.items("}" if word == "{" else ")")))
        if word == "[":
            return self._address()
        if word == "!" and not tokens.words[tokens.at + 1][:1].isdigit():
            tokens.take()
            return Register(self._known(tokens.name()), 0, negated=True)
        is_name = tokens.is_name() and word != "WARP_SZ"
        operand = self._register() if is_name else tokens.constant()
        if is_single:
            self._singles[word] = operand
        return operand

    def _register(self) -> Register:
        name = self._known(self.tokens.name())
        return Register(name, self.tokens.offset())

    def _address(self) -> Address | Vector:
        """Take up an address; or, of textures and tensors, a handle and coordinates."""
        tokens = self.tokens
        tokens.take()
        base: Register | Immediate
        if tokens.is_name():
            base = self._register()
            if tokens.accept("["):  # an element of an array
                base = Register(base.name, base.offset + tokens.integer())
                tokens.expect("]")
        else:
            base = tokens.constant()
        if tokens.accept("]"):
            return Address(base)
        items: list[Operand] = [Address(base)]
        while tokens.accept(","):
            items.append(self._operand())
        tokens.expect("]")
        return Vector(tuple(items))
