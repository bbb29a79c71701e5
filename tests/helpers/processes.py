"""Python programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.helpers.readmes import ROOT


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
