"""The C++ of moves, loads, stores and conversions of addresses: section 9.7.9 of the PTX manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.function import FunctionText, space_of
from cudakern.simulator.ptx.instructions import row_of
from cudakern.simulator.ptx.model import LANES, TYPE_BYTES, Register, Vector
from cudakern.simulator.ptx.values import type_of_value, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudakern.simulator.ptx.model import Instruction, Operand


def operands_of(
    instruction: Instruction, text: FunctionText, least: int, most: int
) -> Sequence[Operand]:
    """Return an instruction's operands; refuse less or more of them."""
    if not least <= len(instruction.operands) <= most:
        text.refuse(f"{instruction.name} with {len(instruction.operands)} operands", instruction)
    return instruction.operands


def _move(text: FunctionText, instruction: Instruction) -> str:
    """Section 9.7.9.2: mov, which packs and unpacks vectors, too."""
    target, source = operands_of(instruction, text, 2, 2)
    kind = _kind(text, instruction)
    if isinstance(target, Vector):
        part = _part(text, instruction, kind, target)
        steps = [f"const {kind} x = {text.value(source, kind, instruction)};"]
        for i, item in enumerate(target.items):
            shift = f" >> {8 * i * TYPE_BYTES[part]}" if i else ""
            steps.append(text.assign(item, f"({part})(x{shift})", part, instruction))
        return f"{{ {' '.join(steps)} }}"
    if isinstance(source, Vector):
        part = _part(text, instruction, kind, source)
        values = [f"({kind}){text.value(item, part, instruction)}" for item in source.items]
        shifted = [f"({value} << {8 * i * TYPE_BYTES[part]})" for i, value in enumerate(values)]
        return text.assign(target, " | ".join(shifted), kind, instruction)
    if isinstance(target, Register) and isinstance(source, Register) and not source.offset:
        to, origin = text.register(target.name), text.register(source.name)
        if to and origin and to.type == origin.type and not source.negated:
            return f"{to.name} = {origin.name};"  # nothing looks at the bits
    return text.assign(target, text.value(source, kind, instruction), kind, instruction)


def _kind(text: FunctionText, instruction: Instruction) -> str:
    """Return the C++ type that an instruction's last word names."""
    word = instruction.words[-1]
    if word not in TYPE_BYTES:
        text.refuse(f"the instruction {instruction.name}", instruction)
    return type_of_value(word)


def _part(text: FunctionText, instruction: Instruction, kind: str, vector: Vector) -> str:
    """Return the C++ type of the parts that make up a word."""
    count = len(vector.items)
    if not count or TYPE_BYTES[kind] % count:
        text.refuse(f"{instruction.name} with a vector of {count}", instruction)
    return unsigned(TYPE_BYTES[kind] // count)


def _require_lanes(text: FunctionText, instruction: Instruction, operand: Operand) -> None:
    """Refuse a vector of another length than the instruction names; one value may have braces."""
    lanes = next((LANES[word] for word in instruction.words if word in LANES), 0)
    count = len(operand.items) if isinstance(operand, Vector) else 0
    if instruction.pairs or count not in ({lanes} if lanes else {0, 1}):
        what = f"{count} values" if count else "no vector"
        text.refuse(f"{instruction.name} of {what}", instruction)


def _waits(instruction: Instruction) -> bool:
    """Return whether others may run before an access."""
    row = row_of(instruction)
    return row is not None and "waits" in row.form.effects


def _load(text: FunctionText, instruction: Instruction) -> str:
    """Section 9.7.9.8: ld; ldu and ld.global.nc likewise. Cache hints say nothing here."""
    target, address, *_ = operands_of(instruction, text, 2, 4)
    kind = _kind(text, instruction)
    _require_lanes(text, instruction, target)
    is_ordered = _waits(instruction)
    load = "load_ordered" if is_ordered else "load"
    space = space_of(instruction)
    pointer = text.pointer(address, space, instruction)
    if is_ordered:
        pointer = f"polled<{kind}>({pointer}, {text.site(instruction)})"
    elif text.is_checked and not space.startswith("param"):
        pointer = f"ck_sim_read({pointer}, {text.site(instruction)})"
    if not isinstance(target, Vector):
        return text.assign(target, f"{load}<{kind}>({pointer})", kind, instruction)
    # All are read first: one of the registers may be the address.
    steps = [f"const char* const a = {pointer};"]
    places = [f"a + {i * TYPE_BYTES[kind]}" for i in range(len(target.items))]
    steps += [f"const {kind} x{i} = {load}<{kind}>({place});" for i, place in enumerate(places)]
    steps += [text.assign(item, f"x{i}", kind, instruction) for i, item in enumerate(target.items)]
    return f"{{ {' '.join(steps)} }}"


def _store(text: FunctionText, instruction: Instruction) -> str:
    """Section 9.7.9.11: st."""
    if "async" in instruction.words:
        text.refuse(f"the instruction {instruction.name}", instruction)
    address, source, *_ = operands_of(instruction, text, 2, 3)
    kind = _kind(text, instruction)
    _require_lanes(text, instruction, source)
    space = space_of(instruction)
    pointer = text.pointer(address, space, instruction)
    items = source.items if isinstance(source, Vector) else (source,)
    values = [text.value(item, kind, instruction) for item in items]
    is_ordered = _waits(instruction)
    if is_ordered or (text.is_checked and not space.startswith("param")):
        put = "put_ordered" if is_ordered else "put"
        stored = values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
        return f"{put}<{kind}>({pointer}, {stored}, {text.site(instruction)});"
    if len(values) == 1:
        return f"store<{kind}>({pointer}, {values[0]});"
    puts = [
        f"store<{kind}>(a + {i * TYPE_BYTES[kind]}, {value});" for i, value in enumerate(values)
    ]
    return f"{{ char* const a = {pointer}; {' '.join(puts)} }}"


def _convert_address(text: FunctionText, instruction: Instruction) -> str:
    """Section 9.7.9.20: cvta. All addresses but those of shared memory are generic ones."""
    target, source = operands_of(instruction, text, 2, 2)
    kind, space = _kind(text, instruction), space_of(instruction)
    value = text.value(source, kind, instruction)
    if "to" in instruction.words:
        if space == "shared::cluster":
            value = f"to_cluster_address(me, (char*){value})"
        elif space.startswith("shared"):
            value = f"(u32)({value} - (u64)window)"
        return text.assign(target, value, kind, instruction)
    if space == "shared::cluster":
        value = f"(u64)cluster_address(me, (u32)({value}))"
    elif space.startswith("shared"):
        value = f"((u32)({value}) + (u64)window)"
    return text.assign(target, value, "u64", instruction)


def _nothing(text: FunctionText, instruction: Instruction) -> str:  # noqa: ARG001
    """Return no C++: there are no caches."""
    return ""


#: By the names that rows call them.
WRITERS: dict[str, Callable[[FunctionText, Instruction], str]] = {
    "move": _move,
    "load": _load,
    "store": _store,
    "convert_address": _convert_address,
    "nothing": _nothing,
}
