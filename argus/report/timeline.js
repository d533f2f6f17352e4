"use strict";
/* The timeline of one compute unit on a canvas. Slices of a row are six numbers each: start, clocks, instruction, kind,
   stall reason or -1, wave; rows are sorted by start, so the visible ones are found by bisection. */
(() => {
  const figure = document.getElementById("timeline");
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const canvas = figure.querySelector("canvas");
  const tip = figure.querySelector(".tip");
  const range = figure.querySelector(".range");
  const context = canvas.getContext("2d");
  const LEFT = 104, AXIS = 22, ROW = 15, HEAD = 20, WIDTH_OF = 6, LEAST = 24;
  const whole = data.end - data.start;
  const hidden = new Set();
  let from = Math.max(0, (whole - data.view) / 2), span = Math.min(whole, data.view);
  let pointer = null, drag = null;

  const rows = [];
  let height = AXIS;
  data.tracks.forEach(([title, group], number) => {
    if (!number || data.tracks[number - 1][1] !== group) {
      rows.push({ heading: group, y: height });
      height += HEAD;
    }
    rows.push({ title, y: height, slices: data.slices[number] });
    height += ROW;
  });

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plotWidth = () => canvas.clientWidth - LEFT;
  const place = (clock) => LEFT + ((clock - from) / span) * plotWidth();

  function step(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  }

  /* The first slice of a row that may reach past a clock: slices do not overlap, so one before the bisected is enough. */
  function first(slices, clock) {
    let low = 0, high = slices.length / WIDTH_OF;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (slices[middle * WIDTH_OF] <= clock) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height + 4}px`;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round((height + 4) * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, height + 4);
    const ink = css("--ink"), soft = css("--soft"), line = css("--line");
    const colors = data.kinds.map((kind) => css(`--${kind}`));
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const size = step(span / Math.max(2, plotWidth() / 90));
    for (let clock = Math.ceil((from + data.start) / size) * size; clock <= from + span + data.start; clock += size) {
      const x = place(clock - data.start);
      context.fillStyle = line;
      context.fillRect(x, AXIS - 5, 1, height - AXIS + 5);
      context.fillStyle = soft;
      context.textAlign = "center";
      context.fillText(clock.toLocaleString("en"), Math.min(x, canvas.clientWidth - 22), 8);
    }
    for (const row of rows) {
      context.textAlign = "left";
      if (row.heading) {
        context.fillStyle = ink;
        context.font = "600 11px system-ui, sans-serif";
        context.fillText(row.heading, 0, row.y + HEAD / 2 + 2);
        context.font = "11px system-ui, sans-serif";
        continue;
      }
      context.fillStyle = soft;
      context.fillText(row.title, 10, row.y + ROW / 2);
      drawRow(row, colors);
    }
    figure.dataset.from = Math.round(from + data.start);
    figure.dataset.to = Math.round(from + span + data.start);
    range.textContent = `clocks ${Math.round(from + data.start).toLocaleString("en")} to `
      + `${Math.round(from + span + data.start).toLocaleString("en")}`;
  }

  function drawRow(row, colors) {
    const slices = row.slices, until = from + span;
    for (let n = first(slices, from) * WIDTH_OF; n < slices.length && slices[n] < until; n += WIDTH_OF) {
      const kind = slices[n + 3];
      if (hidden.has(kind)) continue;
      const x = Math.max(LEFT, place(slices[n])), end = place(slices[n] + slices[n + 1]);
      if (end <= LEFT) continue;
      const stall = slices[n + 4] >= 0;
      context.fillStyle = colors[kind];
      context.globalAlpha = stall ? 0.55 : 1;
      const gap = end - x > 3 ? 0.6 : 0;
      context.fillRect(x, row.y + (stall ? 6 : 1.5), Math.max(end - x - gap, 0.6), stall ? 3 : ROW - 3);
    }
    context.globalAlpha = 1;
  }

  function show(start, clocks) {
    span = Math.min(whole, Math.max(Math.min(LEAST, whole), clocks));
    from = Math.min(whole - span, Math.max(0, start));
    tip.hidden = true;
    requestAnimationFrame(draw);
  }

  function zoom(factor, x) {
    const share = x === undefined ? 0.5 : Math.min(1, Math.max(0, (x - LEFT) / plotWidth()));
    const clocks = Math.min(whole, Math.max(Math.min(LEAST, whole), span * factor));
    show(from + (span - clocks) * share, clocks);
  }

  function under(x, y) {
    const row = rows.find((each) => each.slices && y >= each.y && y < each.y + ROW);
    if (!row || x < LEFT) return null;
    const clock = from + ((x - LEFT) / plotWidth()) * span;
    const n = first(row.slices, clock) * WIDTH_OF;
    const found = row.slices[n] <= clock && clock < row.slices[n] + row.slices[n + 1] && !hidden.has(row.slices[n + 3]);
    return found ? row.slices.slice(n, n + WIDTH_OF) : null;
  }

  function hover(event) {
    const found = under(event.offsetX, event.offsetY);
    tip.hidden = !found;
    if (!found) return;
    const [start, clocks, op, , stall, wave] = found;
    const [text, source] = data.ops[op];
    const at = start + data.start;
    const lines = [
      stall >= 0 ? `stalled ${clocks} clk: ${data.reasons[stall]}` : text,
      stall >= 0 ? `before ${text}` : `${clocks} clk`,
      `wave ${wave}, clocks ${at.toLocaleString("en")} to ${(at + clocks).toLocaleString("en")}`,
    ];
    if (source) lines.push(source);
    tip.replaceChildren(...lines.map((each) => Object.assign(document.createElement("div"), { textContent: each })));
    const x = event.offsetX + 14, wide = tip.offsetWidth;
    tip.style.left = `${x + wide > canvas.clientWidth ? Math.max(0, event.offsetX - wide - 10) : x}px`;
    tip.style.top = `${canvas.offsetTop + event.offsetY + 16}px`;
  }

  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, from };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    pointer = event.offsetX;
    if (drag) show(drag.from - ((event.offsetX - drag.x) / plotWidth()) * span, span);
    else hover(event);
  });
  canvas.addEventListener("pointerleave", () => { pointer = null; tip.hidden = true; });
  canvas.addEventListener("dblclick", (event) => zoom(0.5, event.offsetX));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = {
      "+": () => zoom(0.5, pointer ?? undefined), "=": () => zoom(0.5, pointer ?? undefined),
      "-": () => zoom(2, pointer ?? undefined), 0: () => show(0, whole),
      ArrowLeft: () => show(from - span / 5, span), ArrowRight: () => show(from + span / 5, span),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
  for (const button of figure.querySelectorAll("[data-zoom]")) {
    const act = { in: () => zoom(0.5), out: () => zoom(2), all: () => show(0, whole) }[button.dataset.zoom];
    button.addEventListener("click", act);
  }
  for (const key of figure.querySelectorAll(".key")) {
    key.addEventListener("click", () => {
      const kind = data.kinds.indexOf(key.dataset.kind);
      if (!hidden.delete(kind)) hidden.add(kind);
      key.setAttribute("aria-pressed", String(!hidden.has(kind)));
      draw();
    });
  }
  new ResizeObserver(draw).observe(figure);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
