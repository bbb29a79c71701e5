"""Exceptions of cudakern.

Every message is one line of three parts: operator and argument, what was required, what was found.
"""

from __future__ import annotations

import copyreg
import re
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from enum import Enum
    from types import FrameType

_LONGEST = 40  # letters of a misspelt name, at most
_LIKENESS = 0.7  # how much of a name must be right


def describe_value(value: object, convert: Callable[[object], str] = repr) -> str:
    """Return what was found as messages show it: the start of it, in one line."""
    return " ".join(_text(convert, value).split())[:60]


def describe_class(value: object) -> str:
    """Return the name of a value's class as messages show it: behind that of its library."""
    library = str(type(value).__module__).partition(".")[0]
    name = type(value).__name__
    return name if library in {"builtins", "__main__"} else f"{library}.{name}"


def describe_error(error: Exception) -> str:
    """Return what an error of another library says, as messages show it: its first line."""
    return next(iter(_text(str, error).splitlines()), "")[:200]


def _text(convert: Callable[[object], str], value: object) -> str:
    """Return the words of an object's own class for it, where that finds any."""
    try:
        return convert(value)
    except Exception:  # noqa: BLE001  whatever that class raises
        return f"<{type(value).__name__}>"


def any_of(words: Iterable[str]) -> str:
    """Return words as messages list them, such as ``"a, b or c"``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def did_you_mean(
    value: object,
    names: Iterable[str],
    others: Mapping[str, str] | None = None,
    show: Callable[[str], str] = repr,
) -> str:
    """Return the end of a message, such as ``"; did you mean 'average'?"`` or nothing.

    ``others`` maps names of other libraries, in lower case without underscores, to what to show;
    ``show`` says what to show of ``names``.
    """
    if not isinstance(value, str) or len(value) > _LONGEST:
        return ""
    word = _plain(value)
    known = {_plain(name): show(name) for name in names}
    meant = {**(others or {}), **known}
    near = [word] if word in meant else get_close_matches(word, known, n=1, cutoff=_LIKENESS)
    near = near or _find_misspelt(word, meant)
    return f"; did you mean {meant[near[0]]}?" if near else ""


def did_you_mean_member(
    value: object, enumeration: type[Enum], others: Mapping[str, str] | None = None
) -> str:
    """Return the end of a message that names the member which a text is meant for, or nothing.

    DirectML's name of a member ends with ours. ``others`` maps other names to those of members.
    """
    word, names = _plain(value) if isinstance(value, str) else "", enumeration.__members__
    ends = [name for name in names if word.endswith(_plain(name))]
    show = f"{enumeration.__name__}.{{}}".format
    texts = {other: show(name) for other, name in (others or {}).items()}
    return did_you_mean(max(ends, key=len, default=value), names, texts, show)


def _find_misspelt(word: str, words: Iterable[str]) -> list[str]:
    """Return the words that differ from another one in one letter, the most similar first."""
    likeness: dict[str, float] = {}
    for other in words if word.isalpha() else ():
        matcher = SequenceMatcher(None, other, word)
        right = sum(block.size for block in matcher.get_matching_blocks())
        if 1 < right >= max(len(word), len(other)) - 1:
            likeness[other] = matcher.ratio()
    return sorted(likeness, key=likeness.__getitem__, reverse=True)


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


class CudakernError(Exception):
    """Root of every error that cudakern raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The message is made once; the attributes may include notes.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class _FieldError(CudakernError):
    """An error that names an operator, one of its fields and, where one applies, a rule."""

    def __init__(
        self, operator: str, field: str, requirement: str, rule: str | None = None
    ) -> None:
        self.operator, self.field, self.rule = operator, field, rule
        suffix = "" if rule is None else f" [{rule}]"
        super().__init__(f"{operator}: {field} {requirement}{suffix}")


class DescriptorError(_FieldError, ValueError):
    """A descriptor breaks a documented rule.

    Attributes
    ----------
    operator : str
        Name of the operator, such as ``"gather"``.
    field : str
        Name of the field that breaks the rule.
    rule : str or None
        Identifier of the rule, such as ``"G8"`` or ``"T5"``; None where no rule has one.
    """


class ArgumentError(DescriptorError):
    """An argument of a function, the ``field``, is not what it must be; the ``rule`` is None."""


class AxisError(ArgumentError, np.exceptions.AxisError):
    """An axis of a function is out of range, or named twice: NumPy's error for it, too.

    Attributes
    ----------
    axis : int or tuple of int
        The axis, or all of them, as given.
    ndim : int
        How many axes there are.
    """

    def __init__(
        self, operator: str, requirement: str, axis: int | tuple[int, ...], ndim: int
    ) -> None:
        super().__init__(operator, "axis", requirement)
        self.args = (super().__str__(),)  # NumPy's class keeps the message to itself
        self.axis, self.ndim = axis, ndim  # type: ignore[assignment]  # NumPy has no tuple there

    __str__ = Exception.__str__

    def __reduce__(self) -> tuple[Any, ...]:
        make, given, attributes = super().__reduce__()
        return make, given, {**attributes, "axis": self.axis, "ndim": self.ndim}  # NumPy's slots


class BindingError(_FieldError, ValueError):
    """An array does not fit its descriptor, or the arrays of one call do not fit together.

    It has the attributes of `DescriptorError`; ``rule`` is a tensor rule, such as ``"T17"``.
    """


class DTypeError(CudakernError, TypeError):
    """A data type is not supported where it was given, or a value is of a wrong kind.

    Such as a scalar that does not fit, an operand that is no array, True where an integer must be.
    """


def dtype_error(operator: str, field: str, requirement: str) -> DTypeError:
    """Return an error that names an operator and one of its fields."""
    return DTypeError(f"{operator}: {field} {requirement}")


def is_inside(frame: FrameType, *others: str) -> bool:
    """Return whether a call is of this package or of contextlib, which runs its blocks.

    It says nothing of the user's own program then. So do those of the other packages.
    """
    module = str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] in {"cudakern", "contextlib", *others}


class IndexRangeError(CudakernError, IndexError):
    """An index lies outside its axis and ``mode="raise"`` was asked for."""


class KernelCompileError(CudakernError, RuntimeError):
    """A kernel did not compile.

    Attributes
    ----------
    source : str
        Name of the kernel source file.
    options : tuple of str
        Options given to the compiler.
    log : str
        The compiler's own words.
    summary : str or None
        What is wrong, in one line; None for the compiler's first error.
    text : str
        What was compiled, if that is not the package's own; else empty.
    """

    def __init__(
        self, source: str, options: tuple[str, ...], log: str, summary: str | None = None
    ) -> None:
        self.source, self.options, self.log, self.summary = source, options, log, summary
        self.text = ""
        first = next((line for line in log.splitlines() if "error" in line), log.strip()[:200])
        super().__init__(f"{source}: the kernel must compile; {(summary or first).strip()}")


class EngineUnavailableError(CudakernError, RuntimeError):
    """No driver, no CuPy, no NVRTC or no C++ compiler; the message says what to install."""


class CacheWarning(RuntimeWarning):
    """The cache folder of compiled kernels is not used as it was meant to be; the text says why."""


class SimulatorError(CudakernError, RuntimeError):
    """A kernel misbehaved in the simulator: memory fault, race, barrier divergence or deadlock.

    Attributes
    ----------
    kind : str
        ``"out_of_bounds"``, ``"misaligned"``, ``"uninitialized"``, ``"inactive_lane"``,
        ``"race"``, ``"barrier_divergence"``, ``"deadlock"``, ``"stack_overflow"``, ``"trap"``,
        ``"assert"``, ``"misuse"``, ``"out_of_memory"`` or ``"launch"``.
    kernel : str
        Name of the entry point.
    block, thread : tuple of int
        Coordinates of the block and of the thread concerned; empty where they are not known.
    message : str
        What happened, without the kernel and the place.
    findings : tuple of Finding
        What `cudakern.simulator.checked` found, all of it; empty otherwise.
    """

    def __init__(
        self,
        kind: str,
        kernel: str,
        block: tuple[int, ...],
        thread: tuple[int, ...],
        message: str,
        findings: tuple[Any, ...] = (),
    ) -> None:
        self.kind, self.kernel, self.block, self.thread = kind, kernel, block, thread
        self.message, self.findings = message, findings
        # A finding says it itself.
        place = f" (block {block}, thread {thread})" if block and not findings else ""
        super().__init__(f"{kernel}: {message}{place}")
