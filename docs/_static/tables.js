"use strict";
// Sorts tables of results by the column whose heading the user clicks. Numbers are sorted by size,
// and words alphabetically; cells without a value come last. A cell with the attribute data-value
// is sorted by that number.
(function () {
  const number = /[-+\u2212]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?/;

  function value(cell) {
    if (cell && "value" in cell.dataset) {
      return cell.dataset.value === "" ? null : parseFloat(cell.dataset.value);
    }
    const text = cell ? cell.textContent.trim() : "";
    if (text === "" || text === "\u2014") return null;
    const found = number.exec(text);
    if (!cell.classList.contains("number") || !found) return text.toLowerCase();
    return parseFloat(found[0].replace(/,/g, "").replace("\u2212", "-"));
  }

  function compare(a, b) {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  }

  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [value(row.cells[column]), row]);
    rows.sort(function (one, other) {
      if (one[0] === null || other[0] === null) return (one[0] === null) - (other[0] === null);
      return descending ? compare(other[0], one[0]) : compare(one[0], other[0]);
    });
    body.append(...rows.map((row) => row[1]));
  }

  function prepare(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      head.addEventListener("click", function () {
        const descending = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }

  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll("table.results").forEach(prepare);
  });
})();
