"""Gather as an operator."""

from __future__ import annotations

from itertools import chain

from cudakern.operators.gather.descriptor import GatherOperatorDesc
from cudakern.operators.gather.examples import examples
from cudakern.operators.gather.function import NAME, gather
from cudakern.operators.gather.plan import specialisations
from cudakern.operators.indexing.check import check_specs
from cudakern.operators.operator import Operator

OPERATOR = Operator(
    name=NAME,
    functions=(gather,),
    specialisations=lambda: chain(specialisations(), check_specs(NAME)),
    descriptors=(GatherOperatorDesc,),
    examples=examples,
)
