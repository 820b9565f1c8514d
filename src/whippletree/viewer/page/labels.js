// Names of joints and frames over the scene, on a canvas of their own. Where two would overlap, the later one is left out,
// as is one over the title, and one of a point that is not in view.

import { Vector3 } from "three";
import { matrixOf } from "./solids.js";

export class Labels {
  constructor(canvas, stage) {
    this.canvas = canvas;
    this.stage = stage;
    const { head } = stage;
    const at = (pose) => new Vector3().setFromMatrixPosition(matrixOf(pose));
    this.joints = head.joints.map(([name, , place, pose, , cut]) => ({ name, place, at: at(pose), cut }));
    this.frames = head.frames.map(([name, place, pose]) => ({ name, place, at: at(pose) }));
    this.points = head.paths.map(([name, place, point]) => ({ name, place, at: new Vector3(...point) }));
  }

  resize(width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.size = [width, height];
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.ink = this.canvas.getContext("2d");
    this.ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  titles() {
    const { left, top } = this.canvas.getBoundingClientRect();
    const boxes = [...document.querySelectorAll("h1, #message:not([hidden]), #legend:not([hidden])")].map((one) => one.getBoundingClientRect());
    return boxes.map((box) => [box.left - left, box.top - top, box.right - left, box.bottom - top]);
  }

  draw(shown) {
    const [width, height] = this.size;
    const { ink, stage } = this;
    ink.clearRect(0, 0, width, height);
    this.count = 0;
    const wanted = [
      ...(shown.names ? this.joints : []),
      ...(shown.frames ? this.frames : shown.paths ? this.points : []),
      ...(shown.closures && !shown.names ? this.joints.filter((one) => one.cut) : []),
    ];
    if (!wanted.length) return;
    const style = getComputedStyle(document.documentElement);
    const colors = { ink: style.getPropertyValue("--ink"), back: style.getPropertyValue("--back") };
    ink.font = "600 12.5px system-ui, sans-serif";
    ink.textBaseline = "middle";
    const taken = this.titles();
    const point = new Vector3();
    for (const { name, place, at, cut } of wanted) {
      stage.onPlace(place, at, point).project(stage.camera);
      if (point.z > 1 || Math.abs(point.x) > 1 || Math.abs(point.y) > 1) continue;
      const room = ink.measureText(name).width;
      const x = Math.max(Math.min(((point.x + 1) / 2) * width + 12, width - room - 4), 4);
      const y = ((1 - point.y) / 2) * height - 12;
      const box = [x - 2, y - 9, x + room + 2, y + 9];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      ink.lineWidth = 3.5;
      ink.lineJoin = "round";
      ink.strokeStyle = colors.back;
      ink.strokeText(name, x, y);
      ink.fillStyle = cut && shown.closures ? "#f76b15" : colors.ink;
      ink.fillText(name, x, y);
      this.count += 1;
    }
  }
}
