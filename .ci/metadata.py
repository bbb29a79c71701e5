"""What hatchling adds to the metadata: addresses, and the README as an index shows it.

All addresses are made of ``repository`` and ``documentation`` of [tool.cudakern] in pyproject.toml.
While ``repository`` is empty, there are none of it, and the README is that of a clone.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: Code, which has no links; or the target of a link, with the text before it if it is a picture.
_LINK = re.compile(r"```.*?```|`[^`]*`|(!\[[^\]]*)?\]\(([^)\s]+)", re.DOTALL)
#: What installs a clone, but not in place (-e), as only work on a clone needs.
_INSTALL = re.compile(r"""(pip install (?:-q )?["'])\.\[""")


class Metadata(MetadataHookInterface):
    """Adds the README and the addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both to what pyproject.toml says."""
        root = Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        fields = project["tool"]["cudakern"]
        repository = fields["repository"].rstrip("/")
        readme = (root / "README.md").read_text(encoding="utf-8")

        def address(target: str, kind: str = "blob") -> str:
            """Return where a link of the README leads: the tag, so that old pages stay right."""
            return urljoin(f"{repository}/{kind}/v{metadata['version']}/README.md", target)

        def absolute(link: re.Match[str]) -> str:
            picture, target = link.groups()
            if not target:
                return link[0]
            return link[0].removesuffix(target) + address(target, "raw" if picture else "blob")

        urls = {"Documentation": fields["documentation"]}
        if repository:
            urls |= {"Homepage": repository, "Source": repository, "Issues": f"{repository}/issues"}
            urls["Changelog"] = address("CHANGELOG.md")
            # Readers of an index have no clone: they install by name, and links lead to the tag.
            readme = _LINK.sub(absolute, _INSTALL.sub(rf"\1{metadata['name']}[", readme))
        metadata["urls"] = {label: url for label, url in urls.items() if url}
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
