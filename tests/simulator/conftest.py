"""The compilers that the checker must serve equally."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import pytest

COMPILERS = {
    name: command
    for name, command, found in (
        ("g++", "g++", shutil.which("g++")),
        ("clang++", "clang++", shutil.which("clang++")),
        ("ziglang", f"{sys.executable} -m ziglang c++", importlib.util.find_spec("ziglang")),
    )
    if found
}


@pytest.fixture(scope="module", params=[*COMPILERS] or ["first"])
def each_compiler(request):
    """Run a module's tests with every compiler there is; test_compilers.py says which are not."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param in COMPILERS:
            patch.setenv("CUDAKERN_CXX", COMPILERS[request.param])
        yield request.param


@pytest.fixture(scope="module")
def gcc():
    """Compile with g++, which makes the accesses that the text has; clang merges some."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDAKERN_CXX", "g++")
        yield
