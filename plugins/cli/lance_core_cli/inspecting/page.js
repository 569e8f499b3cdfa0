"use strict";
// The map of fragments, and the buttons that copy commands. All else on the page works without it.

const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("map");
const picker = document.getElementById("fragment");
const [MAX_HEIGHT, HISTOGRAM_BARS] = [420, 26];
const SIZES = [72, 56, 44, 34, 28, 22, 18, 15, 12, 10, 8, 7, 6, 5, 4, 3, 2];
const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

const grouped = (n) => Math.round(n).toLocaleString("en");
const percent = (x) => (x > 0 && x < 0.001 ? "< 0.1 %" : (100 * x).toFixed(x === 0 || x === 1 ? 0 : 1) + " %");
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
  return (unit ? bytes.toFixed(1) : bytes.toFixed(0)) + " " + units[unit];
}

// Columns are little-endian numbers, compressed with zlib, in base64.
async function unpacked({ type, bytes }) {
  const packed = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[type](await new Response(stream).arrayBuffer());
}

let columns, metric, chosen = 0, grid = null;

const METRICS = {
  rows: { of: (i) => columns.rows[i] - columns.deleted[i], text: grouped, ramp: "ramp" },
  bytes: { of: (i) => columns.bytes[i], text: size, ramp: "ramp" },
  deleted: { of: (i) => (columns.rows[i] ? columns.deleted[i] / columns.rows[i] : 0), text: percent, ramp: "heat" },
  age: { of: (i) => columns.created[i], text: (v) => "version " + Math.round(v), ramp: "ramp" },
  files: { of: (i) => columns.files[i], text: grouped, ramp: "ramp" },
};

function colours(name) {
  const style = getComputedStyle(document.documentElement);
  return [0, 1, 2].map((i) => {
    const hex = style.getPropertyValue(`--${name}${i}`).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
}

// 256 colours between three; the words of the pixels of an image, with full opacity.
function ramp(name) {
  const stops = colours(name);
  return Uint32Array.from({ length: 256 }, (_, step) => {
    const at = step / 127.5, low = Math.min(1, Math.floor(at)), part = at - low;
    const [r, g, b] = [0, 1, 2].map((c) => Math.round(stops[low][c] * (1 - part) + stops[low + 1][c] * part));
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });
}

function measure(count, of) {
  const values = new Float64Array(count);
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < count; i++) {
    const value = (values[i] = of(i));
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { values, low, high };
}

function draw() {
  const count = columns.ids.length, scale = window.devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  const fits = (s) => Math.ceil(count / Math.floor(width / s)) * s <= MAX_HEIGHT;
  const cell = SIZES.find(fits) || 2, across = Math.min(count, Math.floor(width / cell));
  const down = Math.ceil(count / across), unit = Math.max(1, Math.round(cell * scale));
  const gap = cell >= 5 ? Math.max(1, Math.round(scale)) : 0;
  canvas.width = across * unit;
  canvas.height = down * unit;
  canvas.style.width = canvas.width / scale + "px";
  canvas.style.height = canvas.height / scale + "px";
  const { of, text, ramp: name } = METRICS[metric];
  const measured = measure(count, of), { values, low, high } = measured;
  const palette = ramp(name), floor = metric === "deleted" ? 0 : low;
  const range = high - floor || 1, context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer), line = canvas.width;
  for (let i = 0; i < count; i++) {
    const colour = palette[Math.round((255 * (values[i] - floor)) / range)];
    const start = Math.floor(i / across) * unit * line + (i % across) * unit;
    for (let y = 0; y < unit - gap; y++) pixels.fill(colour, start + y * line, start + y * line + unit - gap);
  }
  context.putImageData(image, 0, 0);
  grid = { across, unit, scale, gap, image };
  document.getElementById("low").textContent = text(floor);
  document.getElementById("high").textContent = text(high);
  const [a, b, c] = [0, 1, 2].map((i) => `var(--${name}${i})`);
  document.getElementById("ramp").style.background = `linear-gradient(90deg, ${a}, ${b}, ${c})`;
  histogram(measured, text);
  mark();
}

function histogram({ values, low, high }, text) {
  const bins = new Uint32Array(HISTOGRAM_BARS), range = high - low;
  for (const value of values) bins[range ? Math.min(HISTOGRAM_BARS - 1, Math.floor((HISTOGRAM_BARS * (value - low)) / range)) : 0]++;
  const most = Math.max(...bins), svg = document.getElementById("histogram");
  svg.replaceChildren();
  const add = (tag, attributes, words) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (words) node.textContent = words;
    svg.append(node);
  };
  bins.forEach((n, i) => {
    // Bars of few are seen beside bars of many.
    const height = n ? Math.max(1.5, (70 * n) / most) : 0;
    add("rect", { x: i * 10, y: 74 - height, width: 9, height, rx: 1, fill: "var(--bar)" });
  });
  add("line", { x1: 0, x2: 260, y1: 74.5, y2: 74.5, class: "axis" });
  add("text", { x: 0, y: 90 }, text(low));
  add("text", { x: 260, y: 90, "text-anchor": "end" }, range ? text(high) : "");
  svg.setAttribute("aria-label", `How many fragments have which value, from ${text(low)} to ${text(high)}`);
}

function mark() {
  const context = canvas.getContext("2d"), { across, unit, scale, gap, image } = grid;
  context.putImageData(image, 0, 0);
  const x = (chosen % across) * unit, y = Math.floor(chosen / across) * unit, side = unit - gap;
  const reach = Math.max(side, 7 * scale), shift = (reach - side) / 2, pen = 2 * scale;
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--pick").trim();
  context.lineWidth = pen;
  context.strokeRect(x - shift + pen / 2, y - shift + pen / 2, reach - pen, reach - pen);
  const deleted = columns.deleted[chosen], rows = columns.rows[chosen];
  const texts = {
    id: grouped(columns.ids[chosen]),
    rows: grouped(rows - deleted),
    deleted: deleted ? `${grouped(deleted)} (${percent(deleted / rows)})` : "0",
    bytes: size(columns.bytes[chosen]),
    files: grouped(columns.files[chosen]),
    created: columns.created[chosen] ? (columns.created[chosen] <= data.oldest && data.more ? "≤ " : "") + columns.created[chosen] : "unknown",
  };
  for (const [name, text] of Object.entries(texts)) document.getElementById("f-" + name).textContent = text;
  picker.value = chosen + 1;
}

function choose(position) {
  chosen = Math.max(0, Math.min(columns.ids.length - 1, position));
  mark();
}

canvas?.addEventListener("pointerdown", (event) => {
  const box = canvas.getBoundingClientRect(), { across, unit, scale } = grid;
  const x = Math.floor(((event.clientX - box.left) * scale) / unit), y = Math.floor(((event.clientY - box.top) * scale) / unit);
  choose(y * across + Math.min(x, across - 1));
});
canvas?.addEventListener("keydown", (event) => {
  const { across } = grid, last = columns.ids.length - 1;
  const moves = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, ArrowUp: chosen - across, ArrowDown: chosen + across,
    PageUp: chosen - 10 * across, PageDown: chosen + 10 * across, Home: 0, End: last };
  const target = moves[event.key];
  if (target === undefined) return;
  event.preventDefault();
  if (event.key.startsWith("Arrow") && (target < 0 || target > last)) return;
  choose(target);
});
picker?.addEventListener("input", () => picker.value && choose(Number(picker.value) - 1));
for (const input of document.querySelectorAll("input[name=metric]"))
  input.addEventListener("change", () => { metric = input.value; draw(); });

for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.previousElementSibling;
    try { await navigator.clipboard.writeText(code.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(code); button.textContent = "Selected"; }
  });
}

async function start() {
  if (!canvas) return;
  const entries = await Promise.all(Object.entries(data.columns).map(async ([name, packed]) => [name, await unpacked(packed)]));
  columns = Object.fromEntries(entries);
  metric = document.querySelector("input[name=metric]:checked").value;
  document.getElementById("fragments").hidden = false;
  draw();
  new ResizeObserver(() => draw()).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
start().then(() => { document.documentElement.dataset.ready = performance.now().toFixed(0); });
