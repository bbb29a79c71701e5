"""Reports as pages: their content, and how a browser shows it."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.reports.findings import OtherAccess
from cudakern.simulator.reports.html import page as pages
from tests.helpers.pages import CONTRAST, Page
from tests.helpers.rows import each

CODE = """// Sum of 128 floats, in one block.
extern "C" __global__ void total(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *y = s[0];
}
extern "C" __global__ void shift(float* x, const int* order, int n) {
  if (threadIdx.x > 96) x[threadIdx.x] = 1;
  float v = x[order[threadIdx.x] + 1];
  if (threadIdx.x < n) x[threadIdx.x] = v;
}
"""


@pytest.fixture(scope="module")
def checked():
    module = ck.simulator.RawModule(code=CODE)
    x, order = np.ones(128, np.float32), np.arange(128, dtype=np.int32)
    with suppress(ck.SimulatorError), ck.simulator.checked(seed=3) as report:
        for _ in range(2):
            module.get_function("total")((1,), (128,), (x, np.zeros(1, np.float32)))
        module.get_function("shift")((1,), (128,), (x, order, 128))
    assert {"race", "out_of_bounds"} <= {finding.kind for finding in report.findings}
    return report.report


MOVES = """extern "C" __global__ void pick(const float* x, const int* idx, float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[idx[threadIdx.x] * 64 + blockIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x ^ 1];
}
"""


@pytest.fixture(scope="module")
def traffic():
    pick = ck.simulator.RawKernel(MOVES, "pick")
    x, idx = np.ones(64 * 64, np.float32), np.arange(64, dtype=np.int32)
    with ck.simulator.traffic() as report:
        for _ in range(2):
            pick((4,), (64,), (x, idx, np.empty(64, np.float32)))
        ck.one_hot([1, 0], 4)
    assert len(report.kernels) == 2
    return report.report


@pytest.fixture(scope="module")
def reports(checked, traffic):
    return checked, traffic


@pytest.fixture
def shown(browser, tmp_path):
    """Return a function that opens the page of a report in a browser."""

    def show(report, **options):
        pages.write(pages.render(report), tmp_path / "report.html")
        return browser.open(tmp_path / "report.html", **options)

    return show


def page_of(report, **changes):
    """Return the page of a report with other findings, kernels or sources."""
    return Page(pages.render(replace(report, **changes)))


def test_a_page_is_valid_and_refers_to_itself_alone(reports):
    for report in reports:
        text = pages.render(report)
        page = Page(text)
        links = [link for link in page.references if link != "data:,"]
        assert {link[:1] for link in links} == {"#"}
        assert {link[1:] for link in links} <= {*page.ids}
        assert not re.search(r"url\(|@import|https?:", text)


def test_every_finding_is_told_and_marked_at_both_lines(checked):
    page = page_of(checked)
    rows = page.rows("#", "kind", "lines")
    findings = checked.findings
    for number, (finding, row) in enumerate(zip(findings, rows, strict=True), 1):
        assert (row["#"], row["kind"]) == (str(number), finding.kind)
        assert (row["kernel"], int(row["threads"])) == (finding.kernel, finding.threads)
        assert row["what was found"] == finding.message
        ends = [finding] if finding.other is None else [finding, finding.other]
        for end, letter in zip(ends, "ab", strict=False):
            line = end.source[1]
            assert f"{end.access} module.cu:{line}" in " ".join(row["lines"].split())
            mark = page.texts[f"f{number}{letter}"]
            assert mark.startswith(f"{number} {finding.kind}: {end.access}")
            assert mark.endswith(f"by thread {end.thread} of block {end.block}")
            assert mark in page.texts[f"s1-{line}"]
            if finding.other is not None:
                away = finding.other if end is finding else finding
                assert f"{mark}with line {away.source[1]}" in page.texts[f"s1-{line}"]
            assert end.code.strip() in page.texts[f"s1-{line}"]
    race = page.texts["f1a"]
    assert re.search(r"of s\[\d+\] by thread", race)
    kernels = page.rows("kernel", "findings", "kinds", "lines")
    assert [row["kernel"] for row in kernels] == ["total", "shift"]
    assert sum(int(row["findings"]) for row in kernels) == len(findings)
    arrays = {row["array"] for row in page.rows("kernel", "array", "findings")}
    assert arrays == {"s", "x"}


def test_all_lines_of_a_source_stand_there_once(checked, traffic):
    for report, code in ((checked, CODE), (traffic, MOVES)):
        page = page_of(report)
        for number, line in enumerate(code.splitlines(), 1):
            assert page.texts[f"s1-{number}"].lstrip().startswith(f"{number}{line}")
        assert f"s1-{len(code.splitlines()) + 1}" not in page.ids


def as_told(requests):
    """Return the figures for requests as a page shows them."""
    return {
        "requests": f"{requests.requests:,}",
        "sectors/request": f"{requests.sectors_per_request:.2f}" if requests.sectors else "-",
        "bytes requested": f"{requests.bytes_requested:,}",
        "bytes moved": f"{requests.bytes_moved:,}" if requests.sectors else "-",
        "efficiency": f"{requests.efficiency:.0%}" if requests.sectors else "-",
        "wavefronts": f"{requests.wavefronts:,}" if requests.wavefronts else "-",
    }


NAMES = ("x", "idx", "y")


def test_figures_of_every_line_stand_beside_it(traffic):
    page = page_of(traffic)
    pick = traffic.kernels[0]
    (table,) = [t for t in page.tables if t[0][:2] == ["line", "source"] and t[1][1] in MOVES]
    heads, *rows = table
    found, at = {}, 0
    for row in rows:
        if len(row) == len(heads):
            at = int(row[0])
        if len(row) > 2:
            cells = dict(zip(heads[::-1], row[::-1], strict=False))
            found[at, cells["access"]] = {name: cells[name] for name in as_told(pick.loads)}
    expected = {}
    for line in pick.lines:
        array = NAMES[line.array] if isinstance(line.array, int) else line.array
        expected[line.source[1], f"{line.kind} {array}"] = as_told(line)
    assert len(expected) == 5
    assert found.items() >= expected.items()


def test_figures_stand_in_the_file_that_they_are_of(traffic):
    found = []
    for table in (t for t in page_of(traffic).tables if t[0][:2] == ["line", "source"]):
        counts = {row[0]: row[-1] for row in table[1:] if len(row) == len(table[0]) and row[-1]}
        found.append(sorted(counts.items()))
    expected = {}
    for kernel in traffic.kernels:
        for (file, line), count in kernel.executed.items():
            expected.setdefault((kernel.library, file), []).append((str(line), f"{count:,}"))
    assert len(expected) > 3
    assert sorted(found) == sorted(map(sorted, expected.values()))


def test_requests_within_a_header_stand_at_the_line_that_led_there(traffic):
    kernel = replace(traffic.kernels[0])
    stack = (("/usr/local/cuda/include/cub/x.cuh", 7), ("pick.cu", 3), ("pick.cu", 1))
    origin = "pick.py", 70
    kernel.lines = [replace(kernel.lines[0], source=stack[0], stack=stack, origin=origin)]
    page = page_of(traffic, kernels=[kernel])
    assert f"{kernel.lines[0].requests:,}" in page.texts["s1-3"]
    (row,) = page.rows("line", "kernel", "access")
    assert row["line"] == "cub/x.cuh:7 (called at pick.cu:3) is pick.py:70"
    assert "#s1-3" in page.references


def test_tables_by_line_array_and_kernel_add_up(traffic):
    page = page_of(traffic)
    lines = page.rows("line", "kernel", "access")
    wasted = [
        int(row["bytes requested"].replace(",", ""))
        - int(row["bytes moved"].replace(",", "").replace("-", "0"))
        for row in lines
    ]
    assert wasted == sorted(wasted)
    assert len(lines) == sum(len(kernel.lines) for kernel in traffic.kernels)
    for kernel, row in zip(traffic.kernels, page.rows("kernel", "launches"), strict=True):
        assert row["kernel"] == kernel.kernel
        assert row["launches"] == str(kernel.launches)
        assert row["bytes moved"] == f"{kernel.bytes_moved:,}"
        assert row["instructions"] == f"{kernel.instruction_count:,}"
    by_array = [row for row in page.rows("array", "kernel") if row["kernel"] == "pick"]
    assert {(row["array"], row["access"]): row["requests"] for row in by_array} == {
        ("x", "load"): "16",
        ("idx", "load"): "16",
        ("y", "store"): "16",
        ("tile", "shared load"): "16",
        ("tile", "shared store"): "16",
    }
    metrics = dict(row for t in page.tables if t[0][0] == "metric" for row in t[1:])
    one_hot = traffic.kernels[1].metrics
    assert metrics == {name: f"{count:,}" for name, count in one_hot.items()}


EVIL = (
    "</script><script>alert(1)</script><b onclick=x>&amp; \"'"
    "\0\x07\x85\u202e\ud800\ufffe{{ 7 * 7 }}"
)


def test_what_comes_from_outside_is_text(checked, traffic):
    finding = replace(
        checked.findings[0], kind=EVIL, kernel=EVIL, name=EVIL, message=EVIL, code=EVIL
    )
    other = replace(finding.other, access=EVIL, source=(EVIL, 1), stack=((EVIL, 1),))
    finding = replace(finding, source=(EVIL, 1), stack=((EVIL, 1),), other=other)
    sources = {(finding.library, EVIL): f"{EVIL}\r\n{EVIL}\n"}
    findings = [finding, replace(finding, library="")]
    texts = [pages.render(replace(checked, findings=findings, sources=sources))]
    kernel = replace(
        traffic.kernels[0], kernel=EVIL, instructions={EVIL: 1}, executed={(EVIL, 2): 1}
    )
    kernel.lines = [replace(kernel.lines[0], kind=EVIL, name=EVIL, source=(EVIL, 1), stack=())]
    sources = {(kernel.library, EVIL): f"{EVIL}\r\n{EVIL}\n"}
    texts.append(pages.render(replace(traffic, kernels=[kernel], sources=sources)))
    for text in texts:
        page = Page(text)
        assert [*page.scripts] == [script() for _ in "a"]
        assert "alert(1)" in page.texts["s1-1"]
        assert "{{ 7 * 7 }}" in page.texts["s1-1"]
        assert "s1-3" not in page.ids
        assert text.encode()
        assert not re.search("[\0\x07\x85\u202e\ufffe]", text)
        assert r"\x00\x07\x85\u202e\ud800\ufffe" in page.texts["s1-1"]


def script():
    return "\n" + (Path(pages.__file__).parent / "page.js").read_text(encoding="utf-8")


def test_places_whose_source_is_not_there(checked, traffic):
    page = page_of(checked, sources={})
    assert "s1" not in page.ids
    first = page.rows("#", "kind", "lines")[0]
    assert checked.findings[0].code.strip() in first["lines"]
    assert "#f1" not in page.references
    page = page_of(traffic, sources={})
    assert "s1" not in page.ids
    assert len(page.rows("line", "kernel", "access")) == sum(len(k.lines) for k in traffic.kernels)
    beyond = replace(checked.findings[0], source=("module.cu", 999))
    page = page_of(checked, findings=[beyond])
    assert "f1a" not in page.ids
    assert "f1b" in page.ids
    assert "f1a" not in page_of(checked, findings=[replace(beyond, other=None)]).ids


def test_places_in_two_files_lead_to_each_other(checked):
    first = checked.findings[0]
    other = replace(first.other, source=("other.cuh", 2), stack=(("other.cuh", 2),))
    sources = {**checked.sources, (first.library, "other.cuh"): "a\nb\n"}
    page = page_of(checked, findings=[replace(first, other=other)], sources=sources)
    assert page.texts["s2-2"].lstrip().startswith("2b")
    assert f"with module.cu:{first.source[1]}" in page.texts["s2-2"]
    assert "with other.cuh:2" in page.texts[f"s1-{first.source[1]}"]
    assert {"#f1a", "#f1b"} <= {*page.references}


def test_nothing_found_and_nothing_launched():
    with ck.simulator.checked() as found:
        ck.gather([1, 2, 3], [0])
    with ck.simulator.traffic() as moved:
        pass
    with ck.simulator.checked() as idle:
        pass
    titles = {"Nothing found": found, "Nothing was checked": idle, "No launches": moved}
    for title, report in ((title, live.report) for title, live in titles.items()):
        text = pages.render(report)
        assert f"<h1>{title}</h1>" in text
        assert len(Page(text).tables) == bool(report.checked)
        assert re.search(r"Made by cudakern [\d.]+, 2\d{3}-\d\d-\d\d ", text)
    assert Page(pages.render(found.report)).tables[0][1][1:] == ["1", "0"]


def test_a_file_that_is_there_is_replaced(checked, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old", encoding="utf-8")
    link = tmp_path / "link.html"
    link.symlink_to(path)
    for given in (str(link), path):
        pages.write(pages.render(checked), given)
        assert path.read_text(encoding="utf-8") == pages.render(checked)
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "link.html"]


@each("path", [3, "d", "d/no/a.html"])
def test_paths_that_cannot_be(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir(exist_ok=True)
    error, required = ck.BindingError, "a file in a folder that is there"
    if path == 3:
        error, required = ck.DTypeError, "a str or a Path"
    with pytest.raises(error, match=rf"^report.html: path must be {required}; got {path}$"):
        ck.simulator.CheckReport().html(path)


def test_without_jinja2_the_message_says_what_to_install(checked, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ck.EngineUnavailableError) as caught:
        pages.render(checked)
    expected = "cudakern: report.html needs jinja2; run: pip install 'cudakern[simulator]'"
    assert str(caught.value) == expected


def visible_and_highlighted(page, name):
    """Return whether an element is visible, and whether its row looks different from the next."""
    return page.evaluate(
        """(name) => {
          const element = document.getElementById(name), box = element.getBoundingClientRect();
          const room = element.closest(".scroll").getBoundingClientRect();
          const inside = box.top >= Math.max(0, room.top) - 1
            && box.bottom <= Math.min(innerHeight, room.bottom) + 1;
          const colour = (row) => getComputedStyle(row.cells[1]).backgroundColor;
          const row = element.closest("tr");
          const others = [...row.parentElement.rows].filter((other) => other !== row);
          return [inside, !others.some((other) => colour(other) === colour(row))];
        }""",
        name,
    )


def focused(page):
    return page.evaluate("document.activeElement.id")


def test_findings_are_followed_by_mouse_and_by_keys(checked, shown):
    page = shown(checked, size=(1000, 400))
    pairs = [n for n, f in enumerate(checked.findings, 1) if f.other is not None]
    for number in pairs:
        assert_arrow(page, number)
    row, mark = f"f{max(pairs)}", f"f{max(pairs)}a"
    page.click(f"#{row}")
    assert (page.url.rpartition("#")[2], focused(page)) == (mark, mark)
    assert visible_and_highlighted(page, mark) == [True, True]
    assert page.get_attribute(".arrow.on", "data-finding") == str(max(pairs))
    page.keyboard.press("Enter")
    assert (page.url.rpartition("#")[2], focused(page)) == (row, row)
    page.keyboard.press("Enter")
    assert focused(page) == mark
    assert visible_and_highlighted(page, mark) == [True, True]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert focused(page) == f"f{max(pairs)}b"
    page.go_back()
    assert page.url.endswith(f"#{mark}")


def assert_arrow(page, number):
    """Raise AssertionError unless a finding's arrow ends in the rows of both its marks."""
    ends = page.evaluate(
        """(n) => {
          const path = document.querySelector(`.arrow[data-finding="${n}"] path`);
          const place = (at) => path.getPointAtLength(at).matrixTransform(path.getScreenCTM());
          return [0, path.getTotalLength()].map((at) => [place(at).x, place(at).y]);
        }""",
        number,
    )
    boxes = [page.locator(f"#f{number}{letter}").bounding_box() for letter in "ab"]
    rows = [page.locator(f"tr:has(#f{number}{letter})").bounding_box() for letter in "ab"]
    assert page.locator(f".arrow[data-finding='{number}'] .head").count() == 1
    middles = [box["y"] + box["height"] / 2 for box in boxes]
    assert sorted(y for _, y in ends) == pytest.approx(sorted(middles), abs=2)
    for row, (x, _) in zip(rows, ends, strict=True):
        assert x <= row["x"] + 1


def test_keys_reach_everything(reports, shown):
    for page in map(shown, reports):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
        page.keyboard.press("Enter")
        assert focused(page) == "main"
        what = ":is(a[href], button, input, summary, [tabindex])"
        wanted = page.locator(f"main {what}").count()
        folded = page.locator(f"details:not([open]) > :not(summary) {what}").count()
        seen = set()
        for _ in range(wanted + 5):
            page.keyboard.press("Tab")
            number, is_visible = page.evaluate(
                """() => {
                  const all = [...document.querySelectorAll('*')], at = document.activeElement;
                  const style = getComputedStyle(at);
                  const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
                  return [all.indexOf(at), ring || at === document.body];
                }"""
            )
            assert is_visible
            seen.add(number)
        assert len(seen) >= wanted - folded


def column(page, table, number):
    return page.evaluate(
        "([table, n]) => [...document.querySelectorAll(table + ' tbody tr')]"
        ".map((row) => row.cells[n].textContent.trim())",
        [table, number],
    )


def test_lines_of_traffic_are_sorted_and_hidden(traffic, shown):
    page = shown(traffic)
    heading = page.locator("#lines th", has_text="bytes moved")
    at = heading.evaluate("(cell) => cell.cellIndex")

    def values():
        return [int(v.replace(",", "").replace("-", "-1")) for v in column(page, "#lines", at)]

    before = values()
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert values() == sorted(before, reverse=True)
    page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(before)
    page.locator("#lines th button", has_text="array").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") is None
    arrays = column(page, "#lines", 3)
    assert arrays == sorted(arrays)
    assert len(arrays) == len(before)
    page.locator("#s1 input").check()
    lines = page.locator("#s1 .line")
    seen = [int(line.text_content()) for line in lines.all() if line.is_visible()]
    assert seen == sorted({line for (_, line) in traffic.kernels[0].executed})


def test_carets_stand_below_their_columns_behind_tabs(checked, shown):
    first = checked.findings[0]
    text = "\t/*\t*/ x[0];"
    finding = replace(first, source=("k.cu", 1), column=text.index("x") + 1, other=None)
    sources = {(first.library, "k.cu"): text}
    page = shown(replace(checked, findings=[finding], sources=sources))
    x, caret = page.evaluate(
        """(at) => {
          const text = document.querySelector("#s1-1 code").firstChild;
          const range = document.createRange();
          range.setStart(text, at);
          range.setEnd(text, at + 1);
          const boxes = [range, document.querySelector("#s1-1 i")];
          return boxes.map((each) => each.getBoundingClientRect().left);
        }""",
        text.index("x"),
    )
    assert caret == pytest.approx(x, abs=1)


def test_text_stands_out_and_narrow_windows_scroll_tables(reports, shown):
    for page in map(shown, reports):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            backgrounds = "getComputedStyle(document.body).backgroundColor"
            red = int(re.search(r"\d+", page.evaluate(backgrounds))[0])
            assert red < 64 if scheme == "dark" else red > 192
            for place in ("f1a", "s1-7"):
                page.evaluate("(place) => { location.hash = place }", place)
                count, faults = page.evaluate(CONTRAST)
                assert count > 100
                assert not faults
        page.set_viewport_size({"width": 320, "height": 256})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
        rooms = page.locator(".scroll").count()
        assert rooms >= 2
        assert page.locator(".scroll[role=region][tabindex='0']").count() == rooms
        if page.locator("#f1").count():
            page.click("#f1")
            assert visible_and_highlighted(page, "f1a") == [True, True]


def test_many_lines_and_findings_stay_usable(checked, shown, tmp_path):
    lines, count = 1500, 300
    text = "\n".join(f"  y[{n}] = x[{n}];  // line {n}" for n in range(1, lines + 1))
    first = checked.findings[0]
    findings = []
    for n in range(count):
        here, there = ("big.cu", 1 + 5 * n), ("big.cu", lines - (7 * n) % lines)
        other = OtherAccess("write", there, 3, (there,), (0, 0, 0), (n, 0, 0))
        place = {"source": here, "stack": (here,), "column": 3, "other": other}
        findings.append(replace(first, **place))
    page = shown(replace(checked, findings=findings, sources={(first.library, "big.cu"): text}))
    assert page.locator(".arrow").count() == count
    page.locator("#f277").press("Enter")
    assert visible_and_highlighted(page, "f277a") == [True, True]
    assert page.locator("tr:has(#f277a)").get_attribute("id") == f"s1-{1 + 5 * 276}"
    size = ((tmp_path / "report.html").stat().st_size - len(text)) / (lines + count)
    assert size < 1024, "bytes of HTML for a line or a finding"
