"""Pin what CI and the image install, by version and hash, in ``.ci/locks/*.txt``.

``locks.py``: make each lock whose requirements have changed, keeping the versions that still fit.
``locks.py --upgrade``: make all, with the newest versions that are a week old. Both need uv.
``locks.py --check``: fail if requirements have changed since a lock was made; needs no network.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: What builds the wheel, and what holds it against an index's rules.
WHEEL = ("build>=1.2", *PROJECT["build-system"]["requires"])
RELEASE = (*WHEEL, "readme-renderer[md]>=44", "twine>=7")
#: What an editable install needs where the build is not isolated.
BUILD = (*PROJECT["build-system"]["requires"], "editables>=0.3")
#: What PyTorch requires; its wheel without CUDA is not on PyPI, so weekly.yml names it by hash.
TORCH = ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions")
#: Triton brings a program that reads machine code for sm_70. Later versions' programs do not.
OLD_READER = ("triton==3.4.*",)


@dataclass(frozen=True)
class Lock:
    """What one lock is made from."""

    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = BUILD
    resolution: str = "highest"

    def inputs(self) -> list[str]:
        """Return the requirements, including those of the extras."""
        found = [*self.requirements]
        if self.extras:
            found += PROJECT["project"]["dependencies"]
        extras, seen = list(self.extras), set(self.extras)
        while extras:
            for requirement in PROJECT["project"]["optional-dependencies"][extras.pop()]:
                if own := re.fullmatch(r"cudakern\[(.*)\]", requirement):
                    more = set(own[1].split(",")) - seen
                    extras += more
                    seen |= more
                else:
                    found.append(requirement)
        return sorted(set(found))

    def digest(self) -> str:
        """Return a digest of all that the lock is made from."""
        python = PROJECT["project"]["requires-python"]
        text = "\n".join([python, self.resolution, *self.inputs()])
        return hashlib.sha256(text.encode()).hexdigest()


def nvrtc(version: str) -> Lock:
    """Return the lock of a version of NVRTC, which .ci/nvrtc.py uses."""
    major = version.partition(".")[0]
    pins = (f"cuda-toolkit=={version}.*", f"cuda-bindings=={major}.*")
    return Lock(("perf",), BUILD + pins + (OLD_READER if major == "12" else ()))


LOCKS = {
    "uv": Lock(requirements=("uv",)),
    "build": Lock(requirements=WHEEL),
    "release": Lock(requirements=RELEASE),
    "cuda12": Lock(("cuda12", "dask", "lint", "profile", "test")),
    "cuda13": Lock(("cuda13", "dask", "lint", "profile", "test")),
    "interop": Lock(("cuda13", "interop", "test"), BUILD + TORCH),
    "docs": Lock(("docs",)),
    "lowest": Lock(("cuda12", "test"), resolution="lowest-direct"),
    **{f"nvrtc-{version}": nvrtc(version) for version in PROJECT["tool"]["cudakern"]["nvrtc"]},
}


def path(name: str) -> Path:
    """Return the path of a lock."""
    return ROOT / ".ci" / "locks" / f"{name}.txt"


def head(name: str) -> str:
    """Return the first line of an up-to-date lock."""
    return f"# Made by .ci/locks.py of requirements with the digest {LOCKS[name].digest()}\n"


def is_current(name: str) -> bool:
    """Return whether a lock was made from the present requirements."""
    return path(name).is_file() and path(name).read_text(encoding="utf-8").startswith(head(name))


def make(name: str, *options: str) -> None:
    """Make a lock; with ``--upgrade``, without regard to the versions of the old one."""
    lock = LOCKS[name]
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "-o", path(name)]
    command += ["--quiet", "--no-config", "--universal", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--resolution", lock.resolution]
    command += ["--default-index", "https://pypi.org/simple", "--exclude-newer", "7 days"]
    command += ["--python-version", PROJECT["project"]["requires-python"].removeprefix(">=")]
    # What a user has set for uv must not get into the locks.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("UV_")}
    inputs = "\n".join(lock.inputs())
    subprocess.run([*command, *options], input=inputs, text=True, check=True, env=environment)
    path(name).write_text(head(name) + path(name).read_text(encoding="utf-8"), encoding="utf-8")


def main() -> None:
    """Make the locks, or check them."""
    options = sys.argv[1:]
    stale = [name for name in LOCKS if not is_current(name)]
    spare = sorted({file.stem for file in path("any").parent.glob("*.txt")} - LOCKS.keys())
    if options == ["--check"]:
        if stale or spare:
            sys.exit(f"{', '.join(stale + spare)}: not up to date in .ci/locks: run .ci/locks.py")
        return
    for name in spare:
        path(name).unlink()
    for name in LOCKS if options else stale:
        make(name, *options)


if __name__ == "__main__":
    main()
