// The page: controls, keys, and what is drawn when. `?frame=n` shows the n-th instant, at rest.

import { Labels } from "./labels.js";
import { Live } from "./live.js";
import { Plots } from "./plots.js";
import { readScene } from "./scene.js";
import { Stage, ghostColor } from "./stage.js";

const began = performance.now();
const element = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const darkSystem = matchMedia("(prefers-color-scheme: dark)");

function say(text) {
  element("message").textContent = text;
  element("message").hidden = !text;
}

class Page {
  constructor({ head, arrays }) {
    this.head = head;
    this.stage = new Stage(element("view"), head, arrays);
    this.labels = new Labels(element("labels"), this.stage);
    this.plots = new Plots(element("plots"), head, arrays, (time) => this.seek(time));
    this.times = arrays.t0.values;
    this.time = this.times[0];
    this.playing = false;
    this.chooseSpeed(this.last - this.time);
    this.costs = [];
    this.chooseLayers();
    this.prepareControls();
    this.setTheme(darkSystem.matches);
    new ResizeObserver(() => this.resize()).observe(element("stage"));
    this.resize();
    this.stage.home();
    this.stage.controls.addEventListener("change", () => this.invalidate());
    say(head.notes.join(" "));
    if (head.live) this.live = new Live(element("live"), this);
  }

  say(text) {
    say(text);
  }

  get last() {
    return this.times[this.times.length - 1];
  }

  // ------------------------------------------------------------------ controls

  chooseLayers() {
    const { head } = this;
    const there = {
      names: head.joints.length, axes: head.joints.length, frames: true, paths: head.paths.length, arrows: head.arrows.length,
      closures: head.joints.some((joint) => joint[5]), grid: true,
    };
    this.shown = { names: head.named, paths: true, arrows: true, grid: true };
    for (const box of document.querySelectorAll("[data-layer]")) {
      const { layer } = box.dataset;
      box.closest("label").hidden = !there[layer];
      box.checked = !!this.shown[layer];
      box.addEventListener("change", () => {
        this.shown[layer] = box.checked;
        this.stage.show(this.shown);
        this.invalidate();
      });
    }
    this.stage.show(this.shown);
    const labels = head.tracks.slice(1).map((label, k) => [label, ghostColor(k + 1)]);
    element("legend").hidden = !labels.length;
    for (const [label, color] of labels) {
      const item = document.createElement("li");
      item.textContent = label;
      item.style.color = color;
      element("legend").append(item);
    }
  }

  // What lasts a blink is slowed down, and its clock has more digits.
  chooseSpeed(span) {
    const short = span > 0 && span < 1;
    this.digits = short ? 2 + Math.ceil(-Math.log10(span)) : 2;
    this.speed = short ? Number((span / 4).toPrecision(1)) : 1;
    if (short) {
      const option = new Option(String(this.speed), String(this.speed), true, true);
      element("speed").prepend(option);
    }
  }

  prepareControls() {
    element("motion").hidden = this.times.length < 2;
    element("time").max = this.times.length - 1;
    element("time").addEventListener("input", (event) => this.setFrame(Number(event.target.value)));
    element("play").addEventListener("click", () => this.play(!this.playing));
    element("speed").addEventListener("change", (event) => { this.speed = Number(event.target.value); });
    element("home").addEventListener("click", () => { this.stage.home(); this.invalidate(); });
    element("theme").addEventListener("click", () => this.setTheme(!document.documentElement.classList.contains("dark")));
    darkSystem.addEventListener("change", (event) => this.setTheme(event.matches));
    document.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, #live")) return;
    const onButton = event.target.closest("button, [type=checkbox]");
    const step = event.shiftKey ? 10 : 1;
    const keys = {
      " ": onButton ? undefined : () => this.play(!this.playing),
      ArrowRight: () => this.setFrame(this.frame() + step),
      ArrowLeft: () => this.setFrame(this.frame() - step),
      Home: () => this.setFrame(0),
      End: () => this.setFrame(this.times.length - 1),
    };
    const action = keys[event.key];
    if (!action || this.times.length < 2) return;
    event.preventDefault();
    action();
  }

  setTheme(dark) {
    document.documentElement.classList.toggle("dark", dark);
    element("theme").setAttribute("aria-pressed", String(dark));
    this.stage.setTheme(dark);
    this.plots.resize();
    this.invalidate();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = element("stage");
    if (!width || !height) return;
    this.stage.resize(width, height);
    this.labels.resize(width, height);
    this.plots.resize();
    if (!this.stage.turned) this.stage.home();
    this.invalidate();
  }

  // ------------------------------------------------------------------ time

  frame() {
    const next = this.times.findIndex((t) => t > this.time + 1e-12);
    return next < 0 ? this.times.length - 1 : next - 1;
  }

  setFrame(k) {
    this.play(false);
    this.seek(this.times[Math.min(Math.max(Math.round(k), 0), this.times.length - 1)]);
  }

  seek(time) {
    this.time = time;
    this.invalidate();
  }

  play(on) {
    if (on === this.playing || this.times.length < 2) return;
    this.playing = on;
    this.clock = performance.now();
    if (on && this.time >= this.last) this.time = this.times[0];
    element("play").textContent = on ? "\u275a\u275a" : "\u25b6";
    element("play").setAttribute("aria-label", on ? "Pause" : "Play");
    this.invalidate();
  }

  advance(now) {
    const passed = ((now - this.clock) / 1000) * this.speed;
    this.clock = now;
    this.time += Math.min(passed, 0.25 * Math.max(this.speed, 1));
    if (this.time > this.last) this.time = this.times[0];
  }

  // ------------------------------------------------------------------ drawing

  invalidate() {
    this.waiting ??= requestAnimationFrame((now) => this.draw(now));
  }

  draw(now) {
    this.waiting = undefined;
    const start = performance.now();
    if (this.playing) this.advance(now);
    this.stage.setTime(this.time);
    this.stage.render();
    this.labels.draw(this.shown);
    this.plots.draw(this.time);
    element("time").value = this.frame();
    const clock = this.time.toFixed(this.digits);
    element("time").setAttribute("aria-valuetext", `${clock} seconds`);
    element("clock").textContent = `${clock} s`;
    this.costs.push(performance.now() - start);
    if (this.costs.length > 600) this.costs.shift();
    this.first ??= performance.now() - began;
    document.documentElement.dataset.drawn = String(this.frame());
    if (this.playing) this.invalidate();
  }
}

async function start() {
  try {
    const page = new Page(await readScene());
    const asked = new URLSearchParams(location.search).get("frame");
    if (asked !== null) page.setFrame(Number(asked) || 0);
    else if (!calm.matches) page.play(true);
    page.stage.controls.addEventListener("start", () => { page.stage.turned = true; });
    window.whippletree = page;
  } catch (error) {
    console.error(error);
    say(`The scene cannot be shown: ${error.message}. A browser of 2023 or later with WebGL is needed.`);
  }
}

start();
