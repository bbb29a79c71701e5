"""The modules that stand for CuPy's, by their full names; `modules` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

MODULES: dict[str, ModuleType] = {}
