// The map of the data: a dot per row in the color of its label; answered rows have a ring.

const LIGHT = ["#1b5fae", "#c2410c", "#1f7a4d", "#7c3aad", "#b3123f", "#0e7490", "#8a6100", "#4b5563", "#be3a8b", "#4d7c0f"];
const DARK = ["#7db4f0", "#ff9c66", "#7fd6a4", "#c9a1f2", "#ff8aa5", "#6fd3e8", "#e8c060", "#b6bec9", "#f39ad0", "#b5dd72"];
const dark = matchMedia("(prefers-color-scheme: dark)");

export function color(code) {
  const colors = dark.matches ? DARK : LIGHT;
  return code < 0 ? (dark.matches ? "#5b6470" : "#c3c8cf") : colors[code % colors.length];
}

export function drawMap(canvas, map, labels, answered, now) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height || !map) return;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.clearRect(0, 0, width, height);
  const x = place => 8 + place[0] * (width - 16), y = place => height - 8 - place[1] * (height - 16);
  const size = map.places.length > 500 ? 2 : 3;
  map.places.forEach((place, i) => {
    context.fillStyle = color(labels[i]);
    context.globalAlpha = 0.75;
    context.beginPath();
    context.arc(x(place), y(place), size, 0, 7);
    context.fill();
  });
  context.globalAlpha = 1;
  context.strokeStyle = getComputedStyle(document.body).color;
  context.lineWidth = 1.25;
  for (const i of answered) {
    context.fillStyle = color(labels[i]);
    context.beginPath();
    context.arc(x(map.places[i]), y(map.places[i]), size + 2.5, 0, 7);
    context.fill();
    context.stroke();
  }
  const here = map.rows.indexOf(now);
  if (here >= 0) {
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(x(map.places[here]), y(map.places[here]), 9, 0, 7);
    context.stroke();
  }
}

dark.addEventListener("change", () => document.dispatchEvent(new Event("redraw")));
