"use strict";
// Tables are sorted by buttons in their headings, which are there only if a script runs.
for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("n");
      const was = head.getAttribute("aria-sort");
      const down = was ? was === "ascending" : isNumber;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[head.cellIndex];
        return isNumber ? Number(cell.dataset.v) : cell.textContent.trim();
      };
      const order = new Intl.Collator("en", { numeric: true }).compare;
      const compare = isNumber ? (a, b) => a - b : order;
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
      body.append(...rows.map((pair) => pair[1]));
    });
  }
}
// The arrow of the finding that was followed is drawn stronger.
function follow() {
  const number = /^#f(\d+)/.exec(location.hash)?.[1];
  for (const arrow of document.querySelectorAll(".arrow")) {
    arrow.classList.toggle("on", arrow.dataset.finding === number);
  }
}
addEventListener("hashchange", follow);
follow();
