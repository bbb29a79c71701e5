"""PTX modules to C++: a variable for each register, a statement for each instruction."""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.barrier_joins import barrier_joins
from cudakern.simulator.ptx.fragments import fragments_of
from cudakern.simulator.ptx.kept_addresses import kept_addresses
from cudakern.simulator.ptx.loops import LoopPrinter
from cudakern.simulator.ptx.memory_accesses import access_bits_of
from cudakern.simulator.ptx.model import TYPE_BYTES, Declaration, Register
from cudakern.simulator.ptx.operations import RefusedError, body_of
from cudakern.simulator.ptx.printer import Printer
from cudakern.simulator.ptx.scope import Scope, is_builtin
from cudakern.simulator.ptx.simplify import simplify
from cudakern.simulator.ptx.suspension_points import (
    counted_turns,
    points_of,
    quiet_functions,
    reason_for_fibers,
)
from cudakern.simulator.ptx.symbols import name_variable
from cudakern.simulator.ptx.undefined import follow_undefined
from cudakern.simulator.ptx.values import quote
from cudakern.simulator.runtime import abi
from cudakern.simulator.runtime.abi import ParameterKind
from cudakern.simulator.runtime.abi_parser import initializer, read_constant
from cudakern.simulator.runtime.limits import (
    MAX_PARAMETER_BYTES,
    MAX_STATIC_SHARED_BYTES,
    POINTER_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cudakern.simulator.ptx.model import Function, Module
    from cudakern.simulator.ptx.operations import Body
    from cudakern.simulator.ptx.scope import SharedLayout

_MAX_RANKS = read_constant("runtime/scheduler.hpp", "kMaxRanks")
_MAX_WORD = (1 << 32) - 1
#: Returns the address that an indirect call has, if it is that of a function.
_CALLABLE = "static u64 callable(u64 target, const ck_sim::Site* site)"


def translate(
    module: Module,
    source: str,
    *,
    checked: bool = False,
    fast: bool = False,
    fibers: str = "",
) -> str:
    """Return a module in C++; if it is checked, the checker is asked before each access to memory.

    If it is to be ``fast``, the text is longer: each region has a loop of its own.
    ``fibers`` is a reason to make all threads fibers, where only some would have to be.

    Errors name ``source`` where the PTX names no file. KernelCompileError means that the simulator
    cannot have a variable or an alias. Errors of an entry are raised when that is looked up.
    """
    return _Translator(module, source, checked=checked).text(fast=fast, fibers=fibers)


class _Translator(Scope):
    """A module on its way to C++."""

    def text(self, *, fast: bool, fibers: str) -> str:
        texts: dict[str, str] = {}
        problems: dict[str, str] = {}
        calls: dict[str, set[str]] = {}
        functions = self.module.functions.values()
        kernels = {f.name: "" for f in functions if f.is_entry and f.body is not None}
        tables: list[str] = []
        bodies = self._bodies(problems)
        quiet = set() if self.checked else quiet_functions(self.module, bodies)
        kept = kept_addresses(self.module, bodies)
        for name, function in self.module.functions.items():
            if function.body is None:
                continue
            self.called = calls[name] = set()
            problems.update(self._find_excess(function))
            if name not in bodies:
                continue
            try:
                printer = self._printer(bodies[name], fibers, quiet, fast=fast)
                texts[name] = printer.text()
            except RefusedError as error:
                problems[name] = str(error)
                continue
            if function.is_entry:
                shared = self.layouts[name]
                kernels[name] = self._describe_kernel(function, shared, printer)
                tables += self._tables(function, shared, 0 if self.checked else kept(name))
        refused = {name: _problem(name, problems, calls) for name in kernels}
        refused = {name: problem for name, problem in refused.items() if problem}
        bodies_kept = [text for name, text in texts.items() if name not in refused]
        described = [text for name, text in kernels.items() if name not in refused]
        return self._module(bodies_kept, tables, described, refused, problems)

    def _bodies(self, problems: dict[str, str]) -> dict[str, Body]:
        """Return the operations of each function that has none which the simulator lacks."""
        bodies = {}
        for name, function in self.module.functions.items():
            if function.body is not None:
                counted = self.blocks[name].numbers if self.checked else {}
                try:
                    bodies[name] = body_of(function, self.source, counted)
                except RefusedError as error:
                    problems[name] = str(error)
        for body in bodies.values():
            self.headers.update(op.row.header for op in body.ops)
        return bodies

    def _printer(self, body: Body, fibers: str, quiet: set[str], *, fast: bool) -> Printer:
        """Run the passes over a function, and return what prints it."""
        simple = simplify(body)
        fragments = fragments_of(simple)
        kept, scratch = {id(op.instruction) for op in simple.ops}, Printer(self, body, turns=set())
        for op in body.ops:  # what is left out is refused, too
            if id(op.instruction) not in kept:
                scratch.statement(op)
        if self.checked:
            return Printer(
                self,
                simple,
                access=access_bits_of(body),
                turns=counted_turns(simple, everywhere=True),
                fragments=fragments,
                followed=follow_undefined(simple, fragments),
                joins=barrier_joins(simple),
            )
        points = points_of(simple)
        reason = "a function" if not body.function.is_entry else fibers
        reason = reason or reason_for_fibers(body.function, simple, points, quiet)
        if not reason:
            return LoopPrinter(self, simple, points, has_own_loops=fast)
        turns = counted_turns(simple, everywhere=False)
        printer = Printer(self, simple, turns=turns, fragments=fragments)
        printer.entered += [f"// fibers: {reason}"] if body.function.is_entry else []
        return printer

    def _module(
        self,
        bodies: list[str],
        tables: list[str],
        kernels: list[str],
        refused: dict[str, str],
        problems: Iterable[str],
    ) -> str:
        """Return the text of a library."""
        functions = _symbols(self._functions(), "(void*)&{}")
        declarations = [*self._declarations(problems)]
        headers = ["ptx.hpp", *sorted(self.headers - {"ptx.hpp"})]
        parts = (
            *(f'#include "{header}"' for header in headers),
            "using namespace ck_ptx;",
            *(f"static char* {cpp};" for cpp in self.variables.values()),
            f"{_CALLABLE};",
            f"CK_SITES({len(self.sites) + 1});",
            *declarations,
            *bodies,
            self._callable(),
            *(self._fill_sites() if self.sites else ()),
            *tables,
            *_exported("kernel", "kernel", kernels),
            *_exported("symbol", "place", _symbols(self.variables, "(void*)&{}")),
            *_exported("symbol", "function", functions),
            f"CK_SIM_EXPORT const char ck_sim_instructions[] = {quote(self._instructions())};",
            *_exported(
                "refusal", "refusal", [_refusal(name, why) for name, why in refused.items()]
            ),
        )
        return "\n".join(parts) + "\n"

    def _find_excess(self, function: Function) -> Iterator[tuple[str, str]]:
        """Yield a function's name and what it asks for that no launch has."""
        size = self.layouts[function.name].bytes
        if size > MAX_STATIC_SHARED_BYTES:
            most = f"{MAX_STATIC_SHARED_BYTES} bytes of static shared memory"
            requirement = f"must have at most {most}"
            yield function.name, self.describe_problem(function, requirement, size)
        if function.is_entry:
            yield from self._find_excess_of_entry(function)

    def _find_excess_of_entry(self, entry: Function) -> Iterator[tuple[str, str]]:
        size = sum(parameter.size for parameter in entry.parameters)
        if size > MAX_PARAMETER_BYTES:
            requirement = f"must have at most {MAX_PARAMETER_BYTES} bytes of parameters"
            yield entry.name, self.describe_problem(entry, requirement, size)
        ranks = prod(entry.directives.get("reqnctapercluster", (1,)))
        if not 1 <= ranks <= _MAX_RANKS:
            requirement = f"must have clusters of 1 to {_MAX_RANKS} blocks"
            yield entry.name, self.describe_problem(entry, requirement, ranks)

    def _declarations(self, problems: Iterable[str]) -> Iterator[str]:
        for name, function in self.module.functions.items():
            if function.is_entry or is_builtin(function) or name in self.module.aliases:
                continue
            head = self.signature(function)
            if function.body is not None and name not in problems:
                yield f"{head};"
                continue
            # It can still be reached, by its address.
            site = self.add_site(self.source, function.line, "call")
            stop = quote(f"the function {name} must be one that the simulator executes")
            yield f'{head} {{ ck_sim_stop("trap", {stop}, {site}); }}'

    def _functions(self) -> dict[str, str]:
        """Return the functions whose addresses the initial values of variables have."""
        initial = (i for v in self.module.variables.values() for i in v.initial)
        names = dict.fromkeys(item.name for item in initial if isinstance(item, Register))
        functions = {
            self.module.aliases.get(name, name) for name in names if self.is_callable(name)
        }
        self.addressed |= functions
        return {name: self.functions[name] for name in sorted(functions)}

    def _callable(self) -> str:
        """Return the function that indirect calls ask. Others' functions may be gone or differ."""
        known = " || ".join(f"target == (u64)&{self.functions[n]}" for n in sorted(self.addressed))
        message = quote("an indirect call must be one of a function of the module")
        return (
            f"{_CALLABLE} {{ if (!({known or 'false'})) "
            f'{{ ck_sim_stop("misuse", {message}, site); }} return target; }}'
        )

    def _describe_kernel(self, function: Function, shared: SharedLayout, printer: Printer) -> str:
        """Return the library's description of a kernel."""
        directives, name = function.directives, self.functions[function.name]
        return initializer(
            abi.KernelStruct,
            name=quote(function.name),
            entry=name,
            parameters=len(function.parameters),
            parameter_sizes=f"{name}_parameters",
            static_shared=shared.dynamic,
            required_block=_triple(directives.get("reqntid", ())),
            max_threads=min(prod(directives.get("maxntid", (0,))), _MAX_WORD),
            max_registers=min(prod(directives.get("maxnreg", (0,))), _MAX_WORD),
            cluster=_triple(directives.get("reqnctapercluster", ())),
            local_bytes=printer.local_bytes,
            **printer.describe(name),
            shared_objects=f"{name}_shared",
            shared_object_count=len(shared.objects),
            dynamic_shared=quote(", ".join(self._name_dynamic(shared))),
            packed_shared=shared.bytes,
            basic_blocks=self.blocks[function.name].end if self.checked else 0,
            code="__ehdr_start",
            code_end="etext",
        )

    def _name_dynamic(self, shared: SharedLayout) -> Iterator[str]:
        """Yield what an entry, or else what functions call dynamic shared memory."""
        functions = (f.name for f in self.module.functions.values() if not f.is_entry)
        of_functions = (name for f in functions for name in self.layouts[f].dynamic_names)
        yield from map(name_variable, shared.dynamic_names or dict.fromkeys(of_functions))

    def _tables(self, function: Function, shared: SharedLayout, kept: int) -> Iterator[str]:
        """Yield what there is to know of a kernel's parameters, and its shared variables."""
        name, parameters = self.functions[function.name], function.parameters
        words = [*(p.size for p in parameters), *(int(_kind(p)) for p in parameters)]
        words += [*(kept >> i & 1 for i in range(len(parameters))), 0]
        yield f"static const uint32_t {name}_parameters[] = {{{', '.join(map(str, words))}}};"
        rows = (
            initializer(
                abi.SharedObjectStruct,
                name=quote(name_variable(symbol)),
                offset=start,
                bytes=size,
            )
            for symbol, start, size in shared.objects
        )
        objects = ", ".join((*rows, "{}"))
        yield f"static const ck_sim_shared_object {name}_shared[] = {{{objects}}};"

    def _fill_sites(self) -> Iterator[str]:
        numbers = " ".join(str(number) for site in self.sites for number in site)
        yield f'CK_FILL_SITES("{numbers}",'
        yield from (f'{quote(text)[:-1]}\\0"' for text in self.texts)
        yield ")"

    def _instructions(self) -> str:
        """Return, as JSON, texts and the fields of `CountedInstruction`, with numbers of texts."""
        texts: dict[str, int] = {"": 0}
        rows = []
        for name, function in self.module.functions.items() if self.checked else ():
            for spelling, source_line, block, count in self.blocks[name].rows:
                file, line = source_line or ("", 0)
                words = name if function.is_entry else "", spelling, file
                at = (texts.setdefault(text, len(texts)) for text in words)
                rows.append((*at, line, block, count))
        return json.dumps([[*texts], rows], separators=(",", ":"))


def _refusal(name: str, why: str) -> str:
    return initializer(abi.RefusalStruct, name=quote(name), message=quote(why))


def _symbols(names: Mapping[str, str], address: str) -> list[str]:
    return [
        initializer(abi.SymbolStruct, name=quote(name), address=address.format(cpp))
        for name, cpp in names.items()
    ]


def _exported(kind: str, what: str, members: list[str]) -> Iterator[str]:
    """Yield an exported table, with one row more than it has: C++ has no empty arrays."""
    rows = ", ".join((*members, "{}"))
    yield f"CK_SIM_EXPORT const ck_sim_{kind} ck_sim_{what}s[] = {{{rows}}};"
    yield f"CK_SIM_EXPORT const uint32_t ck_sim_{what}_count = {len(members)};"


def _kind(parameter: Declaration) -> ParameterKind:
    """Return the kind of a parameter, as far as it is known."""
    sort, size = parameter.type[0], TYPE_BYTES[parameter.type]
    if parameter.is_pointer:
        return ParameterKind.POINTER
    if sort not in "usf" or parameter.size != size:
        return ParameterKind.OTHER
    if sort == "f":
        return ParameterKind.FLOATING
    return ParameterKind.WORD if size == POINTER_BYTES else ParameterKind.INTEGER


def _triple(extents: tuple[int, ...]) -> str:
    x, y, z = (*extents, 1, 1, 1)[:3] if extents else (0, 0, 0)
    return f"{{{x}, {y}, {z}}}"


def _problem(name: str, problems: dict[str, str], calls: dict[str, set[str]]) -> str:
    """Return what keeps an entry from being executed: in itself or in a function that it calls."""
    seen, pending = {name}, [name]
    while pending:
        current = pending.pop()
        if current in problems:
            return problems[current]
        new = calls.get(current, set()) - seen
        seen |= new
        pending += new
    return ""
