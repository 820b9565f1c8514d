// Diagrams beside the scene, one for each unit, with a cursor at the present time. A click sets the time.

import { instant } from "./scene.js";

const COLORS = ["#4f81bd", "#e08e3c", "#4aa58a", "#c85a54", "#8069b5", "#8f9e3d", "#c76f9e", "#4aa3c7"];
const LEFT = 46;
const RIGHT = 8;
const BOTTOM = 20;

export class Plots {
  constructor(parent, head, arrays, seek) {
    this.times = arrays.t0.values;
    this.diagrams = [];
    const byUnit = new Map();
    head.curves.forEach(([name, unit], k) => {
      if (!byUnit.has(unit)) byUnit.set(unit, []);
      byUnit.get(unit).push({ name, values: arrays[`curve${k}`].values });
    });
    for (const [unit, curves] of byUnit) this.diagrams.push(this.addDiagram(parent, unit, curves, seek));
    parent.hidden = this.times.length < 2 || !this.diagrams.length;
    this.empty = parent.hidden;
  }

  addDiagram(parent, unit, curves, seek) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${curves.map(({ name }) => name).join(", ")} in ${unit || "1"} over time`);
    parent.append(canvas);
    let low = Infinity;
    let high = -Infinity;
    for (const { values } of curves) for (const x of values) { low = Math.min(low, x); high = Math.max(high, x); }
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    const diagram = { canvas, unit, curves, low: low - room, high: high + room, back: document.createElement("canvas") };
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      const [first, last] = [this.times[0], this.times[this.times.length - 1]];
      seek(first + Math.min(Math.max(share, 0), 1) * (last - first));
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); at(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) at(event); });
    return diagram;
  }

  // Draw axes and curves once; the cursor comes on top of them.
  resize() {
    if (this.empty) return;
    const style = getComputedStyle(document.documentElement);
    const color = Object.fromEntries(["ink", "faint", "line"].map((name) => [name, style.getPropertyValue(`--${name}`)]));
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const diagram of this.diagrams) {
      const { canvas, back } = diagram;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      for (const each of [canvas, back]) { each.width = width * ratio; each.height = height * ratio; }
      const ink = back.getContext("2d");
      ink.setTransform(ratio, 0, 0, ratio, 0, 0);
      Object.assign(diagram, { width, height, ratio, top: legend(ink, diagram, width, color) });
      drawAxes(ink, diagram, this.times, color);
      diagram.curves.forEach((curve, k) => drawCurve(ink, diagram, this.times, curve.values, COLORS[k % COLORS.length]));
      diagram.cursor = color.ink;
    }
  }

  draw(time) {
    if (this.empty) return;
    const [i, share] = instant(this.times, time);
    for (const diagram of this.diagrams) {
      const { canvas, back, ratio, height, top } = diagram;
      if (!back.width || !back.height) continue;
      const ink = canvas.getContext("2d");
      ink.setTransform(1, 0, 0, 1, 0, 0);
      ink.clearRect(0, 0, canvas.width, canvas.height);
      ink.drawImage(back, 0, 0);
      ink.setTransform(ratio, 0, 0, ratio, 0, 0);
      const x = across(diagram, this.times, time);
      ink.strokeStyle = diagram.cursor;
      ink.beginPath();
      ink.moveTo(x, top);
      ink.lineTo(x, height - BOTTOM);
      ink.stroke();
      diagram.curves.forEach(({ values }, k) => {
        const j = Math.min(i + 1, values.length - 1);
        ink.fillStyle = COLORS[k % COLORS.length];
        ink.beginPath();
        ink.arc(x, down(diagram, (1 - share) * values[i] + share * values[j]), 3.2, 0, 7);
        ink.fill();
      });
    }
  }
}

const across = ({ width }, times, t) => LEFT + ((t - times[0]) / (times[times.length - 1] - times[0])) * (width - LEFT - RIGHT);
const down = ({ height, top, low, high }, y) => height - BOTTOM - ((y - low) / (high - low)) * (height - BOTTOM - top);

// The names of the curves, in as many lines as they take; returns how high they are.
function legend(ink, { curves, unit }, width, color) {
  ink.font = "12px system-ui, sans-serif";
  ink.textBaseline = "middle";
  let x = LEFT;
  let y = 9;
  ink.fillStyle = color.faint;
  ink.fillText(unit, 4, y);
  curves.slice(0, 12).forEach(({ name }, k) => {
    const room = ink.measureText(name).width + 24;
    if (x + room > width && x > LEFT) { x = LEFT; y += 16; }
    ink.fillStyle = COLORS[k % COLORS.length];
    ink.fillRect(x, y - 1.5, 12, 3);
    ink.fillStyle = color.ink;
    ink.fillText(name, x + 16, y);
    x += room;
  });
  return y + 14;
}

function drawAxes(ink, diagram, times, color) {
  const { width, height, top, low, high } = diagram;
  ink.strokeStyle = color.line;
  ink.fillStyle = color.faint;
  ink.lineWidth = 1;
  ink.strokeRect(LEFT, top, width - LEFT - RIGHT, height - BOTTOM - top);
  ink.textAlign = "right";
  for (const y of ticks(low, high, (height - top) / 45)) {
    ink.fillText(String(y), LEFT - 5, down(diagram, y));
    line(ink, LEFT, down(diagram, y), width - RIGHT, down(diagram, y));
  }
  ink.textAlign = "center";
  for (const t of ticks(times[0], times[times.length - 1], width / 70)) {
    ink.fillText(String(t), across(diagram, times, t), height - BOTTOM + 11);
  }
  ink.textAlign = "left";
}

function drawCurve(ink, diagram, times, values, color) {
  ink.strokeStyle = color;
  ink.lineWidth = 1.6;
  ink.beginPath();
  for (let i = 0; i < values.length; i++) ink.lineTo(across(diagram, times, times[i]), down(diagram, values[i]));
  ink.stroke();
}

function line(ink, x0, y0, x1, y1) {
  ink.globalAlpha = 0.5;
  ink.beginPath();
  ink.moveTo(x0, y0);
  ink.lineTo(x1, y1);
  ink.stroke();
  ink.globalAlpha = 1;
}

function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((x) => x * power >= rough) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
