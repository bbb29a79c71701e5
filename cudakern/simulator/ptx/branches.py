"""The C++ of branches and calls: section 9.7.12 of the PTX ISA manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.model import Register, Vector
from cudakern.simulator.ptx.values import type_of_register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.ptx.function import FunctionText, Writer
    from cudakern.simulator.ptx.model import Function, Operand


def branch(text: FunctionText) -> str:
    """Section 9.7.12.3: bra."""
    (target,) = text.operands(1, 1)
    name = target.name if isinstance(target, Register) else ""
    label = text.label(name)
    return f"{text.turn([name])}goto {label};"


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
    return text.returning() if text.function.is_entry else "ck_sim_exit();"


def call(text: FunctionText) -> str:
    """Section 9.7.12.5: call. Arguments and results are pointers."""
    results: tuple[Operand, ...] = ()
    arguments: tuple[Operand, ...] = ()
    operands = text.instruction.operands
    if operands and isinstance(operands[0], Vector):
        results, operands = operands[0].items, operands[1:]
    callee, operands = operands[0] if operands else None, operands[1:]
    if not isinstance(callee, Register):
        text.refuse(f"{text.instruction.name} without a function")
    if operands and isinstance(operands[0], Vector):
        arguments = operands[0].items
    function = _function(text, callee, operands[-1:])
    if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
        text.refuse(f"{text.instruction.name} of {callee.name} with other arguments than it has")
    before: list[str] = []
    after: list[str] = []
    pointers = []
    passed = (("y", function.results, results), ("z", function.parameters, arguments))
    for letter, variables, values in passed:
        for i, (variable, operand) in enumerate(zip(variables, values, strict=True)):
            if isinstance(operand, Register) and operand.name in text.memory_names:
                pointers.append(text.memory_names[operand.name])
                continue
            name, kind = f"{letter}{i}", type_of_register(variable.type)
            pointers.append(f"(char*)&{name}")
            if letter == "y":
                before.append(f"{kind} {name};")
                after.append(text.assign(operand, name, kind))
            else:
                before.append(f"{kind} {name} = {text.value(operand, kind)};")
    call = _write_call(text, callee, function, pointers)
    if text.is_checked:
        before.append(f"const Call called(me, {text.instruction.line});")
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


def _write_call(
    text: FunctionText, callee: Register, function: Function, pointers: list[str]
) -> str:
    arguments = "".join(f", {pointer}" for pointer in pointers)
    if text.register(callee.name) is not None:
        kinds = ", char*" * len(pointers)
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
