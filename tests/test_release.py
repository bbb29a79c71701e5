"""What an index gets of this clone: sdist, wheel, page, classifiers; and under which tag."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path, PurePosixPath
from posixpath import normpath

import pytest

import cudakern as ck
from tests.helpers.processes import build_package
from tests.helpers.readmes import LINK, ROOT, read
from tests.helpers.rows import each

ADDRESS = "https://example.org/owner/cudakern"
VERSION = f"v{ck.__version__}"
#: Links that `LINK` does not find.
OTHER_LINKS = re.compile(r"^ {0,3}\[[^\]]+\]:|\b(?:href|src)=", re.MULTILINE)


def pyproject(**addresses):
    """Return pyproject.toml with these addresses, and no others."""
    text = read("pyproject.toml")
    for field in ("repository", "documentation"):
        line = f'{field} = "{addresses.get(field, "")}"'
        text, count = re.subn(rf'^{field} = ".*"$', line, text, flags=re.MULTILINE)
        assert count == 1
    return text


def relative(text):
    """Return the links of a page that lead to files beside it, without anchors."""
    targets = {link.partition("#")[0] for link in LINK.findall(text) if "://" not in link}
    return targets - {""}


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the sdist, and the wheel of it."""
    folder = tmp_path_factory.mktemp("dist")
    build_package(ROOT, folder)
    return folder


def test_the_sdist_has_all_files_and_those_that_its_pages_link_to(dist):
    with tarfile.open(*dist.glob("*.tar.gz")) as archive:
        files = {PurePosixPath(*Path(member.name).parts[1:]): member for member in archive}
        pages = {
            page: archive.extractfile(files[page]).read().decode()
            for page in files
            if page.suffix == ".md"
        }
    if (ROOT / ".git").exists():
        git = [shutil.which("git"), "ls-files"]
        listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        tracked = {PurePosixPath(name) for name in listed.splitlines() if (ROOT / name).exists()}
        assert tracked - files.keys() == set()
    there = {*files, *(folder for file in files for folder in file.parents)}
    assert len(pages) > 10
    for page, text in pages.items():
        linked = {PurePosixPath(normpath(page.parent / target)) for target in relative(text)}
        assert linked - there == set(), page


def test_the_sdist_makes_the_wheel_that_the_clone_makes(dist, tmp_path):
    build_package(ROOT, tmp_path, "--wheel")
    (of_clone,), (of_sdist,) = tmp_path.glob("*.whl"), dist.glob("*.whl")
    assert of_clone.read_bytes() == of_sdist.read_bytes()


#: Lines of a README, and what an index shows.
LINES = [
    ("[a](perf/README.md#b)", f"[a]({ADDRESS}/blob/{VERSION}/perf/README.md#b)"),
    ("[a](#b)", f"[a]({ADDRESS}/blob/{VERSION}/README.md#b)"),
    ("[a](https://x.org/y#z)", "[a](https://x.org/y#z)"),
    ("![a](b/c.png)", f"![a]({ADDRESS}/raw/{VERSION}/b/c.png)"),
    ("[![`a`](b.png)](d)", f"[![`a`]({ADDRESS}/raw/{VERSION}/b.png)]({ADDRESS}/blob/{VERSION}/d)"),
    ("`a[0](b)` [`c`](d)", f"`a[0](b)` [`c`]({ADDRESS}/blob/{VERSION}/d)"),
    ("```text\n`\na[0](b)\n```", "```text\n`\na[0](b)\n```"),
    ("`pip install '.[a,b]'`", "`pip install 'cudakern[a,b]'`"),
    ('`x/pip install -q ".[a]"`', '`x/pip install -q "cudakern[a]"`'),
    ('`pip install -q -e ".[a]"`', '`pip install -q -e ".[a]"`'),
]


def metadata(folder, readme, **addresses):
    """Return the metadata of the package with this README and these addresses."""
    for name in (".ci/metadata.py", "LICENSE", "cudakern/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "pyproject.toml").write_text(pyproject(**addresses), encoding="utf-8")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "metadata"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_an_index_shows_links_and_commands_for_readers_without_a_clone(tmp_path):
    given, expected = ("\n\n".join(texts) for texts in zip(*LINES, strict=True))
    assert metadata(tmp_path, given, repository=ADDRESS)["readme"]["text"] == expected


def test_links_of_the_readme_lead_to_files_of_the_tag(tmp_path):
    readme = read("README.md")
    assert not OTHER_LINKS.search(readme)
    page = metadata(tmp_path, readme, repository=ADDRESS)["readme"]
    assert page["content-type"] == "text/markdown"
    assert relative(page["text"]) == set()
    files = f"{ADDRESS}/blob/{VERSION}/"
    linked = {link.partition("#")[0] for link in LINK.findall(page["text"]) if ADDRESS in link}
    assert linked == {files + target for target in relative(readme)}
    assert all((ROOT / link.removeprefix(files)).exists() for link in linked)
    assert 'pip install "cudakern[cuda12]"' in page["text"]
    assert "pip install -q -e" in page["text"]


def test_addresses_are_made_of_two_fields(tmp_path):
    urls = {
        "Changelog": f"{ADDRESS}/blob/{VERSION}/CHANGELOG.md",
        "Documentation": "https://example.org",
        "Homepage": ADDRESS,
        "Issues": f"{ADDRESS}/issues",
        "Source": ADDRESS,
    }
    site = urls["Documentation"]
    assert metadata(tmp_path, "", repository=f"{ADDRESS}/", documentation=site)["urls"] == urls
    link = LINES[0][0]
    plain = metadata(tmp_path, link)
    assert (plain.get("urls"), plain["readme"]["text"]) == (None, link)


def test_classifiers_name_the_pythons_that_are_tested():
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    named = {re.sub(".* :: Python :: ", "", line) for line in classifiers}
    weekly = read(".github/workflows/weekly.yml")
    tested = [re.search(r"PYTHONS:-([^}]*)}", read(".ci/run"))[1].split()]
    tested += [json.loads(versions) for versions in re.findall(r"python: (\[.*\])", weekly)]
    assert len(tested) > 2
    versions = {line for line in named if re.fullmatch(r"3\.\d+", line)}
    assert all({*each_time} == versions for each_time in tested)
    assert ('t"}' in weekly) == any(line.startswith("Free Threading") for line in named)


#: A tag, the changelog's heading, the address of the repository, and words of what is refused.
TAGS = [
    (VERSION, f"## [{VERSION[1:]}] - 2026-01-02", ADDRESS, []),
    (VERSION[1:], f"## [{VERSION[1:]}] - 2026-01-02", ADDRESS, [f"{VERSION}, .*; got 0"]),
    ("v9.0", f"## [{VERSION[1:]}] - 2026-01-02", ADDRESS, [f"{VERSION}, .*; got v9.0"]),
    (VERSION, f"## [{VERSION[1:]}] - unreleased", ADDRESS, ["YYYY-MM-DD"]),
    (VERSION, "## [9.0] - 2026-01-02", ADDRESS, [r"YYYY-MM-DD"]),
    (VERSION, f"## [{VERSION[1:]}] - 2026-01-02", "", ["https://...; got ''"]),
    ("main", "", "no", ["got main", "YYYY-MM-DD", "got 'no'"]),
]


@each("tag, heading, repository, refused", TAGS)
def test_a_release_needs_its_tag_a_date_and_an_address(tag, heading, repository, refused, tmp_path):
    (tmp_path / "pyproject.toml").write_text(pyproject(repository=repository), encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"# a\n\n{heading}\n\nb\n", encoding="utf-8")
    (tmp_path / "cudakern").mkdir(exist_ok=True)
    shutil.copy(ROOT / "cudakern" / "__init__.py", tmp_path / "cudakern")
    command = [sys.executable, str(ROOT / ".ci" / "checks" / "tag.py"), tag]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (int(bool(refused)), len(refused)), done.stderr
    assert all(re.search(words, line) for words, line in zip(refused, lines, strict=True))
