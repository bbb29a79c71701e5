"""What Python and the runtimes share, read from the headers that declare it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_CONSTANT = re.compile(r"^constexpr \w+ (k\w+) = (0x[\dA-F]+|\d+)u?(?: << (\d+))?;", re.MULTILINE)
_ENUMERATION = re.compile(r"^enum (class )?(\w+) : \w+ \{(.*?)\};", re.MULTILINE | re.DOTALL)


class Constants(dict[str, int]):
    """The constants and enumerators of a header, by name: those of a class as ``Scope::kGpu``."""

    def __init__(self, header: str) -> None:
        self._header = header
        text = text_of(header)
        for name, number, shift in _CONSTANT.findall(text):
            self[name] = int(number, 0) << int(shift or 0)
        for is_class, name, body in _ENUMERATION.findall(text):
            enumerators = filter(None, (word.strip() for word in body.split(",")))
            for value, enumerator in enumerate(enumerators):
                self[f"{name}::{enumerator}" if is_class else enumerator] = value

    def __missing__(self, name: str) -> int:
        message = f"cudakern: {self._header} must declare {name}, which Python reads there"
        raise AssertionError(message)


@cache
def text_of(header: str) -> str:
    """Return the text of a header below this folder, without comments."""
    return re.sub(r"//.*", "", (_HERE / header).read_text(encoding="utf-8"))
