"""The tests pass however they are started: some of them, in ways that once made them fail."""

from __future__ import annotations

import sys

from tests.helpers.processes import printed
from tests.helpers.readmes import ROOT

#: With signals ignored, as in the background of a shell, which pytest inherits.
PROGRAM = """
import os, signal, sys
for number in signal.SIGINT, signal.SIGTERM, signal.SIGCHLD:
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""
TESTS = (
    "engines/test_waits.py::test_warmup_on_a_terminal_has_its_bar_alone",
    "simulator/ptx/test_compile.py::test_the_package_s_kernels_are_compiled_as_for_a_gpu",
    "simulator/test_toolchain.py::test_a_compiler_asked_for_must_run",
    "simulator/test_toolchain.py::test_an_interrupt_ends_the_compiler_and_all_it_started",
    "simulator/test_toolchain.py::test_order_of_compilers",
    "test_check_command.py::test_a_signal_from_outside",
    "test_check_command.py::test_ctrl_c",
    "test_console.py",
)


def test_however_they_are_started(tmp_path):
    folder = tmp_path / "two words"
    folder.mkdir()
    options = ("-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", f"--rootdir={ROOT}")
    command = (sys.executable, "-m", "pytest", "-q", "--timeout=60", *options)
    names = (f"{ROOT}/tests/{name}" for name in TESTS)
    settings = {
        "COLUMNS": "40",
        "CUDAKERN_ARCH": "80",
        "CUDAKERN_LINEINFO": "1",
        "FORCE_COLOR": "1",
    }
    said = printed(PROGRAM, *map(str, (*command, *names)), cwd="/", TMPDIR=str(folder), **settings)
    assert "passed" in said


def test_a_script_is_checked_where_the_ends_of_processes_are_ignored(tmp_path):
    (tmp_path / "script.py").write_text("import cudakern as ck; ck.gather([1, 2], [0])")
    command = (sys.executable, "-m", "cudakern", "check", str(tmp_path / "script.py"))
    assert printed(PROGRAM, *command) == "cudakern: nothing found in 1 launch\n"
