"""Check the machine code that each supported NVRTC makes of the kernels against the budgets.

``nvrtc.py [--thorough]``: pyproject.toml names the versions; each has an environment, a process
and a lock of its own. A tenth of the kernels is compiled for sm_90, and with CUDA 12 also for
sm_70; with ``--thorough``, every kernel is compiled for every architecture.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, **environment: str) -> str:
    """Return what a command prints; raise SystemExit with it if the command fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def hold(version: str, environment: Path, *, thorough: bool) -> str:
    """Compile and read kernels with a version of NVRTC; return the result as a line."""
    started = time.monotonic()
    uv, python = Path(sys.executable).with_name("uv"), environment / "bin" / "python"
    run(uv, "venv", "-q", "--python", sys.executable, environment)
    archs, reader = ["sm_90"], []
    if version.startswith("12."):
        archs.append("sm_70")
        reader.append("triton")  # brings a program that reads machine code for sm_70
    run(".ci/install", f"nvrtc-{version}", "perf", *reader, PYTHON=str(python), UV=str(uv))
    choices = [["--all"]] if thorough else [["--cover", arch] for arch in archs]
    for choice in choices:
        run(python, "-m", "perf", "static", "code", "--jobs", "1", *choice)
    loaded = run(
        python, "-c", "from cudakern.compilation import nvrtc; print(nvrtc.version())"
    ).strip()
    read = ", ".join(" ".join(choice) for choice in choices)
    return f"NVRTC {loaded}: {read}: all budgets are kept, {time.monotonic() - started:.0f} s"


def main() -> None:
    """Check all versions, as many at once as there are cores; end when one fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    versions = project["tool"]["cudakern"]["nvrtc"]
    thorough = "--thorough" in sys.argv[1:]
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
    ):
        environments = [Path(folder, version) for version in versions]
        for line in pool.map(lambda *pair: hold(*pair, thorough=thorough), versions, environments):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
