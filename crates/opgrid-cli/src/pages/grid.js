"use strict";
const grid = JSON.parse(document.getElementById("data").textContent);
const element = (name) => document.getElementById(name);

// How each rule is drawn: its class, the letter for those who see no colours, its name, and what it means.
const RULES = {
  direct: ["direct", "K", "own kernel", (key) => `A kernel was registered for ${key} itself.`],
  alias: ["alias", "A", "alias", (key, alias) => `No kernel was registered for ${key} itself. One for ${alias}, which stands for ${key} too, fills the cell.`],
  fallback: ["fallback", "F", "fallback", (key) => `The operator has no kernel for ${key}. The fallback of ${key} serves every such operator.`],
  fallthrough: ["fallthrough", "–", "stepped over", (key) => `Calls step over ${key} at no cost and go on with the next key below.`],
  ambiguous: ["ambiguous", "!", "ambiguous", (key) => `A composite kernel and a kernel of a backend fit ${key}, and no rule chooses between them: a call is an error.`],
  none: ["none", "·", "nothing", (key, rule) => rule === "stepped over"
    ? `Nothing is registered for ${key}, and calls step over it.`
    : `Nothing is registered for ${key}: a call that comes here is an error.`],
};

/** The rule of a cell, and the alias that it is about. */
function ruleOf([reason, kernel]) {
  const steps = reason < 0;
  const text = grid.reasons[steps ? -1 - reason : reason];
  const [word, alias] = text.split(" ");
  if (kernel === null) return ["none", text];
  if (steps) return ["fallthrough", alias];
  return [RULES[word] ? word : "none", alias];
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const namespaceOf = (name) => name.split("::")[0];

function drawHead() {
  const row = make("tr", {}, make("th", { scope: "col" }, "operator"));
  for (const column of grid.columns) {
    const more = column.also.length ? [make("span", { class: "more" }, ` +${column.also.length}`)] : [];
    const label = make("span", {}, column.key);
    for (const part of more) label.append(part.textContent);
    const title = [column.key, ...column.also].join(", ");
    row.append(make("th", { scope: "col", title: `${column.kind}: ${title}` }, label));
  }
  element("head").replaceChildren(row);
}

const rows = [];

function drawRows() {
  const body = document.createDocumentFragment();
  grid.rows.forEach((operator, y) => {
    const kinds = new Set();
    const row = make("tr", {}, make("th", { scope: "row", class: "code", title: operator.schema }, operator.name));
    operator.cells.forEach((cell, x) => {
      const [rule] = ruleOf(cell);
      kinds.add(rule);
      const [kind, letter, name] = RULES[rule];
      const label = `${operator.name} at ${grid.columns[x].key}: ${name}`;
      const button = make("button", { class: kind, tabindex: "-1", "aria-label": label, "data-x": x, "data-y": y }, letter);
      row.append(make("td", {}, button));
    });
    rows.push({ row, kinds, text: operator.schema.toLowerCase(), namespace: namespaceOf(operator.name) });
    body.append(row);
  });
  element("body").replaceChildren(body);
}

const pressed = new Set();

function drawLegend() {
  for (const [rule, [kind, letter, name]] of Object.entries(RULES)) {
    if (!rows.some((row) => row.kinds.has(rule))) continue;
    const mark = make("span", { class: `mark ${kind}`, "aria-hidden": "true" }, letter);
    const button = make("button", { "aria-pressed": "false", "data-rule": rule }, mark, name);
    button.addEventListener("click", () => {
      if (!pressed.delete(rule)) pressed.add(rule);
      button.setAttribute("aria-pressed", String(pressed.has(rule)));
      filter();
    });
    element("legend").append(button);
  }
}

function drawNamespaces() {
  const names = [...new Set(rows.map((row) => row.namespace))];
  element("namespace").append(make("option", { value: "" }, "all"));
  for (const name of names) element("namespace").append(make("option", { value: name }, name));
  element("namespace").closest("label").hidden = names.length < 2;
}

function filter() {
  const words = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const namespace = element("namespace").value;
  let shown = 0;
  for (const { row, kinds, text, namespace: own } of rows) {
    const admitted = words.every((word) => text.includes(word))
      && (!namespace || own === namespace)
      && [...pressed].every((rule) => kinds.has(rule));
    row.hidden = !admitted;
    shown += admitted ? 1 : 0;
  }
  element("count").textContent = `${shown} of ${rows.length} operators, ${grid.columns.length} columns`;
  element("nothing").hidden = shown > 0;
  if (!cursor || cursor.closest("tr").hidden) {
    const first = rows.find(({ row }) => !row.hidden);
    if (first) moveTo(first.row.querySelector("button"), false);
  }
}

let cursor = null;

/** One cell at a time is reached by the Tab key. */
function moveTo(button, focus = true) {
  if (!button) return;
  if (cursor) cursor.tabIndex = -1;
  cursor = button;
  cursor.tabIndex = 0;
  if (focus) {
    cursor.focus({ preventScroll: true });
    keepVisible(cursor);
  }
}

/** Scrolls so far that the cell stands beside the names and below the keys, which stay where they are. */
function keepVisible(button) {
  const main = element("main").getBoundingClientRect();
  const head = element("head").getBoundingClientRect().height;
  const names = button.closest("tr").querySelector("th").getBoundingClientRect().width;
  const cell = button.getBoundingClientRect();
  const down = Math.max(0, cell.bottom - main.bottom + 24) - Math.max(0, main.top + head - cell.top + 4);
  const right = Math.max(0, cell.right - main.right + 24) - Math.max(0, main.left + names - cell.left + 4);
  element("main").scrollBy(right, down);
}

function beside(button, dx, dy) {
  const x = Number(button.dataset.x) + dx;
  let row = button.closest("tr");
  for (let step = dy; step !== 0 && row; ) {
    row = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    if (row && !row.hidden) step -= Math.sign(step);
  }
  return row && row.querySelector(`button[data-x="${x}"]`);
}

function explain(button) {
  const x = Number(button.dataset.x);
  const operator = grid.rows[Number(button.dataset.y)];
  const column = grid.columns[x];
  const cell = operator.cells[x];
  const [rule, alias] = ruleOf(cell);
  const [kind, letter, name, meaning] = RULES[rule];
  document.querySelector('button[aria-selected="true"]')?.removeAttribute("aria-selected");
  button.setAttribute("aria-selected", "true");
  const kernel = cell[1] === null ? null : grid.kernels[cell[1]];
  const list = make("dl");
  const say = (term, text) => list.append(make("dt", {}, term), make("dd", { class: "code" }, text));
  if (kernel) {
    say("kernel", kernel.title);
    if (kernel.condition) say("runs when", kernel.condition);
    say("called", kernel.typed ? "with typed arguments" : "with a list of values");
    say("registered", kernel.place);
  }
  if (column.also.length) say("same at", column.also.join(", "));
  const parts = [
    make("h1", { class: "code", id: "detail-operator" }, operator.name),
    make("p", { class: "code" }, operator.schema),
    make("h2", { id: "detail-key" }, `${column.key} `, make("span", { class: `mark ${kind}` }, letter), ` ${name}`),
    make("p", { id: "detail-reason" }, meaning(column.key, alias)),
    list,
    make("h2", {}, "Registered kernels"),
  ];
  const registered = make("ul");
  for (const [key, kernels] of operator.registered) {
    for (const number of kernels) {
      const { title, condition, place } = grid.kernels[number];
      const when = condition ? ` when ${condition}` : "";
      registered.append(make("li", {}, make("code", {}, `${key}: ${title}${when}`), make("div", { class: "quiet code" }, place)));
    }
  }
  parts.push(operator.registered.length ? registered : make("p", { class: "quiet" }, "none"));
  if (operator.traits.length) {
    const traits = make("ul");
    for (const [trait, text] of operator.traits) traits.append(make("li", {}, make("code", {}, text ? `${trait}: ${text}` : trait)));
    parts.push(make("h2", {}, "Known of it"), traits);
  }
  if (operator.place) parts.push(make("p", { class: "quiet code" }, `defined at ${operator.place}`));
  element("detail").replaceChildren(...parts);
  element("detail").scrollTop = 0;
  history.replaceState(null, "", `#${encodeURIComponent(operator.name)}/${encodeURIComponent(column.key)}`);
}

/** Opens the cell that the address names, as in #aten%3A%3Aadd.Tensor/CPU. */
function openAddress() {
  const [name, key] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const y = grid.rows.findIndex((row) => row.name === name);
  const x = grid.columns.findIndex((column) => column.key === key || column.also.includes(key));
  if (y < 0 || x < 0) return;
  const button = rows[y].row.querySelector(`button[data-x="${x}"]`);
  moveTo(button);
  explain(button);
}

element("body").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  moveTo(button);
  explain(button);
});

element("body").addEventListener("keydown", (event) => {
  const button = event.target.closest("button");
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [0, -10], PageDown: [0, 10] };
  const step = button && steps[event.key];
  if (step) {
    event.preventDefault();
    moveTo(beside(button, ...step));
  } else if (button && (event.key === "Home" || event.key === "End")) {
    event.preventDefault();
    const cells = button.closest("tr").querySelectorAll("button");
    moveTo(cells[event.key === "Home" ? 0 : cells.length - 1]);
  }
});

document.addEventListener("keydown", (event) => {
  const search = element("search");
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape") {
    search.value = "";
    pressed.clear();
    document.querySelectorAll("#legend button").forEach((button) => button.setAttribute("aria-pressed", "false"));
    filter();
  }
});

element("search").addEventListener("input", filter);
element("namespace").addEventListener("change", filter);

drawHead();
drawRows();
drawLegend();
drawNamespaces();
filter();
openAddress();
