/* SPDX-License-Identifier: MIT */
/* page.js: draws charts from embedded data at the width of the page, shows values under the pointer, and sorts tables
 * by a clicked column. Has no dependencies. */
"use strict";
(() => {
  const space = "http://www.w3.org/2000/svg";

  function svg(parent, name, attributes, text) {
    const element = document.createElementNS(space, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  }

  function html(parent, name, className, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  }

  const shown = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));

  /* about `count` round numbers from low to high */
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) || 10);
    const list = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) list.push(Number((k * step).toPrecision(12)));
    return list;
  }

  function range(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values)
      if (v !== null) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    if (low > high) return [0, 1];
    return low < high ? [low, high] : [low - 0.5, high + 0.5];
  }

  /* ---- lines: points are [x, y, low, high], the last two only with a band ---- */

  function path(points, x, y, column) {
    let text = "", pen = "M";
    for (const p of points) {
      const value = p[column] === undefined ? p[1] : p[column];
      if (value === null) {
        pen = "M";
        continue;
      }
      text += pen + x(p[0]).toFixed(1) + "," + y(value).toFixed(1);
      pen = "L";
    }
    return text;
  }

  function drawLines(place, chart) {
    const width = Math.max(260, place.clientWidth), height = Math.round(Math.min(320, Math.max(200, width * 0.55)));
    const left = 52, right = 12, top = chart.events && chart.events.length ? 26 : 10, bottom = 38;
    const all = chart.lines.flatMap((line) => line.points);
    const [x0, x1] = range(all.map((p) => p[0]));
    let [y0, y1] = chart.range || range(all.flatMap((p) => p.slice(1)));
    if (chart.zero) y0 = Math.min(0, y0);
    const margin = (y1 - y0) * 0.04;
    y1 += margin;
    if (!chart.zero || y0 < 0) y0 -= margin;
    const x = (v) => left + (v - x0) / (x1 - x0) * (width - left - right);
    const y = (v) => height - bottom - (v - y0) / (y1 - y0) * (height - top - bottom);
    const canvas = svg(place, "svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title});
    for (const v of ticks(y0, y1, 5)) {
      svg(canvas, "line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)});
      svg(canvas, "text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, shown(v));
    }
    for (const v of ticks(x0, x1, width / 90)) {
      const edge = x(v) > width - right - 20; /* a centred label would be cut off */
      svg(canvas, "text", {x: edge ? width - 2 : x(v), y: height - bottom + 16, "text-anchor": edge ? "end" : "middle"}, shown(v));
    }
    svg(canvas, "line", {class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom});
    if (chart.events) drawEvents(canvas, chart, x, top, height - bottom);
    svg(canvas, "text", {x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle"}, chart.x);
    svg(canvas, "text", {x: 12, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + height - bottom) / 2})`}, chart.y);
    for (const line of chart.lines) {
      const spread = line.points.filter((p) => p.length > 2 && p[2] !== null && p[3] !== null);
      if (spread.length > 1) {
        const back = path(spread.slice().reverse(), x, y, 2).replace("M", "L");
        svg(canvas, "path", {d: path(spread, x, y, 3) + back + "Z", fill: line.colour, "fill-opacity": 0.16});
      }
    }
    for (const line of chart.lines)
      svg(canvas, "path", {d: path(line.points, x, y, 1), fill: "none", stroke: line.colour, "stroke-width": 1.8, "stroke-linejoin": "round", "stroke-dasharray": line.dashed ? "5 4" : "none"});
    for (const line of chart.lines) {
      const present = line.points.filter((p) => p[1] !== null);
      if (present.length !== 1) continue; /* a single point is drawn as a dot */
      const [at, value, low, high] = present[0];
      svg(canvas, "circle", {cx: x(at), cy: y(value), r: 3.5, fill: line.colour});
      if (low !== undefined && low !== null) svg(canvas, "line", {x1: x(at), x2: x(at), y1: y(low), y2: y(high), stroke: line.colour});
    }
    const cursor = svg(canvas, "line", {class: "cursor", y1: top, y2: height - bottom, visibility: "hidden"});
    const tip = html(place, "div", "tip");
    tip.hidden = true;
    const nearest = (points, v) => points.reduce((best, p) => (p[1] !== null && (!best || Math.abs(p[0] - v) < Math.abs(best[0] - v)) ? p : best), null);
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(), scale = width / box.width, at = (event.clientX - box.left) * scale;
      const value = x0 + (Math.min(Math.max(at, left), width - right) - left) / (width - left - right) * (x1 - x0);
      const found = chart.lines.map((line) => [line, nearest(line.points, value)]).filter((pair) => pair[1]);
      if (!found.length) return;
      const where = found.reduce((best, pair) => (Math.abs(pair[1][0] - value) < Math.abs(best - value) ? pair[1][0] : best), found[0][1][0]);
      cursor.setAttribute("x1", x(where));
      cursor.setAttribute("x2", x(where));
      cursor.setAttribute("visibility", "visible");
      tip.replaceChildren();
      html(tip, "div", "", `${chart.x}: ${shown(where)}`);
      for (const [line, point] of found.sort((a, b) => b[1][1] - a[1][1])) {
        const row = html(tip, "div");
        html(row, "i").style.background = line.colour;
        const spread = point.length > 2 && point[2] !== null ? ` (${shown(point[2])} to ${shown(point[3])})` : "";
        row.append(`${line.name}: ${shown(point[1])}${spread}`);
      }
      tip.hidden = false;
      const beside = x(where) / scale;
      tip.style.left = Math.max(0, beside > box.width / 2 ? beside - tip.offsetWidth - 12 : Math.min(beside + 12, box.width - tip.offsetWidth)) + "px";
      tip.style.top = canvas.offsetTop + 8 + "px";
    });
    canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
      cursor.setAttribute("visibility", "hidden");
    });
    const legend = html(place, "div", "legend");
    for (const line of chart.lines) {
      const entry = html(legend, "span");
      html(entry, "i", line.dashed ? "dashed" : "").style.backgroundColor = line.colour;
      entry.append(line.name);
    }
  }

  /* ---- bars: a row per bar, with its standard deviation as a line and the paper's value as a diamond; both numbers
     in columns at the right ---- */

  function drawBars(place, chart) {
    const width = Math.max(260, place.clientWidth), row = 28, top = 20, bottom = 36;
    const height = top + row * chart.bars.length + bottom, column = 52, inPaper = chart.bars.some((bar) => bar.paper !== null);
    const left = Math.min(width * 0.5, 18 + 6.4 * Math.max(...chart.bars.map((bar) => bar.name.length))), right = 12 + column * (inPaper ? 2 : 1);
    const spread = (bar, side) => (bar.value === null ? null : bar.value + side * (bar.stddev || 0));
    const ends = chart.bars.flatMap((bar) => [bar.paper, spread(bar, -1), spread(bar, 1)]);
    const [low, high] = range(ends.concat(0));
    const x = (v) => left + (v - low) / (high - low) * (width - left - right);
    const canvas = svg(place, "svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title});
    for (const v of ticks(low, high, width / 110)) {
      svg(canvas, "line", {class: "grid", x1: x(v), x2: x(v), y1: top, y2: height - bottom});
      svg(canvas, "text", {x: x(v), y: height - bottom + 16, "text-anchor": "middle"}, shown(v));
    }
    svg(canvas, "text", {x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle"}, chart.y);
    const here = width - (inPaper ? column : 0) - 4;
    if (inPaper) svg(canvas, "text", {x: here, y: 12, "text-anchor": "end"}, "here");
    if (inPaper) svg(canvas, "text", {x: width - 4, y: 12, "text-anchor": "end"}, "◇ paper");
    chart.bars.forEach((bar, i) => {
      const middle = top + row * (i + 0.5), group = svg(canvas, "g", {});
      const paper = bar.paper === null ? "" : `, paper ${shown(bar.paper)}`;
      svg(group, "title", {}, bar.value === null ? `${bar.name}: unfinished${paper}` : `${bar.name}: ${shown(bar.value)}${bar.stddev ? " ± " + shown(bar.stddev) : ""}${bar.partial ? ", not all seeds" : ""}${paper}`);
      svg(group, "text", {x: left - 12, y: middle + 4, "text-anchor": "end"}, bar.name);
      if (bar.value !== null) {
        const from = Math.min(x(0), x(bar.value));
        svg(group, "rect", {x: from, y: middle - 8, width: Math.max(1, Math.abs(x(bar.value) - x(0))), height: 16, fill: bar.colour, "fill-opacity": bar.partial ? 0.45 : 1, rx: 2});
        if (bar.stddev) svg(group, "line", {class: "spread", x1: x(spread(bar, -1)), x2: x(spread(bar, 1)), y1: middle, y2: middle});
      }
      if (bar.paper !== null) {
        const p = x(bar.paper);
        svg(group, "path", {class: "paper", d: `M${p - 5},${middle}L${p},${middle - 6}L${p + 5},${middle}L${p},${middle + 6}Z`});
        svg(group, "text", {x: width - 4, y: middle + 4, "text-anchor": "end"}, shown(bar.paper));
      }
      svg(group, "text", {class: "value", x: here, y: middle + 4, "text-anchor": "end"}, bar.value === null ? "…" : shown(bar.value));
    });
  }

  /* ---- mode states of a cell ---- */

  const eventColours = ["#c0417f", "#2f9e6e", "#7b62c9", "#c98a12", "#2a93a8", "#b5533c"];
  const eventColour = (i) => eventColours[i % eventColours.length];

  /* a line at every event, and its name above if it fits */
  function drawEvents(canvas, chart, x, top, bottom) {
    let free = -Infinity;
    for (const [step, which] of chart.events) {
      const at = x(step), name = chart.names[which] || "";
      svg(canvas, "line", {x1: at, x2: at, y1: top, y2: bottom, stroke: eventColour(which), "stroke-dasharray": "4 3", "stroke-opacity": 0.8});
      if (at - 3.5 * name.length < free) continue;
      svg(canvas, "text", {x: at, y: top - 6, "text-anchor": "middle", style: `fill:${eventColour(which)}`}, name);
      free = at + 3.5 * name.length + 8;
    }
  }

  const mix = (a, b, f) => a.map((v, i) => Math.round(v + (b[i] - v) * f));
  const rgb = (c) => `rgb(${c.join(",")})`;

  /* blue retains longer, red forgets; grey, readable on light and dark, is in between */
  const controlColour = (r) => rgb(r < 0 ? mix([150, 156, 166], [40, 110, 220], -r) : mix([150, 156, 166], [214, 48, 72], r));

  /* a centred square picture */
  function square(place, title, most) {
    const width = Math.max(260, place.clientWidth), size = Math.min(width, most), left = (width - size) / 2;
    const canvas = svg(place, "svg", {viewBox: `0 0 ${width} ${size}`, role: "img", "aria-label": title});
    return {canvas, size, left};
  }

  function drawDisc(place, chart) {
    const {canvas, size, left} = square(place, chart.title, 380), middle = size / 2, radius = middle - 18;
    const x = (v) => left + middle + v * radius, y = (v) => middle - v * radius;
    svg(canvas, "circle", {class: "grid", cx: x(0), cy: y(0), r: radius / 2, fill: "none"});
    svg(canvas, "line", {class: "grid", x1: x(-1), x2: x(1), y1: y(0), y2: y(0)});
    svg(canvas, "line", {class: "grid", x1: x(0), x2: x(0), y1: y(-1), y2: y(1)});
    svg(canvas, "circle", {class: "unit", cx: x(0), cy: y(0), r: radius});
    svg(canvas, "text", {x: x(1) + 4, y: y(0) + 4}, "1");
    svg(canvas, "text", {x: x(0), y: y(1) - 5, "text-anchor": "middle"}, "i");
    for (const [base, ...points] of chart.modes)
      if (base) for (const p of points) svg(canvas, "line", {class: "grid", x1: x(base[0]), y1: y(base[1]), x2: x(p[0]), y2: y(p[1])});
    for (const mode of chart.modes)
      for (const p of mode.slice(1)) svg(canvas, "circle", {cx: x(p[0]).toFixed(1), cy: y(p[1]).toFixed(1), r: 2.4, fill: controlColour(p[2])});
    for (const [base] of chart.modes) if (base) svg(canvas, "circle", {class: "ring", cx: x(base[0]), cy: y(base[1]), r: 3.2});
    if (!chart.controlled) return;
    const legend = html(place, "div", "legend");
    for (const [name, value] of [["r = −1, retains longer", -1], ["0", 0], ["r = 1, forgets", 1]]) {
      const entry = html(legend, "span");
      html(entry, "i").style.background = controlColour(value);
      entry.append(name);
    }
  }

  const shades = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const plasma = [[13, 8, 135], [126, 3, 168], [204, 71, 120], [248, 149, 64], [240, 249, 33]];
  const plasmaAt = (f) => mix(plasma[Math.min(3, Math.floor(f * 4))], plasma[Math.min(3, Math.floor(f * 4)) + 1], f * 4 - Math.min(3, Math.floor(f * 4)));

  function drawEnergy(place, chart) {
    const width = Math.max(260, place.clientWidth), left = 30, right = 12, top = chart.events.length ? 26 : 10, bottom = 38;
    const inside = Math.max(150, Math.min(260, 3 * chart.rows)), height = top + inside + bottom;
    const pixels = document.createElement("canvas");
    pixels.width = chart.steps;
    pixels.height = chart.rows;
    const context = pixels.getContext("2d"), image = context.createImageData(chart.steps, chart.rows);
    for (let i = 0; i < chart.cells.length; i++) {
      const colour = plasmaAt(shades.indexOf(chart.cells[i]) / 63);
      image.data.set([...colour, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
    const canvas = svg(place, "svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title});
    svg(canvas, "image", {href: pixels.toDataURL(), x: left, y: top, width: width - left - right, height: inside, preserveAspectRatio: "none", style: "image-rendering:pixelated"});
    const x = (step) => left + (step - 0.5) / chart.steps * (width - left - right);
    drawEvents(canvas, chart, x, top, top + inside);
    for (const v of ticks(1, chart.steps, width / 90)) svg(canvas, "text", {x: x(v), y: top + inside + 16, "text-anchor": "middle"}, shown(v));
    svg(canvas, "text", {x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle"}, "step");
    const middle = top + inside / 2;
    svg(canvas, "text", {x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})`}, `${chart.modes} modes${chart.ordered ? ", slow on top" : ""}`);
    const legend = html(place, "div", "legend");
    const bar = html(legend, "span");
    html(bar, "i", "ramp").style.background = `linear-gradient(90deg, ${plasma.map(rgb).join(", ")})`;
    bar.append(`log₁₀ |h|² from ${shown(chart.range[0])} to ${shown(chart.range[1])}`);
  }

  function drawPortraits(place, chart) {
    const width = Math.max(260, place.clientWidth), across = width < 420 ? 2 : 3, cell = Math.min(width / across, 190);
    const rows = Math.ceil(chart.modes.length / across), title = 20, left = (width - across * cell) / 2;
    const canvas = svg(place, "svg", {viewBox: `0 0 ${width} ${rows * (cell + title)}`, role: "img", "aria-label": chart.title});
    chart.modes.forEach((mode, k) => {
      const cx = left + (k % across + 0.5) * cell, cy = Math.floor(k / across) * (cell + title) + title + cell / 2, radius = cell / 2 - 8;
      const x = (p) => (cx + p[0] * radius).toFixed(1), y = (p) => (cy - p[1] * radius).toFixed(1);
      svg(canvas, "circle", {class: "grid", cx, cy, r: radius, fill: "none"});
      svg(canvas, "line", {class: "grid", x1: cx - radius, x2: cx + radius, y1: cy, y2: cy});
      svg(canvas, "line", {class: "grid", x1: cx, x2: cx, y1: cy - radius, y2: cy + radius});
      svg(canvas, "text", {x: cx, y: cy - cell / 2 - 2, "text-anchor": "middle"}, `mode ${mode.mode}${mode.memory === null ? "" : ", " + shown(Number(mode.memory.toPrecision(2))) + " steps"}`);
      const parts = 8, each = Math.ceil(mode.path.length / parts);
      for (let i = 0; i < parts; i++) {
        const piece = mode.path.slice(i * each, (i + 1) * each + 1);
        if (piece.length > 1) svg(canvas, "polyline", {class: "path", points: piece.map((p) => x(p) + "," + y(p)).join(" "), "stroke-opacity": (0.25 + 0.75 * (i + 1) / parts).toFixed(2)});
      }
      for (const [step, which] of chart.events)
        if (mode.path[step - 1]) svg(canvas, "circle", {cx: x(mode.path[step - 1]), cy: y(mode.path[step - 1]), r: 2.6, fill: eventColour(which)});
    });
    const legend = html(place, "div", "legend"), seen = new Set(chart.events.map((e) => e[1]));
    for (const which of [...seen].sort()) {
      const entry = html(legend, "span");
      html(entry, "i").style.background = eventColour(which);
      entry.append(chart.names[which]);
    }
  }

  const drawers = {disc: drawDisc, energy: drawEnergy, portrait: drawPortraits};

  const charts = [...document.querySelectorAll(".chart")].map((place) => ({place, data: JSON.parse(place.querySelector("script").textContent), width: 0}));

  function draw(chart) {
    if (chart.width === chart.place.clientWidth) return;
    chart.width = chart.place.clientWidth;
    chart.place.querySelectorAll("svg, .tip, .legend").forEach((old) => old.remove());
    (drawers[chart.data.kind] || (chart.data.bars ? drawBars : drawLines))(chart.place, chart.data);
  }

  /* ---- sections of a long page, as links at its top ---- */

  const sections = [...document.querySelectorAll("h2")];
  if (sections.length > 2) {
    const nav = document.createElement("nav");
    sections.forEach((section, i) => {
      section.id = section.id || `section-${i + 1}`;
      html(nav, "a", "", section.textContent).href = "#" + section.id;
    });
    document.querySelector("main").insertBefore(nav, sections[0]);
  }

  charts.forEach(draw);
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => charts.forEach(draw));
  });

  /* ---- tables ---- */

  const number = (cell) => {
    const text = cell ? cell.textContent.replace(/,/g, "").replace("−", "-") : "";
    const value = parseFloat(text);
    return Number.isNaN(value) ? null : value;
  };

  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0], head = table.tHead && table.tHead.rows[table.tHead.rows.length - 1];
    if (!head || !body || body.rows.length < 2) continue;
    [...head.cells].forEach((heading, column) => {
      heading.setAttribute("aria-sort", "none");
      heading.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        for (const other of head.cells) other.setAttribute("aria-sort", "none");
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((tr) => ({tr, value: number(tr.cells[column]), text: tr.cells[column] ? tr.cells[column].textContent : ""}));
        rows.sort((a, b) => {
          if (a.value === null && b.value === null) return a.text.localeCompare(b.text) * (down ? -1 : 1);
          if (a.value === null || b.value === null) return a.value === null ? 1 : -1; /* missing values come last */
          return (a.value - b.value) * (down ? -1 : 1);
        });
        for (const {tr} of rows) body.appendChild(tr);
      });
    });
  }
})();
