"""Regions: how plain launches run the threads of a block by loops instead of a fiber for each.

README.md says what points and regions are, `runtime/regions.hpp` which threads go on. What is the
same for all threads of a block is computed before the loop.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.basic_blocks import constants
from cudakern.simulator.ptx.liveness import DerivedRegisters, LiveRegisters, targets_of
from cudakern.simulator.ptx.model import Label
from cudakern.simulator.ptx.suspension_points import LEAVING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from cudakern.simulator.ptx.forms import Meeting
    from cudakern.simulator.ptx.function import FunctionText
    from cudakern.simulator.ptx.model import Immediate, Statement, Targets
    from cudakern.simulator.ptx.suspension_points import FunctionSteps

#: Texts of a thread in the C++ of rows, and what replaces them in a loop over threads.
_IN_REGIONS = (
    ("me->group->", "team.group->"),
    ("me->thread.", "thread_"),
    ("me->lane", "(t & 31u)"),
    ("warp_number(me)", "(t / 32u)"),
)
#: Stands where a thread goes on that has been left.
_HERE = "\0"
_ENDED = "ck_sim::kEnded"
_LEAVE = re.compile(r"CK_LEAVE\(([\w:]+)\)")
_LABEL = re.compile(r"\bL\d+\b")
_VARIABLE = re.compile(r"\br_\w+")
_CHANGED = re.compile(r"(?<!>)\b(r_\w+) = ")
_SAVED = re.compile(r"saved->(r_\w+) = \1; ?")
#: Loops of regions of their own may have so many lines in all: more take compilers long.
MOST_LINES = 3000


class Regions:
    """An entry whose call runs all threads of a block, on its way to C++."""

    def __init__(self, text: FunctionText, steps: FunctionSteps, *, has_own_loops: bool) -> None:
        self._text = text
        self._most_lines = MOST_LINES if has_own_loops else 0
        self._steps = steps
        self._points = steps.points
        self._derived = DerivedRegisters(text.function, steps, text.register)
        self.flushes = steps.flush()
        self.constants: Mapping[str, Immediate] = constants(steps.body)
        uniform = self._derived.uniform

        def is_kept(name: str) -> bool:
            return name not in uniform and text.register(name) is not None

        self._live = LiveRegisters(steps, text.targets, is_kept, self._derived.derived.keys())
        meets = [step for step in steps.all if step.meets]
        self.polls = len(meets) < len(self._points)
        self._given: dict[str, None] = {}  # types of what threads give at points
        self._rows: list[str] = []  # the library's description of each point
        self._before: list[str] = []  # statements before the loop
        self._derivations: dict[int, str] = {}  # by the identities of instructions
        #: The statements of the loop: with their text, of points in two parts, one before the
        #: thread leaves and one behind.
        self._lines: list[tuple[Statement, str, str]] = []
        self.ending = f"CK_LEAVE({_ENDED})" if self._points else "continue;"

    def take(self, statement: Statement, line: str) -> None:
        """Take the text of a statement."""
        if id(statement) in self._derived.hoisted:
            self._before.append(line)
        elif line:
            self._derivations[id(statement)] = line
            before, _, behind = line.partition(_HERE)
            self._lines.append((statement, before, behind))

    def yielding(self) -> str:
        """Return the statement that follows one after which others may run."""
        point = self._points.get(id(self._text.instruction))
        if point is None or self._text.row.form.meeting is not None:
            return ""
        self._rows.append(f"{{{self._text.site()}}}")
        return f" if (*team.yields) {{ *team.yields = false; {self._leave(point)} }}{_HERE}"

    def meeting(
        self, meeting: Meeting, bindings: Mapping[str, str], fixed: Mapping[str, str], results: str
    ) -> str:
        """Return the statement with which threads do something together.

        ``bindings`` are what they give, ``fixed`` what all give alike, as far as that is known.
        """
        made = meeting.made.format_map(bindings)
        kind = made.partition("(")[0]
        self._given[kind] = None
        site, given_at = self._text.site(), f"(({kind}*)&saved->met)"
        if not meeting.mask:
            given = self._barrier(meeting, fixed, made, f"*{given_at} = {made};")
        else:
            mask = fixed.get(meeting.mask, "")
            given = "" if mask else f"saved->mask = {bindings[meeting.mask]}; "
            row = f"{site}, {kind}::meet, {mask or 0}, {kind}"
            if self._text.row.form.opcode == "shfl" and {"b", "c"} <= fixed.keys():
                given += f"{given_at}->given = {bindings['a']};"
                row += f"::meet_fixed, {fixed['b']}, {fixed['c']}, 1"
            else:
                given += f"*{given_at} = {made};"
                row += "::meet_all"
            self._rows.append(f"{{{row}}}")
        after = f"{{ auto& met = *{given_at}; {results} }}" if results else ""
        return f"{given} {self._leave(self._points[id(self._text.instruction)])}{_HERE}{after}"

    def _barrier(self, meeting: Meeting, fixed: Mapping[str, str], made: str, given: str) -> str:
        """Return the statement that gives a barrier what not all threads give alike."""
        is_fixed = all(field in fixed for field in "ab" if f"{{{field}}}" in meeting.made)
        alike = meeting.made.format_map(dict.fromkeys("abc", "0") | dict(fixed))
        which = f"ck_sim::Meets::{'kFixed' if is_fixed else 'kGiven'}"
        row = f"{self._text.site()}, nullptr, 0, nullptr, 0, 0, 0, {which}, {alike}"
        self._rows.append(f"{{{row}}}")
        return "" if is_fixed and made == alike else given

    def _leave(self, point: int) -> str:
        names = self._names(self._live.saved[point])
        saves = " ".join(f"saved->{name} = {name};" for name in names)
        return f"{saves} CK_LEAVE({point})"

    def _names(self, registers: Iterable[str]) -> list[str]:
        return [self._text.registers[name].name for name in registers]

    def text(self) -> str:
        """Return the whole entry."""
        text, registers = self._text, self._text.registers
        name = text.scope.functions[text.function.name]
        self._lines.append((Label(""), self.ending, ""))  # where the text ends without a `ret`
        own = _Loops(self._lines, self._steps, text.targets, self._most_lines).loops
        rest = [point for point in (0, *self._points.values()) if point not in own]
        parts = (
            *(self._structure(name) if self._points else ()),
            f"{text.scope.signature(text.function)} {{",
            f"// regions: {len(self._points)} points, {len(own) + bool(rest)} loops",
            "CK_REGIONS;",
            *(["const ck_sim::FloatControl control(true);"] if self.flushes else ()),
            *text.entered,
            *text.declared(register for register in registers if register in self._derived.uniform),
            *self._before,
            "while (ck_sim_next(&team)) {",
            f"CK_TEAM({name}_saved);" if self._points else "CK_TEAM(char);",
            "switch (team.point) {",
            *(line for point, lines in own.items() for line in self._own_loop(point, lines)),
            *(self._common_loop(rest) if rest else ()),
            "}",
            "}",
            "}",
        )
        whole = "\n".join(parts)
        for of_thread, in_loop in _IN_REGIONS:
            whole = whole.replace(of_thread, in_loop)
        return whole

    def _restored(self, point: int, used: Collection[str] | None = None) -> str:
        """Return what restores registers at a point: all, or those of the names that are used."""
        restored = self._live.restored[point]
        derived = self._derived.derived
        steps = {i for name in restored for i in derived.get(name, ())}
        lines = [line for i, line in self._derivations.items() if i in steps]
        names = self._names(name for name in restored if name not in derived)
        wanted = used and {*used, *_VARIABLE.findall("\n".join(lines))}
        kept = (name for name in names if wanted is None or name in wanted)
        return "\n".join((*(f"{name} = saved->{name};" for name in kept), *lines))

    def _common_loop(self, points: Iterable[int]) -> Iterator[str]:
        """Yield one loop for several regions, in which a thread goes to the point of its team."""
        own = (name for name in self._text.registers if name not in self._derived.uniform)
        cases = (f"case {p}: {self._restored(p)} goto C{p};" for p in points if p)
        yield "default: CK_EACH_THREAD { CK_THREAD;"
        yield from self._local()
        yield from self._text.declared(own)
        yield "switch (team.point) {"
        yield from cases
        yield "default:; }"
        for statement, before, behind in self._lines:
            point = self._points.get(id(statement))
            yield before if point is None else f"{before} C{point}:; {behind}"
        yield "} team.left = 0;"

    def _own_loop(self, point: int, lines: Sequence[str]) -> Iterator[str]:
        text = "\n".join(lines)
        if point:  # what has not changed is there already
            changed = {*_CHANGED.findall(text)}
            text = _SAVED.sub(lambda save: save[0] if save[1] in changed else "", text)
        restored = self._restored(point, {*_VARIABLE.findall(text)}) if point else ""
        used = {*_VARIABLE.findall(restored), *_VARIABLE.findall(text)}
        yield f"case {point}: CK_EACH_THREAD {{ CK_THREAD;"
        yield from self._local()
        yield from self._text.declared(
            name
            for name, variable in self._text.registers.items()
            if variable.name in used and name not in self._derived.uniform
        )
        yield restored
        left = {*_LEAVE.findall(text)}
        if len(left) == 1:  # which is the same for each thread
            yield _LEAVE.sub("continue;", text)
            yield f"}} team.left = {left.pop()}; break;"
        else:
            yield text
            yield "} team.left = 0; break;"

    def _structure(self, name: str) -> Iterator[str]:
        """Declare what a thread keeps over points, what it gives at one first."""
        given = " ".join(f"{kind} m{i};" for i, kind in enumerate(self._given))
        names = dict.fromkeys(name for saved in self._live.saved.values() for name in saved)
        yield f"struct {name}_saved {{"
        yield f"u32 mask; alignas(16) union {{ u32 none; {given} }} met;"
        yield from self._text.local.values()
        variables = map(self._text.registers.__getitem__, names)
        yield from (f"{kind} {name};" for kind, name in variables)
        yield "};"
        yield f"static const ck_sim_point {name}_points[] = {{{', '.join(('{}', *self._rows))}}};"

    def _local(self) -> Iterator[str]:
        """Declare what each thread has besides."""
        yield from self._text.declarations
        for memory, declaration in self._text.local.items():
            yield f"char* const {memory} = saved->{memory};" if self._points else declaration

    def describe(self, name: str) -> dict[str, object]:
        """Return the library's description of the entry."""
        described: dict[str, object] = {"in_regions": 1, "flushes": int(self.flushes)}
        if not self._points:
            return described
        collectives = (step.row.form.meeting for step in self._steps.all)
        return described | {
            "has_collectives": int(any(meeting and meeting.mask for meeting in collectives)),
            "has_polls": int(self.polls),
            "saved_bytes": f"sizeof({name}_saved)",
            "points": f"{name}_points",
        }


class _Loops:
    """The regions of an entry as loops of their own: what is reached from a point before the next.

    What several points lead to is in several loops. If that is more than ``left`` lines, the
    shortest regions have theirs.
    """

    def __init__(
        self,
        lines: Sequence[tuple[Statement, str, str]],
        steps: FunctionSteps,
        tables: Mapping[str, Targets],
        left: int,
    ) -> None:
        #: By the number of the point where they begin.
        self.loops: dict[int, list[str]] = {}
        self._lines = lines
        self._steps = [steps.of.get(id(statement)) for statement, *_ in lines]
        self._points = points = steps.points
        statements = [statement for statement, *_ in lines]
        at = {s.name: i for i, s in enumerate(statements) if isinstance(s, Label)}
        self._targets = {
            i: [at[name] for name in targets_of(step, tables) if name in at]
            for i, step in enumerate(self._steps)
            if step is not None and step.opcode in {"bra", "brx"}
        }
        starts = {0: -1} | {points[id(s)]: i for i, s in enumerate(statements) if id(s) in points}
        reached = {point: self._find_reached(i + 1) for point, i in starts.items()} if left else {}
        for point in sorted(reached, key=lambda point: len(reached[point])):
            left -= len(reached[point])
            if left < 0:
                break
            self.loops[point] = self._loop(point, starts[point], reached[point])

    def _find_reached(self, start: int) -> set[int]:
        """Return the lines that are executed from one on, up to the next points."""
        reached: set[int] = set()
        pending = [start]
        while pending:
            i = pending.pop()
            while i < len(self._lines) and i not in reached:
                reached.add(i)
                step = self._steps[i]
                pending += self._targets.get(i, ())
                if step is not None and not step.has_guard:
                    leaves = step.opcode in LEAVING or step.meets
                    if leaves:
                        break
                i += 1
        return reached

    def _loop(self, point: int, start: int, reached: set[int]) -> list[str]:
        """Return the lines of a loop; those of its labels and branches have names of their own."""
        lines = []
        if point:
            behind, step = self._lines[start][2], self._steps[start]
            lines.append(behind.rstrip()[:-1] if step is not None and step.has_guard else behind)
        order = sorted(reached)
        jumps = order and order[0] != start + 1
        lines += [f"goto A{point};"] if jumps else []
        for i in order:
            lines += [f"A{point}:;"] if jumps and i == start + 1 else []
            statement, before, _ = self._lines[i]
            step = self._steps[i]
            is_cut = id(statement) in self._points and step is not None and step.has_guard
            lines.append(_LABEL.sub(rf"\g<0>_{point}", before) + (" }" if is_cut else ""))
        return lines
