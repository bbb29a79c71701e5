"""The C++ of branches and calls: section 9.7.12 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.instructions.moves_and_branches import BUILTINS
from cudakern.simulator.ptx.model import Register, Vector
from cudakern.simulator.ptx.values import type_of_register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.ptx.function import FunctionText, Writer
    from cudakern.simulator.ptx.model import Function, Operand


def branch(text: FunctionText) -> str:
    """Section 9.7.12.3: bra."""
    (target,) = text.operands(1, 1)
    label = text.label(target)
    return f"{text.turn([target])}goto {label};"


def branch_by_table(text: FunctionText) -> str:
    """Section 9.7.12.4: brx.idx."""
    index, name = text.operands(2, 2)
    targets = text.targets.get(name.name) if isinstance(name, Register) else None
    if targets is None:
        text.refuse(f"{text.instruction.name} without a table")
    labels = [text.label(label) for label in targets.labels]
    turn = text.turn(targets.labels)
    cases = " ".join(f"case {i}: goto {label};" for i, label in enumerate(labels))
    requirement = '"the index of a branch table must be one of its own"'
    stop = f'ck_sim_stop("trap", {requirement}, {text.site()});'
    return f"{turn}switch ({text.value(index, 'u32')}) {{ {cases} default: {stop} }}"


def leave_function(text: FunctionText) -> str:
    """Section 9.7.12.6: ret."""
    return text.returning()


def exit_thread(text: FunctionText) -> str:
    """Section 9.7.12.7: exit."""
    return "return;" if text.function.is_entry else "ck_sim_exit();"


def call(text: FunctionText) -> str:
    """Section 9.7.12.5: call. Arguments and results are places in memory."""
    operands = list(text.instruction.operands)
    results: Sequence[Operand] = ()
    if operands and isinstance(operands[0], Vector):
        results = operands[0].items
        operands.pop(0)
    callee = operands.pop(0) if operands else None
    if not isinstance(callee, Register):
        text.refuse(f"{text.instruction.name} without a function")
    arguments: Sequence[Operand] = ()
    if operands and isinstance(operands[0], Vector):
        arguments = operands[0].items
    function = _function(text, callee, operands[-1:])
    if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
        text.refuse(f"{text.instruction.name} of {callee.name} with other arguments than it has")
    before: list[str] = []
    after: list[str] = []
    places = []
    for i, operand in enumerate(results):
        place, kind = _place(text, operand, function.results[i].type, f"y{i}")
        if kind:
            before.append(f"{kind} y{i};")
            after.append(text.assign(operand, f"y{i}", kind))
        places.append(place)
    for i, operand in enumerate(arguments):
        place, kind = _place(text, operand, function.parameters[i].type, f"z{i}")
        if kind:
            before.append(f"{kind} z{i} = {text.value(operand, kind)};")
        places.append(place)
    call = _called(text, callee, function, places)
    return f"{{ {' '.join((*before, call, *after))} }}"


def _function(text: FunctionText, callee: Register, more: Sequence[Operand]) -> Function:
    """Return what is called, or what an indirect call says of it: a prototype, or all it may be."""
    if text.register(callee.name) is None:
        function = text.scope.declared(callee.name)
        if function is None or function.is_entry:
            text.refuse(f"a call of {callee.name}, which is no function that is declared")
        return function
    named = text.targets.get(more[0].name) if more and isinstance(more[0], Register) else None
    if named is None:
        text.refuse(f"{text.instruction.name} by an address without a prototype")
    function = named.prototype or text.scope.declared(named.labels[0])
    if function is None:
        text.refuse(f"a call of {named.labels[0]}, which is not declared")
    return function


def _place(text: FunctionText, operand: Operand, kind: str, name: str) -> tuple[str, str]:
    """Return the place of an argument, and its C++ type if a variable must be made for it."""
    if isinstance(operand, Register) and operand.name in text.places:
        return text.places[operand.name], ""
    return f"(char*)&{name}", type_of_register(kind)


def _called(
    text: FunctionText,
    callee: Register,
    function: Function,
    places: list[str],
) -> str:
    arguments = "".join(f", {place}" for place in places)
    if text.register(callee.name) is not None:
        kinds = ", char*" * len(places)
        target = f"callable({text.value(callee, 'u64')}, {text.site()})"
        return f"((void (*)(CK_CONTEXT_TYPES{kinds})){target})(CK_CONTEXT_VALUES{arguments});"
    if function.body is None and function.name in BUILTINS:
        site = text.site(BUILTINS[function.name])
        return f"call_{function.name.strip('_')}({site}{arguments});"
    if function.body is None:
        text.refuse(f"a call of {callee.name}, which the module does not define")
    text.scope.called.add(function.name)
    return f"{text.scope.functions[callee.name]}(CK_CONTEXT_VALUES{arguments});"


#: By the names that rows call them.
WRITERS: dict[str, Writer] = {
    writer.__name__: writer
    for writer in (branch, branch_by_table, call, leave_function, exit_thread)
}
