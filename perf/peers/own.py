"""Our own function that waits for the count, beside the one that leaves it on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cudakern as ck
from perf.peers.base import Prepared
from perf.peers.dispatch import Dispatch, other_type, remarks
from perf.results import OURS

if TYPE_CHECKING:
    from perf.cases.base import Array
    from perf.cases.nonzero_coordinates import NonzeroProblem

#: Of larger inputs, the wait is a small part.
MOST_ELEMENTS = 2**18


class OwnArgwhere(Dispatch):
    """cudakern.argwhere."""

    name = f"{OURS}, argwhere"
    version = ck.__version__

    def nonzero(self, problem: NonzeroProblem, x: Array) -> Prepared | None:
        """Prepare the call for few elements."""
        if x.size > MOST_ELEMENTS:
            return None
        note = remarks(
            other_type(problem.result, "int64"), "waits for the count", "allocates its result"
        )
        return Prepared(lambda: ck.argwhere(x), note, captures=False)
