"""C++ of an entry whose call runs all threads of a block, by loops instead of a fiber for each.

What is the same for all threads is computed before the loops.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.flushed_floats import flushes
from cudakern.simulator.ptx.instructions.special import varying
from cudakern.simulator.ptx.liveness import LiveRegisters, rematerialised
from cudakern.simulator.ptx.model import Label
from cudakern.simulator.ptx.operations import Op
from cudakern.simulator.ptx.printer import IN_LOOP, IN_WARP, SAVED, Printer
from cudakern.simulator.ptx.regions import MOST_STATEMENTS, regions_of
from cudakern.simulator.ptx.suspension_points import counted_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cudakern.simulator.ptx.forms import Meeting
    from cudakern.simulator.ptx.operations import Body, Count
    from cudakern.simulator.ptx.regions import Region
    from cudakern.simulator.ptx.scope import Scope

_ENDED = "ck_sim::kEnded"


class _Parts(NamedTuple):
    """An operation: what stands before and behind the place where threads are left."""

    opening: str  # of its guard
    before: str
    point: int  # where threads are left, or 0
    after: str  # what closes a condition of leaving
    behind: str
    closing: str


def _ops(statements: Iterable[Op | Label | Count]) -> list[Op]:
    return [statement for statement in statements if isinstance(statement, Op)]


class LoopPrinter(Printer):
    """Prints an entry as loops: one for all regions, or own ones, as far as these are short."""

    def __init__(
        self, scope: Scope, body: Body, points: Mapping[int, int], *, has_own_loops: bool
    ) -> None:
        turns = counted_turns(body, everywhere=False)
        meetings = (op.form.meeting for op in body.ops)
        self._has_collectives = any(meeting and meeting.mask for meeting in meetings)
        place = IN_WARP if self._has_collectives else IN_LOOP
        super().__init__(scope, body, place=place, turns=turns)
        self._points = points
        self._kept = rematerialised(body)
        self.flushes = flushes(body)
        self.polls = any(op.form.meeting is None for op in body.ops if id(op) in points)
        uniform, hoisted = self._kept.uniform, self._kept.hoisted
        #: What each thread executes.
        self._statements = [s for s in body.statements if id(s) not in hoisted]
        #: Own loops restore what is cheap to compute by computing it.
        self._derived = self._kept.derived if has_own_loops else {}
        self._live = LiveRegisters(
            body, points, lambda name: name not in uniform and name in body.registers, self._derived
        )
        if not has_own_loops:
            self.in_memory = self._find_in_memory()
        self._own, self._common = regions_of(
            self._statements, points, MOST_STATEMENTS * has_own_loops
        )
        self._given: dict[str, None] = {}  # types of what threads give at points
        self._rows: dict[int, str] = {}  # the library's description of each point
        self._texts: dict[int, _Parts] = {}
        # Of the loop that is printed:
        self._suffix = ""  # of labels
        self._target: int | str | None = None  # the only point that threads are left at, or the end
        self._written: set[str] | None = None  # registers that need be saved; None for all

    def _find_in_memory(self) -> set[str]:
        """Return the registers that are saved and restored more often than they are used."""
        uses = Counter(name for op in self.body.ops for name in (*op.writes, *op.reads))
        moves: Counter[str] = Counter()
        for names in (*self._live.saved.values(), *self._live.restored.values()):
            moves.update(names)
        return {n for n, c in moves.items() if c >= uses[n] and n not in self._live.exposed}

    # Statements

    def _parts(self, op: Op) -> _Parts:
        """Return an operation in parts; those of branches differ by loop."""
        known = self._texts.get(id(op))
        if known is None:
            point = self._points.get(id(op), 0)
            before, after, behind = self.statement(op), "", ""
            if point and op.form.meeting is not None:
                before, behind = self._meet_at(op.form.meeting, point)
            elif point:
                self._rows[point] = f"{{{self.site()}}}"
                before, after = f"{before} if (*team.yields) {{ *team.yields = false;", " }"
            known = _Parts("", before, point, after, behind, "")
            if op.guard is not None:
                guard = f"if ({self.value(op.guard, 'pred')}) {{ "
                known = known._replace(opening=guard, closing=" }")
            if not op.leaves:
                self._texts[id(op)] = known
        return known

    def _until(self, parts: _Parts) -> str:
        """Return the text of an operation up to where threads are left, without its closing."""
        leave = self._leave(parts.point) if parts.point else ""
        return f"{parts.opening}{parts.before}{leave}{parts.after}"

    def meet(self, meeting: Meeting) -> str:
        """Return nothing: `_meet_at` prints it in two parts."""
        del meeting
        return ""

    def _meet_at(self, meeting: Meeting, point: int) -> tuple[str, str]:
        """Return the statements with which threads do something together, before and behind."""
        fields, fixed, results = self.bind_meeting(meeting)
        made = meeting.made.format_map(fields)
        kind = meeting.kind.format_map(fields)
        self._given[kind] = None
        site, given_at = self.site(), f"(({kind}*)&saved->met)"
        if not meeting.mask:
            given = self._barrier(point, meeting, fixed, made, f"*{given_at} = {made};")
        else:
            mask = fixed.get(meeting.mask, "")
            given = "" if mask else f"saved->mask = {fields[meeting.mask]}; "
            row = f"{site}, {kind}::meet, {mask or 0}, {kind}"
            if self.op.form.undefined == "lane" and {"b", "c"} <= fixed.keys():
                given += f"{given_at}->given = {fields['a']};"
                row += f"::meet_fixed, {fixed['b']}, {fixed['c']}, 1"
            else:
                given += f"*{given_at} = {made};"
                row += "::meet_all"
            self._rows[point] = f"{{{row}}}"
        behind = f"{{ auto& met = *{given_at}; {results} }}" if results else ""
        return given, behind

    def _barrier(
        self, point: int, meeting: Meeting, fixed: Mapping[str, str], made: str, given: str
    ) -> str:
        """Return the statement that gives a barrier what not all threads give alike."""
        is_fixed = all(name in fixed for name in "ab" if name in meeting.fields)
        alike = meeting.made.format_map(dict.fromkeys("abc", "0") | dict(fixed))
        which = "kFixed" if is_fixed else "kGiven"
        self._rows[point] = f"CK_BARRIER({self.site()}, {which}, ({alike}))"
        return "" if is_fixed and made == alike else given

    def _leave(self, point: int) -> str:
        written = self._written
        saved = (n for n in self._live.saved[point] if n not in self.in_memory)
        names = self._cpp_names(n for n in saved if written is None or n in written)
        saves = "".join(f" save({name})" for name in names)
        return f"{saves} continue;" if self._target else f"{saves} CK_LEAVE({point})"

    @property
    def ending(self) -> str:  # type: ignore[override]
        """The statement that ends a thread."""
        return "continue;" if self._target or not self._points else f"CK_LEAVE({_ENDED})"

    def _cpp_names(self, registers: Iterable[str]) -> list[str]:
        return [self.register(name).name for name in registers]  # type: ignore[union-attr]

    def label(self, name: str) -> str:
        """Return a label in C++, which loops have of their own."""
        return super().label(name) + self._suffix

    # Loops

    def text(self) -> str:
        """Return the whole entry."""
        name = self.scope.functions[self.body.function.name]
        hoisted = [self.print(op) for op in self.body.ops if id(op) in self._kept.hoisted]
        own = {region.point for region in self._own}
        rest = [point for point in (0, *self._points.values()) if point not in own]
        loops = [line for region in self._own for line in self._own_loop(region)]
        loops += self._common_loop(rest) if rest else ()
        parts = (
            *(self._structure(name) if self._points else ()),
            f"{self.scope.signature(self.body.function)} {{",
            f"// regions: {len(self._points)} points, {len(own) + bool(rest)} loops",
            "CK_REGIONS;",
            *(["const ck_sim::FloatControl control(true);"] if self.flushes else ()),
            *self.entered,
            *self.declared(name for name in self.registers if name in self._kept.uniform),
            *hoisted,
            "while (ck_sim_next(&team)) {",
            f"do {{ CK_ROW({f'{name}_saved' if self._points else 'char'});",
            "switch (team.point) {",
            *loops,
            "}",
            "} while (next_row(team));",
            "}",
            "}",
        )
        return "\n".join(parts)

    def _restored(self, point: int, used: set[str] | None = None) -> tuple[list[str], set[str]]:
        """Return what restores registers at a point, and which: all, or those that are used."""
        restored = self._live.restored[point]
        ops = dict.fromkeys(op for name in restored for op in self._derived.get(name, ()))
        computed = [op for op in self.body.ops if op in ops] if ops else []
        wanted = {name for op in computed for name in op.reads} | (used or set())
        kept = [
            name
            for name in restored
            if name not in self._derived
            and name not in self.in_memory
            and (used is None or name in wanted)
        ]
        lines = [" ".join(f"restore({name})" for name in self._cpp_names(kept))]
        lines += [self._parts(op).before for op in computed]
        return lines, {*kept, *(name for op in computed for name in (*op.reads, *op.writes))}

    def _common_loop(self, points: Sequence[int]) -> Iterator[str]:
        """Yield one loop for several regions, in which a thread goes to the point of its team."""
        lines = [*self._print_common({*points} - {0})]
        restored = {point: self._restored(point) for point in points if point}
        ops = _ops(self._statements[i] for i in sorted(self._common) if i < len(self._statements))
        used = {name for op in ops for name in (*op.reads, *op.writes)}
        used |= {name for _, names in restored.values() for name in names}
        used |= {n for op in ops for n in self._live.saved.get(self._points.get(id(op), 0), ())}
        apart = used - self._kept.uniform - self.in_memory
        yield f"default: {self._loop(used)} {{ CK_THREAD;"
        yield from self._local()
        yield from self.declared(name for name in self.registers if name in apart)
        yield "switch (team.point) {"
        yield from (f"case {p}: {' '.join(texts)} goto C{p};" for p, (texts, _) in restored.items())
        yield "default:; }"
        yield from lines
        yield "} team.left = 0;"

    def _loop(self, used: Iterable[str]) -> str:
        """Return the loop over threads for a text that uses some registers."""
        has_rows = not self._has_collectives and not varying("index").isdisjoint(used)
        return "CK_EACH_THREAD" if has_rows else "CK_EACH_NUMBER"

    def _print_common(self, points: set[int]) -> Iterator[str]:
        for i, statement in enumerate(self._statements):
            is_reached = i in self._common
            if isinstance(statement, Op):
                parts = self._parts(statement)  # of all: what nothing reaches can be refused, too
                behind = f" C{parts.point}:; {parts.behind}" if parts.point in points else ""
                if is_reached and (parts.before or parts.point):
                    yield f"{self._until(parts)}{behind}{parts.closing}"
                else:
                    yield behind
            elif isinstance(statement, Label) and is_reached:
                yield f"{self.label(statement.name)}:;"
        if len(self._statements) in self._common:
            yield self.ending  # where the text ends without a `ret`

    def _own_loop(self, region: Region) -> Iterator[str]:
        """Yield the loop of a region, whose labels and branches have names of their own."""
        ops = _ops(self._statements[i] for i in region.statements)
        begins = _ops(self._statements[region.start - 1 : region.start] if region.point else ())
        changed = {name for op in (*ops, *begins) for name in op.writes}
        left: set[int | str] = {self._points[id(op)] for op in ops if id(op) in self._points}
        if region.reaches_end or any("leaves" in op.form.effects for op in ops):
            left.add(_ENDED)
        is_single = len(left) == 1 and bool(self._points)
        self._suffix, self._target = f"_{region.point}", left.pop() if is_single else None
        self._written = changed if region.point else None
        lines = [*self._print_own(region, begins)]
        used = changed | {name for op in ops for name in op.reads}
        if self._written is None:
            used |= {n for op in ops for n in self._live.saved.get(self._points.get(id(op), 0), ())}
        restored, more = self._restored(region.point, used) if region.point else ([], set())
        used |= more
        yield f"case {region.point}: {self._loop(used)} {{ CK_THREAD;"
        yield from self._local()
        yield from self.declared(n for n in self.registers if n in used - self._kept.uniform)
        yield from restored
        yield from lines
        yield f"}} team.left = {self._target or 0}; break;"
        self._suffix, self._target, self._written = "", None, None

    def _print_own(self, region: Region, begins: Sequence[Op]) -> Iterator[str]:
        order, start = region.statements, f"A{region.point}"
        yield from (self._parts(op).behind for op in begins)
        jumps = bool(order) and order[0] != region.start
        if jumps:
            yield f"goto {start};"
        for i in order:
            if jumps and i == region.start:
                yield f"{start}:;"
            statement = self._statements[i]
            if isinstance(statement, Label):
                yield f"{self.label(statement.name)}:;"
            elif isinstance(statement, Op):
                parts = self._parts(statement)
                yield f"{self._until(parts)}{parts.closing}" if parts.before or parts.point else ""
        if region.reaches_end:
            yield self.ending

    def _structure(self, entry: str) -> Iterator[str]:
        """Declare what a thread keeps over points, what it gives at one first."""
        given = " ".join(f"{kind} m{i};" for i, kind in enumerate(self._given))
        names = dict.fromkeys(name for saved in self._live.saved.values() for name in saved)
        yield f"struct {entry}_saved {{"
        yield f"u32 mask; alignas(16) union {{ u32 none; {given} }} met;"
        yield from self.local.values()
        by_type: dict[str, list[str]] = {}
        for kind, name in (self.registers[name] for name in names):
            by_type.setdefault(kind, []).append(name.removeprefix(SAVED))
        yield from (f"{kind} {', '.join(own)};" for kind, own in by_type.items())
        yield "};"
        rows = (self._rows[point] for point in self._points.values())
        yield f"static const ck_sim_point {entry}_points[] = {{{', '.join(('{}', *rows))}}};"

    def _local(self) -> Iterator[str]:
        """Declare what each thread has besides."""
        yield from self.declarations
        for memory, declaration in self.local.items():
            yield f"char* const {memory} = saved->{memory};" if self._points else declaration

    def describe(self, name: str) -> dict[str, object]:
        """Return the library's description of the entry."""
        described: dict[str, object] = {"in_regions": 1, "flushes": int(self.flushes)}
        if not self._points:
            return described
        return described | {
            "has_collectives": int(self._has_collectives),
            "has_polls": int(self.polls),
            "saved_bytes": f"sizeof({name}_saved)",
            "points": f"{name}_points",
        }
