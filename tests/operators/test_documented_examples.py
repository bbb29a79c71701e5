"""The examples of the DirectML reference through descriptors: results as the pages print them."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern import FeatureLevel
from cudakern.operators.operator import examples
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.operator_samples import rows
from tests.helpers.places import POISON, get, put, same_bytes
from tests.helpers.rows import each
from tests.operators.descriptors import verdict

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

ALL = tuple(examples())
PRINTED = rows("PRINTED", "rules")


@each(("example", "printed"), [*zip(ALL, PRINTED, strict=True)])
def test_result_is_the_printed_one(place, example, printed):
    desc = example.desc
    assert desc.validate(FeatureLevel.LEVEL_6_4) is None
    inputs = [put(array, place) for array in example.inputs]
    found = run_poisoned(desc, inputs, place)
    if desc.operator == "nonzero_coordinates":
        count, coordinates = found
        rows = coordinates.reshape(coordinates.shape[-2:])
        assert (rows[len(printed) :] == POISON).all()
        assert (count.ravel().tolist(), rows[: len(printed)].tolist()) == ([len(printed)], printed)
    elif printed is not None:
        assert found[0].tolist() == printed
    if getattr(desc, "axis_direction", None) is ck.AxisDirection.INCREASING:  # the same of reduce
        same = ck.ReduceOperatorDesc(
            desc.operator, desc.input_tensor, desc.output_tensor, desc.axes
        )
        assert same_bytes(run_poisoned(same, inputs, place)[0], found[0])


def run_poisoned(desc, inputs, place):
    """Return the outputs of an operator, which held something else before."""
    outputs = [
        put(np.full(tensor.sizes, POISON).astype(tensor.data_type.numpy), place)
        for _, tensor in desc.outputs()
    ]
    ck.compile_operator(desc)(*inputs, out=outputs if len(outputs) > 1 else outputs[0])
    return list(map(get, outputs))


def test_what_is_printed_wrongly_is_rejected():
    found = {e.title: verdict(e.rejected) for e in ALL if e.rejected is not None}
    assert found == {"gather, example 3": "G8", "gather_nd, sizes of batches": "N5"}
