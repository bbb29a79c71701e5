"""The C++ of moves, loads, stores and conversions of addresses: section 9.7.9 of the PTX manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.effects import lanes_of
from cudakern.simulator.ptx.model import TYPE_BYTES, Register, Vector
from cudakern.simulator.ptx.values import is_integer, type_of_value, unsigned

if TYPE_CHECKING:
    from cudakern.simulator.ptx.function import FunctionText, Writer
    from cudakern.simulator.ptx.model import Operand


#: Bytes of vectors at most, and of those in global memory.
_VECTOR, _WIDE = 16, 32


def move(text: FunctionText) -> str:
    """Section 9.7.9.2: mov, which packs and unpacks vectors, too."""
    target, source = text.operands(2, 2)
    kind = type_of_value(text.row.fields["TYPE"])
    if isinstance(target, Vector):
        part = _part(text, kind, target)
        steps = [f"const {kind} x = {text.value(source, kind)};"]
        for i, item in enumerate(target.items):
            shift = f" >> {8 * i * TYPE_BYTES[part]}" if i else ""
            steps.append(text.assign(item, f"({part})(x{shift})", part))
        return f"{{ {' '.join(steps)} }}"
    if isinstance(source, Vector):
        part = _part(text, kind, source)
        values = [f"({kind}){text.value(item, part)}" for item in source.items]
        shifted = [f"({value} << {8 * i * TYPE_BYTES[part]})" for i, value in enumerate(values)]
        return text.assign(target, " | ".join(shifted), kind)
    if isinstance(target, Register) and isinstance(source, Register) and not source.offset:
        to, origin = text.register(target.name), text.register(source.name)
        if to and origin and to.type == origin.type and not source.negated:
            return f"{to.name} = {origin.name};"  # nothing looks at the bits
    return text.assign(target, text.value(source, kind), kind)


def _part(text: FunctionText, kind: str, vector: Vector) -> str:
    """Return the C++ type of the parts that make up a word."""
    count = len(vector.items)
    if not count or TYPE_BYTES[kind] % count or not is_integer(kind):
        text.refuse(f"{text.instruction.name} with a vector of {count}")
    return unsigned(TYPE_BYTES[kind] // count)


def _require_lanes(text: FunctionText, operand: Operand) -> None:
    """Refuse a vector of another length than the instruction names; one value may have braces."""
    lanes, element = lanes_of(text.instruction.name), TYPE_BYTES[text.row.fields["TYPE"]]
    if text.instruction.pairs:
        text.refuse(f"{text.instruction.name} with two results")
    size = lanes * element
    is_wide = size == _WIDE and element in {4, 8} and text.space in {"", "global"}
    if size > _VECTOR and not is_wide:
        text.refuse(f"{text.instruction.name} of {size} bytes")
    if "L2_EVICT" in text.row.fields and size != _WIDE:
        text.refuse(f"{text.instruction.name}, which must be of {_WIDE} bytes")
    text.require_lanes(operand, *([lanes] if lanes else [0, 1]))


def load(text: FunctionText) -> str:
    """Section 9.7.9.8: ld; ldu and ld.global.nc likewise. Cache hints have no effect."""
    target, address, *_ = text.operands(2, 4)
    kind = type_of_value(text.row.fields["TYPE"])
    _require_lanes(text, target)
    is_ordered = "waits" in text.row.form.effects
    space = text.space
    is_plain = text.is_checked or space.startswith("param")
    read = "load_ordered" if is_ordered else "load" if is_plain else "load_alone"
    pointer = text.pointer(address, space)
    if is_ordered:
        pointer = f"polled<{kind}>({pointer}, {text.site()})"
    elif text.is_checked and not space.startswith("param"):
        pointer = f"ck_sim_read({pointer}, {text.site()})"
    if not isinstance(target, Vector):
        return text.assign(target, f"{read}<{kind}>({pointer})", kind)
    # All are read first: one of the registers may be the address.
    steps = [f"const char* const a = {pointer};"]
    steps += [
        f"const {kind} x{i} = {read}<{kind}>(a + {i * TYPE_BYTES[kind]});"
        for i in range(len(target.items))
    ]
    steps += [text.assign(item, f"x{i}", kind) for i, item in enumerate(target.items)]
    return f"{{ {' '.join(steps)} }}"


def store(text: FunctionText) -> str:
    """Section 9.7.9.11: st."""
    address, source, *_ = text.operands(2, 3)
    kind = type_of_value(text.row.fields["TYPE"])
    _require_lanes(text, source)
    space = text.space
    pointer = text.pointer(address, space)
    items = source.items if isinstance(source, Vector) else (source,)
    values = [text.value(item, kind) for item in items]
    is_ordered = "waits" in text.row.form.effects
    if is_ordered or (text.is_checked and not space.startswith("param")):
        put = "put_ordered" if is_ordered else "put"
        stored = values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
        undefined, condition = text.follower.stored(items) if text.follower else ("", "")
        call = f"{put}<{kind}>({pointer}, {stored}, {text.site()}"
        if not condition:
            return f"{call}{undefined});"
        return f"if ({condition}) {{ {call}{undefined}); }} else {{ {call}); }}"
    if len(values) == 1:
        return f"store<{kind}>({pointer}, {values[0]});"
    puts = (f"store<{kind}>(a + {i * TYPE_BYTES[kind]}, {v});" for i, v in enumerate(values))
    return f"{{ char* const a = {pointer}; {' '.join(puts)} }}"


def convert_address(text: FunctionText) -> str:
    """Section 9.7.9.20: cvta. All addresses except those of shared memory are generic."""
    target, source = text.operands(2, 2)
    kind, space = text.row.fields["TYPE"], text.space
    value = text.value(source, kind)
    if "to" in text.instruction.words:
        if space == "shared::cluster":
            value = f"to_cluster_address(me, (char*){value})"
        elif space.startswith("shared"):
            value = f"(u32)({value} - (u64)window)"
        return text.assign(target, value, kind)
    if space == "shared::cluster":
        value = f"(u64)cluster_address(me, (u32)({value}))"
    elif space.startswith("shared"):
        value = f"((u32)({value}) + (u64)window)"
    return text.assign(target, value, "u64")


#: By the names that rows call them. There are no caches, so nothing is done for them.
WRITERS: dict[str, Writer] = {
    **{writer.__name__: writer for writer in (move, load, store, convert_address)},
    "nothing": lambda _: "",
}
