"""One-hot as an operator."""

from __future__ import annotations

from cudakern.operators.one_hot.descriptor import OneHotOperatorDesc
from cudakern.operators.one_hot.examples import examples
from cudakern.operators.one_hot.function import NAME, one_hot
from cudakern.operators.one_hot.plan import specialisations
from cudakern.operators.operator import Operator

OPERATOR = Operator(
    name=NAME,
    functions=(one_hot,),
    specialisations=specialisations,
    descriptors=(OneHotOperatorDesc,),
    examples=examples,
)
