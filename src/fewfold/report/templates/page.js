"use strict";
// Tables: sort by a press on a head, show rows that hold all the words typed, save as CSV.
(() => {
  const bodies = (table) => Array.from(table.tBodies[0].rows);

  function sort(table, column, button) {
    const head = button.closest("th");
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[column];
      if (cell.dataset.k === undefined) return cell.textContent;
      return cell.dataset.k === "" ? null : Number(cell.dataset.k);
    };
    const rows = bodies(table).map((row, i) => [key(row), i, row]);
    rows.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j; // no value: last
      const order = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return (up ? order : -order) || i - j;
    });
    table.tBodies[0].append(...rows.map((entry) => entry[2]));
  }

  function filter(table, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of bodies(table)) {
      const content = Array.from(row.cells, (cell) => cell.textContent).join("\t").toLowerCase();
      row.hidden = !words.every((word) => content.includes(word));
      shown += !row.hidden;
    }
    const count = document.querySelector(`.count[data-table="${table.id}"]`);
    if (count) count.textContent = `${shown} row${shown === 1 ? "" : "s"}`;
  }

  function save(table) {
    // A leading =, +, @ or tab would be run as a formula by some spreadsheet programs.
    const quote = (text) => `"${(/^[=+@\t]/.test(text) ? "'" + text : text).replace(/"/g, '""')}"`;
    const rows = [table.tHead.rows[0], ...bodies(table).filter((row) => !row.hidden)];
    const lines = rows.map((row) => Array.from(row.cells, (cell) => quote(cell.textContent.trim())).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = "results.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      const button = cell.querySelector("button");
      if (button) button.addEventListener("click", () => sort(table, column, button));
    });
  }
  for (const input of document.querySelectorAll("input.filter")) {
    const table = document.getElementById(input.dataset.table);
    input.addEventListener("input", () => filter(table, input.value));
  }
  for (const button of document.querySelectorAll("button.save")) {
    button.addEventListener("click", () => save(document.getElementById(button.dataset.table)));
  }
  // A link to a section opens what is folded there.
  const unfold = () => {
    const part = document.getElementById(location.hash.slice(1));
    const section = part && part.closest("section:not(.dataset)");
    const folded = section && section.querySelector(":scope > details");
    if (folded && !section.querySelector(":scope > details[open]")) folded.open = true;
  };
  window.addEventListener("hashchange", unfold);
  unfold();
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
