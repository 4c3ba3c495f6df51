"use strict";
// Maps: two linked pictures of the same points, colored by truth and by a method's answer.
(() => {
  const kinds = { f4: Float32Array, i2: Int16Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
  const unpack = (text, kind) => {
    if (text === null) return null;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new kinds[kind](bytes.buffer);
  };
  let scrolled = -1e9;
  window.addEventListener("scroll", () => { scrolled = performance.now(); }, { passive: true });

  function mix(stops, share) {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    const part = (k) => {
      const [a, b] = [stops[i], stops[i + 1]].map((c) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16));
      return Math.round(a + (b - a) * (at - i));
    };
    return `rgb(${part(0)}, ${part(1)}, ${part(2)})`;
  }

  const short = (value) => String(Number(value.toPrecision(4)));
  const cell = (value) => {
    if (Number.isNaN(value)) return "empty";
    return Math.abs(value) >= 1000 ? value.toFixed(0) : short(value);
  };

  class Map2D {
    constructor(box, data) {
      this.box = box;
      this.data = data;
      this.number = data.task === "regression";
      this.rows = unpack(data.rows, "u4");
      this.x = unpack(data.x, "u2");
      this.y = unpack(data.y, "u2");
      this.truth = unpack(data.truth, data.kind);
      this.columns = (data.columns || []).map((c) => ({ ...c, values: unpack(c.values, "f4") }));
      this.methods = data.methods.map((m) => ({
        name: m.name,
        labels: unpack(m.labels, data.kind),
        confidence: unpack(m.confidence, "u1"),
        given: unpack(m.given, "u1"),
      }));
      for (const m of this.methods) m.count = m.given.reduce((sum, g) => sum + g, 0);
      this.method = this.methods[0] || null;
      this.mode = "prediction";
      this.only = null;
      this.near = -1;
      this.view = { scale: 1, x: 0, y: 0 };
      this.extent = [Math.max(...this.x) / 65535, Math.max(...this.y) / 65535];
      this.tip = box.querySelector(".tip");
      this.pictures = Array.from(box.querySelectorAll("canvas"));
      this.range = this.findRange();
      this.listen();
      this.resize();
    }

    findRange() {
      if (!this.number) return null;
      let low = Infinity, high = -Infinity;
      for (const values of [this.truth, this.method && this.method.labels]) {
        for (const v of values || []) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
      }
      if (!(low < high)) { low -= 0.5; high = low + 1; }
      return [low, high];
    }

    // Place of point i in a canvas of the given size, in CSS pixels.
    place(i, width, height) {
      const margin = 14, room = Math.min((width - 2 * margin) / (this.extent[0] || 1), (height - 2 * margin) / (this.extent[1] || 1));
      const px = width / 2 + (this.x[i] / 65535 - this.extent[0] / 2) * room;
      const py = height / 2 - (this.y[i] / 65535 - this.extent[1] / 2) * room;
      const v = this.view;
      return [(px - width / 2) * v.scale + width / 2 + v.x * width, (py - height / 2) * v.scale + height / 2 + v.y * width];
    }

    color(side, i) {
      const m = this.method, d = this.data;
      if (side === "guess" && this.mode === "confidence") {
        const c = m.confidence ? m.confidence[i] : 255;
        return c === 255 ? null : mix(d.ramp, c / 250);
      }
      if (side === "guess" && this.mode === "mistakes") {
        if (this.number) return mix(d.ramp, Math.abs(m.labels[i] - this.truth[i]) / (this.range[1] - this.range[0]));
        return this.wrong(i) ? "#d55e00" : "#c3ccd4";
      }
      const value = (side === "truth" ? this.truth : m.labels)[i];
      if (this.number) return Number.isFinite(value) ? mix(d.ramp, (value - this.range[0]) / (this.range[1] - this.range[0])) : null;
      return value < 0 ? null : d.colors[value % d.colors.length];
    }

    wrong(i) {
      return this.truth !== null && this.truth[i] >= 0 && this.method.labels[i] !== this.truth[i];
    }

    classOf(side, i) {
      if (this.number) return -1;
      return (side === "truth" ? this.truth : this.method.labels)[i];
    }

    shape(ctx, kind, x, y, r) {
      ctx.beginPath();
      if (kind === 1) ctx.rect(x - r * 0.9, y - r * 0.9, 1.8 * r, 1.8 * r);
      else if (kind === 2) { ctx.moveTo(x, y - 1.2 * r); ctx.lineTo(x + 1.1 * r, y + 0.8 * r); ctx.lineTo(x - 1.1 * r, y + 0.8 * r); ctx.closePath(); }
      else if (kind === 3) { ctx.moveTo(x, y - 1.3 * r); ctx.lineTo(x + 1.3 * r, y); ctx.lineTo(x, y + 1.3 * r); ctx.lineTo(x - 1.3 * r, y); ctx.closePath(); }
      else ctx.arc(x, y, r, 0, 2 * Math.PI);
    }

    draw() {
      this.waiting = false;
      for (const canvas of this.pictures) this.drawOne(canvas, canvas.dataset.side);
      this.pictures.forEach((canvas) => { canvas.dataset.scale = this.view.scale.toFixed(3); });
    }

    drawOne(canvas, side) {
      const ctx = canvas.getContext("2d");
      const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.clearRect(0, 0, width, height);
      const n = this.rows.length;
      const size = Math.max(1.7, Math.min(4.5, 105 / Math.sqrt(n))) * Math.min(2.2, Math.sqrt(this.view.scale)) * (width < 380 ? 0.8 : 1);
      // Plain points first, then mistakes, then given labels, so that the rare ones stay visible.
      const layers = [[], [], []];
      const few = this.method && this.method.count <= 60;
      for (let i = 0; i < n; i++) {
        const given = this.method && this.method.given[i];
        const wrong = side === "guess" && this.mode === "mistakes" && !this.number && this.wrong(i);
        layers[given ? 2 : wrong ? 1 : 0].push(i);
      }
      for (const i of layers.flat()) {
        const [x, y] = this.place(i, width, height);
        if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
        const color = this.color(side, i), cls = this.classOf(side, i);
        const given = this.method && this.method.given[i];
        const r = given ? size + (few ? 2.2 : 0.7) : size;
        ctx.globalAlpha = this.only !== null && cls !== this.only ? 0.08 : given ? 1 : 0.82;
        this.shape(ctx, cls < 0 ? 0 : Math.floor(cls / this.data.colors.length) % 4, x, y, r);
        if (color === null) { ctx.lineWidth = 1; ctx.strokeStyle = "#8a96a2"; ctx.stroke(); continue; }
        ctx.fillStyle = color;
        ctx.fill();
        if (given) { ctx.lineWidth = few ? 1.8 : 1; ctx.strokeStyle = "#10161c"; ctx.stroke(); }
      }
      ctx.globalAlpha = 1;
      if (!this.number && (side === "truth" || this.mode === "prediction")) this.names(ctx, side, width, height);
      if (this.near >= 0) {
        const [x, y] = this.place(this.near, width, height);
        ctx.lineWidth = 2.5; ctx.strokeStyle = "#10161c";
        ctx.beginPath(); ctx.arc(x, y, size + 5, 0, 2 * Math.PI); ctx.stroke();
      }
    }

    // Each class's name at the middle of its points: colors need not be told apart.
    names(ctx, side, width, height) {
      const count = this.data.classes.length;
      if (count > 40) return;
      const places = Array.from({ length: count }, () => [[], []]);
      for (let i = 0; i < this.rows.length; i++) {
        const cls = this.classOf(side, i);
        if (cls < 0) continue;
        const [x, y] = this.place(i, width, height);
        places[cls][0].push(x); places[cls][1].push(y);
      }
      const middle = (v) => v.sort((a, b) => a - b)[Math.floor(v.length / 2)];
      ctx.font = "600 13px system-ui, sans-serif";
      ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.lineJoin = "round";
      const taken = [], order = places.map((_, cls) => cls).sort((a, b) => places[b][0].length - places[a][0].length);
      for (const cls of order) { // the largest classes first; a name that would cover another is left out
        const [xs, ys] = places[cls];
        if (!xs.length || (this.only !== null && this.only !== cls)) continue;
        const name = this.data.classes[cls], text = name.length > 16 ? name.slice(0, 15) + "…" : name;
        const x = middle(xs), y = middle(ys), half = ctx.measureText(text).width / 2 + 2;
        if (taken.some(([a, b, h]) => Math.abs(a - x) < h + half && Math.abs(b - y) < 15)) continue;
        taken.push([x, y, half]);
        ctx.lineWidth = 4; ctx.strokeStyle = "rgba(255, 255, 255, .9)"; ctx.strokeText(text, x, y);
        ctx.fillStyle = "#10161c"; ctx.fillText(text, x, y);
      }
    }

    later() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => this.draw());
    }

    resize() {
      const ratio = window.devicePixelRatio || 1;
      for (const canvas of this.pictures) {
        canvas.width = Math.round(canvas.clientWidth * ratio);
        canvas.height = Math.round(canvas.clientHeight * ratio);
      }
      this.later();
    }

    zoom(factor, canvas, x, y) {
      const v = this.view, width = canvas.clientWidth, height = canvas.clientHeight;
      const scale = Math.min(Math.max(v.scale * factor, 1), 60);
      const dx = (x - width / 2) / width, dy = (y - height / 2) / width;
      const change = scale / v.scale;
      v.x = dx - (dx - v.x) * change;
      v.y = dy - (dy - v.y) * change;
      v.scale = scale;
      this.settle();
    }

    settle() {
      const v = this.view;
      const limit = (v.scale - 1) / 2 + (v.scale > 1 ? 0.3 : 0);
      v.x = Math.min(Math.max(v.x, -limit), limit);
      v.y = Math.min(Math.max(v.y, -limit), limit);
      // While the whole picture shows, a finger's stroke scrolls the page.
      for (const canvas of this.pictures) canvas.style.touchAction = v.scale > 1 ? "none" : "pan-y";
      this.later();
    }

    hover(canvas, x, y) {
      let best = 18 * 18, near = -1;
      for (let i = 0; i < this.rows.length; i++) {
        const [px, py] = this.place(i, canvas.clientWidth, canvas.clientHeight);
        const d = (px - x) ** 2 + (py - y) ** 2;
        if (d < best) { best = d; near = i; }
      }
      if (near !== this.near) { this.near = near; this.fill(); this.later(); }
      if (near < 0) { this.tip.hidden = true; return; }
      this.tip.hidden = false;
      const base = this.box.getBoundingClientRect(), own = canvas.getBoundingClientRect();
      const left = own.left - base.left + x + 14, top = own.top - base.top + y + 14;
      this.tip.style.left = `${Math.max(0, Math.min(left, base.width - this.tip.offsetWidth - 2))}px`;
      this.tip.style.top = `${top}px`;
    }

    word(values, i) {
      if (values === null) return "not known";
      if (this.number) return Number.isFinite(values[i]) ? short(values[i]) : "not known";
      return values[i] < 0 ? "not known" : this.data.classes[values[i]];
    }

    fill() {
      const i = this.near, lines = [];
      if (i < 0) return;
      lines.push(this.data.names ? `${this.data.names[i]} (row ${this.rows[i]})` : `row ${this.rows[i]}`);
      lines.push(`${this.number ? "true value" : "label"}: ${this.word(this.truth, i)}`);
      if (this.method) {
        lines.push(`prediction: ${this.word(this.method.labels, i)}`);
        const c = this.method.confidence ? this.method.confidence[i] : 255;
        if (c !== 255) lines.push(`confidence: ${Math.round(c / 2.5)} %`);
        if (this.method.given[i]) lines.push("its label was given");
      }
      for (const c of this.columns) lines.push(`${c.name} = ${c.words ? c.words[c.values[i]] ?? "other" : cell(c.values[i])}`);
      this.tip.replaceChildren();
      const im = this.data.images;
      if (im) {
        const zoom = Math.max(1, Math.round(64 / Math.max(im.w, im.h))), div = document.createElement("div");
        div.className = "picture";
        div.style.width = `${im.w * zoom}px`;
        div.style.height = `${im.h * zoom}px`;
        div.style.backgroundImage = `url(${im.src})`;
        div.style.backgroundSize = `${im.w * zoom * im.columns}px ${im.h * zoom * im.rows}px`;
        div.style.backgroundPosition = `-${(i % im.columns) * im.w * zoom}px -${Math.floor(i / im.columns) * im.h * zoom}px`;
        this.tip.append(div);
      }
      for (const line of lines) {
        const div = document.createElement("div");
        div.textContent = line;
        this.tip.append(div);
      }
    }

    legend() {
      const title = this.box.querySelector(".right-title");
      const words = { prediction: "Prediction", mistakes: this.number ? "Size of the error" : "Mistakes", confidence: "Confidence" };
      const extra = this.mode === "confidence" ? (this.method.confidence ? " (dark: 0, light: 1)" : " (this method gives none)")
        : this.mode === "mistakes" ? (this.number ? " (dark: none)" : " (orange)") : "";
      if (title) title.textContent = words[this.mode] + extra;
      if (this.range) {
        this.box.querySelector(".scale .low").textContent = short(this.range[0]);
        this.box.querySelector(".scale .high").textContent = short(this.range[1]);
      }
    }

    listen() {
      const find = (name) => this.box.querySelector(name);
      const on = (name, event, act) => { const part = find(name); if (part) part.addEventListener(event, act); };
      on("select.method", "change", (e) => { this.method = this.methods[e.target.value]; this.range = this.findRange(); this.legend(); this.fill(); this.later(); });
      on("select.mode", "change", (e) => { this.mode = e.target.value; this.legend(); this.later(); });
      const first = this.pictures[0];
      const middle = (factor) => () => this.zoom(factor, first, first.clientWidth / 2, first.clientHeight / 2);
      on("button.in", "click", middle(1.5));
      on("button.out", "click", middle(1 / 1.5));
      on("button.reset", "click", () => { this.view = { scale: 1, x: 0, y: 0 }; this.settle(); });
      for (const chip of this.box.querySelectorAll(".chip")) {
        chip.addEventListener("click", () => {
          const cls = Number(chip.dataset.class);
          this.only = this.only === cls ? null : cls;
          for (const c of this.box.querySelectorAll(".chip")) c.setAttribute("aria-pressed", String(Number(c.dataset.class) === this.only));
          this.later();
        });
      }
      for (const canvas of this.pictures) this.listenTo(canvas);
      new ResizeObserver(() => this.resize()).observe(this.pictures[0]);
      this.legend();
    }

    listenTo(canvas) {
      let start = null;
      canvas.addEventListener("wheel", (e) => {
        // A page being scrolled past must not turn into zooming, nor get stuck on a whole picture.
        if (performance.now() - scrolled < 250 || (e.deltaY > 0 && this.view.scale <= 1)) return;
        e.preventDefault();
        this.zoom(Math.exp(-Math.max(-60, Math.min(60, e.deltaY)) / 200), canvas, e.offsetX, e.offsetY);
      }, { passive: false });
      canvas.addEventListener("pointerdown", (e) => {
        start = { x: e.offsetX, y: e.offsetY, vx: this.view.x, vy: this.view.y };
        canvas.setPointerCapture(e.pointerId);
        this.hover(canvas, e.offsetX, e.offsetY);
      });
      canvas.addEventListener("pointermove", (e) => {
        if (start && this.view.scale > 1) {
          canvas.classList.add("moving");
          this.view.x = start.vx + (e.offsetX - start.x) / canvas.clientWidth;
          this.view.y = start.vy + (e.offsetY - start.y) / canvas.clientWidth;
          this.settle();
        }
        this.hover(canvas, e.offsetX, e.offsetY);
      });
      const end = () => { start = null; canvas.classList.remove("moving"); };
      canvas.addEventListener("pointerup", end);
      canvas.addEventListener("pointercancel", end);
      canvas.addEventListener("pointerleave", (e) => {
        if (e.pointerType === "touch") return; // a tap's details stay until the next tap
        end(); this.near = -1; this.tip.hidden = true; this.later();
      });
      canvas.addEventListener("keydown", (e) => {
        const v = this.view, width = canvas.clientWidth, height = canvas.clientHeight;
        const moves = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
        if (e.key === "+" || e.key === "=") this.zoom(1.5, canvas, width / 2, height / 2);
        else if (e.key === "-") this.zoom(1 / 1.5, canvas, width / 2, height / 2);
        else if (e.key === "0") { this.view = { scale: 1, x: 0, y: 0 }; this.settle(); }
        else if (moves[e.key] && v.scale > 1) { v.x += moves[e.key][0]; v.y += moves[e.key][1]; this.settle(); }
        else return;
        e.preventDefault();
      });
    }
  }

  const data = JSON.parse(document.getElementById("maps").textContent);
  for (const box of document.querySelectorAll("[data-map]")) new Map2D(box, data[box.dataset.map]);
})();
