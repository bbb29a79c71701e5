"""From arrays to a launch: a call describes them, finds or binds the work for that, and runs it."""

from __future__ import annotations

from functools import partial
from operator import attrgetter, not_
from typing import TYPE_CHECKING, Any, NamedTuple

from cudakern.engines import engine_for
from cudakern.engines.base import Launch, Tensor
from cudakern.errors import BindingError
from cudakern.operators.arrays import native
from cudakern.process.caches import Table
from cudakern.values.layout import WORD_BYTES, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudakern.engines.base import PreparedLaunch
    from cudakern.operators.arrays.native import Array

    Arrays = tuple[Array, ...]
    #: Checks all that the static facts decide and plans, given a call's request, its arrays, their
    #: layouts and the device of its inputs.
    Bind = Callable[[Any, Arrays, list[Layout], int], "Work"]


class Work(NamedTuple):
    """The work of a call for arrays of some static facts: a step in Python, then a launch."""

    launch: Launch | None = None  # None if a kernel has nothing to do
    #: Checks values of the arrays, or fills the output if nothing is launched.
    before: Callable[[Arrays], object] | None = None


class Bound:
    """Work prepared for one device: checks that outputs overlap nothing, then runs."""

    __slots__ = ("_before", "_layouts", "_names", "_operator", "_pairs", "_run", "_workspace")

    def __init__(
        self,
        operator: str,
        names: tuple[str, ...],
        layouts: Sequence[Layout],
        outputs: int,
        work: Work,
        device: int,
    ) -> None:
        self._operator, self._names, self._layouts = operator, names, layouts
        first_output = len(layouts) - outputs
        # Output o and array k are apart unless their addresses differ by less than their spans.
        spans = list(map(attrgetter("span"), layouts))
        self._pairs = []
        for o in range(first_output, len(layouts)) if work.launch or work.before else ():
            for k in range(o):
                self._pairs.append((o, k, spans[k][0] - spans[o][1], spans[k][1] - spans[o][0]))
        launch, self._before = work.launch, work.before
        self._run: PreparedLaunch | None = None
        self._workspace: Callable[[], int] | None = None
        if launch is None:
            return
        written = [False] * first_output + [True] * outputs
        tensors = list(map(Tensor, names, layouts, map(not_, written), written))
        engine, size = engine_for(device), launch.workspace
        if size is not None:
            words = Layout((size // WORD_BYTES,), (WORD_BYTES,), WORD_BYTES)
            tensors.append(Tensor("workspace", words, read=True, written=True))
            self._workspace = partial(engine.workspace, device, size) if size else int
        self._run = engine.prepare(launch, device, tensors)

    def __call__(self, addresses: Sequence[int], arrays: Arrays) -> None:
        """Run on arrays at these addresses; an output must overlap no other array (rule T19)."""
        for o, k, low, high in self._pairs:
            if low < addresses[o] - addresses[k] < high and native.share_memory(
                self._layouts[o], addresses[o], self._layouts[k], addresses[k]
            ):
                requirement = f"must not overlap {self._names[k]}; they share memory"
                raise BindingError(self._operator, self._names[o], requirement, "T19")
        if self._before is not None:
            self._before(arrays)
        run = self._run
        if run is None:
            return
        if self._workspace is None:
            run(*addresses)
        else:
            run(*addresses, self._workspace())


def _alike(_: int, array: Array) -> tuple[Array, Array]:
    """Return an array, and a new one for its elements."""
    return array, native.empty(array.shape, array.dtype, native.device_of(array))


class Binding:
    """An operator's way from arrays to launches. Safe to use from many threads.

    The arrays are inputs, then one or two outputs; kernels take their addresses in this order.
    `bind` checks a call and plans it, once for equal facts. Kernels take whole elements of the
    arrays in `aligned`: if these are not aligned, a launch works on copies. `like` returns an array
    as its tensor, and a new array for that tensor.
    """

    def __init__(
        self,
        operator: str,
        names: tuple[str, ...],
        bind: Bind,
        *,
        outputs: int = 1,
        aligned: tuple[int, ...] = (),
        like: Callable[[int, Array], tuple[Array, Array]] = _alike,
    ) -> None:
        self._operator, self._names, self._bind = operator, names, bind
        self._outputs, self._aligned, self._like = outputs, aligned, like
        self.table: Table[Bound] = Table()

    def run(self, request: object, arrays: Arrays) -> None:
        """Run what a request asks for on arrays; an input may be None."""
        addresses, facts = native.describe(arrays)
        key = facts if request is None else (request, facts)
        bound = self.table.find(key)
        if (
            bound is None
            or native.is_read_only(arrays[-1])
            or (self._outputs > 1 and native.is_read_only(arrays[-2]))
        ):
            layouts = list(map(native.layout_of, arrays, addresses))
            device = native.common_device(self._operator, self._names, arrays[: -self._outputs])
            misaligned = [i for i in self._aligned if not layouts[i].is_aligned]
            work = self._bind(request, arrays, layouts, device)
            if misaligned:
                work = Work(before=partial(self._run_on_copies, request, misaligned))
            prepared = Bound(self._operator, self._names, layouts, self._outputs, work, device)
            bound = self.table.add(key, prepared)
        bound(addresses, arrays)

    def _run_on_copies(self, request: object, misaligned: Sequence[int], arrays: Arrays) -> None:
        """Run on copies of some arrays, and copy all elements of outputs back."""
        views, copies = {}, list(arrays)
        for i in misaligned:
            like = partial(self._like, i, arrays[i])
            views[i], copies[i] = native.temporary(native.device_of(arrays[i]), like)
            native.copy_elements(copies[i], views[i])
        self.run(request, tuple(copies))
        for i in misaligned:
            if i >= len(arrays) - self._outputs:
                native.copy_elements(views[i], copies[i])
