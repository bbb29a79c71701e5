"""The rows of the tables of kernels: a kernel, its launch and the result or finding."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cudakern.simulator import RawKernel, RawModule, empty

INCLUDE = re.compile(r"^#include <([\w/.]+)>", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that only a few rows need."""

    #: Name or name expression; the row's own types stand in a namespace of the row's name.
    kernel: str = "k"
    shared_mem: int = 0  # bytes, dynamic
    options: tuple[str, ...] = ()  # for the compiler
    cooperative: bool = False  # whether all blocks must be resident at once
    alone: bool = False  # whether it is compiled by itself, in no namespace


@dataclass(frozen=True)
class Correct(Options):
    """A kernel without a fault."""

    name: str
    code: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    #: Takes a random generator; returns the arguments, outputs poisoned.
    inputs: Callable[[np.random.Generator], tuple]
    #: Takes the arguments before the launch; returns what arrays at some positions hold after it.
    expected: Callable[..., dict[int, np.ndarray]]
    rtol: float = 0.0  # 0 where the result must agree bit for bit
    strict: bool = True  # whether strict launches find nothing as well


@dataclass(frozen=True)
class Broken(Options):
    """A kernel with a fault.

    Its lines are marked: both accesses of a race, the places where diverged threads wait, those
    where deadlocked threads poll. For what happens in a library, the line of the call is marked.
    """

    name: str
    code: str
    kind: str  # of the finding
    arguments: Callable[[], tuple]
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (64,)
    #: Position of the argument, or name of the shared array, that each finding must name.
    array: int | str | None = None
    index: int | None = None  # the element that each finding must name
    #: Kinds that follow from the fault and may be found, too: if a thread reads before another one
    #: writes, the value is uninitialised as well.
    also: tuple[str, ...] = ()
    strict: bool = False  # whether only strict launches find it


def _rows_of(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the heads and the texts of the kernels in the CUDA files of a kind in this folder.

    A head is a line that begins with four slashes, with the indented ones after it. Each of several
    heads before a text makes a row of the text. What precedes the first head begins every text.
    A text without ``__global__`` ends with the body of a kernel, in which ``t`` is the thread. Its
    parameters precede it on a line in parentheses, unless they are ``(int* x, int* out)``.
    """
    heads = re.compile(r"^((?://// .*\n)+)", re.MULTILINE)
    for path in sorted(Path(__file__).parent.glob(f"{kind}_*.cu")):
        start, *parts = heads.split(path.read_text(encoding="utf-8"))
        for lines, text in zip(parts[::2], parts[1::2], strict=True):
            for head in re.split(r"^//// (?=\S)", lines, flags=re.MULTILINE)[1:]:
                yield " ".join(head.replace("\n////", " ").split()), start + _whole(text)


def _whole(text: str) -> str:
    if "__global__" in text:
        return text
    given = re.search(r"^\((.*)\)\n", text, re.MULTILINE) or re.match(r"(?:#.*\n)*()", text)
    head = f'extern "C" __global__ void k({given[1] or "int* x, int* out"}) {{'
    above = text[: given.start() if given[1] else given.end()]
    return f"{above}{head} const int t = threadIdx.x;\n{text[given.end() :]}}}\n"


def _valued(text: str, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression in a head, which may use these names and this module's."""
    return eval(text, {**globals(), **names})  # noqa: S307


def _called(call: str, names: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments and the options of ``(argument, ..., grid=2)``."""
    arguments, options = _valued(f"row{call}", {**names, "row": lambda *a, **o: (a, o)})
    for size in options.keys() & {"grid", "block"}:
        if isinstance(options[size], int):
            options[size] = (options[size],)
    return arguments, options


def _filled(text: str, options: dict[str, Any]) -> str:
    """Return a text in which the head's options in capitals have replaced those words."""
    for word in filter(str.isupper, tuple(options)):
        text = text.replace(word, options.pop(word))
    return text


def broken_rows() -> Iterator[Broken]:
    """Yield the rows of the CUDA files; a head says ``race: name(argument, ..., grid=2, array=1)``.

    Each launch has new arguments. Several kinds in ``also`` stand in one string.
    """
    names = {"empty": empty}
    for head, text in _rows_of("broken"):
        kind, name, call = re.fullmatch(r"(\w+): (\w+)(.*)", head).groups()
        options = _called(call, names)[1]
        options["also"] = tuple(options.get("also", "").split())
        code = _filled(text, options)
        yield Broken(name, code, kind, lambda call=call: _called(call, names)[0], **options)


def correct_rows(names: Mapping[str, Any], kind: str = "correct") -> Iterator[Correct]:
    """Yield the rows of a kind's files; a head says ``name(argument, block=9) -> x, *_: {1: x}``.

    After the arrow stand names for the arguments, and what some of them hold after the launch.
    Heads may also use the given names.
    """
    for head, text in _rows_of(kind):
        name, call, answer = re.fullmatch(r"(\w+)(.*) -> (.*)", head).groups()

        def inputs(rng, call=call):
            return _called(call, {**names, "rng": rng})[0]

        options = {"grid": (1,)} | _called(call, {**names, "rng": np.random.default_rng()})[1]
        expected = _valued(f"lambda {answer}", names)
        code = _filled(text, options)
        yield Correct(name=name, code=code, inputs=inputs, expected=expected, **options)


class Modules:
    """Kernels of many rows compiled together, since each start of a compiler takes its time.

    Each row's text has a namespace with the row's name, and lines of a file with that name. Rows
    whose headers are of the same libraries share a text; with ``jitify``, rows with any headers do.
    """

    MOST = 24  # rows of a text

    def __init__(
        self,
        rows: Iterable[Correct | Broken],
        options: tuple[str, ...] = (),
        *,
        jitify: bool = False,
    ) -> None:
        texts: dict[tuple, list] = {}
        rows = [*rows]
        assert len({row.name for row in rows}) == len(rows), "names are distinct"
        for row in rows:
            included = () if jitify else INCLUDE.findall(row.code)
            libraries = frozenset(re.split(r"[./]", name)[0] for name in included)
            key = (libraries, row.options, row.cooperative, row.alone and row.name)
            texts.setdefault(key, []).append(row)
        self._modules = {}
        for (_, own, cooperative, alone), group in texts.items():
            for first in range(0, len(group), self.MOST):
                some = group[first : first + self.MOST]
                module = RawModule(
                    code=some[0].code if alone else _joined(some),
                    options=(*own, *options),
                    enable_cooperative_groups=cooperative,
                    name_expressions=[*map(_name, some)],
                    jitify=jitify,
                )
                self._modules.update({row.name: module for row in some})

    def kernel(self, row: Correct | Broken) -> RawKernel:
        """Return the kernel of a row."""
        return self._modules[row.name].get_function(_name(row))


def launch(kernel: RawKernel, row: Correct, seed: int) -> tuple[tuple, dict[int, np.ndarray]]:
    """Run a row's kernel once; return its arguments and the expected contents."""
    arguments = row.inputs(np.random.default_rng(seed))
    expected = row.expected(*copy.deepcopy(arguments))
    kernel(row.grid, row.block, arguments, shared_mem=row.shared_mem)
    return arguments, expected


def require_result(kernel: RawKernel, row: Correct, seed: int) -> None:
    """Run a row's kernel once and compare its results."""
    arguments, expected = launch(kernel, row, seed)
    for position, wanted in expected.items():
        if row.rtol:
            np.testing.assert_allclose(arguments[position], wanted, rtol=row.rtol)
        else:
            np.testing.assert_array_equal(arguments[position], wanted)


def _name(row) -> str:
    return row.kernel if row.alone else f"{row.name}::{row.kernel}"


def _joined(rows) -> str:
    """Return a text of all rows."""
    names = dict.fromkeys(name for row in rows for name in INCLUDE.findall(row.code))
    lines = [f"#include <{name}>" for name in names]
    for row in rows:
        own = INCLUDE.sub("", row.code).splitlines()
        macros = [line.split()[1].split("(")[0] for line in own if line.startswith("#define")]
        lines += [f"namespace {row.name} {{", f'#line 1 "{row.name}.cu"']
        lines += [line.replace('extern "C" ', "") for line in own]
        lines += ["}", *(f"#undef {macro}" for macro in macros)]
    return "\n".join(lines) + "\n"


def fault_lines(code) -> set[int]:
    """Return the numbers of the marked lines, from 1."""
    return {number for number, line in enumerate(code.splitlines(), 1) if "// fault" in line}


def poison(shape, dtype):
    """Return an array of values that kernels never compute."""
    dtype = np.dtype(dtype)
    return np.full(shape, np.nan if dtype.kind == "f" else np.iinfo(dtype).max - 4, dtype)


def ints(rng, shape, dtype=np.int32, low=-99, high=99):
    """Return random integers."""
    return rng.integers(low, high, shape).astype(dtype)


def ramp(shape, dtype=np.int32):
    """Return an array of 0, 1, 2, ..."""
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def zeros(*shape, dtype=np.int32):
    """Return an array that counts as written."""
    return np.zeros(shape, dtype)
