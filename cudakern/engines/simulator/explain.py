"""Why a text does not compile for `checked` and `traffic`, in one line.

They compile it for the host, whose headers lack what NVRTC has.
"""

from __future__ import annotations

import re

__all__ = ["OPAQUE", "explain", "line_of"]

#: Comments, and string and character literals; a raw string comes before a plain one.
OPAQUE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|\bR"([^()\\\s]*)\(.*?\)\1"'
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
#: What they lack: how it is written, and what it is called. The first that stands in a
#: text is named, so what brings others with it comes first.
_LACK = "checked and traffic do not have"
_INCLUDED = r"^\s*#\s*include\s*[<\"]"
_UNSUPPORTED = tuple(
    (re.compile(pattern.replace("INCLUDE", _INCLUDED), re.MULTILINE), what)
    for what, pattern in {
        "inline PTX": r"\b(?:asm|__asm__|__asm)\s*(?:volatile|__volatile__|goto)?\s*\(",
        "kernels that launch kernels": r"<<<",
        "cooperative groups": r"INCLUDE(cooperative_groups[^>\"]*)|\bcooperative_groups\b",
        "matrix fragments": r"INCLUDE(mma\.h)|\b(?:nvcuda|wmma)\s*::",
        "CUB": r"INCLUDE(cub/[^>\"]*)|\bcub\s*::",
        "Thrust": r"INCLUDE(thrust/[^>\"]*)|\bthrust\s*::",
        "cuRAND": r"INCLUDE(curand[^>\"]*)|\bcurand_\w+",
        "libcu++'s atomics": (
            r"INCLUDE(cuda/(?:std/)?atomic)|\bcuda\s*::\s*(?:std\s*::\s*)?atomic\w*"
        ),
        "asynchronous barriers": (
            r"INCLUDE(cuda/(?:std/)?barrier|cuda_awbarrier[^>\"]*)"
            r"|\bcuda\s*::\s*(?:std\s*::\s*)?(?:barrier|memcpy_async)\b"
        ),
        "asynchronous copies": (
            r"INCLUDE(cuda/pipeline|cuda_pipeline[^>\"]*)|\bcuda\s*::\s*pipeline\w*"
            r"|\b__pipeline_\w+"
        ),
        "textures": (
            r"\b(?:tex[123]D\w*|texCubemap\w*|texture\s*<|cudaTextureObject_t|CUtexObject)"
        ),
        "surfaces": (
            r"\b(?:surf(?:[123]D|Cubemap)\w*|surface\s*<\s*void|cudaSurfaceObject_t|CUsurfObject)"
        ),
        "clusters of blocks": r"\b(?:__cluster_\w+|__clusterRelIsSet|__block_size__)\b",
        "the CUDA runtime in kernels": (
            r"\bcuda(?:Malloc|Free|Memcpy|Memset|DeviceSynchronize|StreamCreate|GetLastError"
            r"|LaunchKernel)\w*\b"
        ),
    }.items()
)
#: The branches of a text that they do not compile, as far as they do not nest.
_NOT_HERE = re.compile(
    r"^\s*#\s*(?:ifndef\s+CK_SIMULATOR\b|if\s+!\s*defined\s*\(?\s*CK_SIMULATOR\b"
    r"|if(?:def\s+CK_SIMULATOR|\s+defined\s*\(?\s*CK_SIMULATOR)\b(?:(?!^\s*#\s*(?:else|endif))[\s\S])*"
    r"^\s*#\s*else\b)([\s\S]*?)^\s*#\s*(?:else|endif)\b",
    re.MULTILINE,
)
_MISSING_NAME = re.compile(
    r"'(?P<gcc>[^']+)' (?:was not declared in this scope|does not name a type"
    r"|has not been declared|is not a member of)"
    r"|use of undeclared identifier '(?P<clang>[^']+)'"
    r"|unknown type name '(?P<type>[^']+)'"
    r"|there are no arguments to '(?P<template>[^']+)' that depend"
    r"|no (?:template|member|type) named '(?P<member>[^']+)'"
)
_MISSING_FILE = re.compile(
    r"error: (?P<gcc>[^\s:]+): No such file or directory|error: '(?P<clang>[^']+)' file not found"
)
_ERROR = re.compile(r"^(?:[^\n]*?: )?(?:fatal )?error: .*$", re.MULTILINE)
_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: ")


def explain(text: str, log: str) -> str:
    """Return why a kernel does not compile for the host.

    Parameters
    ----------
    text : str
        The kernel as it was given.
    log : str
        What g++ or clang said.

    Returns
    -------
    str
        One line, without a full stop.
    """
    log = log.translate({0x2018: "'", 0x2019: "'"})  # g++ quotes as the locale has it
    return _unsupported(text) or _missing(log) or _first_error(log)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _without_opaque(text: str) -> str:
    """Return the text with blanks for comments and literals, its lines as they were."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        head = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if found[0] == '"' and re.fullmatch(r"\s*#\s*(?:include|line\s+\d+)\s*", head):
            return found  # the name of a file
        return _blank(match)

    return OPAQUE.sub(blank, text)


def line_of(text: str, position: int) -> int:
    """Return the number of the line of a position, counted from the last #line."""
    before = text[: text.rfind("\n", 0, position) + 1]
    marks = list(re.finditer(r'^\s*#\s*line\s+(\d+)(?:[ \t]+".*")?[ \t]*$', before, re.MULTILINE))
    if not marks:
        return before.count("\n") + 1
    return int(marks[-1][1]) + before.count("\n", marks[-1].end()) - 1


def _unsupported(text: str) -> str | None:
    code = _NOT_HERE.sub(_blank, _without_opaque(text))
    for pattern, what in _UNSUPPORTED:
        match = pattern.search(code)
        if match:
            included = next((f"<{group}>" for group in match.groups() if group), None)
            found = " ".join(match[0].split())
            written = included or found.rstrip(" (<" if found != "<<<" else "")
            start = match.start(1) if included else match.start()
            line = line_of(text, start)
            return f"{_LACK} {what} (`{written}` in line {line})"
    return None


def _missing(log: str) -> str | None:
    # Only the first: others may follow from it. g++ says this one of a parameter's unknown type.
    errors = [error for error in _ERROR.findall(log) if not error.endswith("declared void")]
    error = errors[0] if errors else ""
    place = _PLACE.match(error)
    where = f" ({place['file']}:{place['line']})" if place else ""
    file = _MISSING_FILE.search(error)
    if file:
        return f"{_LACK} the header `{file['gcc'] or file['clang']}`{where}"
    name = _MISSING_NAME.search(error)
    if name:
        written = next(group for group in name.groups() if group)
        return f"{_LACK} `{written}`{where}"
    return None


def _first_error(log: str) -> str:
    errors = _ERROR.findall(log)
    if errors:
        return str(errors[0]).strip()
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[0] if lines else "the compiler failed and said nothing"
