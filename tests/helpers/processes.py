"""Python programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.helpers.readmes import ROOT

#: Runs a command on a terminal, types Ctrl-C at a word, and prints what was shown.
TERMINAL = """
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
shown, typed = b"", False
while True:
    try:
        shown += os.read(terminal, 1024)
    except OSError:  # the terminal is free
        break
    if not typed and sys.argv[1].encode() in shown:
        typed = os.write(terminal, b"\\x03")
print(shown.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def is_alive(pid):
    """Return whether a process runs; one that nobody waits for does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def printed(program, *arguments, flags=(), cwd=ROOT, **environment):
    """Run a program, which must end well; return what it printed. A variable of None is not set."""
    variables = {name: v for name, v in {**os.environ, **environment}.items() if v is not None}
    result = subprocess.run(
        [sys.executable, *flags, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=cwd,
        env=variables,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def build_package(root, folder, *options):
    """Build in a folder what the options say; the sdist, and the wheel of it, without any."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), *options]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
