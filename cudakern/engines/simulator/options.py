"""Options of raw kernels in `checked` and `traffic`: CUDA's, as far as they mean anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.errors import BindingError

if TYPE_CHECKING:
    from collections.abc import Sequence

_STANDARDS = {"c++03", "c++11", "c++14", "c++17", "c++20", "c++23"}
_MIN_STANDARD = "c++17"  # the simulator's own headers
#: Options whose value may be the next one.
_PREFIXES = {
    "-D": "-D",
    "--define-macro": "-D",
    "-U": "-U",
    "--undefine-macro": "-U",
    "-I": "-I",
    "--include-path": "-I",
}
#: They change the GPU's code, or how its compiler talks.
_WITH_VALUE = {
    *("-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"),
    *("-maxrregcount", "--maxrregcount", "-Xptxas", "--ptxas-options"),
}
_WITHOUT_EFFECT = re.compile(
    r"--?(use_fast_math|ftz=|prec-div=|prec-sqrt=|fmad=|extra-device-vectorization|lineinfo|"
    r"generate-line-info|G$|device-debug|arch|gpu-architecture|gpu-code|code|maxrregcount|"
    r"restrict|rdc|relocatable-device-code|dc|w$|disable-warnings|Xptxas|ptxas-options|dopt|O\d|"
    r"default-device|device-as-default-execution-space|diag-|Werror|expt-|extended-lambda|"
    r"builtin-|modify-stack-limit|minimal|split-compile|time|device-c|m64)"
)


def parse_options(  # noqa: C901  one case for each kind of option
    owner: str, options: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the host compiler's arguments for a kernel's options, and lines of its preprocessor.

    Macros are lines: the simulator's own headers, which come before, must not see them.

    Raises
    ------
    BindingError
        One is not known, or no string.
    """
    if isinstance(options, str):
        raise BindingError(owner, "options", f"must be a sequence of strings; got {options!r:.60}")
    flags: list[str] = []
    lines: list[str] = []
    given = list(options)
    while given:
        option = given.pop(0)
        if not isinstance(option, str):
            raise BindingError(owner, "options", f"must be strings; got {option!r:.60}")
        if option.startswith(("-std=", "--std=")):
            flags.append(_standard(owner, option))
            continue
        prefix = next((p for p in _PREFIXES if option.startswith(p)), None)
        if prefix is not None:
            value = option[len(prefix) :].removeprefix("=") if "--" in prefix else option[2:]
            if not value:
                if not given:
                    raise BindingError(owner, "options", f"must have a value after {option}")
                value = given.pop(0)
            kind, value = _PREFIXES[prefix], value.strip()
            if kind == "-I":
                flags.append(f"-I{Path(value).absolute()}")  # the compiler runs elsewhere
            elif kind == "-U":
                lines.append(f"#undef {value}")
            else:
                name, is_given, replacement = value.partition("=")
                lines += (
                    f"#undef {name.split('(')[0]}",
                    f"#define {name} {replacement if is_given else 1}",
                )
        elif option in _WITH_VALUE and given:
            given.pop(0)
        elif not _WITHOUT_EFFECT.match(option):
            requirement = (
                f"must be ones that checked and traffic know (-D, -U, -I, -std); got {option}"
            )
            raise BindingError(owner, "options", requirement)
    return tuple(flags), tuple(lines)


def _standard(owner: str, option: str) -> str:
    standard = option.split("=", 1)[1]
    if standard not in _STANDARDS:
        known = ", ".join(sorted(_STANDARDS))
        raise BindingError(owner, "options", f"must be a standard of {known}; got {option}")
    return f"-std={max(standard, _MIN_STANDARD)}" if standard != "c++03" else "-std=c++17"
