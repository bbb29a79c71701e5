"""Arrays that launches reach by addresses in their memory, and not as arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.errors import BindingError, dtype_error, shown
from cudakern.simulator import structures
from cudakern.simulator.arguments import live_empties, operand_of, span_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.simulator.arguments import PackedArguments
    from cudakern.simulator.operands import Operand
    from cudakern.simulator.ptx.loaded import LoadedModule

#: What findings call an array that `empty` has made and that nobody has named.
_EMPTY = "simulator.empty"


def named(owner: str, arrays: Any) -> dict[str, np.ndarray]:  # noqa: ANN401
    """Return arrays by the names that findings have for them; the error calls ``owner`` so.

    DTypeError or BindingError tells that they are no arrays that a kernel can reach.
    """
    try:
        if isinstance(arrays, np.ndarray | str):
            raise TypeError  # noqa: TRY301
        given = dict(arrays) if isinstance(arrays, Mapping) else dict(enumerate(arrays))
    except (TypeError, ValueError):
        requirement = f"must be a sequence of arrays, or arrays by names; got {shown(arrays)}"
        raise BindingError(owner, "arrays", requirement) from None
    result = {}
    for key, array in given.items():
        name = key if isinstance(key, str) else f"arrays[{key!r}]"
        if not isinstance(array, np.ndarray):
            requirement = f"must be a NumPy array; got {type(array).__name__}"
            raise dtype_error(owner, name, requirement)
        if array.dtype.hasobject or not array.dtype.isnative:
            requirement = f"must hold what a GPU can; got {shown(array.dtype, str)}"
            raise dtype_error(owner, name, requirement)
        result[name] = array
    return result


def reached(
    module: LoadedModule,
    arguments: PackedArguments,
    arrays: Iterable[tuple[str, np.ndarray]],
    *,
    sampled: bool,
) -> Iterator[Operand]:
    """Yield the arrays that a launch reaches besides its arguments, as the checker lays them out.

    They are among those that are given, by name, and those that `empty` has made. A sampled launch,
    which looks at no more of its arrays than its blocks do, counts as one that reaches all.
    """
    spans = {(operand.start, operand.end) for operand in arguments.operands}
    candidates: dict[tuple[int, int], tuple[str, np.ndarray]] = {}
    for name, array in (*arrays, *((_EMPTY, array) for array in live_empties())):
        span = span_of(array)
        if span not in spans:
            candidates.setdefault(span, (name, array))
    if not candidates:
        return
    rows = sorted({*spans, *candidates})
    known = (structures.KnownStruct * len(rows))()
    for row, span in zip(known, rows, strict=True):
        row.start, row.end = span
        row.reached = sampled or span in spans
    if not sampled:
        _mark(module, arguments, known)
    for span, row in zip(rows, known, strict=True):
        if row.reached and span in candidates:
            name, array = candidates[span]
            yield operand_of(name, array, None, looks=not sampled)


def _mark(module: LoadedModule, arguments: PackedArguments, known: ctypes.Array[Any]) -> None:
    """Mark the arrays that a launch reaches."""
    words = bytearray(arguments.data)
    for operand in arguments.operands:
        if operand.place is not None:
            words[operand.place : operand.place + 8] = bytes(8)
    variables = ctypes.byref(module.variable_table), len(module.variables)
    module.runtime.ck_sim_reach(known, len(known), bytes(words), len(words), *variables)
