"""Pages of HTML in a browser without a window: the machine's Chromium, which playwright drives.

A page may ask for nothing but its own file: whatever else it asks for is refused and fails the
test, and so does an error on its console.
"""

from __future__ import annotations

import os
import shutil
from asyncio import _set_running_loop, get_running_loop
from importlib.util import find_spec

import pytest

#: Where a browser is looked for, unless CHROMIUM names it.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Whether tests fail where something is missing that they need.
REQUIRED = os.environ.get("CUDAKERN_REQUIRE_BROWSER", "0") == "1"


def program():
    """Return the path of a browser, and what has to be installed, if anything."""
    names = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else PROGRAMS
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        return None, f"no {', '.join(names)} is there: install Chromium or set CHROMIUM"
    if find_spec("playwright") is None:
        return None, "playwright is missing: pip install -e '.[test]'"
    return path, ""


class Browser:
    """Opens pages in a test."""

    def __init__(self, chromium):
        self._chromium = chromium
        self._contexts, self._faults = [], []

    def open(self, path, *, dark=False, size=(1280, 800)):
        """Return playwright's page of a file, which has loaded."""
        address = path.resolve().as_uri()
        context = self._chromium.new_context(
            color_scheme="dark" if dark else "light",
            viewport=dict(zip(("width", "height"), size, strict=True)),
            offline=True,  # a socket's error is heard of
        )
        self._contexts.append(context)
        context.set_default_timeout(10_000)
        context.route("**/*", lambda route: self._answer(route, address))
        page = context.new_page()
        page.on("pageerror", lambda error: self._faults.append(f"raises {error}"))
        page.on("console", self._hear)
        page.goto(address)
        return page

    def _answer(self, route, address):
        if route.request.url.partition("#")[0] == address:
            route.continue_()
        else:
            self._faults.append(f"asks for {route.request.url}")
            route.abort()

    def _hear(self, message):
        if message.type == "error":
            self._faults.append(f"reports {message.text}")

    def close(self):
        """Close all pages; none must have asked for anything or reported an error."""
        for context in self._contexts:
            for page in context.pages:
                page.evaluate("0")  # what it did before has been heard of then
            context.close()
        faults, self._contexts, self._faults = self._faults, [], []
        assert not faults, f"the page {', '.join(faults)}"


@pytest.fixture(scope="session")
def chromium():
    """Start the one browser of a process; give it, and the loop of events that drives it."""
    path, missing = program()
    if missing:
        (pytest.fail if REQUIRED else pytest.skip)(missing)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  takes a second

    driver = sync_playwright().start()
    started = driver.chromium.launch(executable_path=path, args=[*FLAGS])
    loop = get_running_loop()
    _set_running_loop(None)
    yield started, loop
    _set_running_loop(loop)
    started.close()
    driver.stop()


@pytest.fixture
def browser(chromium):
    """Give what opens pages: ``browser.open(path)``.

    Outside of the test playwright's loop is not the running one, or no other test could run one.
    """
    started, loop = chromium
    _set_running_loop(loop)
    opens = Browser(started)
    try:
        yield opens
        opens.close()
    finally:
        _set_running_loop(None)
