"""The simulator for anybody's kernels: run them without a GPU, check them, count their traffic.

`RawKernel` and `RawModule` take CUDA C++ or PTX and run it on NumPy arrays: the PTX that NVRTC
makes is executed. Inside of `checked` every access is checked for what compute-sanitizer would
find; inside of `traffic` memory requests are counted as Nsight Compute would. Both hold for the
operators of this package as well.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cudakern.process.lazy import public_names

if TYPE_CHECKING:  # what a package has, for type checkers and for `public_names`
    from cudakern.simulator.cupy_stand_in.modules import in_place_of_cupy as in_place_of_cupy
    from cudakern.simulator.launching.launch_parameters import empty as empty
    from cudakern.simulator.launching.raw import RawKernel as RawKernel
    from cudakern.simulator.launching.raw import RawModule as RawModule
    from cudakern.simulator.reports.findings import Finding as Finding
    from cudakern.simulator.reports.findings import OtherAccess as OtherAccess
    from cudakern.simulator.reports.sessions import CheckReport as CheckReport
    from cudakern.simulator.reports.sessions import TrafficReport as TrafficReport
    from cudakern.simulator.reports.sessions import checked as checked
    from cudakern.simulator.reports.sessions import traffic as traffic
    from cudakern.simulator.reports.traffic import KernelTraffic as KernelTraffic
    from cudakern.simulator.reports.traffic import LineTraffic as LineTraffic
    from cudakern.simulator.reports.traffic import Requests as Requests
else:
    __all__, __getattr__, __dir__ = public_names(__name__)

if "IPython" in sys.modules:
    from cudakern.simulator.reports.ipython import register

    register()
