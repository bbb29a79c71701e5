"""Run spellings of rows of the instruction table on edge values, and compare with oracles.

A chapter ``instructions/<chapter>.py`` has its answers in ``oracles_<chapter>.py``. Their keys are
the patterns of the rows, written as in the rows::

    ORACLES = {
        "sub.TYPE d, a, b": lambda words, a, b: a - b,
        "popc.TYPE d:u32, a": Oracle(popc, values={"a": (0, 1, 2**31)}),
        "lop3.b32 d, a, b, c, lut:u32": Oracle(lop3, immediates={"lut": (0xE8, 0x96)}),
    }
    KERNELS = {"bar.sync a": KernelCase(text, arguments, answers)}

An oracle takes the words of the spelling's sets and flags (`Form.spellings`: ``words["TYPE"]``,
``words["ftz"] == "1"``) and an array for each operand, and returns the result, or a tuple of two.
Arrays have the NumPy dtype of the PTX type, from ``DTYPES``; packed types such as ``f16x2`` have a
second axis, of two; types without a NumPy dtype are given by their bits. An answer is

- an array of integers: compared bit for bit, also with the bits of a float;
- an array of floats: compared bit for bit, except that a NaN stands for every NaN;
- a masked array: the manual leaves the masked elements undefined, so they are not compared;
- `Within(lower, upper)`: the result lies between them, or is a NaN where they are.

`KernelCase` is for rows that need memory, several threads or vectors of registers: a small module
of PTX, or CUDA C++, that contains the instruction. The answer of a row may be one, a tuple of
them, or a function that takes a spelling's name and words and returns one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING
from zlib import crc32

import ml_dtypes
import numpy as np

from cudakern.errors import KernelCompileError
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.libraries.toolchain import Toolchain, find_toolchain
from cudakern.simulator.ptx.forms import Form, OperandForm, type_of
from cudakern.simulator.ptx.model import TYPE_BYTES
from cudakern.simulator.sources.text_to_ptx import ptx_of_program, ptx_of_text
from tests.helpers.samples import is_thorough

if TYPE_CHECKING:
    from cudakern.simulator.libraries.loaded import LoadedModule

#: NumPy's dtypes of elements.
DTYPES = {
    **{f"{kind}{8 * n}": np.dtype(f"u{n}") for kind in ("b", "u") for n in (1, 2, 4, 8)},
    **{f"s{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    "f16": np.dtype("f2"),
    "f32": np.dtype("f4"),
    "f64": np.dtype("f8"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "pred": np.dtype(bool),
}
#: How many threads a block has: the length of inputs is a multiple of it.
BLOCK = 128
#: The most combinations of edge values that are tried, and the number of random operands as well.
COMBINATIONS = 6000 if is_thorough() else 2000
RANDOM = 200
#: How many spellings share a module, and thus one run of the compiler.
SPELLINGS = 150
#: How many kernels of rows share a module.
KERNELS = 40
#: A thorough run tries all spellings of rows with at most this many.
ALL_SPELLINGS = 12
#: Of larger sets of words, a row is tried with a third, each row with another one; a thorough run
#: tries all.
MANY_WORDS = 9
_POISON = 0xA5
#: The beginning of a module of PTX.
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"


@dataclass(frozen=True)
class Within:
    """An answer with bounds: floats of the result's dtype."""

    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Oracle:
    """The answer of a row, and the operands on which it is tried.

    Attributes
    ----------
    answer : callable
        Takes the words of the spelling and an array for each operand that is not a result.
    values : mapping
        Values to try for an operand, instead of the edge values of its type; or a function that
        takes the PTX type and returns them.
    immediates : mapping
        Operands that must be constants in PTX, and the values to try.
    inputs, outputs : mapping
        Names and PTX types of further operands, which only `before` and `after` use.
    before, after : str
        PTX around the instruction; ``{name}`` stands for an operand.
    """

    answer: Callable
    values: Mapping[str, Iterable | Callable] = field(default_factory=dict)
    immediates: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class KernelCase:
    """A kernel that contains an instruction.

    Attributes
    ----------
    text : str
        PTX, or CUDA C++ if it has no ``.version``.
    arguments : tuple
        Arrays, of which the kernel gets copies, and NumPy scalars. Outputs are poisoned.
    answers : mapping of int to array or Within
        The contents of the arrays at some positions after the launch.
    name, grid, block, shared_bytes
        The launch.
    """

    text: str
    arguments: tuple
    answers: Mapping[int, object]
    name: str = "k"
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    shared_bytes: int = 0


def poison(shape, dtype) -> np.ndarray:
    """Return an array of bytes that are unlikely in answers."""
    return np.full(np.empty(shape, dtype).nbytes, _POISON, "u1").view(dtype).reshape(shape)


def spellings_to_try(form: Form) -> list[tuple[str, dict[str, str]]]:
    """Return spellings of a row that have each word, in a thorough run each pair of words.

    A thorough run has all spellings of rows with few of them.
    """
    every = [*form.spellings()]
    if is_thorough() and len(every) <= ALL_SPELLINGS:
        return every
    chosen = []
    known: set[tuple] = set() if is_thorough() else {*_of_other_rows(form)}
    np.random.default_rng(len(every)).shuffle(every)
    for name, words in every:
        together = {*combinations(sorted(words.items()), 2 if is_thorough() else 1)}
        if not together <= known or not chosen:
            known |= together
            chosen.append((name, words))
    return chosen


def spellings_together(form: Form) -> list[tuple[str, dict[str, str]]]:
    """Return the spellings that a row's kernel executes: in a thorough run all."""
    return [*form.spellings()] if is_thorough() else spellings_to_try(form)


def _of_other_rows(form: Form) -> Iterator[tuple]:
    """Yield the words of large sets that are left to other rows."""
    start = crc32(form.pattern.encode())
    for key, text in form.sets.items():
        words = text.split()
        if len(words) > MANY_WORDS:
            yield from (((key, w),) for n, w in enumerate(words) if (n + start) % 3)


# Operands and their values


def lanes(kind: str) -> tuple[str, int]:
    """Return the element of a PTX type, or the type of its bits, and how many it packs."""
    element, packed, _ = kind.partition("x2")
    if element in DTYPES:
        return element, 2 if packed else 1
    return f"b{8 * TYPE_BYTES[kind]}", 1


def edges(kind: str) -> np.ndarray:
    """Return the edge values of a PTX type."""
    element, count = lanes(kind)
    dtype = DTYPES[element]
    if element == "pred":
        return np.array([False, True])
    values = _edges_of_integers(dtype) if dtype.kind in "iu" else _edges_of_floats(dtype)
    if count == 1:
        return values
    generator = np.random.default_rng(len(values))
    return np.stack([values, *[generator.permutation(values) for _ in range(count - 1)]], axis=1)


def _edges_of_integers(dtype: np.dtype) -> np.ndarray:
    width = 8 * dtype.itemsize
    half = 1 << width // 2
    values = [0, 1, 2, 3, 7, -1, -2, -3, width - 1, width, width + 1, 2 * width, half, half - 1]
    values += [half // 2, 1 << (width - 1), (1 << (width - 1)) - 1, (1 << (width - 1)) + 1]
    values += [sum(1 << k for k in range(0, width, 2)), 0xF0]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    mask = (1 << width) - 1
    return np.array([*dict.fromkeys(value & mask for value in values)], unsigned).view(dtype)


def _edges_of_floats(dtype: np.dtype) -> np.ndarray:
    unsigned = np.dtype(f"u{dtype.itemsize}")
    mantissa = ml_dtypes.finfo(dtype).nmant
    exponents = (1 << (8 * dtype.itemsize - 1 - mantissa)) - 1
    infinity = exponents << mantissa
    one = (exponents >> 1) << mantissa
    bits = [0, 1, (1 << mantissa) - 1, 1 << mantissa, one - 1, one, one + 1, infinity - 1, infinity]
    bits += [infinity | 1 << (mantissa - 1), infinity | 1, one | 1 << (mantissa - 1)]
    positive = np.array(bits, unsigned).view(dtype)
    plain = np.array([0.1, 0.5, 2.5, 3.0, 255.5, 1e-3, 3e4], dtype)
    both = np.concatenate([positive, plain])
    negative = both.view(unsigned) | unsigned.type(1 << (8 * dtype.itemsize - 1))
    return np.concatenate([both, negative.view(dtype)])


def random_values(kind: str, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return values of a PTX type with random bits."""
    element, per_value = lanes(kind)
    dtype = DTYPES[element]
    size = (count,) if per_value == 1 else (count, per_value)
    if element == "pred":
        return generator.integers(0, 2, size).astype(bool)
    integers = generator.integers(0, 256, (*size, dtype.itemsize), "u1")
    return integers.view(dtype)[..., 0]


def operand_arrays(kinds: list[str], values: list[Iterable | None], seed: int) -> list[np.ndarray]:
    """Return arrays of operands with combinations of their edge values, all of them if they fit."""
    generator = np.random.default_rng(seed)
    sources = []
    for kind, chosen_values in zip(kinds, values, strict=True):
        operands = edges(kind) if chosen_values is None else np.asarray([*chosen_values])
        with np.errstate(over="ignore"):  # values are given for types of all sizes
            sources.append(operands.astype(DTYPES[lanes(kind)[0]]))
    sizes = [len(source) for source in sources]
    total = int(np.prod(sizes, dtype=object))
    if total <= COMBINATIONS:
        chosen = np.arange(total)
    else:
        chosen = generator.integers(0, total, COMBINATIONS)
    places = np.unravel_index(chosen, sizes) if sizes else ()
    extra = RANDOM + -(len(chosen) + RANDOM) % BLOCK
    operands = []
    for kind, source, place, chosen_values in zip(kinds, sources, places, values, strict=True):
        if chosen_values is None:
            more = random_values(kind, extra, generator)
        else:
            more = source[generator.integers(0, len(source), extra)]
        operands.append(np.ascontiguousarray(np.concatenate([source[place], more])))
    return operands


# PTX around an instruction


@dataclass(frozen=True)
class Spelling:
    """One full name of a row in an entry of its own, whose thread i computes the i-th result."""

    form: Form
    name: str
    words: Mapping[str, str]
    oracle: Oracle

    @property
    def key(self) -> tuple[str, str]:
        """What distinguishes it from others."""
        return self.form.pattern, self.name

    @property
    def results(self) -> dict[str, str]:
        """Names and PTX types of the results."""
        types = {operand.name: self._type(operand) for operand in self.form.operands[0]}
        return {**types, **self.oracle.outputs}

    @property
    def operands(self) -> dict[str, str]:
        """Names and PTX types of all that the oracle takes."""
        positions = self.form.operands[1:]
        types = {o.name: self._type(o) for position in positions for o in position}
        return {**types, **self.oracle.inputs}

    def _type(self, operand: OperandForm) -> str:
        return type_of(operand, self.name, self.words)

    def constants(self) -> Iterator[dict[str, int]]:
        """Yield each combination of immediate operands."""
        immediates = self.oracle.immediates
        for chosen in product(*immediates.values()):
            yield dict(zip(immediates, chosen, strict=True))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what the threads load."""
        kinds = {n: k for n, k in self.operands.items() if n not in self.oracle.immediates}
        immediates = [self._values(name, kind) for name, kind in kinds.items()]
        arrays = operand_arrays([*kinds.values()], immediates, crc32(self.name.encode()))
        return dict(zip(kinds, arrays, strict=True))

    def _values(self, name: str, kind: str) -> Iterable | None:
        types = self.oracle.values.get(name)
        return types(kind) if callable(types) else types

    def entry(self, symbol: str, count: int) -> str:
        """Return an entry of PTX for so many threads."""
        loaded = [name for name in self.operands if name not in self.oracle.immediates]
        kinds = {**self.results, **self.operands}
        parameters = ", ".join(f".param .u64 p_{name}" for name in (*self.results, *loaded))
        lines = [f".visible .entry {symbol}({parameters})", "{", *_INDEX]
        for name, kind in kinds.items():
            lines.append(f".reg .{_register(kind)} %{name}_;")
        for name in loaded:
            lines += [_at(name, kinds[name], 0), *_load(name, kinds[name])]
        for number, constants in enumerate(self.constants()):
            texts = {name: str(constants.get(name, f"%{name}_")) for name in kinds}
            lines += [self.oracle.before.format_map(texts), self._instruction(texts)]
            lines.append(self.oracle.after.format_map(texts))
            for name in self.results:
                lines += [_at(name, kinds[name], number * count), *_store(name, kinds[name])]
        return "\n".join([*filter(None, lines), "ret;", "}", ""])

    def _instruction(self, texts: Mapping[str, str]) -> str:
        written = ("|".join(texts[operand.name] for operand in at) for at in self.form.operands)
        return f"{self.name} {', '.join(written)};"


_INDEX = (
    ".reg .b32 %block, %thread; .reg .b64 %index, %at; .reg .b16 %bit; .reg .pred %unused;",
    "mov.u32 %block, %ctaid.x; mov.u32 %thread, %tid.x;",
    f"mad.lo.u32 %thread, %block, {BLOCK}, %thread; mul.wide.u32 %index, %thread, 1;",
)


def _register(kind: str) -> str:
    if kind == "pred" or (TYPE_BYTES[kind] == 1 and kind[0] == "e"):
        return "pred" if kind == "pred" else "b8"
    return f"b{8 * max(2, TYPE_BYTES[kind])}"


def _at(name: str, kind: str, offset: int) -> str:
    size = TYPE_BYTES[kind]
    return (
        f"ld.param.u64 %at, [p_{name}]; mad.lo.u64 %at, %index, {size}, %at;"
        f" add.u64 %at, %at, {offset * size};"
    )


def _load(name: str, kind: str) -> Iterator[str]:
    if kind == "pred":
        yield f"ld.global.u8 %bit, [%at]; setp.ne.u16 %{name}_, %bit, 0;"
    else:
        yield f"ld.global.b{8 * TYPE_BYTES[kind]} %{name}_, [%at];"


def _store(name: str, kind: str) -> Iterator[str]:
    if kind == "pred":
        yield f"selp.u16 %bit, 1, 0, %{name}_; st.global.u8 [%at], %bit;"
    else:
        yield f"st.global.b{8 * TYPE_BYTES[kind]} [%at], %{name}_;"


# Launches

_NAMES = re.compile(r"[a-z]\w*(?:(?:\.|::)\w+)*")


_LOADER = ModuleLoader()


def loaded(ptx: str) -> LoadedModule:
    """Return the loaded module of a PTX text."""
    return _loaded(ptx, find_toolchain())


@cache
def _loaded(ptx: str, _: Toolchain) -> LoadedModule:
    return _LOADER.load(ptx_of_text(ptx, "rows.ptx"), together=True)


def compiled(text: str) -> str:
    """Return NVRTC's PTX of CUDA C++, whose kernels are extern "C"."""
    return ptx_of_program("rows.cu", text).text()


def launch(ptx: str, name: str, arguments, *, grid, block, shared_bytes=0) -> None:
    """Launch an entry of a PTX text; arguments are NumPy arrays and scalars."""
    packed, offsets = bytearray(), []
    for argument in arguments:
        word = np.uint64(argument.ctypes.data) if isinstance(argument, np.ndarray) else argument
        packed += bytes(-len(packed) % word.nbytes)
        offsets.append(len(packed))
        packed += word.tobytes()
    kernel = loaded(ptx).kernel(name, "rows.ptx")
    kernel.launcher(grid, block, shared_bytes, offsets)(bytes(packed))


@cache
def _is_refused(ptx: str) -> bool:
    try:
        loaded(ptx)
    except KernelCompileError:
        return True
    return False


def together(kernels: list[KernelCase]) -> list[KernelCase]:
    """Return the kernels; move those whose text has a single entry into shared modules."""
    entries = [*kernels]
    alone = [n for n, kernel in enumerate(kernels) if kernel.text.count(".entry") == 1]
    for first in range(0, len(alone), KERNELS):
        some = {n: kernels[n] for n in alone[first : first + KERNELS]}
        ptx = HEAD + "".join(
            kernel.text.removeprefix(HEAD).replace(f".entry {kernel.name}(", f".entry k{n}(")
            for n, kernel in some.items()
        )
        for n, kernel in some.items():
            entries[n] = replace(kernel, text=ptx, name=f"k{n}")
    return entries


class Batch:
    """Spellings that share a module, unless it is refused: then each has its own."""

    def __init__(self, spellings: list[Spelling]) -> None:
        self.arrays = {kernel.key: kernel.arrays() for kernel in spellings}
        self.symbols = {kernel.key: f"k{number}" for number, kernel in enumerate(spellings)}
        self.texts = {kernel.key: self._entry(kernel) for kernel in spellings}

    def _entry(self, spelling: Spelling) -> str:
        count = len(next(iter(self.arrays[spelling.key].values())))
        return spelling.entry(self.symbols[spelling.key], count)

    def _text(self, spelling: Spelling) -> str:
        shared = HEAD + "".join(self.texts.values())
        return HEAD + self.texts[spelling.key] if _is_refused(shared) else shared

    def run(self, spelling: Spelling) -> tuple[np.ndarray, ...]:
        """Return what the entry of a spelling stores: an axis of constants, one of threads."""
        inputs = self.arrays[spelling.key]
        count = len(next(iter(inputs.values())))
        repeats = len([*spelling.constants()])
        outputs = []
        for kind in spelling.results.values():
            element, packed = lanes(kind)
            shape = (repeats, count) if packed == 1 else (repeats, count, packed)
            dtype = "u1" if kind == "pred" else DTYPES[element]
            outputs.append(poison(shape, dtype))
        where = {"grid": (count // BLOCK, 1, 1), "block": (BLOCK, 1, 1)}
        symbol = self.symbols[spelling.key]
        arguments = (*outputs, *inputs.values())
        launch(self._text(spelling), symbol, arguments, **where)
        return tuple(outputs)


def check_spelling(batch: Batch, spelling: Spelling) -> None:
    """Raise AssertionError where a spelling's results are not the oracle's."""
    inputs = batch.arrays[spelling.key]
    outputs = batch.run(spelling)
    for number, constants in enumerate(spelling.constants()):
        operands = [
            np.full(outputs[0].shape[1], constants[name], DTYPES[lanes(kind)[0]])
            if name in constants
            else inputs[name]
            for name, kind in spelling.operands.items()
        ]
        with np.errstate(all="ignore"):
            answers = spelling.oracle.answer(spelling.words, *operands)
        answers = answers if isinstance(answers, tuple) else (answers,)
        for name, answer, output in zip(spelling.results, answers, outputs, strict=True):
            with np.errstate(invalid="ignore"):  # NaN of bf16
                wrong = differences(answer, output[number])
            told = [f"{spelling.name}: {name} is wrong {len(wrong)} times"]
            for at in wrong[:5]:
                shown = ", ".join(
                    f"{name}={array[at]!r}"
                    for name, array in zip(spelling.operands, operands, strict=True)
                )
                told.append(f"{shown}: must be {_shown(answer, at)}; got {output[number][at]!r}")
            assert not len(wrong), "\n".join(told)


def _shown(answer, at) -> str:
    if isinstance(answer, Within):
        return f"from {answer.lower[at]!r} to {answer.upper[at]!r}"
    return repr(answer[at])


def differences(answer, result: np.ndarray) -> np.ndarray:
    """Return the indices along the first axis at which a result is not the answer."""
    if isinstance(answer, Within):
        nan = np.isnan(answer.lower)
        fits = np.isnan(result) & nan | (answer.lower <= result) & (result <= answer.upper)
        return _where(~fits)
    mask, expected = np.ma.getmaskarray(answer), np.ma.getdata(answer)
    assert expected.shape == result.shape, f"an answer has shape {expected.shape}"
    if expected.dtype.kind in "iubO":  # integers, predicates, bits of floats
        bits = 8 * result.dtype.itemsize
        if expected.dtype.kind == "O":
            wrapped = [int(value) & ((1 << bits) - 1) for value in expected.flat]
            expected = np.array(wrapped, f"u{bits // 8}").reshape(result.shape)
        unsigned = f"u{result.dtype.itemsize}"
        return _where((expected.astype(unsigned) != result.view(unsigned)) & ~mask)
    assert expected.dtype == result.dtype, f"an answer has dtype {expected.dtype}"
    unsigned = f"u{result.dtype.itemsize}"
    same = np.ascontiguousarray(expected).view(unsigned) == result.view(unsigned)
    return _where(~(same | np.isnan(expected) & np.isnan(result)) & ~mask)


def _where(wrong: np.ndarray) -> np.ndarray:
    return np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))


# Tests of rows


class Chapter:
    """The rows of a chapter with their answers by pattern."""

    def __init__(self, forms: Iterable[Form], oracles: Mapping, kernels: Mapping) -> None:
        self.forms = tuple(forms)
        self.answers = {**oracles, **kernels}
        self._batches: list[list[Spelling]] = [[]]
        self._rows: dict[int, int] = {}  # the batch of a form
        for form in self.forms:
            if form.pattern in oracles:
                spelled = spellings_to_try(form)
                self._add(form, [self._spelling(form, *named) for named in spelled])
        self._batch = cache(lambda number: Batch(self._batches[number]))

    def _spelling(self, form: Form, name: str, words: Mapping[str, str]) -> Spelling:
        oracle = self.answers[form.pattern]
        return Spelling(form, name, words, oracle if isinstance(oracle, Oracle) else Oracle(oracle))

    def _add(self, form: Form, spellings: list[Spelling]) -> None:
        if len(self._batches[-1]) >= SPELLINGS:
            self._batches.append([])
        self._batches[-1] += spellings
        self._rows[id(form)] = len(self._batches) - 1

    def check(self, form: Form) -> None:
        """Raise AssertionError if a row has no answer, or a result is not the answer."""
        if id(form) in self._rows:
            number = self._rows[id(form)]
            for spelling in self._batches[number]:
                if spelling.form is form:
                    check_spelling(self._batch(number), spelling)
        else:
            assert form.pattern in self.answers, f"{form.pattern} must have an oracle or a kernel"
            for name, kernel, entry in self._kernels[form.pattern]:
                check_kernel(name, kernel, kernel if _is_refused(_ptx_of(entry)) else entry)

    def texts(self, form: Form) -> Iterator[str]:
        """Yield PTX with instructions of a row: each spelling if the row has an oracle."""
        if id(form) in self._rows:
            for named in form.spellings():
                yield HEAD + self._spelling(form, *named).entry("k", BLOCK)
        else:
            yield from dict.fromkeys(
                _ptx_of(kernel) for _, kernel, _ in self._kernels[form.pattern]
            )

    @cached_property
    def _kernels(self) -> dict[str, list[tuple[str, KernelCase, KernelCase]]]:
        """For each pattern: names of instructions, their kernels, and the kernels to launch."""
        named = [
            (form.pattern, *named)
            for form in self.forms
            if id(form) not in self._rows and form.pattern in self.answers
            for named in _named(form, self.answers[form.pattern])
        ]
        kernels: dict[str, list[tuple[str, KernelCase, KernelCase]]] = {}
        entries = together([kernel for _, _, kernel in named])
        for (pattern, name, kernel), entry in zip(named, entries, strict=True):
            kernels.setdefault(pattern, []).append((name, kernel, entry))
        return kernels


def answers_by(makers: Mapping[str, Callable], forms: Iterable[Form]) -> dict[str, object]:
    """Return answers of rows, each from the first maker whose key the row's pattern starts with."""
    answers = {}
    for form in forms:
        make = next((m for start, m in makers.items() if form.pattern.startswith(start)), None)
        if make is not None:
            answers[form.pattern] = make(form)
    return answers


def _named(form: Form, answer) -> list[tuple[str, KernelCase]]:
    """Return the kernels of a row, each with the name that the row's instruction has there."""
    if callable(answer):
        return [(name, answer(name, words)) for name, words in spellings_to_try(form)]
    kernels = answer if isinstance(answer, tuple) else (answer,)
    return [(_name_in(form, kernel), kernel) for kernel in kernels]


def _name_in(form: Form, kernel: KernelCase) -> str:
    """Return the name of the form's instruction in a kernel, or the pattern if it is not there."""
    names = (name for name in _NAMES.findall(_ptx_of(kernel)) if name.startswith(form.opcode))
    return next((name for name in names if form.match(name) is not None), form.pattern)


@cache
def _compiled(text: str) -> str:
    return compiled(text)


def _ptx_of(kernel: KernelCase) -> str:
    return kernel.text if ".version" in kernel.text else _compiled(kernel.text)


def check_kernel(name: str, kernel: KernelCase, entry: KernelCase | None = None) -> None:
    """Raise AssertionError if a kernel lacks the instruction, or leaves wrong results.

    The kernel to launch may be an entry of a module that it shares with others.
    """
    ptx = _ptx_of(kernel)
    assert re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.:])", ptx), f"the PTX must have {name}"
    entry = entry or kernel
    arguments = tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in kernel.arguments)
    launch(
        _ptx_of(entry), entry.name, arguments,
        grid=kernel.grid, block=kernel.block, shared_bytes=kernel.shared_bytes,
    )  # fmt: skip
    for position, answer in kernel.answers.items():
        wrong = differences(answer, arguments[position])
        assert not len(wrong), f"{name}: argument {position} is wrong at {wrong[:8]}"
