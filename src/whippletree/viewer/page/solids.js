// Solids as geometry for the graphics card: all that is on one place becomes one mesh.

import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, ConeGeometry, CylinderGeometry, Matrix4, SphereGeometry,
} from "three";

const BODIES = ["#4f81bd", "#e08e3c", "#4aa58a", "#c85a54", "#8069b5", "#8f9e3d", "#c76f9e", "#4aa3c7", "#b08a55", "#6f7fd0"];

export const bodyColor = (k) => BODIES[((k % BODIES.length) + BODIES.length) % BODIES.length];

export function matrixOf(row) {
  return new Matrix4().set(...row, 0, 0, 0, 1);
}

// One geometry, with colours and normals, of several solids [kind, place, size, pose, role, color].
export function mergedGeometry(solids, arrays) {
  const parts = solids.map(([kind, , size, pose, , color]) => ({ made: geometryOf(kind, size, arrays), pose, color: new Color(color.slice(0, 7)) }));
  const total = (count) => parts.reduce((sum, { made }) => sum + count(made), 0);
  const points = total((made) => made.attributes.position.count);
  const positions = new Float32Array(3 * points);
  const normals = new Float32Array(3 * points);
  const colors = new Float32Array(3 * points);
  const index = new Uint32Array(total((made) => made.index.count));
  let [at, first] = [0, 0];
  for (const { made, pose, color } of parts) {
    const { position, normal } = made.attributes;
    for (let k = 0; k < position.count; k++) {
      const [x, y, z] = [position.array[3 * k], position.array[3 * k + 1], position.array[3 * k + 2]];
      const [u, v, w] = [normal.array[3 * k], normal.array[3 * k + 1], normal.array[3 * k + 2]];
      const row = 3 * (at + k);
      for (let i = 0; i < 3; i++) {
        const [a, b, c] = [pose[4 * i], pose[4 * i + 1], pose[4 * i + 2]];
        positions[row + i] = a * x + b * y + c * z + pose[4 * i + 3];
        normals[row + i] = a * u + b * v + c * w;
      }
      colors[row] = color.r;
      colors[row + 1] = color.g;
      colors[row + 2] = color.b;
    }
    for (let i = 0; i < made.index.count; i++) index[first + i] = at + made.index.array[i];
    at += position.count;
    first += made.index.count;
  }
  const whole = new BufferGeometry();
  whole.setAttribute("position", new BufferAttribute(positions, 3));
  whole.setAttribute("normal", new BufferAttribute(normals, 3));
  whole.setAttribute("color", new BufferAttribute(colors, 3));
  whole.setIndex(new BufferAttribute(index, 1));
  return whole;
}

const known = new Map();

function geometryOf(kind, size, arrays) {
  const key = `${kind} ${size}`;
  if (!known.has(key)) known.set(key, makeGeometry(kind, size, arrays));
  return known.get(key);
}

// three.js has its bodies of revolution along y; here they are along z.
function makeGeometry(kind, size, arrays) {
  switch (kind) {
    case "box": return new BoxGeometry(...size);
    case "sphere": return new SphereGeometry(size[0], 28, 18);
    case "cylinder": return new CylinderGeometry(size[0], size[0], size[1], 32).rotateX(Math.PI / 2);
    case "capsule": return new CapsuleGeometry(size[0], size[1], 6, 20).rotateX(Math.PI / 2);
    case "cone": return new ConeGeometry(size[0], size[1], 32).rotateX(Math.PI / 2);
    default: return meshGeometry(arrays[`mesh${size[0]}`], arrays[`corners${size[0]}`], size.slice(1));
  }
}

// A mesh, stretched along its axes; one that is mirrored has its triangles the other way round.
function meshGeometry({ n, values }, faces, factors) {
  const points = new Float32Array(3 * n);
  for (let k = 0; k < n; k++) for (let c = 0; c < 3; c++) points[3 * k + c] = factors[c] * values[c * n + k];
  const order = factors[0] * factors[1] * factors[2] < 0 ? [0, 2, 1] : [0, 1, 2];
  const index = new Uint32Array(3 * faces.n);
  for (let i = 0; i < faces.n; i++) for (let c = 0; c < 3; c++) index[3 * i + c] = faces.values[order[c] * faces.n + i];
  const made = new BufferGeometry();
  made.setAttribute("position", new BufferAttribute(points, 3));
  made.setIndex(new BufferAttribute(index, 1));
  made.computeVertexNormals();
  return made;
}
