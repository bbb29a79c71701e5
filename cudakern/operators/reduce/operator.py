"""Reduce as an operator."""

from __future__ import annotations

from cudakern.operators.operator import Operator
from cudakern.operators.reduce.descriptor import (
    ArgmaxOperatorDesc,
    ArgminOperatorDesc,
    ReduceOperatorDesc,
)
from cudakern.operators.reduce.examples import examples
from cudakern.operators.reduce.function import reduce
from cudakern.operators.reduce.reduction import specialisations
from cudakern.operators.reduce.types import NAME

OPERATOR = Operator(
    name=NAME,
    functions=(reduce,),
    specialisations=specialisations,
    descriptors=(ReduceOperatorDesc, ArgmaxOperatorDesc, ArgminOperatorDesc),
    examples=examples,
)
