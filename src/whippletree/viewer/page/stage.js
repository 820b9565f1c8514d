// The stage: everything that is drawn in three dimensions, and how it follows the motion.

import {
  AmbientLight, Box3, BufferAttribute, BufferGeometry, CatmullRomCurve3, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide,
  Float32BufferAttribute, Group, HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshStandardMaterial, PerspectiveCamera,
  Quaternion, Scene, TubeGeometry, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { instant } from "./scene.js";
import { bodyColor, matrixOf, mergedGeometry } from "./solids.js";

const GHOSTS = ["#d1495b", "#2e933c", "#7b4fd0", "#c98a00"];
const FORCE_COLORS = { reaction: "#d6336c", force: "#2f9e44" };
const AXES = ["#e5484d", "#30a46c", "#3b82f6"];
const CUT = "#f76b15";
const Z = new Vector3(0, 0, 1);

export const ghostColor = (k) => GHOSTS[(k - 1) % GHOSTS.length];

export class Stage {
  constructor(canvas, head, arrays) {
    this.head = head;
    this.arrays = arrays;
    this.scene = new Scene();
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.camera = new PerspectiveCamera(head.look.angle, 1, 0.01, 100);
    this.layers = { names: [], axes: [], frames: [], closures: [], paths: [], arrows: [], grid: [] };
    this.outline = new Box3().setFromPoints(head.outline.map((row) => new Vector3(...row)));
    this.extent = Math.max(this.outline.getSize(new Vector3()).length(), 1e-9);
    this.addLights();
    this.tracks = head.tracks.map((label, k) => this.addTrack(k));
    this.tracks.forEach((track, k) => { track.skins = head.skins.map((skin, number) => this.addSkin(skin, number, track, k)); });
    this.placeTrack(this.tracks[0], this.tracks[0].times[0]);
    this.struts = head.struts.map((strut) => this.addStrut(strut));
    this.arrows = head.arrows.map((arrow, k) => this.addArrow(arrow, k));
    this.addJointAxes();
    this.addFrames();
    head.paths.forEach((path, k) => this.addPath(path, k));
    this.grid = this.addGrid();
    this.gone = new Vector3();
    if (head.follow) this.followedFrom = this.onPlace(head.follow[0], new Vector3(...head.follow[1]), new Vector3());
    this.controls = new OrbitControls(this.camera, canvas);
    this.setTime(this.tracks[0].times[0] ?? 0);
  }

  addLights() {
    this.scene.add(new HemisphereLight("#ffffff", "#9aa4b2", 1.5), new AmbientLight("#ffffff", 0.35));
    this.light = new DirectionalLight("#ffffff", 2.1);
    this.scene.add(this.light, this.light.target);
  }

  // ------------------------------------------------------------------ what moves

  // A group for each place, with one mesh in it for each opacity; those of other runs are translucent.
  addTrack(k) {
    const { head, arrays } = this;
    const times = arrays[`t${k}`].values;
    const amplitudes = arrays[`amplitudes${k}`]?.values;
    const track = { times, poses: arrays[`poses${k}`].values, amplitudes, n: times.length, groups: [], skins: [] };
    for (let place = -1; place < head.places.length; place++) {
      const group = new Group();
      group.matrixAutoUpdate = group.matrixWorldAutoUpdate = place < 0;
      const layers = new Map();
      for (const one of head.solids) {
        if (one[1] === place && (k === 0 || one[4] === "body")) push(layers, k === 0 ? opacityOf(one[5]) : 1, one);
      }
      for (const [opacity, solids] of layers) group.add(this.meshOf(solids, k, opacity));
      this.scene.add(group);
      track.groups.push(group);
    }
    return track;
  }

  meshOf(solids, k, opacity) {
    const look = { roughness: 0.55, metalness: 0.08, side: DoubleSide };
    const seeThrough = { transparent: true, depthWrite: false };
    this.materials ??= new Map();
    if (!this.materials.has(opacity)) {
      // in front of a surface at the same place, as what collides often is
      const before = { polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -2 };
      const own = opacity < 1 ? { ...seeThrough, ...before, opacity } : {};
      this.materials.set(opacity, new MeshStandardMaterial({ ...look, ...own, vertexColors: true }));
    }
    const ghost = k === 0 ? undefined : new MeshStandardMaterial({ ...look, ...seeThrough, color: ghostColor(k), opacity: 0.38 });
    return still(new Mesh(mergedGeometry(solids, this.arrays), ghost ?? this.materials.get(opacity)));
  }

  // A surface that deforms: its points are those at rest plus shapes times amplitudes.
  addSkin([place, count, color], number, track, k) {
    const { values: rest, n: size } = this.arrays[`skin${number}`];
    const faces = this.arrays[`faces${number}`];
    const index = new Uint32Array(faces.values.length);
    for (let i = 0; i < faces.n; i++) for (let c = 0; c < 3; c++) index[3 * i + c] = faces.values[c * faces.n + i];
    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(index, 1));
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * size), 3));
    const look = { roughness: 0.55, metalness: 0.08, side: DoubleSide };
    const own = k === 0 ? { color: bodyColor(color) } : { color: ghostColor(k), transparent: true, opacity: 0.38, depthWrite: false };
    const mesh = still(new Mesh(geometry, new MeshStandardMaterial({ ...look, ...own })));
    track.groups[place + 1].add(mesh);
    const first = this.head.skins.slice(0, number).reduce((sum, one) => sum + one[1], 0);
    return { geometry, rest, size, count, first, shapes: this.arrays[`shapes${number}`]?.values };
  }

  deform({ geometry, rest, size, count, first, shapes }, { amplitudes, n }, i, j, share) {
    const points = geometry.attributes.position.array;
    for (let c = 0; c < 3; c++) for (let p = 0; p < size; p++) points[3 * p + c] = rest[c * size + p];
    for (let k = 0; k < count; k++) {
      const at = (first + k) * n;
      const amplitude = (1 - share) * amplitudes[at + i] + share * amplitudes[at + j];
      for (let c = 0; c < 3; c++) {
        const row = (3 * k + c) * size;
        for (let p = 0; p < size; p++) points[3 * p + c] += amplitude * shapes[row + p];
      }
    }
    geometry.attributes.position.needsUpdate = true;
    geometry.computeVertexNormals();
  }

  addStrut([kind, , first, from, second, to, radius, color]) {
    const tint = { guide: "#7d8895", rod: "#8d6e3f", spring: "#5f7f5a" }[kind] ?? bodyColor(color);
    this.straight ??= new CylinderGeometry(1, 1, 1, 20).rotateX(Math.PI / 2);
    const mesh = still(new Mesh(this.straight, new MeshStandardMaterial({ color: tint, roughness: 0.5 })));
    const strut = { mesh, first, from: new Vector3(...from), second, to: new Vector3(...to), radius };
    this.scene.add(mesh);
    if (kind === "spring") mesh.geometry = coil(this.reach(strut).length() / radius);
    return strut;
  }

  addArrow([, kind, place, point], k) {
    const { values, n } = this.arrays[`arrow${k}`];
    // drawn after all else, and in front of it
    const material = new MeshStandardMaterial({ color: FORCE_COLORS[kind], roughness: 0.4, transparent: true, depthTest: false });
    this.arrowShapes ??= {
      shaft: new CylinderGeometry(1, 1, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5),
      head: new ConeGeometry(1, 1, 18).rotateX(Math.PI / 2).translate(0, 0, -0.5),
    };
    const shaft = still(new Mesh(this.arrowShapes.shaft, material));
    const tip = still(new Mesh(this.arrowShapes.head, material));
    shaft.renderOrder = tip.renderOrder = 2;
    this.layers.arrows.push(shaft, tip);
    this.scene.add(shaft, tip);
    let largest = 0;
    for (let i = 0; i < n; i++) largest = Math.max(largest, Math.hypot(values[i], values[n + i], values[2 * n + i]));
    this.largest = Math.max(this.largest ?? 0, largest);
    return { shaft, tip, place, point: new Vector3(...point), values, n };
  }

  setTime(time) {
    this.time = time;
    this.tracks.forEach((track) => this.placeTrack(track, time));
    this.goAlong();
    const [i, share] = instant(this.tracks[0].times, time);
    for (const strut of this.struts) this.placeStrut(strut);
    if (this.shown?.arrows) for (const arrow of this.arrows) this.placeArrow(arrow, i, share);
  }

  // The camera, and the grid by whole cells, go along with a point that is followed.
  goAlong() {
    const { follow } = this.head;
    if (!follow || !this.controls) return;
    this.onPlace(follow[0], start.set(...follow[1]), end).sub(this.followedFrom);
    this.camera.position.add(end).sub(this.gone);
    this.controls.target.add(end).sub(this.gone);
    this.gone.copy(end);
    const { a, b, step } = this.cells;
    const whole = (axis) => Math.round(end.dot(axis) / step) * step;
    this.grid.matrixWorld.setPosition(start.copy(a).multiplyScalar(whole(a)).addScaledVector(b, whole(b)));
  }

  // Between instants, positions go straight on, and quaternions on the shortest way.
  placeTrack(track, time) {
    const { times, poses, n, groups } = track;
    const [i, share] = instant(times, time);
    const j = Math.min(i + 1, n - 1);
    for (const skin of track.skins) this.deform(skin, track, i, j, share);
    const rest = 1 - share;
    for (let place = 0; place < groups.length - 1; place++) {
      const at = 7 * place * n;
      const value = (c) => rest * poses[at + c * n + i] + share * poses[at + c * n + j];
      position.set(value(0), value(1), value(2));
      turn.set(value(4), value(5), value(6), value(3)).normalize();
      const group = groups[place + 1];
      group.matrixWorld.compose(position, turn, one);
      for (const child of group.children) child.matrixWorld.copy(group.matrixWorld);
    }
  }

  onPlace(place, local, found) {
    return found.copy(local).applyMatrix4(this.tracks[0].groups[place + 1].matrixWorld);
  }

  // From the first point of a strut, `start`, to its second.
  reach({ first, from, second, to }) {
    this.onPlace(first, from, start);
    return this.onPlace(second, to, end).sub(start);
  }

  placeStrut(strut) {
    const { mesh, radius } = strut;
    const length = this.reach(strut).length();
    turn.setFromUnitVectors(Z, length > 0 ? end.clone().divideScalar(length) : Z);
    position.copy(start).addScaledVector(end, 0.5);
    mesh.matrixWorld.compose(position, turn, scale.set(radius, radius, Math.max(length, 1e-9)));
  }

  placeArrow({ shaft, tip, place, point, values, n }, i, share) {
    const j = Math.min(i + 1, n - 1);
    const value = (c) => (1 - share) * values[c * n + i] + share * values[c * n + j];
    end.set(value(0), value(1), value(2));
    const size = end.length();
    const length = this.largest > 0 ? (size / this.largest) * this.head.look.arrow * this.extent : 0;
    const width = 0.45 * this.head.unit;
    const tipLength = Math.min(5 * width, 0.5 * length);
    turn.setFromUnitVectors(Z, size > 0 ? end.divideScalar(size) : Z);
    this.onPlace(place, point, start);
    shaft.matrixWorld.compose(start, turn, scale.set(width, width, Math.max(length - tipLength, 1e-9)));
    position.copy(start).addScaledVector(size > 0 ? end : Z, length);
    tip.matrixWorld.compose(position, turn, scale.set(2.4 * width, 2.4 * width, Math.max(tipLength, 1e-9)));
  }

  // ------------------------------------------------------------------ lines

  // Segments [from, to, colour] on a place, as one object.
  addLines(layer, place, segments) {
    const geometry = new BufferGeometry();
    const color = (text) => new MeshStandardMaterial({ color: text }).color;
    geometry.setAttribute("position", new Float32BufferAttribute(segments.flatMap(([a, b]) => [...a, ...b]), 3));
    const colors = segments.flatMap(([, , text]) => [...color(text), ...color(text)]);
    geometry.setAttribute("color", new Float32BufferAttribute(colors, 3));
    const lines = still(new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true, depthTest: layer !== "axes" })));
    lines.renderOrder = 1;
    this.layers[layer].push(lines);
    this.tracks[0].groups[place + 1].add(lines);
  }

  addJointAxes() {
    const { head } = this;
    const axes = new Map();
    const rings = new Map();
    for (const [, , place, pose, along, cut] of head.joints) {
      const frame = matrixOf(pose);
      for (const axis of along) {
        const reach = new Vector3().setFromMatrixColumn(frame, axis).multiplyScalar(head.look.axis * head.unit);
        const origin = new Vector3().setFromMatrixPosition(frame);
        push(axes, place, [origin.clone().sub(reach), origin.clone().add(reach), AXES[axis]]);
      }
      if (cut) for (const segment of ring(frame, 3.2 * head.unit)) push(rings, place, segment);
    }
    for (const [place, segments] of axes) this.addLines("axes", place, segments);
    for (const [place, segments] of rings) this.addLines("closures", place, segments);
  }

  addFrames() {
    const { head } = this;
    const found = new Map();
    const add = (place, frame) => {
      const origin = new Vector3().setFromMatrixPosition(frame);
      for (let axis = 0; axis < 3; axis++) {
        const reach = new Vector3().setFromMatrixColumn(frame, axis).multiplyScalar(head.look.frame * head.unit);
        push(found, place, [origin, reach.add(origin), AXES[axis]]);
      }
    };
    head.places.forEach((name, place) => add(place, new Matrix4()));
    head.frames.forEach(([, place, pose]) => add(place, matrixOf(pose)));
    add(-1, new Matrix4());
    for (const [place, segments] of found) this.addLines("frames", place, segments);
  }

  addPath([, place, point], k) {
    const { n, poses } = this.tracks[0];
    const points = new Float32Array(3 * n);
    const local = new Vector3(...point);
    for (let i = 0; i < n; i++) {
      const value = (c) => poses[(7 * place + c) * n + i];
      turn.set(value(4), value(5), value(6), value(3));
      position.copy(local).applyQuaternion(turn).toArray(points, 3 * i);
      for (let c = 0; c < 3; c++) points[3 * i + c] += value(c);
    }
    const geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points, 3));
    const line = still(new Line(geometry, new LineBasicMaterial({ color: bodyColor(k + 3) })));
    this.layers.paths.push(line);
    this.scene.add(line);
  }

  // A grid at the height of the floor, whose lines fade away from the middle.
  addGrid() {
    const { head, extent } = this;
    const step = niceStep(extent / 8);
    const up = new Vector3(...head.camera[2]);
    const across = Math.abs(up.z) > 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 0, 1);
    const a = across.sub(up.clone().multiplyScalar(across.dot(up))).normalize();
    const b = new Vector3().crossVectors(up, a);
    const middle = this.outline.getCenter(new Vector3());
    const cells = 14;
    const [ia, ib] = [a, b].map((axis) => Math.round(middle.dot(axis) / step));
    const points = [];
    const colors = [];
    const corner = (i, j) => {
      const at = up.clone().multiplyScalar(head.floor).addScaledVector(a, (ia + i) * step).addScaledVector(b, (ib + j) * step);
      points.push(...at);
      colors.push(1, 1, 1, Math.max(0, 1 - Math.hypot(i, j) / cells) ** 1.3);
    };
    for (let i = -cells; i <= cells; i++) {
      for (let j = -cells; j < cells; j++) {
        corner(i, j); corner(i, j + 1);
        corner(j, i); corner(j + 1, i);
      }
    }
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
    geometry.setAttribute("color", new Float32BufferAttribute(colors, 4));
    const material = new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false });
    const lines = still(new LineSegments(geometry, material));
    this.cells = { a, b, step };
    this.layers.grid.push(lines);
    this.scene.add(lines);
    return lines;
  }

  // ------------------------------------------------------------------ view

  show(shown) {
    this.shown = shown;
    for (const [layer, objects] of Object.entries(this.layers)) for (const each of objects) each.visible = !!shown[layer];
    this.setTime(this.time);
  }

  setTheme(dark) {
    this.grid.material.color.set(dark ? "#5b6775" : "#9aa6b4");
  }

  // The direction of the described view, as near as the outline of everything allows.
  home() {
    const [position, target, up] = this.head.camera.map((row) => new Vector3(...row));
    const away = position.clone().sub(target).normalize();
    const right = new Vector3().crossVectors(up, away).normalize();
    const top = new Vector3().crossVectors(away, right);
    const tall = Math.tan((this.camera.fov * Math.PI) / 360);
    let distance = 0;
    for (const row of this.head.outline) {
      const corner = new Vector3(...row).sub(target);
      const spread = Math.max(Math.abs(corner.dot(right)) / (tall * this.camera.aspect), Math.abs(corner.dot(top)) / tall);
      distance = Math.max(distance, spread + corner.dot(away));
    }
    this.camera.up.copy(up);
    this.camera.position.copy(target).addScaledVector(away, this.head.look.margin * Math.max(distance, 1e-6)).add(this.gone);
    this.controls.target.copy(target).add(this.gone);
    this.controls.update();
  }

  resize(width, height) {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
  }

  render() {
    const distance = this.camera.position.distanceTo(this.controls.target) + this.extent;
    this.camera.near = distance / 1000;
    this.camera.far = 4 * distance;
    this.camera.updateProjectionMatrix();
    // the light comes over the viewer's left shoulder
    this.light.position.copy(this.camera.position).addScaledVector(this.camera.up, 0.6 * distance);
    this.light.position.addScaledVector(start.setFromMatrixColumn(this.camera.matrixWorld, 0), -0.4 * distance);
    this.light.target.position.copy(this.controls.target);
    this.renderer.render(this.scene, this.camera);
  }
}

const position = new Vector3();
const start = new Vector3();
const end = new Vector3();
const scale = new Vector3();
const one = new Vector3(1, 1, 1);
const turn = new Quaternion();

// Objects whose world matrix is set here, and that are always drawn, cost three.js no work.
function still(object) {
  object.matrixAutoUpdate = object.matrixWorldAutoUpdate = false;
  object.frustumCulled = false;
  return object;
}

const opacityOf = (color) => (color.length > 7 ? parseInt(color.slice(7), 16) / 255 : 1);

function push(map, key, value) {
  if (!map.has(key)) map.set(key, []);
  map.get(key).push(value);
}

function ring(frame, radius) {
  const point = (k) => new Vector3(radius * Math.cos((k * Math.PI) / 16), radius * Math.sin((k * Math.PI) / 16), 0).applyMatrix4(frame);
  return Array.from({ length: 32 }, (_, k) => [point(k), point(k + 1), CUT]);
}

// A coil of radius 1 along z that is some radii long, made as long as 1: its wire is round at that length.
function coil(length) {
  const turns = Math.min(Math.max(Math.round(length / 1.5), 6), 40);
  const points = [];
  for (let k = 0; k <= 16 * turns; k++) {
    const share = k / (16 * turns);
    const radius = share < 0.06 || share > 0.94 ? 0.02 : 1;
    const angle = (2 * Math.PI * k) / 16;
    points.push(new Vector3(radius * Math.cos(angle), radius * Math.sin(angle), (share - 0.5) * length));
  }
  return new TubeGeometry(new CatmullRomCurve3(points), 16 * turns, 0.16, 6).scale(1, 1, 1 / Math.max(length, 1e-9));
}

function niceStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].find((x) => x * power >= size) * power;
}
