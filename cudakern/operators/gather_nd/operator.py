"""Gather by index tuples as an operator."""

from __future__ import annotations

from itertools import chain

from cudakern.operators.gather_nd.descriptor import GatherND1OperatorDesc, GatherNDOperatorDesc
from cudakern.operators.gather_nd.examples import examples
from cudakern.operators.gather_nd.function import NAME, gather_nd
from cudakern.operators.gather_nd.plan import specialisations
from cudakern.operators.indexing.check import check_specs
from cudakern.operators.operator import Operator

OPERATOR = Operator(
    name=NAME,
    functions=(gather_nd,),
    specialisations=lambda: chain(specialisations(), check_specs(NAME)),
    descriptors=(GatherNDOperatorDesc, GatherND1OperatorDesc),
    examples=examples,
)
