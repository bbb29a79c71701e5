"""Read a page of HTML, and check that its tags are valid."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "link", "input", "br", "wbr", "hr", "col"}
#: Attributes that name what a page loads or leads to.
REFERENCES = {"src", "href", "srcset", "data", "action", "poster", "background"}


#: A script: how many texts there are, and those whose contrast to what is behind is below 4.5.
CONTRAST = """() => {
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const faults = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("script, style, svg")) continue;
    const behind = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== "none") {
        behind.push(numbers(style.backgroundImage.match(/rgb\\([^)]*\\)/)[0]));
      }
      const colour = numbers(style.backgroundColor);
      if (colour.length < 4 || colour[3] > 0) { behind.push(colour); break; }
    }
    const text = numbers(getComputedStyle(element).color);
    count += 1;
    for (const colour of behind) {
      if (ratio(text, colour) < 4.5) faults.push([element.outerHTML.slice(0, 80), text, colour]);
    }
  }
  return [count, faults];
}"""


class Page(HTMLParser):
    """A page: texts of elements, by id, and rows of its tables."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.texts = [], [], {}
        self.references, self.tables, self.scripts, self.data = [], [], [], []
        self._cells = []
        self.feed(text)
        self.close()
        assert not self.open, "tags are open at the end"
        assert len(set(self.ids)) == len(self.ids), "ids are unique"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), "an attribute stands once"
        assert not any(name.startswith("on") for name in attributes), "no attribute is a script"
        self.references += [value for name, value in attrs if name in REFERENCES]
        name = attributes.get("id")
        if name is not None:
            self.ids.append(name)
            self.texts[name] = ""
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append((tag, name))

    def handle_startendtag(self, *_):
        assert ("svg", None) in self.open, "only SVG closes elements so"

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, "tags are closed in order"

    def handle_data(self, data):
        assert "\0" not in data
        self.data.append(data)
        tags = [tag for tag, _ in self.open]
        if tags[-1:] == ["script"]:
            self.scripts.append(data)
        for _, name in self.open:
            if name is not None:
                self.texts[name] += data
        if "td" in tags or "th" in tags:
            self.tables[-1][-1][-1] += data

    def rows(self, *first):
        """Return the rows, by heading, of the table whose first headings are these."""
        (table,) = [t for t in self.tables if t and t[0][: len(first)] == list(first)]
        return [dict(zip(table[0], row, strict=True)) for row in table[1:]]
