"""Moves, loads, stores, conversions of addresses, branches and calls.

They are no rows of the table, since their C++ depends on more than their types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.function import FunctionText, space_of
from cudakern.simulator.ptx.model import TYPE_BYTES, Register, Vector
from cudakern.simulator.ptx.values import type_of_register, type_of_value, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudakern.simulator.ptx.model import Function, Instruction, Operand

_ORDERED = {"volatile", "relaxed", "acquire", "release", "mmio"}
_LANES = {"v2": 2, "v4": 4, "v8": 8}
#: Loads past the caches of a multiprocessor: a loop may wait for another block with one.
_PAST_CACHES = {"cv", "cg"}
#: What NVRTC's code calls without defining it; ptx.hpp has functions ``call_...`` for them.
BUILTINS = ("vprintf", "__assertfail", "malloc", "free", "memcpy", "memset")


def _operands(of: Instruction, text: FunctionText, least: int, most: int) -> Sequence[Operand]:
    if not least <= len(of.operands) <= most:
        text.refuse(f"{of.name} with {len(of.operands)} operands", of)
    return of.operands


def _move(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.9.2: mov, which packs and unpacks vectors, too."""
    target, source = _operands(of, text, 2, 2)
    kind = _kind(text, of)
    if isinstance(target, Vector):
        part = _part(text, of, kind, target)
        steps = [f"const {kind} x = {text.value(source, kind, of)};"]
        for i, item in enumerate(target.items):
            shift = f" >> {8 * i * TYPE_BYTES[part]}" if i else ""
            steps.append(text.assign(item, f"({part})(x{shift})", part, of))
        return f"{{ {' '.join(steps)} }}"
    if isinstance(source, Vector):
        part = _part(text, of, kind, source)
        values = [f"({kind}){text.value(item, part, of)}" for item in source.items]
        shifted = [f"({value} << {8 * i * TYPE_BYTES[part]})" for i, value in enumerate(values)]
        return text.assign(target, " | ".join(shifted), kind, of)
    if isinstance(target, Register) and isinstance(source, Register) and not source.offset:
        to, given = text.register(target.name), text.register(source.name)
        if to is not None and given is not None and to[0] == given[0] and not source.negated:
            return f"{to[1]} = {given[1]};"  # nothing looks at the bits
    return text.assign(target, text.value(source, kind, of), kind, of)


def _kind(text: FunctionText, of: Instruction) -> str:
    """Return the C++ type that an instruction's last word names."""
    word = of.words[-1]
    if word not in TYPE_BYTES:
        text.refuse(f"the instruction {of.name}", of)
    return type_of_value(word)


def _part(text: FunctionText, of: Instruction, kind: str, vector: Vector) -> str:
    """Return the C++ type of the parts that make up a word."""
    count = len(vector.items)
    if not count or TYPE_BYTES[kind] % count:
        text.refuse(f"{of.name} with a vector of {count}", of)
    return unsigned(TYPE_BYTES[kind] // count)


def _require_lanes(text: FunctionText, of: Instruction, operand: Operand) -> None:
    """Refuse a vector of another length than the instruction names; one value may have braces."""
    lanes = next((_LANES[word] for word in of.words if word in _LANES), 0)
    found = len(operand.items) if isinstance(operand, Vector) else 0
    if of.pairs or found not in ({lanes} if lanes else {0, 1}):
        text.refuse(f"{of.name} of {found} values" if found else f"{of.name} of no vector", of)


def _load(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.9.8: ld; ldu and ld.global.nc likewise. Cache hints say nothing here."""
    target, address, *_ = _operands(of, text, 2, 4)
    kind = _kind(text, of)
    _require_lanes(text, of, target)
    is_vector = isinstance(target, Vector)
    is_ordered = not (_ORDERED if is_vector else _ORDERED | _PAST_CACHES).isdisjoint(of.words)
    load = "load_ordered" if is_ordered else "load"
    space = space_of(of)
    pointer = text.pointer(address, space, of)
    if is_ordered:
        pointer = f"polled<{kind}>({pointer}, {text.site(of)})"
    elif text.is_checked and not space.startswith("param"):
        pointer = f"ck_sim_read({pointer}, {text.site(of)})"
    if not isinstance(target, Vector):
        return text.assign(target, f"{load}<{kind}>({pointer})", kind, of)
    # All are read first: one of the registers may be the address.
    steps = [f"const char* const a = {pointer};"]
    places = [f"a + {i * TYPE_BYTES[kind]}" for i in range(len(target.items))]
    steps += [f"const {kind} x{i} = {load}<{kind}>({place});" for i, place in enumerate(places)]
    steps += [text.assign(item, f"x{i}", kind, of) for i, item in enumerate(target.items)]
    return f"{{ {' '.join(steps)} }}"


def _store(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.9.11: st."""
    if {"async", "bulk"} & {*of.words}:
        return text.row(of)
    address, source, *_ = _operands(of, text, 2, 3)
    kind = _kind(text, of)
    _require_lanes(text, of, source)
    space = space_of(of)
    pointer = text.pointer(address, space, of)
    items = source.items if isinstance(source, Vector) else (source,)
    values = [text.value(item, kind, of) for item in items]
    is_ordered = not _ORDERED.isdisjoint(of.words)
    if is_ordered or (text.is_checked and not space.startswith("param")):
        put = "put_ordered" if is_ordered else "put"
        given = values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
        return f"{put}<{kind}>({pointer}, {given}, {text.site(of)});"
    if len(values) == 1:
        return f"store<{kind}>({pointer}, {values[0]});"
    puts = [
        f"store<{kind}>(a + {i * TYPE_BYTES[kind]}, {value});" for i, value in enumerate(values)
    ]
    return f"{{ char* const a = {pointer}; {' '.join(puts)} }}"


def _convert_address(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.9.20: cvta. All addresses but those of shared memory are generic ones."""
    target, source = _operands(of, text, 2, 2)
    kind, space = _kind(text, of), space_of(of)
    value = text.value(source, kind, of)
    if "to" in of.words:
        if space == "shared::cluster":
            value = f"to_cluster_address(me, (char*){value})"
        elif space.startswith("shared"):
            value = f"(u32)({value} - (u64)window)"
        return text.assign(target, value, kind, of)
    if space == "shared::cluster":
        value = f"(u64)cluster_address(me, (u32)({value}))"
    elif space.startswith("shared"):
        value = f"((u32)({value}) + (u64)window)"
    return text.assign(target, value, "u64", of)


def _branch(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.12.3: bra."""
    (target,) = _operands(of, text, 1, 1)
    label = text.label(target, of)
    return f"{text.turn([target], of)}goto {label};"


def _branch_by_table(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.12.4: brx.idx."""
    index, name = _operands(of, text, 2, 2)
    targets = text.targets.get(name.name) if isinstance(name, Register) else None
    if targets is None:
        text.refuse(f"{of.name} without a table", of)
    labels = [text.label(label, of) for label in targets.labels]
    turn = text.turn(targets.labels, of)
    cases = " ".join(f"case {i}: goto {label};" for i, label in enumerate(labels))
    requirement = '"the index of a branch table must be one of its own"'
    stop = f'ck_sim_stop("trap", {requirement}, {text.site(of)});'
    return f"{turn}switch ({text.value(index, 'u32', of)}) {{ {cases} default: {stop} }}"


def _return(text: FunctionText, _: Instruction) -> str:
    """Section 9.7.12.6: ret."""
    return text.returning()


def _exit(text: FunctionText, _: Instruction) -> str:
    """Section 9.7.12.7: exit."""
    return "return;" if text.function.is_entry else "ck_sim_exit();"


def _nothing(text: FunctionText, of: Instruction) -> str:  # noqa: ARG001
    """Return no C++: there are no caches."""
    return ""


def _call(text: FunctionText, of: Instruction) -> str:
    """Section 9.7.12.5: call. Arguments and results are places in memory."""
    operands = list(of.operands)
    results: Sequence[Operand] = ()
    if operands and isinstance(operands[0], Vector):
        results = operands[0].items
        operands.pop(0)
    callee = operands.pop(0) if operands else None
    if not isinstance(callee, Register):
        text.refuse(f"{of.name} without a function", of)
    given: Sequence[Operand] = ()
    if operands and isinstance(operands[0], Vector):
        given = operands[0].items
    function = _function(text, of, callee, operands[-1:])
    if (len(results), len(given)) != (len(function.results), len(function.parameters)):
        text.refuse(f"{of.name} of {callee.name} with other arguments than it has", of)
    before: list[str] = []
    after: list[str] = []
    places = []
    for i, operand in enumerate(results):
        place, kind = _place(text, operand, function.results[i].type, f"y{i}")
        if kind:
            before.append(f"{kind} y{i};")
            after.append(text.assign(operand, f"y{i}", kind, of))
        places.append(place)
    for i, operand in enumerate(given):
        place, kind = _place(text, operand, function.parameters[i].type, f"z{i}")
        if kind:
            before.append(f"{kind} z{i} = {text.value(operand, kind, of)};")
        places.append(place)
    call = _called(text, of, callee, function, places)
    return f"{{ {' '.join((*before, call, *after))} }}"


def _function(
    text: FunctionText, of: Instruction, callee: Register, more: Sequence[Operand]
) -> Function:
    """Return what is called, or what an indirect call says of it: a prototype, or all it may be."""
    if text.register(callee.name) is None:
        function = text.scope.declared(callee.name)
        if function is None or function.is_entry:
            text.refuse(f"a call of {callee.name}, which is no function that is declared", of)
        return function
    named = text.targets.get(more[0].name) if more and isinstance(more[0], Register) else None
    if named is None:
        text.refuse(f"{of.name} by an address without a prototype", of)
    function = named.prototype or text.scope.declared(named.labels[0])
    if function is None:
        text.refuse(f"a call of {named.labels[0]}, which is not declared", of)
    return function


def _place(text: FunctionText, operand: Operand, kind: str, name: str) -> tuple[str, str]:
    """Return the place of an argument, and its C++ type if a variable must be made for it."""
    if isinstance(operand, Register) and operand.name in text.places:
        return text.places[operand.name], ""
    return f"(char*)&{name}", type_of_register(kind)


def _called(
    text: FunctionText, of: Instruction, callee: Register, function: Function, places: list[str]
) -> str:
    given = "".join(f", {place}" for place in places)
    if text.register(callee.name) is not None:
        kinds = ", char*" * len(places)
        target = f"callable({text.value(callee, 'u64', of)}, {text.site(of)})"
        return f"((void (*)(CK_CONTEXT_TYPES{kinds})){target})(CK_CONTEXT_VALUES{given});"
    if function.body is None and function.name in BUILTINS:
        return f"call_{function.name.strip('_')}({text.site(of, function.name)}{given});"
    if function.body is None:
        text.refuse(f"a call of {callee.name}, which the module does not define", of)
    text.scope.called.add(function.name)
    return f"{text.scope.functions[callee.name]}(CK_CONTEXT_VALUES{given});"


#: By opcode.
STRUCTURAL: dict[str, Callable[[FunctionText, Instruction], str]] = {
    "mov": _move,
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "cvta": _convert_address,
    "bra": _branch,
    "brx": _branch_by_table,
    "call": _call,
    "ret": _return,
    "exit": _exit,
    "prefetch": _nothing,
    "prefetchu": _nothing,
}
