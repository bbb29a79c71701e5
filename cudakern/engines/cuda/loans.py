"""Borrow arrays of other libraries on a GPU for a call, in the order of their streams."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from cudakern.engines.cuda.graphs import LEGACY_STREAMS, is_captured, relax_capture
from cudakern.engines.cuda.library import import_cupy
from cudakern.errors import BindingError

#: Loans from libraries of unknown streams: the event that ends the call, and the array.
_unreturned: deque[tuple[Any, Any]] = deque()


def borrow(operator: str, name: str, value: Any) -> Any:  # noqa: ANN401  arrays of any library
    """Return a cupy.ndarray with the memory of another library's array on a GPU, without a copy.

    The call runs after all work that is in the library's current stream now, and before later work
    there. If that stream is not known, the array is kept until the call has run. It is a
    BindingError if that order cannot be kept while a graph is captured.
    """
    cupy = import_cupy()
    _drop_returned()
    torch = sys.modules.get("torch")
    lender: int | None = None
    if torch is not None and isinstance(value, torch.Tensor):
        lender = int(torch.cuda.current_stream(value.device).cuda_stream)
        array = cupy.from_dlpack(_without_order(value))
    elif hasattr(value, "__dlpack__"):
        device = int(value.__dlpack_device__()[1])
        if is_captured(cupy, cupy.cuda.get_current_stream(device).ptr):
            requirement = "must be of CuPy or PyTorch while a CUDA graph is captured"
            raise BindingError(operator, name, f"{requirement}; got {type(value).__name__}")
        array = cupy.from_dlpack(value)  # CuPy's stream waits for the library's
    else:
        interface = dict(value.__cuda_array_interface__)
        lender = interface.pop("stream", None)
        # With the stream, CuPy would wait for it; on another device, it would make a copy.
        owner = SimpleNamespace(__cuda_array_interface__=interface, array=value)
        with _device_at(interface["data"][0], cupy):
            array = cupy.asarray(owner)
    with cupy.cuda.Device(array.data.device_id):
        return _order_streams(operator, name, array, lender, cupy)


def _device_at(address: int, cupy: Any) -> Any:  # noqa: ANN401
    """Return the device of memory at an address; the current one for 0, where no array is."""
    return cupy.cuda.UnownedMemory(address, 0, None).device if address else cupy.cuda.Device()


def _drop_returned() -> None:
    """Drop the loans whose calls have run."""
    while _unreturned:
        with suppress(IndexError), relax_capture():  # another thread was faster
            loan = _unreturned.popleft()
            if not loan[0].done:
                _unreturned.appendleft(loan)
                break


def _order_streams(operator: str, name: str, array: Any, lender: int | None, cupy: Any) -> Any:  # noqa: ANN401
    """Have CuPy's stream wait for the lender's now, and the lender's for CuPy's after the call."""
    stream = cupy.cuda.get_current_stream()
    if lender == stream.ptr or {lender, stream.ptr} <= {*LEGACY_STREAMS}:  # they are one stream
        return array
    if lender is not None and is_captured(cupy, lender):
        requirement = (
            "must be of a library whose current stream is CuPy's while that stream is captured "
            "into a CUDA graph; got another stream; enter cupy.cuda.Stream.from_external of it"
        )
        raise BindingError(operator, name, requirement)
    if is_captured(cupy, stream.ptr):
        return array  # its graph runs later, when its caller says
    if lender is not None:
        event = cupy.cuda.Event(disable_timing=True)
        cupy.cuda.runtime.eventRecord(event.ptr, lender)
        stream.wait_event(event)
    memory, loan = array.data.mem, _Loan(array, stream, lender, cupy)
    memory = cupy.cuda.UnownedMemory(memory.ptr, memory.size, loan, memory.device_id)
    pointer = cupy.cuda.MemoryPointer(memory, array.data.ptr - memory.ptr)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


class _Loan:
    """Owns borrowed memory as long as any array of CuPy is a view of it: to the end of the call."""

    def __init__(self, array: Any, stream: Any, lender: int | None, cupy: Any) -> None:  # noqa: ANN401
        self._array, self._stream, self._lender, self._cupy = array, stream, lender, cupy

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        with suppress(RuntimeError), self._cupy.cuda.Device(self._array.data.device_id):
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(self._stream)
            if self._lender is None:
                _unreturned.append((event, self._array))
            else:
                self._cupy.cuda.runtime.streamWaitEvent(self._lender, event.ptr)


def _without_order(value: Any) -> SimpleNamespace:  # noqa: ANN401
    """Return a tensor whose library does not order streams: that is done here for all of them."""
    return SimpleNamespace(
        __dlpack_device__=value.__dlpack_device__,
        __dlpack__=lambda **options: value.__dlpack__(**{**options, "stream": -1}),
    )
