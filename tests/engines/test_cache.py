"""The folder of compiled kernels: where it lies, and when it is trusted."""

from __future__ import annotations

import os
import stat
import tempfile

import pytest

from cudakern.engines.cache import cache_folder
from cudakern.errors import EngineUnavailableError


def test_a_cache_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(folder))
    message = f"cudakern: CUDAKERN_CACHE_DIR must be a writable folder; {folder}: Not a directory"
    with pytest.raises(EngineUnavailableError) as caught:
        cache_folder()
    assert str(caught.value) == message


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """Make the home folder unwritable; return the folder that should serve in its place."""
    (tmp_path / "home").touch()
    (tmp_path / "tmp").mkdir()
    for variable in ("CUDAKERN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp" / f"cudakern-{os.getuid()}"


def test_the_cache_below_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDAKERN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "cudakern"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "cudakern"
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700


def test_without_a_home_folder_the_temporary_one_serves(homeless):
    assert cache_folder() == homeless
    assert stat.S_IMODE(homeless.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_folder_that_others_can_write_is_not_trusted(homeless, mode):
    homeless.mkdir()
    homeless.chmod(mode)
    with pytest.raises(EngineUnavailableError, match="others can write it"):
        cache_folder()


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_of_somebody_else_is_not_trusted(homeless, monkeypatch, tmp_path, link):
    somebody = os.getuid() + 1
    folder = homeless.with_name(f"cudakern-{somebody}")
    if link:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: somebody)
    with pytest.raises(
        EngineUnavailableError, match=r"set CUDAKERN_CACHE_DIR.*belongs to somebody"
    ):
        cache_folder()
