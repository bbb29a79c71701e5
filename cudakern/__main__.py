"""Command line: ``python -m cudakern check | demo | info | warmup | clear-cache``."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from cudakern import __version__
from cudakern._commands.statuses import SIGNALLED, USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "check": "run a Python script with the kernels checked that it runs in the simulator",
    "demo": "run the documented DirectML examples and compare with the documented results",
    "info": "show versions, devices, compilers and folders",
    "warmup": "compile kernels ahead of their first use",
    "clear-cache": "delete compiled kernels from the cache folder",
}

CHECK = """\
Run a Python script with every kernel checked that it runs in the simulator: RawKernel and RawModule
of cudakern.simulator, and operators on NumPy arrays. What is found comes last, on standard output,
with the lines of the source."""
STATUS = """\
exit status: 0 if nothing was found, 1 if something was, or if the script made a kernel and launched
nothing in the simulator, 2 for arguments that are wrong; else the script's own."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments in one line."""

    def error(self, message: str) -> NoReturn:
        """Write the message, and exit."""
        self.exit(USAGE, f"{self.prog}: error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = _Parser(
        prog="python -m cudakern", description="DirectML operators as CUDA kernels for CuPy arrays."
    )
    top.add_argument("--version", action="version", version=f"cudakern {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="|".join(COMMANDS))
    parsers = {
        name: commands.add_parser(name, help=text, description=text)
        for name, text in COMMANDS.items()
    }
    _add_check(parsers["check"])
    _add_flag(parsers["info"], "--json", "print one JSON object")
    _add_flag(parsers["info"], "--check", "exit with 1 unless a GPU runs a kernel correctly")
    for name in ("demo", "warmup"):
        parsers[name].add_argument(
            "--engine",
            choices=("auto", "cuda", "simulator"),
            default="auto",
            help="where to run; auto takes a GPU if there is one",
        )
    _add_flag(parsers["warmup"], "--all", "every specialisation, not the common ones only")
    parsers["warmup"].add_argument(
        "--arch",
        metavar="SM",
        nargs="+",
        action="extend",
        help="compile for GPUs that need not be there, such as sm_80 sm_90, into the cache folder",
    )
    parsers["warmup"].add_argument(
        "--jobs",
        type=_positive,
        default=os.cpu_count() or 1,
        help="threads that compile; default: all cores",
    )
    return top


def _add_flag(command: argparse.ArgumentParser, name: str, text: str) -> None:
    command.add_argument(name, action="store_true", help=text)


def _add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    check.usage = (
        "%(prog)s [options] FILE.py [arguments]\n       %(prog)s [options] -m MODULE [arguments]"
    )
    check.formatter_class = argparse.RawDescriptionHelpFormatter
    check.description = CHECK
    check.epilog = STATUS
    check.add_argument("script", metavar="FILE.py", help="the script, or with -m a module")
    rest = check.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="what the script is given"
    )
    rest.required = False
    check.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    cupy = "have `import cupy` give NumPy's arrays, and kernels that run in the simulator"
    _add_flag(check, "--cupy", cupy)
    check.add_argument(
        "--seeds",
        type=_integers,
        default=[0],
        metavar="0,1,2",
        help="run the script once for each, in a process of its own, with threads and blocks in "
        "another order; default: 0",
    )
    _add_flag(check, "--strict", "report what PTX allows and what often is a mistake, too")
    _add_flag(check, "--traffic", "print the memory traffic of each line, too")
    check.add_argument(
        "--html",
        metavar="PATH",
        help="write a page for a browser, and with --traffic one of that beside it",
    )
    check.add_argument("--json", metavar="PATH", help="write JSON, in the same way")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        message = f"must be an integer of at least 1; got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _integers(text: str) -> list[int]:
    try:
        numbers = [*dict.fromkeys(map(int, text.split(",")))]
        if min(numbers) >= 0:
            return numbers
    except ValueError:
        pass
    message = f"must be integers of at least 0, separated by commas; got {text!r}"
    raise argparse.ArgumentTypeError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it is closed
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  to the end
            setattr(sys, name, nowhere)
    given = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(given)
    if options.command == "check":
        before = given[: len(given) - len(options.arguments)]
        if before[-2:] == [options.script, "--"]:  # argparse takes it out; Python does not
            options.arguments.insert(0, "--")
    try:
        return _run(options)
    except KeyboardInterrupt:
        sys.stderr.write(f"cudakern {options.command}: stopped\n")
        return SIGNALLED + signal.SIGINT
    except BrokenPipeError:  # the reader has gone, so nothing is written at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(options: argparse.Namespace) -> int:
    from cudakern.errors import CudakernError  # noqa: PLC0415  it imports NumPy, which --help need not wait for

    try:
        name = options.command.replace("-", "_")
        status: int = importlib.import_module(f"cudakern._commands.{name}").run(options)
        sys.stdout.flush()
    except CudakernError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
