"use strict";
const search = document.getElementById("search");
const rows = [...document.querySelectorAll(".row")].map((row) => {
  const modules = [];
  for (let part = row.parentElement.closest("details"); part; part = part.parentElement.closest("details")) {
    modules.push(part.querySelector("summary").textContent);
  }
  return { row, text: `${row.textContent} ${modules.join(" ")}`.toLowerCase() };
});
// Innermost first, so that a part is hidden where all parts in it are.
const parts = [...document.querySelectorAll("details")].reverse();
const opened = new Map(parts.map((part) => [part, part.open]));

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  for (const part of parts) {
    const has = part.querySelector(".row:not([hidden])") !== null;
    part.hidden = words.length > 0 && !has;
    part.open = words.length > 0 ? has : opened.get(part);
  }
  document.getElementById("count").textContent = `${shown} of ${rows.length} lines`;
  document.getElementById("nothing").hidden = shown > 0 || rows.length === 0;
}

/** Opens what a link leads into. */
function reveal() {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = row && row.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  if (row) row.scrollIntoView({ block: "center" });
}

search.addEventListener("input", filter);
window.addEventListener("hashchange", reveal);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape") {
    search.value = "";
    filter();
  }
});
filter();
reveal();
