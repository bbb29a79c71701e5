"""From arrays to a launch: a table of calls that were checked once, and the way that teaches it."""

from __future__ import annotations

from enum import Enum
from functools import partial
from operator import attrgetter, is_, not_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cudakern.engines import HOST, engine_for
from cudakern.engines.base import Launch, Tensor
from cudakern.errors import BindingError
from cudakern.operators.arrays import native
from cudakern.process.caches import Family, Table
from cudakern.values.layout import WORD_BYTES, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudakern.operators.arrays.native import Array

    Arrays = tuple[Array, ...]
    Result = Any  # arrays, or what has them
    #: Checks a call's options and arrays.
    Parse = Callable[..., "Call"]
    #: Checks all that the static facts decide and plans, given a call's request, its arrays, their
    #: layouts and the device of its inputs.
    Bind = Callable[[Any, Arrays, list[Layout], int], "Work"]
    #: Takes the addresses of arrays. None as its result says: take the thorough way.
    Known = Callable[..., Any]


#: Types of options that mean the same if they are equal.
EXACT = {type(None), bool, int, str}


class Work(NamedTuple):
    """The work of a call for arrays of some static facts: a step in Python, then a launch."""

    launch: Launch | None = None  # None if a kernel has nothing to do
    #: Checks values of the arrays, or fills the output if nothing is launched.
    before: Callable[[Arrays], object] | None = None


def _all(*outputs: Array) -> Result:
    """Return the output, or all of them, as the result."""
    return outputs if len(outputs) > 1 else outputs[0]


class Call(NamedTuple):
    """What a call asks for, after its arguments were checked."""

    request: object  # all that decides its work besides facts of its arrays
    inputs: Arrays  # the last may be None
    outputs: Arrays = ()  # those that were given; without them,
    make: tuple[Callable[[], Array], ...] = ()  # these make them, the last one first,
    finish: Callable[..., Any] = _all  # and this makes the result, all on the current device
    is_alike: bool = True  # whether equal options and facts always do the same


def kind_of(option: object) -> object:
    """Return what tells an option from equal ones of another meaning, such as True from 1."""
    if type(option) is tuple:
        return tuple(map(kind_of, option))
    return str(option) if type(option) is float else type(option)  # -0.0 from 0.0


def _is_kept(option: object) -> bool:
    """Return whether an option, with its kind, means the same as any equal one."""
    if type(option) is tuple:
        return all(map(_is_kept, option))
    if isinstance(option, np.dtype):
        return option.metadata is None
    if isinstance(option, type):
        return issubclass(option, np.generic) or not hasattr(option, "dtype")
    if type(option) is float:
        return option == option  # noqa: PLR0124  NaN is not
    return type(option) in EXACT or isinstance(option, Enum)


class Bound:
    """Work prepared for one device: checks that outputs overlap nothing, then runs."""

    def __init__(
        self, binding: Binding, arrays: Arrays, layouts: Sequence[Layout], work: Work, device: int
    ) -> None:
        self._operator, self._names, self._layouts = binding.operator, binding.names, layouts
        self._absent = [i for i, array in enumerate(arrays) if array is None]
        first_output = len(layouts) - binding.outputs
        # Output o and array k are apart unless their addresses differ by less than their spans.
        spans = list(map(attrgetter("span"), layouts))
        self._near: dict[tuple[int, int], tuple[int, int]] = {}
        for o in range(first_output, len(layouts)) if work.launch or work.before else ():
            for k in {*range(o)} - {*self._absent}:
                self._near[o, k] = spans[k][0] - spans[o][1], spans[k][1] - spans[o][0]
        launch, self._before, self._device = work.launch, work.before, device
        self._run: Any = None  # the prepared launch, if there is one
        if launch is None:
            return
        written = [False] * first_output + [True] * binding.outputs
        tensors = list(map(Tensor, binding.names, layouts, map(not_, written), written))
        if launch.workspace is not None:
            words = Layout((launch.workspace // WORD_BYTES,), (WORD_BYTES,), WORD_BYTES)
            tensors.append(Tensor("workspace", words, read=True, written=True))
        if launch.scratch is not None:
            words = Layout((launch.scratch // WORD_BYTES,), (WORD_BYTES,), WORD_BYTES)
            tensors.append(Tensor("scratch", words, read=launch.zeros > 0, written=True))
        engine = engine_for(device)
        self._run = engine.prepare(launch, device, tensors)
        self._current = engine.current_device if device != HOST else lambda: HOST

    @property
    def only_launches(self) -> bool:
        """Whether it does nothing else."""
        return self._before is None and self._run is not None

    def _require_apart(self, *addresses: int) -> None:
        """Raise BindingError if an output overlaps another array (rule T19)."""
        for (o, k), (low, high) in self._near.items():
            if low < addresses[o] - addresses[k] < high and native.share_memory(
                self._layouts[o], addresses[o], self._layouts[k], addresses[k]
            ):
                requirement = f"must not overlap {self._names[k]}; they share memory"
                raise BindingError(self._operator, self._names[o], requirement, "T19")

    def __call__(self, addresses: Sequence[int], arrays: Arrays) -> None:
        """Run on arrays at these addresses."""
        self._require_apart(*addresses)
        if self._before is not None:
            self._before(arrays)
        if self._run is not None:
            self._launch(*addresses)

    def _launch(self, *addresses: int) -> None:
        if self._current() == self._device:
            self._run(*addresses)
        else:
            with native.use_device(self._device):
                self._run(*addresses)

    def into(self) -> Known:
        """Return the call, with the addresses of all arrays that are not absent."""
        run, current, device, near = self._run, self._current, self._device, self._near
        absent, last = bool(self._absent), len(self._layouts) - 1
        low, high = near.get((last, 0), (0, 0))
        low_b, high_b = near.get((1, 0), (0, 0))
        low_c, high_c = near.get((2, 1), (0, 0))

        def call_with_two(a: int, b: int) -> bool:
            addresses = (a, 0, b) if absent else (a, b)
            if low < b - a < high:
                self._require_apart(*addresses)
            if current() == device:
                run(*addresses)
            else:
                self._launch(*addresses)
            return True

        def call_with_three(a: int, b: int, c: int) -> bool:
            if low < c - a < high or low_b < b - a < high_b or low_c < c - b < high_c:
                self._require_apart(a, b, c)
            if current() == device:
                run(a, b, c)
            else:
                self._launch(a, b, c)
            return True

        return call_with_two if last - absent == 1 else call_with_three

    def anew(self, call: Call) -> Known:
        """Return the call that makes its outputs, as long as these start on 16 bytes."""
        run, current, device = self._run, self._current, self._device
        make, finish = call.make, call.finish
        address_of = native.address_of if device == HOST else attrgetter("data.ptr")
        make_one, absent = make[0], (0,) * len(self._absent)
        is_one = finish is _all and len(make) == 1

        def repeat(*addresses: int) -> Result:
            if current() != device:
                with native.use_device(device):
                    return repeat(*addresses)
            if is_one:
                out = make_one()
                place = address_of(out)
                if place & 15:
                    return None
                run(*addresses, *absent, place)
                return out
            outputs, places = [], []
            for make_next in reversed(make):
                outputs.append(make_next())
                places.append(address_of(outputs[-1]))
                if places[-1] & 15:
                    return None
            run(*addresses, *absent, *reversed(places))
            return finish(*reversed(outputs))

        return repeat


def _alike(_: int, array: Array) -> tuple[Array, Array]:
    """Return an array, and a new one for its elements."""
    return array, native.empty(array.shape, array.dtype, native.device_of(array))


class Binding:
    """An operator's way from arrays to launches. Safe to use from many threads.

    The arrays are inputs, then one or two outputs; kernels take their addresses in this order. A
    call of known options and facts runs at once. For any other, `parse` checks options and arrays,
    and `bind` plans, once for equal facts; if the call does nothing but launch, it is known then.
    Kernels take whole elements of the arrays in `aligned`: if these are not aligned, a launch works
    on copies. `like` returns an array as its tensor, and a new array for that tensor.
    """

    def __init__(
        self,
        operator: str,
        names: tuple[str, ...],
        parse: Parse,
        bind: Bind,
        *,
        outputs: int = 1,
        aligned: tuple[int, ...] = (),
        like: Callable[[int, Array], tuple[Array, Array]] = _alike,
    ) -> None:
        self.operator, self.names, self.outputs = operator, names, outputs
        self._parse, self._bind, self._aligned, self._like = parse, bind, aligned, like
        self.caches = Family()
        self._known: Table[Known] = self.caches.add(Table())
        self._bound: Table[Bound] = self.caches.add(Table())
        self._find = self._known.find

    # Calls of one, two and three arrays of CuPy's are looked up without any other call, which takes
    # time. Options of different meaning must differ: `kind_of` tells those apart that are equal.
    # ruff: disable[SLF001]

    def call_one(self, options: object, x: Array, out: Result = None) -> Result:
        """Return the result of a call with one array."""
        if type(x) is native.cupy_array:
            p = x.data
            a = p.ptr
            try:
                known = self._find(
                    (options, x.dtype, x.shape, x._c_contiguous or x.strides, a & 15, p.device_id)
                )
            except Exception:  # noqa: BLE001  an option is not hashable, or cannot be compared
                known = None
            if known is not None:
                result = known(a)
                return self._call_thoroughly(None, options, (x,), out) if result is None else result
        return self.call(options, (x,), out)

    def call_two(self, options: object, x: Array, y: Array, out: Result = None) -> Result:
        """Return the result of a call with two arrays: ``out`` if that is given; the last is it."""
        kind = native.cupy_array
        if type(x) is kind and type(y) is kind:
            p, q = x.data, y.data
            a, b = p.ptr, q.ptr
            try:
                known = self._find((
                    options,
                    x.dtype, x.shape, x._c_contiguous or x.strides, a & 15, p.device_id,
                    y.dtype, y.shape, y._c_contiguous or y.strides, b & 15, q.device_id,
                ))  # fmt: skip
            except Exception:  # noqa: BLE001
                known = None
            if known is not None:
                if (result := known(a, b)) is None:
                    return self._call_thoroughly(None, options, (x, y), out)
                return result if out is None else out
        return self.call(options, (x, y), out)

    def call_three(
        self, options: object, x: Array, y: Array, z: Array, out: Result = None
    ) -> Result:
        """Return the result of a call with three arrays: ``out``, the last or the last two."""
        kind = native.cupy_array
        if type(x) is kind and type(y) is kind and type(z) is kind:
            p, q, r = x.data, y.data, z.data
            a, b, c = p.ptr, q.ptr, r.ptr
            try:
                known = self._find((
                    options,
                    x.dtype, x.shape, x._c_contiguous or x.strides, a & 15, p.device_id,
                    y.dtype, y.shape, y._c_contiguous or y.strides, b & 15, q.device_id,
                    z.dtype, z.shape, z._c_contiguous or z.strides, c & 15, r.device_id,
                ))  # fmt: skip
            except Exception:  # noqa: BLE001
                known = None
            if known is not None:
                if (result := known(a, b, c)) is None:
                    return self._call_thoroughly(None, options, (x, y, z), out)
                return result if out is None else out
        return self.call(options, (x, y, z), out)

    # ruff: enable[SLF001]

    def call(self, options: object, arrays: Arrays, out: Result = None) -> Result:
        """Return the result of a call: ``out`` if that is given, which arrays then end with."""
        key, known = None, None
        if native.are_own(arrays):
            addresses, facts = native.describe(arrays)
            key = options, *facts
            try:
                known = self._find(key)
            except Exception:  # noqa: BLE001
                key = None
            if known is not None and (result := known(*addresses)) is not None:
                return result if out is None else out
        return self._call_thoroughly(key, options, arrays, out)

    def _call_thoroughly(self, key: object, options: object, arrays: Arrays, out: Result) -> Result:
        """Return the result of a call that is not known, and know it from now on if that can be."""
        generation = self._known.generation
        call = self._parse(options, *arrays)
        outputs: list[Array] = []  # that are made here
        if call.outputs:
            result, bound = out, self.run(call.request, (*call.inputs, *call.outputs))
        else:
            with native.use_device(native.device_of(call.inputs[0])):
                outputs = [make_next() for make_next in reversed(call.make)][::-1]
                bound = self.run(call.request, (*call.inputs, *outputs))
                result = call.finish(*outputs)
        present = [array for array in (*call.inputs, *call.outputs) if array is not None]
        if (
            key is not None
            and call.is_alike
            and bound.only_launches
            and len(arrays) <= 3  # noqa: PLR2004  as `into` says
            and not any(native.address_of(output) & 15 for output in outputs)
            and not any(array.dtype.metadata for array in present)
            and len(present) == len(arrays)
            and all(map(is_, present, arrays))
            and _is_kept(options)
        ):
            known = bound.into() if call.outputs else bound.anew(call)
            self._known.add(key, known, generation)
        return result

    def run(self, request: object, arrays: Arrays) -> Bound:
        """Run what a request asks for on arrays; an input may be None."""
        addresses, facts = native.describe(arrays)
        key = request, facts
        bound, generation = self._bound.find(key), self._bound.generation
        if bound is None:
            layouts = list(map(native.layout_of, arrays, addresses))
            device = native.common_device(self.operator, self.names, arrays[: -self.outputs])
            misaligned = [i for i in self._aligned if not layouts[i].is_aligned]
            work = self._bind(request, arrays, layouts, device)
            if misaligned:
                work = Work(before=partial(self._run_on_copies, request, misaligned))
            bound = self._bound.add(key, Bound(self, arrays, layouts, work, device), generation)
        bound(addresses, arrays)
        return bound

    def _run_on_copies(self, request: object, misaligned: Sequence[int], arrays: Arrays) -> None:
        """Run on copies of some arrays, and copy all elements of outputs back."""
        views, copies = {}, list(arrays)
        for i in misaligned:
            like = partial(self._like, i, arrays[i])
            views[i], copies[i] = native.temporary(native.device_of(arrays[i]), like)
            native.copy_elements(copies[i], views[i])
        self.run(request, tuple(copies))
        for i in misaligned:
            if i >= len(arrays) - self.outputs:
                native.copy_elements(views[i], copies[i])
