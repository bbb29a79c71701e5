"""Where the declarations of CUDA C++ begin and end: those of a file, of its namespaces and classes.

Nothing is expanded or looked up. What cannot be told apart so, or is unbalanced, is `Unclear`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<blank>(?:\s|\\\r?\n)+|//(?:\\\r?\n|[^\n])*|(?s:/\*.*?(?:\*/|\Z)))
    |(?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?s:.*?)\)(?P=mark)"
      |(?:u8|[uUL])?"(?:\\(?:\r\n|(?s:.))|[^"\\\n])*"?
      |(?:u8|[uUL])?'(?:\\(?:\r\n|(?s:.))|[^'\\\n])*'?)
    |(?P<number>\.?\d(?:[\w.]|'\w|(?<=[eEpP])[+-]|\\\r?\n)*)
    |(?P<word>[^\W\d](?:\w|\\\r?\n)*)
    |(?P<mark_>::|->|<%|%>|<:|:>|.)""",
    re.VERBOSE,
)
_LITERAL = re.compile(r"""(?:u8|[uUL])?(?:R".*"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""", re.DOTALL)
_OPEN = "\\"  # stands for a literal without an end, which may only be where nothing is compiled
#: A line for the preprocessor, with its comments: its word, and what follows.
_DIRECTIVE = re.compile(
    r"[ \t]*(?:\#|%:)(?:[ \t]|\\\r?\n)*(?P<word>\w*)"
    r"(?P<rest>(?:\\\r?\n|(?s:/\*.*?(?:\*/|\Z))|//(?:\\\r?\n|[^\n])*|\"(?:\\.|[^\"\\\n])*\"|[^\n])*)"
)
_SPLICE = re.compile(r"\\\r?\n")
_DIGRAPHS = {"<%": "{", "%>": "}", "<:": "[", ":>": "]"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
#: What parentheses belong to that are no function's.
ATTRIBUTES = frozenset(
    {"alignas", "__align__", "decltype", "__attribute__", "__declspec", "noexcept", "explicit"}
    | {"requires", "__launch_bounds__", "__cluster_dims__", "__maxnreg__"}
)
_BEGINS = frozenset({"#if", "#ifdef", "#ifndef"})
_GOES_ON = frozenset({"#else", "#elif", "#elifdef", "#elifndef"})
BRANCHES = _BEGINS | _GOES_ON | {"#endif"}
CLASS_KEYS = frozenset({"class", "struct", "union"})
_ACCESS = (["public"], ["protected"], ["private"])


class Unclear(ValueError):  # noqa: N818  it is no fault
    """Where declarations begin and end cannot be told."""


class Token(NamedTuple):
    """A word, a mark, a literal, or a line for the preprocessor."""

    text: str  # of a group of brackets, the two of them; of a directive, its word after a #
    start: int
    end: int


@dataclass(slots=True)
class Declaration:
    """A declaration that is no namespace."""

    kind: str  # "function" with a body, "class" with members, or "other"
    outline: list[Token]  # outside of brackets, which are tokens such as "()"
    start: int
    end: int
    body: int = 0  # where the body of a function begins, the initialisers of a constructor included
    outer: Declaration | None = None  # the class that it is a member of
    members: list[Declaration] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The texts of the outline."""
        return [token.text for token in self.outline]


def tokens_of(text: str) -> list[Token]:
    r"""Return all tokens of a text: comments, splices and blanks are none, directives are one each.

    Examples
    --------
    >>> from cudakern.simulator.ptx.declarations import tokens_of
    >>> [token.text for token in tokens_of("#define A {\nint a = '}'; // }")]
    ['#define', 'int', 'a', '=', "'}'", ';']
    """
    tokens = []
    at, is_first = 0, True
    while at < len(text):
        directive = _DIRECTIVE.match(text, at) if is_first else None
        if directive is not None:
            tokens.append(Token(f"#{directive['word']}", directive.start(), directive.end()))
            at = directive.end()
            continue
        match = _TOKEN.match(text, at)
        if match is None:  # a line's end is blank, and each other character a mark
            raise Unclear
        kind, found = match.lastgroup, match[0]
        if kind == "blank":
            is_first = is_first or (found[0] != "/" and "\n" in _SPLICE.sub("", found))
        else:
            is_first = False
            if found == "/" and _SPLICE.match(text, match.end()):  # it may begin a comment
                raise Unclear
            if kind in {"word", "number"}:
                found = _SPLICE.sub("", found)
            if kind == "string" and not _LITERAL.fullmatch(found):
                found = _OPEN
            tokens.append(Token(_DIGRAPHS.get(found, found), match.start(), match.end()))
        at = match.end()
    return tokens


def declarations_of(
    text: str, tokens: list[Token], whole: frozenset[str] = frozenset()
) -> list[Declaration]:
    """Return the declarations of a text and its namespaces, with those of classes in them.

    ``whole`` are macros whose calls need no semicolon.
    """
    parser = _Parser(_chosen(text, tokens), whole)
    result = parser.scope(None)
    if parser.at < len(parser.tokens) or any(t.text == _OPEN for t in parser.tokens):
        raise Unclear
    return result


def _chosen(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens without directives, and without branches that are never taken.

    Of branches that open or close different braces, the first stands for all.
    """
    #: For each conditional that is open: its finished branches, then the tokens of the current one.
    open_groups: list[tuple[list[list[Token]], list[Token], list[str]]] = []
    current: list[Token] = []
    for token in tokens:
        word = token.text
        if not word.startswith("#"):
            current.append(token)
        elif word in _BEGINS:
            open_groups.append(([], current, [_condition(text, token)]))
            current = []
        elif word in _GOES_ON and open_groups:
            branches, _, conditions = open_groups[-1]
            branches.append(current)
            conditions.append(_condition(text, token))
            current = []
        elif word == "#endif" and open_groups:
            branches, before, conditions = open_groups.pop()
            taken = _taken([*branches, current], conditions)
            current = [*before, *(t for branch in taken for t in branch)]
    if open_groups:
        raise Unclear
    return current


def _taken(branches: list[list[Token]], conditions: list[str]) -> list[list[Token]]:
    taken = [b for b, condition in zip(branches, conditions, strict=True) if condition != "0"]
    if "1" in conditions:
        taken = taken[: 1 + sum(one != "0" for one in conditions[: conditions.index("1")])]
    return taken[:1] if any(map(_unbalanced, taken)) else taken


def _condition(text: str, token: Token) -> str:
    line = text[token.start : token.end]
    match = re.fullmatch(r"\s*#\s*(?:el)?if\s+(0|1|false|true)\s*(?://.*|/\*.*)?", line.rstrip())
    return {"false": "0", "true": "1"}.get(match[1], match[1]) if match else ""


def _unbalanced(tokens: list[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += (token.text in _CLOSING) - (token.text in {")", "]", "}"})
        if depth < 0:
            return True
    return depth != 0


class _Parser:
    def __init__(self, tokens: list[Token], whole: frozenset[str]) -> None:
        self.tokens = tokens
        self.whole = whole
        self.at = 0

    def scope(self, outer: Declaration | None) -> list[Declaration]:
        """Take the declarations of a file, a namespace or a class, up to the brace that ends it."""
        result: list[Declaration] = []
        while self.at < len(self.tokens) and self.tokens[self.at].text != "}":
            result += self._declaration(outer)
        return result

    def _declaration(self, outer: Declaration | None) -> list[Declaration]:
        """Take a declaration; a namespace gives those in it."""
        start = self.tokens[self.at].start
        outline: list[Token] = []
        made = Declaration("other", outline, start, 0, outer=outer)
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "}":  # what is before it is a macro's call, say
                break
            if token.text == "{" and made.kind == "other":
                if _is_namespace(made.texts):
                    return self._members(None)
                if _is_class(made.texts):
                    made.kind, made.body = "class", token.start
                    made.members = self._members(made)
                    outline.append(Token("{}", token.start, self.tokens[self.at - 1].end))
                    continue
                if _has_body(made.texts):
                    made.kind, made.body = "function", _body(outline, token)
                    self._skip_body()
                    break
            if token.text in _CLOSING:
                outline.append(self._skip_group())
                if len(outline) == 2 and outline[0].text in self.whole:  # noqa: PLR2004
                    break
                continue
            self.at += 1
            outline.append(token)
            if token.text == ";" or (token.text == ":" and made.texts[:-1] in _ACCESS):
                break
        made.end = self.tokens[self.at - 1].end
        return [made]

    def _members(self, outer: Declaration | None) -> list[Declaration]:
        """Take what is in the braces of a namespace or a class."""
        self.at += 1
        inside = self.scope(outer)
        if self.at == len(self.tokens):
            raise Unclear
        self.at += 1
        return inside

    def _skip_body(self) -> None:
        """Take the body of a function, with what catches its exceptions."""
        self._skip_group()
        while [token.text for token in self.tokens[self.at : self.at + 2]] == ["catch", "("]:
            self.at += 1
            self._skip_group()
            if self.at == len(self.tokens) or self.tokens[self.at].text != "{":
                raise Unclear
            self._skip_group()

    def _skip_group(self) -> Token:
        """Take brackets with all that is in them; return them as one token."""
        first = self.tokens[self.at]
        expected: list[str] = []
        while self.at < len(self.tokens):
            text = self.tokens[self.at].text
            self.at += 1
            if text in _CLOSING:
                expected.append(_CLOSING[text])
            elif text in {")", "]", "}"} and expected.pop() != text:
                break
            if not expected:
                last = self.tokens[self.at - 1]
                return Token(first.text + text, first.start, last.end)
        raise Unclear


def _is_namespace(texts: list[str]) -> bool:
    rest = [text for text in texts if text not in {"inline", "extern", "export"}]
    is_linkage = texts[:1] == ["extern"] and len(texts) == 2 and texts[1].startswith('"')  # noqa: PLR2004
    return is_linkage or rest[:1] == ["namespace"]


def without_template(texts: list[str]) -> int:
    """Return how many tokens of an outline are ``template <...>``."""
    at = 0
    while texts[at : at + 2] == ["template", "<"]:
        depth, at = 1, at + 2
        while depth and at < len(texts):
            depth += (texts[at] == "<") - (texts[at] == ">")
            at += 1
    return at


def _is_class(texts: list[str]) -> bool:
    rest = texts[without_template(texts) :]
    key = next((k for k, text in enumerate(rest) if text in CLASS_KEYS), None)
    if key is None or "enum" in rest[:key] or "=" in rest or "()" in rest[:key]:
        return False
    head = rest[key + 1 : rest.index(":") if ":" in rest else None]
    calls = (k for k, text in enumerate(head) if text == "()")
    return all(k > 0 and head[k - 1] in ATTRIBUTES for k in calls)


def _has_body(texts: list[str]) -> bool:
    """Return whether the brace after these tokens begins the body of a function."""
    rest = texts[without_template(texts) :]
    calls = [k for k, text in enumerate(rest) if text == "()" and rest[k - 1] not in ATTRIBUTES]
    if not calls or "enum" in rest or ("=" in rest and "operator" not in rest):
        return False
    in_initialisers = ":" in rest[calls[0] :]
    return not in_initialisers or rest[-1] in {"()", "{}"}


def _body(outline: list[Token], brace: Token) -> int:
    """Return where the body of a function begins, or the initialisers of a constructor."""
    texts = [token.text for token in outline]
    first = texts.index("()") if "()" in texts else 0
    colons = (token.start for token in outline[first:] if token.text in {":", "try"})
    return next(colons, brace.start)
