"""Where the declarations of CUDA C++ begin and end, to leave out host code.

Nothing is expanded or looked up. Text that is ambiguous without that, or unbalanced, is `Unclear`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#[ \t]*(?P<word>\w*)
      (?:\\\r?\n|(?s:/\*.*?(?:\*/|\Z))|//(?:\\\r?\n|[^\n])*|"(?:\\.|[^"\\\n])*"|[^\n])*)
    |(?P<blank>\s|(?<!\w)\\[ \t]*\r?\n|\\[ \t]*\r?\n(?!\w)
      |//(?:\\\r?\n|[^\n])*|(?s:/\*.*?(?:\*/|\Z)))
    |(?:u8|[uUL])?(?:R"(?P<mark>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=mark)"|\Z)
      |"(?:\\(?s:.)|[^"\\\n])*"|'(?:\\(?s:.)|[^'\\\n])*')
    |\.?\d(?:[\w.]|'\w|(?<=[eEpP])[+-])*
    |[^\W\d]\w*
    |::|->|<%|%>|%:|<:(?!:)|:>|.""",
    re.VERBOSE | re.MULTILINE,
)
#: Literals without an end, words on two lines, digraphs, and directives after comments.
_UNCLEAR = frozenset(["'", '"', "\\", "#", "<%", "%>", "%:", "<:", ":>"])
_NEVER = re.compile(r"\s*#\s*if\s+(?:0|false)\s*(?:/[/*].*)?")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ATTRIBUTES = frozenset(
    {"alignas", "__align__", "decltype", "__attribute__", "__declspec", "noexcept", "explicit"}
    | {"requires", "__launch_bounds__", "__cluster_dims__", "__maxnreg__"}
)
#: How brackets begin around a pointer to functions or arrays, and a structured binding.
_POINTER = re.compile(r"\(\s*(?:\w+\s*::\s*)*[*&]")
_BINDING = re.compile(r"\[\s*[^\W\d]")
_LONGEST = 1000  # tokens before a brace that begins a body
_BEGINS = frozenset({"#if", "#ifdef", "#ifndef"})
BRANCHES = _BEGINS | {"#else", "#elif", "#elifdef", "#elifndef", "#endif"}
CLASS_KEYS = frozenset({"class", "struct", "union"})


class Unclear(ValueError):  # noqa: N818  not a fault
    """It is unclear where declarations begin and end."""


class Token(NamedTuple):
    """A word, a mark, a literal, or a line for the preprocessor."""

    text: str  # of brackets with what is in them, the two; of a directive, its word after a #
    start: int
    end: int


class Declaration(NamedTuple):
    """A declaration of a file or its namespaces, or a function with a body of a class in it."""

    kind: str  # "function" with a body, "class" with nothing else declared, or "other"
    texts: list[str]  # without attributes and parameters of templates; brackets are such as "()"
    start: int
    body: int  # where the body begins, with bases and initialisers; of others, the end
    end: int
    is_member: bool = False


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text, without comments and blanks; a directive is one token."""
    return [
        Token(match[0] if match["word"] is None else f"#{match['word']}", *match.span())
        for match in _TOKEN.finditer(text)
        if match["blank"] is None
    ]


def declarations_of(
    text: str, tokens: list[Token], whole: frozenset[str] = frozenset()
) -> list[Declaration]:
    """Return the declarations of a text. ``whole`` are macros whose calls need no semicolon."""
    tokens = _drop_directives(text, tokens)
    ends = _match_brackets(tokens)
    result: list[Declaration] = []
    scopes: list[list[Token]] = []  # the tokens before each open brace; none for namespaces
    outline: list[Token] = []
    at = -1
    while (at := at + 1) < len(tokens):
        token = tokens[at]
        is_member = bool(scopes and scopes[-1])
        if token.text == "{" and len(outline) < _LONGEST:
            plain = _strip_attributes(outline)
            texts = [one.text for one in plain]
            if _is_namespace(texts) or is_class(texts):
                scopes.append([] if _is_namespace(texts) else [*outline, token])
                outline = []
                continue
            if _has_body(texts):
                body = _find_initializers(plain, texts.index("()")) or token.start
                end = tokens[ends[at]].end
                made = Declaration("function", texts, outline[0].start, body, end, is_member)
                result.append(made)
                at, outline = ends[at], []
                continue
        if token.text == "}":
            result += [] if is_member else _make_other(outline)
            outline = scopes.pop()
            if outline:
                outline[-1] = Token("{}", outline[-1].start, token.end)
            continue
        close = ends.get(at, at)
        if token.text in {")", "]"} or (
            close > at and _holds_names(text, token, tokens[close + 1 : close + 2], outline)
        ):
            continue
        if close > at:
            at = close
            token = Token(token.text + tokens[at].text, token.start, tokens[at].end)
        outline.append(token)
        is_call = token.text == "()" and len(outline) == len("()") and outline[0].text in whole
        if token.text == ";" or is_call:
            result += [] if is_member else _make_other(outline)
            outline = []
    return result + _make_other(outline)


def _holds_names(text: str, token: Token, after: list[Token], outline: list[Token]) -> bool:
    """Return whether a bracket is around names that a declaration has, and so no part of it."""
    before = outline[-1].text if outline else ""
    if token.text == "[":
        return before in {"auto", "&"} and _BINDING.match(text, token.start) is not None
    is_followed = any(one.text in {"(", "["} for one in after)
    if not (is_followed and _POINTER.match(text, token.start)) or before in {"", *_ATTRIBUTES}:
        return False
    return next((one.text for one in reversed(outline) if one.text in {"=", ","}), ",") == ","


def _drop_directives(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens without directives, and without branches that are never taken.

    Of branches that open or close different braces, the first stands for all.
    """
    outer: list[tuple[list[list[Token]], bool]] = []
    branches: list[list[Token]] = [[]]  # of the innermost conditional
    for token in tokens:
        if token.text in _BEGINS:
            outer.append((branches, bool(_NEVER.fullmatch(text[token.start : token.end]))))
            branches = [[]]
        elif token.text == "#line" or (token.text in BRANCHES and not outer):
            raise Unclear
        elif token.text == "#endif":
            inner, (branches, is_never) = branches, outer.pop()
            inner = inner[is_never:]
            inner = inner[:1] if any(map(_is_unbalanced, inner)) else inner
            branches[-1] += [one for branch in inner for one in branch]
        elif token.text in BRANCHES:
            branches.append([])
        elif token.text == "#" or not token.text.startswith("#"):  # the first is unclear
            branches[-1].append(token)
    if outer:
        raise Unclear
    return branches[0]


def _is_unbalanced(tokens: list[Token]) -> bool:
    try:
        return not _match_brackets(tokens)
    except Unclear:
        return True


def _match_brackets(tokens: list[Token]) -> dict[int, int]:
    """Return where brackets close, by where they open."""
    result = {-1: -1}
    pending: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in _CLOSING:
            pending.append(at)
        elif token.text in _CLOSING.values():
            if not pending or _CLOSING[tokens[pending[-1]].text] != token.text:
                raise Unclear
            result[pending.pop()] = at
        elif token.text in _UNCLEAR:
            raise Unclear
    if pending:
        raise Unclear
    return result


def _strip_attributes(outline: list[Token]) -> list[Token]:
    """Return the tokens of a declaration without attributes and parameters of templates."""
    result: list[Token] = []
    depth, before = 0, ""
    for token in outline:
        if depth or (token.text == "<" and before == "template"):
            if not depth:
                result.pop()
            elif depth == 1 and before + token.text == "<>":
                result.append(Token("template<>", token.start, token.end))
            depth += (token.text == "<") - (token.text == ">")
        elif token.text not in _ATTRIBUTES and not (
            (token.text == "()" and before in _ATTRIBUTES) or (token.text == "[]" and not result)
        ):
            result.append(token)
        before = token.text
    return result


def _make_other(outline: list[Token]) -> list[Declaration]:
    """Return a declaration other than a function with a body; nothing without tokens."""
    if not outline:
        return []
    plain = _strip_attributes(outline)
    texts = [token.text for token in plain]
    start, end = outline[0].start, outline[-1].end
    kind, body = "other", end
    if texts[-2:] == ["{}", ";"] and is_class(texts[:-2]):
        kind, body = "class", _find_initializers(plain, 0) or plain[-2].start
    return [Declaration(kind, texts, start, body, end)]


def _find_initializers(plain: list[Token], first: int) -> int:
    """Return where bases or initialisers begin; 0 if there are none."""
    return next((token.start for token in plain[first:] if token.text in {":", "final"}), 0)


def _is_namespace(texts: list[str]) -> bool:
    is_linkage = texts[:1] == ["extern"] and len(texts) == 2 and texts[1].startswith('"')  # noqa: PLR2004
    return is_linkage or "namespace" in texts[:2]


def is_class(texts: list[str]) -> bool:
    """Return whether the brace after these texts begins the members of a class."""
    return not CLASS_KEYS.isdisjoint(texts) and {"enum", "=", "()"}.isdisjoint(texts)


def _has_body(texts: list[str]) -> bool:
    """Return whether the brace after these texts begins the body of a function."""
    if "()" not in texts or "enum" in texts or ("=" in texts and "operator" not in texts):
        return False
    if ":" in texts[texts.index("()") :]:  # initialisers
        return texts[-1] in {"()", "{}"}
    return texts[-2:-1] != [","]
