"""Libraries of PTX modules: built by the host's compiler, kept in the cache folder."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.compilation.cache import find_file, keep_hint
from cudakern.process.lazy import load
from cudakern.simulator.libraries import execution_mode
from cudakern.simulator.libraries.execution_mode import ExecutionMode
from cudakern.simulator.libraries.toolchain import runtime_parts
from cudakern.simulator.ptx.contents import Contents
from cudakern.simulator.ptx.symbols import demangle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.libraries.toolchain import Toolchain
    from cudakern.simulator.ptx.linking import Links
    from cudakern.simulator.sources.text_to_ptx import Ptx

_MOST_SHOWN = 60  # characters of names in a message
_UNNAMED = re.compile(r"\W+")
_SIMULATOR = Path(__file__).resolve().parents[1]
#: NVRTC has optimised already. Loops over many threads profit from -O1, but not from all of it: the
#: passes that are left out take GCC half of its time. Functions that are seldom called need few
#: registers, and the others may be kept.
_OPTIONS = ("-I.", "-Og")
_FAST = ("-DCK_SIM_FAST", "-O1")
_LEFT_OUT = "ivopts tree-dominator-opts tree-reassoc tree-sink tree-slsr"
_FAST_OF_GCC = ("-fcaller-saves", "-fipa-ra", *(f"-fno-{name}" for name in _LEFT_OUT.split()))
#: Without these passes, GCC takes a twentieth less time, and launches take no longer.
_OF_GCC = ("-fno-cprop-registers", "-fno-dce", "-fno-tree-ccp")
_QUICK_OF_GCC = (*_OF_GCC, "-fcaller-saves")
_CHECKED_OF_GCC = (*_OF_GCC, "-fno-forward-propagate", "-fno-guess-branch-probability")
#: Features of processors that make functions of the headers short; the results are the same.
_FEATURES = {"fma": "-mfma", "f16c": "-mf16c", "bmi2": "-mbmi2", "popcnt": "-mpopcnt"}


def build_library(
    ptx: Ptx,
    entries: Sequence[str],
    toolchain: Toolchain,
    runtime: Path,
    *,
    checked: bool = False,
    fast: bool = False,
    count: str = "",
) -> Path:
    """Return the library of entries of a module on a runtime, building it unless it is cached.

    A plain one can be ``fast``, which takes longer to compile. ``count`` says in messages which
    one of how many it is.
    """
    options = (*_OPTIONS, *_choose_options(toolchain, checked=checked, fast=fast), *find_features())
    digest = toolchain.digest(ptx.key, _own_digest(), runtime.name, *entries, *options)
    name = f"{_stem(ptx)}-{digest}.so"
    file = find_file(name)
    if file is not None:
        return file.path
    parts = (("kernel.cpp", _translate(ptx, entries, checked=checked, fast=fast)), *_read_headers())
    part = f": {', '.join(map(demangle, entries)):.{_MOST_SHOWN}}{count}"
    return toolchain.build(name, ptx.source, parts, options, (str(runtime),), part=part)


def _choose_options(toolchain: Toolchain, *, checked: bool, fast: bool) -> tuple[str, ...]:
    """Return the options of a library, with the macros of its execution mode."""
    if checked:
        return ("-DCK_SIM_CHECKED", *(_CHECKED_OF_GCC if toolchain.is_gcc else ()))
    if execution_mode.chosen is ExecutionMode.FIBERS:
        return ("-DCK_SIM_FIBERS",)
    of_gcc = _FAST_OF_GCC if fast else _QUICK_OF_GCC
    return (*(_FAST if fast else ()), *(of_gcc if toolchain.is_gcc else ()))


def find_contents(ptx: Ptx) -> Contents:
    """Return what a module has; KernelCompileError if the simulator cannot have all of it."""
    digest = hashlib.sha256(f"{ptx.key}\0{_own_digest()}".encode()).hexdigest()[:32]
    name = f"{_stem(ptx)}-{digest}.json"
    file = find_file(name)
    if file is not None:
        return Contents.from_json(json.loads(file.content))
    contents: Contents = _link(ptx).contents()
    keep_hint(name, json.dumps(contents.to_json()).encode())
    return contents


def _stem(ptx: Ptx) -> str:
    return _UNNAMED.sub("_", Path(ptx.key).stem)[:80]


@lru_cache(maxsize=4)
def _link(ptx: Ptx) -> Links:
    # Late: kernels whose library is cached start faster without the instruction tables.
    module = load("cudakern.simulator.ptx.parse").parse(ptx.text(), ptx.source)
    links: Links = load("cudakern.simulator.ptx.linking").Links(module, ptx.source)
    return links


def _translate(ptx: Ptx, entries: Sequence[str], *, checked: bool, fast: bool) -> str:
    translate = load("cudakern.simulator.ptx.translate").translate
    fibers = "all shall be" if execution_mode.chosen is ExecutionMode.FIBERS else ""
    text: str = translate(
        _link(ptx).only(entries), ptx.source, checked=checked, fast=fast, fibers=fibers
    )
    return text


@cache
def find_features() -> tuple[str, ...]:
    """Return the compiler's options for this processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ()
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "").split()
    return tuple(option for name, option in _FEATURES.items() if name in flags)


@cache
def _read_headers() -> tuple[tuple[str, str], ...]:
    device = sorted((_SIMULATOR / "ptx" / "device").glob("*.hpp"))
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in device]
    runtime = dict(runtime_parts("runtime.cpp"))
    return (*texts, *((name, runtime[name]) for name in ("runtime.hpp", "runtime_api.hpp")))


@cache
def _own_digest() -> str:
    """Return a digest of the code that makes C++ of PTX."""
    rooms = ("libraries", "ptx", "runtime")
    files = sorted(path for room in rooms for path in (_SIMULATOR / room).rglob("*.py"))
    texts = [*(path.read_text(encoding="utf-8") for path in files), repr(_read_headers())]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
