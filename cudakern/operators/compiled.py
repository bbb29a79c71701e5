"""Compiled operators: a validated descriptor, bound to arrays or flat buffers, and run."""

from __future__ import annotations

from operator import is_not
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cudakern.errors import ArgumentError, BindingError, describe_value
from cudakern.operators.arrays import native
from cudakern.operators.arrays.foreign import as_array, as_output, is_of_numbers, send_numbers
from cudakern.operators.binding import Binding, Call, Work
from cudakern.operators.descriptor import OperatorDesc, as_level
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.nvtx_ranges import nvtx_range_of_method
from cudakern.operators.tensor import TensorFlags
from cudakern.process.caches import Family, register
from cudakern.values.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudakern.operators.annotations import Operand, Outputs
    from cudakern.operators.arrays.native import Array

_MIN_ADDRESS_ALIGNMENT = 16
_PAIRS = (tuple, list)  # types of ``out`` for several outputs
_known = register("compiled operators", Family())


class _Tensors:
    """The tensors of a descriptor: how arrays are read and written as them.

    ``owned`` are the inputs that are kept; those in ``numbers`` belong to no device.
    """

    def __init__(
        self,
        desc: OperatorDesc,
        level: FeatureLevel,
        owned: dict[int, Array],
        numbers: frozenset[int],
    ) -> None:
        self.owned, self.numbers = owned, numbers
        tensors = desc.tensors()
        self.operator, self.inputs = desc.operator, len(desc.inputs())
        self.names = tuple(name for name, _ in tensors)
        self.tensors = tuple(tensor for _, tensor in tensors)
        self.dtypes = tuple(tensor.data_type.numpy for tensor in self.tensors)
        self.outputs = len(tensors) - self.inputs
        self._level, self._plan, self._constant = level, desc.plan, desc.constant()
        numbered = list(enumerate(self.tensors))
        self.needs = tuple(i for i, t in numbered if t.flags & TensorFlags.OWNED_BY_DML)
        self._aligned = tuple(i for i, t in numbered if t.guaranteed_base_offset_alignment)

    def parse(self, count: int, *given: Any) -> Call:  # noqa: ANN401
        """Check a call with ``count`` inputs, or ``~count`` and no outputs."""
        first_output = len(given) if count < 0 else count
        values, outputs = self._add_owned(given[:first_output]), given[first_output:]
        operator, names, count = self.operator, self.names, self.inputs
        if outputs and len(outputs) != self.outputs:
            requirement = f"must be {self.outputs} tensors; got {describe_value(outputs[0])}"
            raise BindingError(operator, "out", requirement, "T20")
        arrays = [as_array(operator, name, value) for name, value in zip(names, values)]  # noqa: B905
        if self.numbers or any(map(is_not, arrays, values)):
            of_numbers = [i in self.numbers or is_of_numbers(v) for i, v in enumerate(values)]
            others = dict(zip(names[count:], outputs))  # noqa: B905
            arrays = send_numbers(operator, names[:count], arrays, of_numbers, others)
        outputs = tuple(map(as_output, [operator] * self.outputs, names[count:], outputs))
        if self._aligned:  # where arrays start in their buffers is no static fact
            beginning = (*arrays, *outputs)
            native.common_device(operator, names, beginning)
            for i, array in enumerate(beginning):
                self.fit(i, array)
            for i in {*self._aligned} - {*self.owned}:
                if i < len(beginning):
                    self.check_offset(i, beginning[i])
        device = native.device_of(arrays[0])
        make = tuple([self._maker(i, device) for i in range(count, len(names))])
        is_alike = not (self._aligned or self.needs)
        return Call(None, tuple(arrays), outputs, make, is_alike=is_alike)

    def _add_owned(self, inputs: tuple[Array, ...]) -> list[Array]:
        """Return all inputs in binding order."""
        operator, count = self.operator, self.inputs
        for i in self.needs:
            if i not in self.owned or len(inputs) == count:
                when = ", not to the call" if i in self.owned else " before the call"
                requirement = f"is OWNED_BY_DML: it must be given to initialize(){when}"
                raise BindingError(operator, self.names[i], requirement, "T16")
        if len(inputs) != count - len(self.needs):
            names = [self.names[i] for i in range(count) if i not in self.needs]
            requirement = f"must be {len(names)} tensors ({', '.join(names)}); got {len(inputs)}"
            raise BindingError(operator, "inputs", requirement, "T20")
        arrays = list(inputs)
        for i in self.needs:
            arrays.insert(i, self.owned[i])
        return arrays

    def bind(self, _: None, arrays: tuple[Array, ...], layouts: list[Layout], __: int) -> Work:
        native.common_device(self.operator, self.names, arrays)
        for i, array in enumerate(arrays):
            layouts[i] = self.fit(i, array)
        return Work(self._plan(layouts), None if self._constant is None else self._fill)

    def _fill(self, arrays: tuple[Array, ...]) -> None:
        """Write the result for an input without elements."""
        element = np.array(self._constant, self.dtypes[-1]).tobytes()
        native.fill_elements(self.view(-1, arrays[-1]), element)

    def fit(self, i: int, array: Array) -> Layout:
        """Return the layout in which an array is read or written as tensor ``i``."""
        address = native.address_of(array)
        operator, name = self.operator, self.names[i]
        tensor, dtype = self.tensors[i], self.dtypes[i]
        native.require_own_dtype(operator, name, array, dtype)
        if i >= self.inputs:
            native.require_writeable(operator, name, array)
        beyond = address % _MIN_ADDRESS_ALIGNMENT
        if beyond and self._level is not FeatureLevel.EXTENDED:
            requirement = f"must start at a multiple of {_MIN_ADDRESS_ALIGNMENT} bytes"
            raise BindingError(operator, name, f"{requirement}; got {beyond} bytes more", "T15")
        layout = self.layout(i, address & 15)
        if self.is_shaped(i, array):
            return layout
        if array.ndim != 1 or (array.size > 1 and array.strides != (dtype.itemsize,)):
            requirement = (
                f"must have sizes {tensor.sizes} and strides {tensor.element_strides} in elements, "
                "or be a contiguous buffer of one dimension"
            )
            found = f"{array.shape} and {_in_elements(array.strides, dtype.itemsize)}"
            raise BindingError(operator, name, f"{requirement}; got {found}")
        if array.nbytes < tensor.total_bytes:
            requirement = f"must hold at least {tensor.total_bytes} bytes as a flat buffer"
            raise BindingError(operator, name, f"{requirement}; got {array.nbytes}", "T17")
        return layout

    def is_shaped(self, i: int, array: Array) -> bool:
        """Return whether an array has the sizes and strides of tensor ``i``."""
        sizes = self.tensors[i].sizes
        return array.shape == sizes and all(
            size == 1 or have == want or array.size == 0
            for size, have, want in zip(sizes, array.strides, self.byte_strides(i), strict=True)
        )

    def view(self, i: int, array: Array) -> Array:
        """Return an array, or a flat buffer, with the sizes and strides of tensor ``i``."""
        return native.as_strided(array, self.tensors[i].sizes, self.byte_strides(i))

    def like(self, i: int, array: Array) -> tuple[Array, Array]:
        """Return an array as tensor ``i``, and a new array for that tensor."""
        return self.view(i, array), self.empty(i, native.device_of(array))

    def empty(self, i: int, device: int) -> Array:
        """Return a new array with the sizes and strides of tensor ``i``."""
        with native.use_device(device):
            return self._maker(i, device)()

    def _maker(self, i: int, device: int) -> Callable[[], Array]:
        """Return what makes such arrays where the device is current."""
        tensor, dtype, strides = self.tensors[i], self.dtypes[i], self.byte_strides(i)
        if tensor.strides is None:
            return native.maker(tensor.sizes, dtype, device)
        make = native.maker((tensor.total_bytes // dtype.itemsize,), dtype, device)
        return lambda: native.as_strided(make(), tensor.sizes, strides)

    def layout(self, i: int, phase: int = 0) -> Layout:
        """Return the layout of tensor ``i`` at an address of this phase."""
        return Layout(self.tensors[i].sizes, self.byte_strides(i), self.dtypes[i].itemsize, phase)

    def byte_strides(self, i: int) -> tuple[int, ...]:
        return tuple(s * self.dtypes[i].itemsize for s in self.tensors[i].element_strides)

    def check_offset(self, i: int, array: Array) -> None:
        required = self.tensors[i].guaranteed_base_offset_alignment
        offset = native.address_of(array) - native.owner_address(array)
        if offset % required:
            requirement = f"must start at a multiple of {required} bytes in its buffer"
            raise BindingError(self.operator, self.names[i], f"{requirement}; got {offset}", "T14")


class CompiledOperator:
    """An operator whose descriptor has been validated: call it with tensors in binding order.

    Immutable and safe to use from many threads; works for NumPy and CuPy arrays alike. A call with
    the static facts (dtypes, sizes, strides, device) of an earlier one validates nothing again.
    Pickles hold the descriptor, the feature level and the inputs given to `initialize`; loading one
    compiles the operator again.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> square = ck.TensorDesc(ck.DataType.FLOAT32, (2, 2))
    >>> column = ck.TensorDesc(ck.DataType.FLOAT32, (2, 1))
    >>> op = ck.compile_operator(ck.ReduceOperatorDesc("max", square, column, axes=(1,)))
    >>> op
    <CompiledOperator reduce, function=MAX, axes=(1,); input_tensor (2, 2) FLOAT32; ...>
    >>> out = np.empty((2, 1), np.float32)
    >>> op(np.array([[1, 2], [4, 3]], np.float32), out=out) is out
    True
    >>> out.tolist()
    [[2.0], [4.0]]
    """

    def __init__(
        self,
        desc: OperatorDesc,
        feature_level: FeatureLevel,
        owned: dict[int, Array] | None = None,
        numbers: frozenset[int] = frozenset(),
    ) -> None:
        self._desc, self._level = desc, feature_level
        self._tensors = tensors = _Tensors(desc, feature_level, owned or {}, numbers)
        aligned = tuple(i for i, name in enumerate(tensors.names) if name in desc.aligned_fields)
        binding = Binding(
            desc.operator, tensors.names, tensors.parse, tensors.bind, outputs=tensors.outputs,
            aligned=aligned, like=tensors.like,
        )  # fmt: skip
        self._inputs, self._outputs = tensors.inputs, tensors.outputs
        self._call = binding.call
        self._two, self._three = binding.call_two, binding.call_three
        _known.add(binding.caches)

    def __repr__(self) -> str:
        tensors = [f"{name} {t.sizes} {t.data_type.name}" for name, t in self._desc.tensors()]
        return f"<CompiledOperator {'; '.join((self._title(), *tensors, *self._ways()))}>"

    def _title(self) -> str:
        """Return the operator and its options."""
        return ", ".join(filter(None, (self._desc.operator, self._desc.options())))

    def _ways(self) -> tuple[str, str]:
        """Return the level, and the kernel variant for arrays on 16 bytes."""
        launch = self._desc.plan([self._tensors.layout(i) for i in range(len(self._tensors.names))])
        parts = launch.parts if launch else ()
        variant = ", then ".join(part.variant for part in parts) or "empty"
        return f"feature level {self._level.label}", f"variant {variant}"

    def _repr_html_(self) -> str:
        """Show operator, level, tensors and kernel variant in a notebook."""
        from cudakern.display.notebook import render_box, render_table  # noqa: PLC0415  notebooks alone

        named = self._desc.tensors()
        rows = [(name, str(t.sizes), str(t.element_strides), t.data_type.name) for name, t in named]
        headings = ("tensor", "sizes", "strides", "data type")
        return render_box(self._title(), render_table(headings, rows), more=", ".join(self._ways()))

    def __copy__(self) -> CompiledOperator:
        return self

    def __deepcopy__(self, _: object) -> CompiledOperator:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        owned = [
            (i, array, self._tensors.is_shaped(i, array))
            for i, array in self._tensors.owned.items()
        ]
        return _arrived, (self._desc, self._level, owned, self._tensors.numbers)

    def _with_copies(
        self, arrays: list[tuple[int, Array, bool]], numbers: frozenset[int]
    ) -> CompiledOperator:
        """Return the operator with copies of owned inputs; shaped ones get the sizes and strides.

        Inputs in ``numbers`` belong to no device: each call copies them to that of its arrays.
        """
        owned = {}
        for i, array, shaped in arrays:
            if shaped:
                owned[i] = self._tensors.empty(i, native.device_of(array))
                native.copy_elements(owned[i], array)
            else:  # a flat buffer
                owned[i] = native.copy_array(array)
        return CompiledOperator(self._desc, self._level, owned, numbers)

    @property
    def desc(self) -> OperatorDesc:
        """The descriptor."""
        return self._desc

    @property
    def feature_level(self) -> FeatureLevel:
        """The level it was validated at."""
        return self._level

    def initialize(self, *tensors: Operand) -> CompiledOperator:
        """Hand over the inputs flagged OWNED_BY_DML, in binding order.

        Parameters
        ----------
        *tensors : array
            One per flagged input. They are copied: later changes to them have no effect.

        Returns
        -------
        CompiledOperator
            An operator whose calls take the other inputs only (rule T16).

        Raises
        ------
        BindingError
            The number of tensors is wrong, or one does not fit its descriptor.
        """
        if len(tensors) != len(self._tensors.needs):
            requirement = f"must be given to initialize: {len(self._tensors.needs)} tensors"
            raise BindingError(
                self._desc.operator, "owned inputs", f"{requirement}; got {len(tensors)}", "T20"
            )
        owned = []
        for i, tensor in zip(self._tensors.needs, tensors, strict=True):
            array = as_array(self._desc.operator, self._tensors.names[i], tensor)
            self._tensors.fit(i, array)
            if self._tensors.tensors[i].guaranteed_base_offset_alignment:
                self._tensors.check_offset(i, array)
            owned.append((i, array, self._tensors.is_shaped(i, array)))
        numbers = [i for i, t in zip(self._tensors.needs, tensors, strict=True) if is_of_numbers(t)]
        return self._with_copies(owned, frozenset(numbers))

    @overload
    def __call__(self, /, *inputs: Operand, out: None = None) -> Any: ...  # noqa: ANN401
    @overload
    def __call__(self, /, *inputs: Operand, out: Outputs) -> Outputs: ...
    @nvtx_range_of_method
    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Run the operator.

        Parameters
        ----------
        *inputs : array
            The input tensors in binding order. Each has the descriptor's sizes and strides, or is a
            one-dimensional contiguous buffer of the dtype that holds the tensor's total size.
        out : array, or tuple of arrays, optional
            The output tensors, likewise. None allocates them as the descriptor says.

        Returns
        -------
        array, or tuple of arrays
            The outputs.

        Raises
        ------
        BindingError
            The number of arrays is wrong, one does not fit, an output overlaps another tensor, or
            they are on different devices. Nothing was launched then.
        DTypeError
            An operand is not an array, such as a tuple of arrays.

        Notes
        -----
        Synchronization: none. The launch goes to CuPy's current stream of the arrays' device, to
        which numbers, and lists of numbers, are copied.
        """
        count = len(inputs)
        if out is None:
            return self._call(~count, inputs)
        if self._outputs == 1:
            if count == self._inputs == 1:
                return self._two(1, inputs[0], out, out)
            if count == self._inputs == 2:  # noqa: PLR2004
                return self._three(2, inputs[0], inputs[1], out, out)
        elif isinstance(out, _PAIRS) and len(out) == self._outputs:
            if count == self._inputs == 1:
                return self._three(1, inputs[0], out[0], out[1], out)
            return self._call(count, (*inputs, *out), out)
        return self._call(count, (*inputs, out), out)


def _in_elements(strides: tuple[int, ...], itemsize: int) -> str:
    if any(stride % itemsize for stride in strides):
        return f"{strides} in bytes"
    return str(tuple(stride // itemsize for stride in strides))


def _arrived(desc: OperatorDesc, level: FeatureLevel, *state: Any) -> CompiledOperator:  # noqa: ANN401
    """Return the operator of a pickle."""
    return compile_operator(desc, level)._with_copies(*state)  # noqa: SLF001


def compile_operator(
    desc: OperatorDesc, feature_level: FeatureLevel = FeatureLevel.LEVEL_6_4
) -> CompiledOperator:
    """Validate a descriptor and return the operator that it describes.

    Parameters
    ----------
    desc : OperatorDesc
        An operator descriptor, such as `GatherOperatorDesc`.
    feature_level : FeatureLevel, optional
        The level to validate at.

    Returns
    -------
    CompiledOperator
        Kernels are compiled at the first call, when the device of the arrays is known.

    Raises
    ------
    ArgumentError
        There is no descriptor, or no such level.
    DescriptorError
        The descriptor breaks a rule.
    DTypeError
        A data type has no NumPy dtype on this machine (bfloat16 without ml_dtypes).

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> square = ck.TensorDesc(ck.DataType.FLOAT32, (2, 2))
    >>> column = ck.TensorDesc(ck.DataType.FLOAT32, (2, 1))
    >>> op = ck.compile_operator(ck.ReduceOperatorDesc("sum", square, column, axes=(1,)))
    >>> op(np.array([[1, 2], [3, 4]], np.float32)).tolist()
    [[3.0], [7.0]]
    >>> ck.compile_operator(ck.ReduceOperatorDesc("sum", square, column, axes=(0,)))
    Traceback (most recent call last):
    cudakern.errors.DescriptorError: reduce: output_tensor.sizes must be (1, 2) ... got (2, 1) [R8]
    """
    value: object = desc
    if not isinstance(value, OperatorDesc):
        found = f"an object of {type(value).__name__}"
        if isinstance(value, type):
            found = f"the class {value.__name__}"
        elif value is None or isinstance(value, str):
            found = describe_value(value)
        requirement = "must be an operator descriptor, such as GatherOperatorDesc(...)"
        raise ArgumentError("compile_operator", "desc", f"{requirement}; got {found}")
    level = as_level("compile_operator", feature_level)
    desc.validate(level)
    return CompiledOperator(desc, level)
