"""Arrays that launches reach by addresses in memory instead of by arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.errors import BindingError, describe_value, dtype_error
from cudakern.simulator.launching.launch_parameters import (
    empty_array,
    live_empties,
    operand_of,
    span_of,
)
from cudakern.simulator.runtime import abi
from cudakern.simulator.runtime.limits import POINTER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.simulator.launching.launch_parameters import PackedArguments
    from cudakern.simulator.launching.operands import Operand
    from cudakern.simulator.libraries.loaded import LoadedModule

#: How findings name an array that `empty` has made and that has no other name.
_EMPTY = "simulator.empty"


def name_arrays(owner: str, arrays: Any) -> dict[str, np.ndarray]:  # noqa: ANN401
    """Return arrays that kernels reach, by the names that findings have for them."""
    try:
        if isinstance(arrays, np.ndarray | str):
            raise TypeError  # noqa: TRY301
        given = dict(arrays) if isinstance(arrays, Mapping) else dict(enumerate(arrays))
    except (TypeError, ValueError):
        requirement = "must be a sequence of arrays, or arrays by names; got "
        requirement += describe_value(arrays)
        raise BindingError(owner, "arrays", requirement) from None
    result = {}
    for key, array in given.items():
        name = key if isinstance(key, str) else f"arrays[{key!r}]"
        if not isinstance(array, np.ndarray):
            requirement = f"must be a NumPy array; got {type(array).__name__}"
            raise dtype_error(owner, name, requirement)
        if array.dtype.hasobject or not array.dtype.isnative:
            requirement = f"must hold what a GPU can; got {describe_value(array.dtype, str)}"
            raise dtype_error(owner, name, requirement)
        result[name] = array
    return result


def find_reached_arrays(
    module: LoadedModule,
    arguments: PackedArguments,
    arrays: Iterable[tuple[str, np.ndarray]],
    *,
    sampled: bool,
) -> Iterator[Operand]:
    """Yield the arrays that a launch reaches besides its arguments, as the checker lays them out.

    They are among the given ones, with their names, and those that `empty` has made. A sampled
    launch counts as one that reaches all: it looks only at what its blocks look at.
    """
    own = [(operand.start, operand.end) for operand in arguments.operands]
    given = [(span_of(array), name, array) for name, array in arrays]
    keys, empties = live_empties()
    if not given and not keys:
        return
    spans = np.array([*own, *(span for span, _, _ in given)], np.uint64).reshape(-1, 2)
    spans = np.concatenate((spans, empties))
    rows = np.zeros(len(spans), abi.KnownStruct)
    rows["start"], rows["end"] = spans.T
    rows["reached"][: len(own)] = 1
    order = np.argsort(rows["start"], kind="stable")
    known = rows[order]
    if sampled:
        known["reached"] = 1
    else:
        _mark_reached(module, arguments, known)
    taken = {*own}
    for i in np.sort(order[known["reached"] != 0]).tolist():
        span = tuple(spans[i].tolist())
        if span in taken:
            continue
        taken.add(span)
        if i < len(own) + len(given):
            _, name, array = given[i - len(own)]
        else:
            name, array = _EMPTY, empty_array(keys[i - len(own) - len(given)])
        if array is not None:
            yield operand_of(name, array, None, looks=not sampled)


def _mark_reached(module: LoadedModule, arguments: PackedArguments, known: np.ndarray) -> None:
    words = bytearray(arguments.data)
    for operand in arguments.operands:
        if (start := operand.parameter_offset) is not None:
            words[start : start + POINTER_BYTES] = bytes(POINTER_BYTES)
    variables = ctypes.byref(module.variable_table), len(module.variables)
    where = ctypes.c_void_p(known.ctypes.data)
    module.runtime.ck_sim_reach(where, len(known), bytes(words), len(words), *variables)
