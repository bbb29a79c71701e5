"""The browser in which tests open pages: what it shows, refuses and reports."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.helpers.rows import each

PAGE = "<!doctype html><title>a page</title><style>{}</style><body>{}"
STYLE = "p { color: red } @media (prefers-color-scheme: dark) { p { color: lime } }"


@pytest.fixture
def shown(browser, tmp_path):
    def show(body, **options):
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(STYLE, body), encoding="utf-8")
        return browser.open(path, **options)

    return show


@each("dark, colour", [(False, "rgb(255, 0, 0)"), (True, "rgb(0, 255, 0)")])
def test_a_page_has_the_colours_and_the_size_asked_for(shown, dark, colour):
    page = shown("<p id=here>text", dark=dark, size=(640, 480))
    assert page.title() == "a page"
    assert page.evaluate("getComputedStyle(here).color") == colour
    assert page.evaluate("[innerWidth, innerHeight]") == [640, 480]


#: Pages that do what they must not, and the message.
FAULTS = {
    "<img src=https://example.com/a.png>": "asks for https://example.com/a.png",
    "<script src=other.js></script>": "asks for file:///.*/other.js",
    "<iframe src=http://example.com></iframe>": "asks for http://example.com/",
    "<script>fetch('http://[::1]:9')</script>": r"asks for http://\[::1\]:9",
    "<script>new WebSocket('ws://[::1]')</script>": r"reports WebSocket .* to .ws://\[::1\]",
    "<script>console.error('a fault')</script>": "reports a fault",
    "<script>setTimeout(() => { throw Error('a mistake') })</script>": "raises a mistake",
}


def test_requests_and_errors_are_faults(shown, browser):
    shown("".join(FAULTS))
    with pytest.raises(AssertionError) as caught:
        browser.close()
    for fault in FAULTS.values():
        assert re.search(fault, str(caught.value))


@pytest.mark.usefixtures("chromium")
def test_other_tests_can_run_a_loop_of_events():
    assert asyncio.run(asyncio.sleep(0, "done")) == "done"
