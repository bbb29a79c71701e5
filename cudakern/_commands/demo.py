"""``python -m cudakern demo``: the documented DirectML examples, run and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern._commands.console import show, show_table
from cudakern._commands.engines import choose
from cudakern.engines.cuda.library import import_cupy
from cudakern.errors import DescriptorError
from cudakern.operators.compiled import compile_operator
from cudakern.operators.operator import examples

if TYPE_CHECKING:
    import argparse

    from cudakern.operators.examples import Example
    from cudakern.operators.tensor import TensorDesc

#: Larger arrays are printed without their middle.
_SHOWN = 64


def _row(name: str, tensor: TensorDesc, array: np.ndarray[Any, Any]) -> tuple[str, str, str]:
    text = np.array2string(
        array if array.size <= _SHOWN else array.ravel(),
        separator=" ",
        formatter={"float_kind": lambda v: f"{v:g}"},
        threshold=_SHOWN,
    )
    return name, f"{{{','.join(map(str, tensor.sizes))}}} {tensor.data_type.name}", text


def _run(example: Example, engine: str) -> bool:
    """Run one example and print it; return whether the result is the documented one."""
    library = import_cupy() if engine == "cuda" else np
    outputs = compile_operator(example.desc)(*map(library.asarray, example.inputs))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    # Elements outside of an expected array are undefined, so they are neither compared nor shown.
    results = [
        (output if engine == "simulator" else output.get())[tuple(map(slice, expected.shape))]
        for output, expected in zip(outputs, example.expected, strict=True)
    ]
    correct = all(map(np.array_equal, results, example.expected))
    show(": ".join(filter(None, (example.title, example.desc.options()))), "bold")
    tensors = (*example.desc.inputs(), *example.desc.outputs())
    rows = [
        _row(name, tensor, array)
        for (name, tensor), array in zip(tensors, (*example.inputs, *results), strict=True)
    ]
    show_table(rows, headings=("tensor", "sizes, type", "values"))
    if example.remark:
        show(f"  remark: {example.remark}")
    if example.rejected is not None:
        try:
            example.rejected.validate()
        except DescriptorError as error:
            show(f"  as printed: {error}")
        else:
            correct = False
    documented = ", ".join(map(str, example.expected))
    verdict = "equal to the documented result" if correct else f"WRONG, documented: {documented}"
    show(f"  verdict: {verdict}\n", "green" if correct else "bold red")
    return correct


def run(options: argparse.Namespace) -> int:
    """Run all examples; return 0 if every result is the documented one."""
    engine = choose(options.engine)
    where = "a CUDA device" if engine == "cuda" else "the simulator (no GPU is used)"
    show(f"The documented DirectML examples, on {where}:\n")
    verdicts = [_run(example, engine) for example in examples()]
    show(f"{sum(verdicts)} of {len(verdicts)} examples equal the documented results")
    return 0 if all(verdicts) else 1
