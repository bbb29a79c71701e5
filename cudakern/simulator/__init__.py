"""The simulator for anybody's kernels: run them without a GPU, check them, count their traffic.

`RawKernel` and `RawModule` take CUDA C++ or PTX and run it on NumPy arrays: the PTX that NVRTC
makes is executed. Inside of `checked` every access is checked for what compute-sanitizer would
find; inside of `traffic` memory requests are counted as Nsight Compute would. Both hold for the
operators of this package as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern._lazy import attributes

if TYPE_CHECKING:
    from cudakern.simulator.arguments import empty
    from cudakern.simulator.cupy_stand_in.modules import in_place_of_cupy
    from cudakern.simulator.raw import RawKernel, RawModule
    from cudakern.simulator.reports.checking import CheckReport, TrafficReport, checked, traffic
    from cudakern.simulator.reports.findings import Finding, OtherAccess
    from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic, Requests

__all__ = [
    "CheckReport",
    "Finding",
    "KernelTraffic",
    "LineTraffic",
    "OtherAccess",
    "RawKernel",
    "RawModule",
    "Requests",
    "TrafficReport",
    "checked",
    "empty",
    "in_place_of_cupy",
    "traffic",
]

#: The module that each public name is in, or that it is.
_HOMES = {
    "CheckReport": "reports.checking",
    "Finding": "reports.findings",
    "KernelTraffic": "reports.traffic",
    "LineTraffic": "reports.traffic",
    "OtherAccess": "reports.findings",
    "RawKernel": "raw",
    "RawModule": "raw",
    "Requests": "reports.traffic",
    "TrafficReport": "reports.checking",
    "checked": "reports.checking",
    "empty": "arguments",
    "in_place_of_cupy": "cupy_stand_in.modules",
    "traffic": "reports.checking",
}

if not TYPE_CHECKING:
    __getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
