"""Small programs of a few threads, with what the PTX ISA manual says of their executions.

A program of `litmus.txt` has a head and a line for each thread::

    name (cluster): race if r0 == 0; never r0 == 1 and r1 == 0; may r0 == 1 and r1 == 1
      0/1: st.weak x 1; fence.sc.gpu; r0 == 1 ? ld.weak y r1

The head says whether there is a data race (``race``, ``no race``, or a condition on the final
registers and memory), which outcome is forbidden, and an allowed one that is of interest. A line
begins with block, warp and lane of the thread. Its steps are instructions without a type;
``until f 1 ld.relaxed.gpu`` repeats one, and what follows ``r0 == 1 ?`` may be skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudakern.simulator import RawModule

#: The names of places in memory, which are all zero at first.
GLOBAL, SHARED = ("x", "y", "d", "f", "g"), ("sx", "sf")
REGISTERS = ("r0", "r1", "r2", "r3")
MOST_THREADS, MOST_STEPS = 4, 8

_HEAD = re.compile(r"(\w+)( \(cluster\))?: (no race|race if ([^;]+)|race)((?:; .+)?)")
_STEP = re.compile(r"(?:(.+) \? )?(\S+) ?(.*)")


@dataclass(frozen=True)
class Litmus:
    """A program, and the manual's answers."""

    name: str
    in_cluster: bool
    race: str  # the condition
    never: str  # an outcome, or nothing
    may: str
    places: list[tuple[int, int, int]]  # block, warp and lane of each thread
    threads: list[list[str]]  # steps

    @property
    def lanes_differ(self) -> bool:
        """Whether threads are lanes of one warp."""
        return any(lane for _, _, lane in self.places)

    @property
    def launch(self) -> tuple[tuple[int], tuple[int]]:
        """Return the grid and the block."""
        blocks, warps, lanes = (max(numbers) + 1 for numbers in zip(*self.places, strict=True))
        return (blocks,), (lanes if self.lanes_differ else 32 * warps,)


def _parsed(text: str) -> Litmus:
    head, *lines = text.strip().splitlines()
    name, cluster, race, condition, rest = _HEAD.fullmatch(head).groups()
    outcomes = dict(part.split(" ", 1) for part in rest.split("; ")[1:])
    starts, steps = zip(*(line.strip().split(": ", 1) for line in lines), strict=True)
    return Litmus(
        name,
        bool(cluster),
        condition or str(race == "race"),
        outcomes.get("never", ""),
        outcomes.get("may", ""),
        [(*map(int, start.split("/")), 0, 0)[:3] for start in starts],
        [line.split("; ") for line in steps],
    )


def litmus_rows() -> tuple[Litmus, ...]:
    """Return all programs."""
    text = Path(__file__).with_name("litmus.txt").read_text(encoding="utf-8")
    text = re.sub(r"^(#.*)?\n", "", text, flags=re.MULTILINE)
    return tuple(_parsed(part) for part in re.split(r"\n(?=\w)", text))


def _access(name: str, words: list[str]) -> str:
    """Return the C++ of an instruction that accesses memory."""
    place, *operands = words
    space, letter = ("shared", "r") if place in SHARED else ("global", "l")
    modifiers = name.split(".")
    modifiers.insert(len(modifiers) - (modifiers[0] in {"atom", "red"}), space)
    modifiers.append("b32" if modifiers[-1] in {"exch", "cas"} else "u32")
    results = [word for word in operands if not word.isdecimal()]
    shown = ["%0"] * len(results) + [f"[%{len(results)}]"]
    shown += [word for word in operands if word.isdecimal()]
    outputs = "".join(f'"=r"({word})' for word in results)
    code = f'"{".".join(modifiers)} {", ".join(shown)};"'
    return f'asm volatile({code} : {outputs} : "{letter}"({place}) : "memory");'


def _step(text: str) -> str:
    """Return the C++ of a step. Only some threads are on, and all meet at barriers."""
    condition, name, operands = _STEP.fullmatch(text).groups()
    words = operands.split()
    if name == "until":
        place, value, load = words
        return f"if (on) do {{ {_access(load, [place, 'seen'])} }} while (seen != {value});"
    if name == "vote.sync":
        return f"__ballot_sync({operands}, true);"
    if name.startswith("bar."):
        return f'asm volatile("{name} {operands};" ::: "memory");'
    act = _access(name, words) if words else f'asm volatile("{name};" ::: "memory");'
    return f"if (on && ({condition or 'true'})) {act}"


def _thread(row: Litmus, number: int) -> str:
    """Return the C++ of a thread, which waits a number of turns before each step."""
    block, warp, lane = row.places[number]
    own = f"threadIdx.x == {lane}" if row.lanes_differ else f"threadIdx.x / 32 == {warp}"
    steps = row.threads[number]
    text = ""
    for i, step in enumerate(steps):
        waits = f"waits[{number * MOST_STEPS + i}]"
        text += f"for (int i = on ? {waits} : 0; i > 0; --i) __nanosleep(1); {_step(step)} "
    for i, name in enumerate(REGISTERS):
        if any(re.search(rf" {name}$", step) for step in steps):
            text += f"if (on) out[{i}] = {name}; "
    return f"if (blockIdx.x == {block} && {own}) {{ {text}}}"


def _kernel(row: Litmus) -> str:
    """Return the kernel of a program, on one line: a step of several lanes is one instruction."""
    places = [f"unsigned* const {name} = m + {i};" for i, name in enumerate(GLOBAL)]
    if any({*step.split()} & {*SHARED} for steps in row.threads for step in steps):
        for name in SHARED:
            places += [f"__shared__ unsigned v_{name};", f"if (threadIdx.x == 0) v_{name} = 0;"]
            places += [f"const unsigned {name} = __cvta_generic_to_shared(&v_{name});"]
        places += ["__syncthreads();"]
    body = [
        *places,
        f"unsigned seen = 0, {', '.join(f'{name} = 0' for name in REGISTERS)};",
        f"const bool on = {'true' if row.lanes_differ else 'threadIdx.x % 32 == 0'};",
        *(_thread(row, number) for number in range(len(row.threads))),
    ]
    cluster = f"__cluster_dims__({row.launch[0][0]}) " if row.in_cluster else ""
    parameters = "unsigned* m, unsigned* out, const unsigned char* waits"
    return f'extern "C" __global__ void {cluster}{row.name}({parameters}) {{ {" ".join(body)} }}'


def module_of(rows: tuple[Litmus, ...]) -> RawModule:
    """Return the kernels of all programs."""
    return RawModule(code="\n".join(map(_kernel, rows)))


def run(module: RawModule, row: Litmus, seed: int) -> dict[str, int]:
    """Run a program once; return its final registers and memory."""
    memory, out = np.zeros(len(GLOBAL), np.uint32), np.zeros(len(REGISTERS), np.uint32)
    rng = np.random.default_rng(seed)
    waits = rng.integers(0, 3, (MOST_THREADS, MOST_STEPS), np.uint8)
    waits[:, 0] += rng.integers(0, 12, MOST_THREADS, np.uint8)
    module.get_function(row.name)(*row.launch, (memory, out, waits))
    return dict(zip((*GLOBAL, *REGISTERS), (*memory.tolist(), *out.tolist()), strict=True))
