// The page of a labeling session. All texts of the data are set as text, never as HTML.

import { color, drawMap } from "./map.js";

const $ = id => document.getElementById(id);
const tab = Array.from(crypto.getRandomValues(new Uint8Array(8)), b => b.toString(16)).join("");
const WHY = {
  audit: "Drawn at random, to measure the error. The model's guess is shown after your answer.",
  model: "Chosen because its label teaches the model most.",
  first: "Typical of a part of the data: a good row to begin with.",
  person: "You asked for this row again.",
};
let state = null, map = null, busy = false;

const percent = share => {
  const value = 100 * share;
  return (value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1)) + " %";
};

function element(name, text, parts = {}) {
  const found = document.createElement(name);
  if (text !== undefined && text !== null) found.textContent = text;
  Object.assign(found, parts);
  return found;
}

function complain(text) {
  $("message").textContent = text || "";
  $("message").hidden = !text;
}

async function request(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ tab, ...body }) };
  const answer = await fetch(path, options || {});
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || answer.statusText);
  return found;
}

async function act(what, body = {}) {
  if (busy) return;
  busy = true;
  try {
    show(await request("api/" + what, body));
    complain("");
  } catch (error) {
    complain(error instanceof TypeError ? "The server does not answer. Start the same command again; all answers are kept." : error.message);
    if (!(error instanceof TypeError)) await refresh().catch(() => {});
  } finally {
    busy = false;
  }
}

async function refresh() {
  show(await request("api/state?tab=" + tab));
  complain("");
}

// Single digits as class names are their own keys; otherwise 1 to 9 and 0 go by position.
function keyOf(position) {
  const names = state.classes.map(c => c.name);
  if (names.every(name => /^[0-9]$/.test(name))) return names[position];
  return position < 9 ? String(position + 1) : position === 9 ? "0" : "";
}

function answer(name) {
  if (state && state.row) act("answer", { row: state.row.row, class: name });
}

function showRow() {
  const row = state.row;
  for (const id of ["not-sure", "skip", "flag"]) $(id).disabled = !row;
  if (!row) {
    $("item-title").textContent = "Every row has an answer";
    $("why").textContent = "Nothing is left to label. Write the completed copy.";
    $("picture").hidden = true;
    $("fields").replaceChildren();
    return;
  }
  $("item-title").textContent = row.image ? "Image " + row.name : "Row " + row.name;
  $("why").textContent = WHY[row.why] || "";
  $("picture").hidden = !row.image;
  if (row.image) {
    const address = "api/image/" + row.row;
    if ($("picture").getAttribute("src") !== address) $("picture").src = address;
    $("picture").alt = "Image " + row.name + " to label";
  }
  const list = element("dl");
  for (const field of row.fields) {
    list.append(element("dt", field.name));
    const value = element("dd", field.value, { className: field.text ? "long" : "" });
    if (field.note) value.append(element("span", field.note, { className: "note" }));
    list.append(value);
  }
  $("fields").replaceChildren(...(row.fields.length ? [list] : []));
  $("flag").setAttribute("aria-pressed", String(row.flagged));
}

function showClasses() {
  const row = state.row;
  $("guess").textContent = row && row.label !== null ? "The model says " + row.label + " (" + percent(row.confidence) + " sure)" : row && row.why === "audit" ? "Your answer first" : "";
  $("because").replaceChildren(...(row ? row.because : []).map(part => {
    const item = element("li");
    if (row.image) item.append(element("img", null, { src: "api/image/" + part.row, alt: "" }));
    item.append(element("span", (part.share < 0 ? "against: " : "because of ") + part.name + " = " + part.label + " (" + percent(Math.abs(part.share)) + ")"));
    return item;
  }));
  $("classes").replaceChildren(...state.classes.map((c, i) => {
    const button = element("button", null, { type: "button", disabled: !row });
    if (row && row.label === c.name) button.className = "guessed";
    const dot = element("span", null, { className: "dot" });
    dot.style.background = color(i);
    button.append(dot);
    if (keyOf(i)) button.append(element("kbd", keyOf(i)));
    button.append(element("span", c.name));
    const count = element("span", c.given, { className: "count", title: c.given + " given, " + c.found + " in all" });
    count.append(element("span", " rows given", { className: "spoken" }));
    button.append(count);
    button.addEventListener("click", () => answer(c.name));
    return button;
  }));
  if (!state.classes.length) $("classes").replaceChildren(element("p", "No class yet. Press n and name the first one."));
  $("find-label").hidden = state.classes.length <= 10;
  $("names").replaceChildren(...state.classes.map(c => element("option", null, { value: c.name })));
}

function showStanding() {
  const e = state.estimate, p = state.promise;
  $("error").replaceChildren();
  if (e.drawn) {
    $("error").append("Error of the labels: ", element("strong", "between " + percent(e.low) + " and " + percent(e.high)), " with " + percent(e.level) + " confidence, whenever you look (" + e.drawn + " random rows checked).");
  } else {
    $("error").append("The error is not known yet: random rows will be mixed in to measure it.");
  }
  $("range").style.left = 100 * e.low + "%";
  $("range").style.width = 100 * (e.high - e.low) + "%";
  $("point").style.left = 100 * e.error + "%";
  $("promise").textContent = p ? "Promise of at most " + percent(p.share) + ": " + p.words + "." : "";
  $("promise").className = p && (p.kind === "kept" || p.kind === "person") ? "kept" : "";
  $("freeze").hidden = !(p && p.kind === "learning" && state.classes.length > 1);
  const parts = ["diffusion over the graph", "a kernel classifier"].map((name, i) => name + " (" + percent(state.weights[i]) + ")");
  const live = state.weights[1] > 0 ? parts.join(" and ") + ", weighed by your answers." : "labels diffused over the graph, up to date with every answer.";
  $("source").textContent = "Shown: " + (state.source === "combination" ? "the combination of all candidates." : live) + (state.refreshing ? " The combination is being refreshed." : "") + " " + state.in_doubt + " rows still in doubt.";
  const rows = [...Object.entries(e.classes), ...Object.entries(e.bands).map(([n, b]) => ["confidence " + n, b])];
  $("groups").tBodies[0].replaceChildren(...rows.map(([name, b]) => {
    const line = element("tr");
    line.append(element("th", name, { scope: "row" }), element("td", b.rows), element("td", b.drawn), element("td", percent(b.low) + " and " + percent(b.high)));
    return line;
  }));
}

function showMap() {
  drawMap($("map"), map, state.map, state.answered, state.row ? state.row.row : -1);
  $("map").setAttribute("aria-label", "Map of " + (map ? map.places.length : 0) + " rows, " + state.answered.length + " of them answered");
  $("legend").replaceChildren(...state.classes.slice(0, 12).map((c, i) => {
    const item = element("li"), dot = element("span", null, { className: "dot" });
    dot.style.background = color(i);
    item.append(dot, element("span", c.name + " " + c.found));
    return item;
  }));
}

function show(found) {
  state = found;
  document.title = "fewfold: " + state.file;
  $("file").textContent = state.file + " · " + state.target;
  $("progress").textContent = state.answers + " answered here, " + state.known + " of " + state.rows + " rows have a label of a person";
  $("bar").value = state.known / state.rows;
  $("undo").disabled = !state.answers;
  showRow();
  showClasses();
  showStanding();
  showMap();
  if (state.said) $(state.said.startsWith("written") ? "written" : "said").textContent = state.said;
  document.body.dataset.ready = String(state.version);
}

function newClass(open) {
  $("new-form").hidden = !open;
  if (open) $("new-name").focus();
  else $("new-name").value = "";
}

const KEYS = {
  q: () => answer(null),
  s: () => state.row && act("skip", { row: state.row.row }),
  u: () => act("undo"),
  f: () => state.row && act("flag", { row: state.row.row, on: !state.row.flagged }),
  n: () => newClass(true),
  w: () => act("write"),
  "/": () => !$("find-label").hidden && $("find").focus(),
};
const BUTTONS = { "not-sure": "q", skip: "s", undo: "u", flag: "f", new: "n", write: "w" };
for (const [id, key] of Object.entries(BUTTONS)) $(id).addEventListener("click", () => KEYS[key]());
$("freeze").addEventListener("click", () => act("freeze"));
$("new-cancel").addEventListener("click", () => newClass(false));
$("new-form").addEventListener("submit", event => {
  event.preventDefault();
  const name = $("new-name").value;
  newClass(false);
  $("new-name").blur();
  act("class", { name });
});
$("find").addEventListener("change", () => {
  const name = $("find").value;
  if (state.classes.some(c => c.name === name)) {
    $("find").value = "";
    $("find").blur();
    answer(name);
  }
});
document.addEventListener("keydown", event => {
  if (event.key === "Escape") return newClass(false);
  if (!state || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  const position = state.classes.findIndex((_, i) => keyOf(i) === event.key);
  if (position >= 0 && event.key !== "") answer(state.classes[position].name);
  else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});
document.addEventListener("redraw", () => state && (showMap(), showClasses()));
addEventListener("resize", () => state && showMap());

map = await request("api/map");
await refresh();
const events = new EventSource("api/events");
events.addEventListener("message", event => {
  if (!busy && state && Number(event.data) !== state.version) refresh().catch(() => {});
});
events.addEventListener("error", () => complain("The server does not answer. Start the same command again; all answers are kept."));
events.addEventListener("open", () => complain(""));
