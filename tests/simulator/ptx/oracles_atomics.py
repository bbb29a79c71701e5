"""What ``atom`` and ``red`` must leave in memory, and return."""

from __future__ import annotations

import operator
from functools import partial
from zlib import crc32

import ml_dtypes
import numpy as np

from cudakern.simulator.ptx.instructions import atomics
from cudakern.simulator.ptx.model import TYPE_BYTES
from tests.helpers.samples import sample
from tests.simulator.ptx.exact import flushed
from tests.simulator.ptx.harness import BLOCK, HEAD, KernelCase, answers_by, edges, poison

#: How many blocks there are.
_BLOCKS = 8
#: Prefixes of the instruction, and whether the address is one of shared memory.
_PREFIXES = (
    ("", False),
    ("", True),
    (".relaxed.gpu.global", False),
    (".release.sys", False),
    (".relaxed.cta.shared", True),
    (".release.cluster.shared::cta", True),
    (".relaxed.gpu.shared::cluster", True),
    (".acquire.cta.global", False),
    (".acq_rel.gpu", True),
)
_INDEX = f"""\
.reg .b32 %i, %tid, %s; .reg .b64 %at, %place, %generic, %policy; .reg .b128 %wide;
.shared .align 16 .b8 cells[{BLOCK * 16}];
mov.u32 %i, %ctaid.x; mov.u32 %tid, %tid.x; mad.lo.u32 %i, %i, {BLOCK}, %tid;
mov.u32 %s, cells; mad.lo.u32 %s, %tid, 16, %s; cvt.u64.u32 %generic, %s;
cvta.shared.u64 %generic, %generic; mov.b64 %policy, 0;
"""


_flushed = partial(flushed, {"ftz": "1"})


def _add(old: np.ndarray, b: np.ndarray, *, is_shared: bool) -> np.ndarray:
    if is_shared or old.dtype != np.float32:
        return old + b
    return _flushed(_flushed(old) + _flushed(b))


def _wide_minimum(function, old: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the minimum or maximum: a number rather than a NaN, -0 before +0."""
    kind = old.dtype
    x, y = old.astype(np.float64), b.astype(np.float64)
    both = function(np.where(np.isnan(x), y, x), np.where(np.isnan(y), x, y))
    zeros = (x == 0) & (y == 0)
    sign = (
        np.signbit(x) | np.signbit(y) if function is np.minimum else np.signbit(x) & np.signbit(y)
    )
    return np.where(zeros, np.where(sign, -0.0, 0.0), both).astype(kind)


def _least(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.minimum(old, b) if old.dtype.kind in "iu" else _wide_minimum(np.minimum, old, b)


def _greatest(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum(old, b) if old.dtype.kind in "iu" else _wide_minimum(np.maximum, old, b)


OPERATIONS = {
    "min": _least,
    "max": _greatest,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "inc": lambda old, b: np.where(old >= b, 0, old + 1).astype(np.uint32),
    "dec": lambda old, b: np.where((old == 0) | (old > b), b, old - 1).astype(np.uint32),
    "exch": lambda _, b: b,
}


def _half_sum(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (old.astype(np.float64) + b.astype(np.float64)).astype(np.float32).astype(old.dtype)


def _wanted(operation: str, old, b, c, *, is_shared: bool) -> np.ndarray:
    if operation == "cas":
        same = old == b
        same = (
            same.all(axis=-1, keepdims=True) if old.dtype.itemsize == 8 and old.ndim > 2 else same
        )
        return np.where(same, c, old)
    if operation == "add":
        if old.dtype in {np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)}:
            return _half_sum(old, b)
        return _add(old, b, is_shared=is_shared)
    return OPERATIONS[operation](old, b)


def _values(kind: str, vector: int, seed: int) -> list[np.ndarray]:
    """Return the contents of memory and two operands; b128 as pairs of 64-bit words."""
    if kind == "b128":
        words = [_values("b64", 1, seed + i) for i in range(2)]
        pairs = [np.concatenate(both, axis=-1)[:, None] for both in zip(*words, strict=True)]
        return [np.ascontiguousarray(pair) for pair in pairs]
    generator = np.random.default_rng(seed)
    edge = edges(kind)
    first, second = (at.ravel() for at in np.indices((len(edge), len(edge))))
    order = np.resize(generator.permutation(len(first)), _BLOCKS * BLOCK * vector)
    cell, b = edge[first[order]], edge[second[order]]
    c = edge[generator.integers(0, len(edge), len(b))]
    b[::3] = cell[::3]  # so that cas finds equal values
    shape = (_BLOCKS * BLOCK, vector, *cell.shape[1:])
    return [x.reshape(shape) for x in (cell, b, c)]


def _operand(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _moves(to_shared: str, register: str, unit: int, vector: int) -> str:
    """Return PTX that copies a thread's cells between global memory at %place and shared memory."""
    lines = []
    for j in range(vector):
        at = j * unit
        first, second = (f"[%place+{at}]", f"[%s+{at}]")
        if to_shared:
            lines.append(f"ld.global.{register} %move_{register}, {first};"
                         f" st.shared.{register} {second}, %move_{register};")  # fmt: skip
        else:
            lines.append(f"ld.shared.{register} %move_{register}, {second};"
                         f" st.global.{register} {first}, %move_{register};")  # fmt: skip
    return "\n".join(lines)


class _Text:
    """Builds PTX that executes spellings of a row, each on arrays of its own."""

    def __init__(self, form) -> None:
        self.form = form
        self.lines: list[str] = []
        self.registers: dict[str, str] = {}
        self.arguments: list[np.ndarray] = []
        self.answers: dict[int, np.ndarray] = {}

    def _register(self, name: str, kind: str) -> str:
        self.registers[f"%{name}_{kind}"] = kind
        return f"%{name}_{kind}"

    def _address(self, array: np.ndarray, stride: int) -> str:
        self.arguments.append(array)
        number = len(self.arguments) - 1
        return (
            f"ld.param.u64 %at, [p{number}]; cvta.to.global.u64 %at, %at;"
            f" mul.wide.u32 %place, %i, {stride}; add.u64 %place, %at, %place;"
        )

    def add(self, name: str, words, *, is_shared: bool) -> None:
        """Append a spelling."""
        form = self.form
        operation = name[name.index(".") + 1 :].split(".")
        operation = next(w for w in operation if w in {*OPERATIONS, "add", "cas"})
        kind = next(w for w in reversed(name.split(".")) if w in TYPE_BYTES)
        vector = int(words.get("VECTOR", words.get("PAIRS", "v1"))[1:])
        unit, register = TYPE_BYTES[kind], f"b{8 * TYPE_BYTES[kind]}"
        cell, b, c = _values(kind, vector, len(self.lines))
        has_result, stride = form.opcode == "atom", unit * vector
        arrays = [b, c] if operation == "cas" else [b]
        texts = []
        for label, array in zip("bc", arrays, strict=False):
            names = [self._register(f"{label}{j}", register) for j in range(vector)]
            self.lines.append(self._address(array, stride))
            self.lines += [
                f"ld.global.{register} {into}, [%place+{j * unit}];" for j, into in enumerate(names)
            ]
            texts.append(_operand(names))
        self._register("move", register)
        self.lines.append(self._address(cell, stride))
        position = len(self.arguments) - 1
        if is_shared:
            self.lines.append(_moves("to", register, unit, vector))
        generic = "%generic" if is_shared else "%place"
        address = "%s" if "shared" in name else generic
        results = [self._register(f"d{j}", register) for j in range(vector)]
        operands = [*([_operand(results)] if has_result else []), f"[{address}]", *texts]
        operands += ["%policy"] if "cache_hint" in name else []
        self.lines.append(f"{name} {', '.join(operands)};")
        if is_shared:
            self.lines.append(_moves("", register, unit, vector))
        if has_result:
            old = poison(cell.shape, cell.dtype)
            self.lines.append(self._address(old, stride))
            self.lines += [
                f"st.global.{register} [%place+{j * unit}], {d};" for j, d in enumerate(results)
            ]
            self.answers[len(self.arguments) - 1] = cell.view(f"u{cell.dtype.itemsize}")
        with np.errstate(all="ignore"):
            wanted = _wanted(operation, cell, b, c, is_shared=is_shared)
        assert wanted.dtype == cell.dtype
        self.answers[position] = wanted

    def kernel(self, name: str) -> KernelCase:
        """Return the kernel of the spellings that were added last."""
        parameters = ", ".join(f".param .u64 p{i}" for i in range(len(self.arguments)))
        declared = " ".join(f".reg .{kind} {r};" for r, kind in self.registers.items())
        entry = f".visible .entry {name}({parameters})"
        text = HEAD + "\n".join((entry, "{", _INDEX, declared, *self.lines, "ret;", "}"))
        return KernelCase(text, tuple(self.arguments), self.answers, name,
                      (_BLOCKS, 1, 1), (BLOCK, 1, 1))  # fmt: skip


def kernels_of(form) -> tuple[KernelCase, ...]:
    """Return kernels that execute a row: all of its types, with some prefixes.

    These are a third of the prefixes that fit, others for other rows; in a thorough run all.
    """
    texts: dict[str, _Text] = {}
    spelled: dict[str, list] = {}
    for name, words in form.spellings():
        given = [words[key] for key in ("SEM", "SCOPE", "SPACE")]
        prefix = "".join(f".{word}" for word in given if word != "none")
        spelled.setdefault(prefix, []).append((name, words))
    fitting = [
        (prefix, is_shared)
        for prefix, is_shared in _PREFIXES
        if prefix in spelled and (not is_shared or "shared" in form.sets["SPACE"])
    ]
    for prefix, is_shared in sample(fitting, 3, crc32(form.pattern.encode()) % 3):
        for name, words in spelled[prefix]:
            text = texts.setdefault(words.get("TYPE", ""), _Text(form))
            text.add(name, words, is_shared=is_shared)
    return tuple(text.kernel("k") for text in texts.values())


KERNELS = answers_by({"atom": kernels_of, "red": kernels_of}, atomics.FORMS)
