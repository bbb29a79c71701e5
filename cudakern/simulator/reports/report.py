"""What was observed of launches: the value that every output is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

from cudakern.simulator.reports.findings import Finding, identify, merge_findings
from cudakern.simulator.reports.traffic import KernelTraffic
from cudakern.simulator.sources.source_lines import SourceLine
from cudakern.simulator.sources.source_texts import Sources


@dataclass(frozen=True)
class Report:
    """The findings of launches and how these ran, or their traffic."""

    seed: int = 0
    resident_blocks: int = 4
    strict: bool = False
    launches: int = 0  # that were checked; of several runs, the most of one
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()  # what was not checked to the end
    kernels: tuple[KernelTraffic, ...] | None = None  # of a report of traffic
    checked: Mapping[str, int] = field(default_factory=dict)  # launches by kernels, counted alike
    script: str = ""  # that made the launches, if a command ran it
    seeds: tuple[int, ...] = ()  # of all runs, if there were several
    #: Names of CuPy that the stand-in lacks and that a script went on without; where it asked.
    refused: tuple[tuple[str, SourceLine], ...] = ()
    #: The texts of the files that findings and lines are in, by library and file.
    sources: Sources = field(default_factory=dict, repr=False)

    def join(self, other: Report) -> Report:
        """Return the findings of both, with the options and the traffic of this report."""
        return replace(
            self,
            launches=self.launches + other.launches,
            checked=Counter(self.checked) + Counter(other.checked),
            refused=(*dict.fromkeys((*self.refused, *other.refused)),),
            findings=merge_findings((*self.findings, *other.findings)),
            notes=(*dict.fromkeys((*self.notes, *other.notes)),),
            sources=self.sources | other.sources,
        )

    @staticmethod
    def of_runs(runs: Sequence[Report], seeds: Sequence[int], script: str) -> Report:
        """Return what runs of a script have found, each finding once, of those with some seeds."""
        first, *others = runs
        joined = reduce(Report.join, others, first)
        if len(seeds) > 1:
            found = {run.seed: {*map(identify, run.findings)} for run in runs}
            findings = [
                replace(f, seeds=(*(seed for seed, keys in found.items() if identify(f) in keys),))
                for f in joined.findings
            ]
            most = max(runs, key=lambda run: run.launches)
            joined = replace(joined, findings=(*findings,), seeds=(*dict.fromkeys(found),))
            checked = reduce(or_, (Counter(run.checked) for run in runs))
            joined = replace(joined, launches=most.launches, checked=checked)
        return replace(joined, script=script)
