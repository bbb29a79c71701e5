"""C++ of the words beside registers that say which bytes are undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from cudakern.simulator.ptx import undefined
from cudakern.simulator.ptx.fragments import Fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cudakern.simulator.ptx.model import Address, Operand
    from cudakern.simulator.ptx.values import CppVariable


class _Printer(Protocol):
    """What prints the operations of a function: `printer.Printer`."""

    def register(self, name: str) -> CppVariable | None: ...

    def value(self, operand: Operand, wanted: str) -> str: ...

    def site(self) -> str: ...

    def passed_words(self, address: Address, more: int) -> str: ...

    def buffer(self, name: str, kind: str, size: int) -> tuple[str, str]: ...

    def fragment(self, fragment: Fragment, prefix: str = "") -> str: ...


class WordPrinter:
    """Prints steps and expressions of `undefined`."""

    def __init__(self, printer: _Printer) -> None:
        self._printer = printer

    def name(self, word: undefined.Word) -> str:
        """Return the variable of a word."""
        if word.load:
            return f"u_load{word.load // 2}{'b' * (word.load % 2)}"
        register = self._printer.register(word.name)
        return f"u_{register.name}" if register is not None else ""

    def step(self, step: undefined.Step) -> str:
        """Return the statement of a step."""
        return self._STEPS[type(step)](self, step)

    def show(self, value: undefined.Expression) -> str:
        """Return an expression."""
        return self._EXPRESSIONS[type(value)](self, value)

    def any_of(self, words: Iterable[undefined.Word]) -> str:
        """Return the condition that some of the words have undefined bytes, which is rare."""
        return f"__builtin_expect(has_bytes({' | '.join(map(self.name, words))}), 0)"

    # Steps

    def _set(self, step: undefined.Set) -> str:
        return f"{self.name(step.word)} = {self.show(step.value)}; "

    def _used(self, step: undefined.Used) -> str:
        return f"used({self.show(step.value)}, ck_sim_use_{step.use}, {self._printer.site()}); "

    def _give(self, step: undefined.Give) -> str:
        if not step.variables:
            return f"give(me, {self.show(step.values[0])}); "
        buffer, array = self._printer.buffer("u", "u64", len(step.values))
        words = (f"{buffer}[{i}] = {self.show(word)};" for i, word in enumerate(step.values))
        give = f"{{ {' '.join(words)} give_registers(me, {array}, {step.first}); }}"
        return f"if ({self.any_of(step.variables)}) {give} "

    def _give_fragment(self, step: undefined.GiveFragment) -> str:
        return f"give_registers(me, {self._printer.fragment(step.fragment, 'u_')}, {step.first}); "

    def _take(self, step: undefined.Take) -> str:
        if not step.of_registers:
            words = (word for word, _ in step.words if not isinstance(word, Fragment))
            sets = " ".join(f"{self.name(word)} = whole(u);" for word in words)
            return f"{{ const u64 u = taken(me); {sets} }} "
        taken = "const u64 u = taken(me), v = me->undefined_behind; me->undefined_behind = 0;"
        sets = " ".join(self._taken(word, i) for word, i in step.words)
        return f"{{ {taken} {sets} }} "

    def _taken(self, word: undefined.Word | Fragment, number: int) -> str:
        if not isinstance(word, Fragment):
            return f"{self.name(word)} = of_register(u, v, {number});"
        words = self._printer.fragment(word, "u_")
        return f"take_row(u, {words});" if number < 0 else f"take_registers(u, v, {words});"

    def _pass(self, step: undefined.Pass) -> str:
        place = self._printer.passed_words(step.address, step.offset)
        return f"pass({place}, {step.size}, {self.show(step.value)}); " if place else ""

    # Expressions

    def _union(self, value: undefined.Union) -> str:
        union = " | ".join(map(self.show, value.words)) or "0"
        if value.whole and value.words:
            return f"whole({union})"
        return f"({union})" if len(value.words) > 1 else union

    def _made(self, value: undefined.Made) -> str:
        if not value.function:
            return self.show(value.arguments[0])
        thread = ("me",) if value.function.startswith("taken") else ()
        return f"{value.function}({', '.join((*thread, *map(self.show, value.arguments)))})"

    def _decides(self, value: undefined.Decides) -> str:
        return f"{'!' * value.by_zero}({self._printer.value(value.operand, value.type)})"

    def _chosen(self, value: undefined.Chosen) -> str:
        predicate = self._printer.value(value.predicate, "pred")
        return f"({predicate} ? {self.show(value.first)} : {self.show(value.second)})"

    def _passed(self, value: undefined.Passed) -> str:
        place = self._printer.passed_words(value.address, value.offset)
        return f"passed({place}, {value.size})" if place else "0"

    _STEPS: ClassVar[dict[type, Callable[[WordPrinter, Any], str]]] = {
        undefined.Set: _set,
        undefined.Used: _used,
        undefined.Give: _give,
        undefined.GiveFragment: _give_fragment,
        undefined.Take: _take,
        undefined.Pass: _pass,
        undefined.Forget: lambda _, __: "taken(me); ",
    }
    _EXPRESSIONS: ClassVar[dict[type, Callable[[WordPrinter, Any], str]]] = {
        undefined.Word: name,
        undefined.Union: _union,
        undefined.Made: _made,
        undefined.Decides: _decides,
        undefined.Chosen: _chosen,
        undefined.Passed: _passed,
        int: lambda _, value: f"{value:#x}",
        bool: lambda _, value: str(value).lower(),
    }
