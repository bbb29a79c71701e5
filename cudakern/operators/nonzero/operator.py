"""Nonzero-coordinates as an operator."""

from __future__ import annotations

from cudakern.operators.nonzero.descriptor import NonzeroCoordinatesOperatorDesc
from cudakern.operators.nonzero.examples import examples
from cudakern.operators.nonzero.function import NAME, argwhere, nonzero, nonzero_coordinates
from cudakern.operators.nonzero.plan import specialisations
from cudakern.operators.operator import Operator

OPERATOR = Operator(
    name=NAME,
    functions=(nonzero_coordinates, argwhere, nonzero),
    specialisations=specialisations,
    descriptors=(NonzeroCoordinatesOperatorDesc,),
    examples=examples,
)
