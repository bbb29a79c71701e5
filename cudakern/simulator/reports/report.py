"""What was observed of launches: the value that every output is made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cudakern.simulator.reports.findings import Finding, merge_findings
from cudakern.simulator.reports.traffic import KernelTraffic
from cudakern.simulator.sources.source_texts import Sources


@dataclass(frozen=True)
class Report:
    """The findings of launches and how these ran, or their traffic."""

    seed: int = 0
    resident_blocks: int = 4
    strict: bool = False
    launches: int = 0  # that were checked
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()  # what was not checked to the end
    kernels: tuple[KernelTraffic, ...] | None = None  # of a report of traffic
    #: The texts of the files that findings and lines are in, by library and file.
    sources: Sources = field(default_factory=dict, repr=False)

    def join(self, other: Report) -> Report:
        """Return the findings of both, with the options and the traffic of this report."""
        return replace(
            self,
            launches=self.launches + other.launches,
            findings=merge_findings((*self.findings, *other.findings)),
            notes=(*dict.fromkeys((*self.notes, *other.notes)),),
            sources=self.sources | other.sources,
        )
