"""Configuration of the site for Sphinx: .github/site/build.py gives it the pages."""

from __future__ import annotations

import enum
import re
from pathlib import Path
from typing import TYPE_CHECKING

import inventories
import names

import cudakern

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "cudakern"
author = "The cudakern developers"
project_copyright = author
version = release = cudakern.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx_codeautolink",
    "sphinx_copybutton",
    "sphinxcontrib.spelling",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["repository"]
default_role = "py:obj"
nitpicky = True
smartquotes = False
myst_heading_anchors = 4  # as GitHub makes them

autosummary_generate = False  # numpydoc brings it
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but for these
numpydoc_xref_aliases = names.TYPES
codeautolink_inventory_map = names.DEFINED

intersphinx_mapping = inventories.MAPPING
spelling_show_suggestions = True
spelling_warning = True
spelling_lang = "en_GB"
spelling_word_list_filename = str(HERE / "words.txt")
intersphinx_timeout = 10
linkcheck_timeout = 20
linkcheck_retries = 3

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["names.css"]
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "


def signature(
    _: Sphinx, __: str, ___: str, value: object, ____: object, text: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Show members of enumerations by name, and no parameters of enumerations themselves."""
    if isinstance(value, enum.EnumType):
        return "", None
    return text and (re.sub(r"<(\w+\.\w+): \d+>", r"\1", text), returns)


def setup(app: Sphinx) -> None:
    """Have Sphinx link the names in the pages, and show enumerations as such."""
    app.connect("autodoc-process-signature", signature)
    app.connect("missing-reference", names.leave, priority=900)
    app.add_transform(names.LinkNames)
