"""Build the site and its notebooks, executed; any warning of Sphinx is an error.

    python .github/site/build.py [FOLDER] [--spelling] [--outward]

FOLDER is build/site unless given. ``--spelling`` checks it, with the libraries enchant and hunspell
and British words (Debian's libenchant-2-2 and hunspell-en-gb); ``--outward`` follows the links to
other sites. It needs the extra ``docs``, and no network but for ``--outward``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import inventories
import notebooks
import pages

HERE = Path(__file__).parent


def sphinx(builder: str, source: Path, output: Path) -> bool:
    """Run a builder of Sphinx, the first of which reads the pages; return whether it failed."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", builder]
    command += ["--conf-dir", str(HERE), "--doctree-dir", str(source.parent / "doctrees")]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run([*command, source, output], env=environment, check=False).returncode != 0


def main() -> None:
    """Build all, and exit with status 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("folder", nargs="?", default=pages.ROOT / "build" / "site", type=Path)
    parser.add_argument("--spelling", action="store_true", help="check the spelling")
    parser.add_argument("--outward", action="store_true", help="follow links to other sites")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "source"
        source.mkdir()
        pages.write(source)
        inventories.write(source / "inventories")
        failed = sphinx("html", source, chosen.folder)
        if chosen.spelling:
            failed |= sphinx("spelling", source, Path(temporary) / "spelling")
        if chosen.outward:
            failed |= sphinx("linkcheck", source, Path(temporary) / "links")
    wrong = notebooks.write(chosen.folder / "notebooks", pages.ROOT)
    if failed or wrong:
        sys.exit("\n".join([*wrong, "The site has faults."]))
    sys.stdout.write(f"{chosen.folder / 'index.html'}\n")


if __name__ == "__main__":
    main()
