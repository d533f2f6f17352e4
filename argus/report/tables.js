"use strict";
/* Tables that sort by a click on a heading and filter by text and by buttons. A cell's data-value is what it sorts by:
   numbers as numbers, everything else as text; cells without a value come last, whichever the direction. */
(() => {
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const original = [...body.rows];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (button) button.addEventListener("click", () => sort(head, column));
    });

    function sort(head, column) {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"];
      for (const each of heads) each.ariaSort = "none";
      head.ariaSort = next;
      const sign = next === "descending" ? -1 : 1;
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const ordered = next === "none" ? original : [...original].sort((a, b) => compare(value(a), value(b), sign));
      body.append(...ordered);
    }
  }

  function compare(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y);
  }

  for (const bar of document.querySelectorAll("[data-filters]")) {
    const table = document.getElementById(bar.dataset.filters);
    const words = bar.querySelector("input");
    const count = bar.querySelector("output");
    const choices = [...bar.querySelectorAll("button")];

    function filter() {
      const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = choices.find((each) => each.ariaPressed === "true")?.dataset.verdict ?? "";
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = (chosen && row.dataset.verdict !== chosen) || !sought.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${table.tBodies[0].rows.length}`;
    }
    for (const choice of choices) {
      choice.addEventListener("click", () => {
        for (const each of choices) each.ariaPressed = String(each === choice);
        filter();
      });
    }
    words.addEventListener("input", filter);
    filter();
  }
})();
