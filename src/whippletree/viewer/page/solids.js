// Solids as geometry for the graphics card: all that is on one place becomes one mesh.

import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, ConeGeometry, CylinderGeometry, Matrix3, Matrix4,
  SphereGeometry, Vector3,
} from "three";

const BODIES = ["#4f81bd", "#e08e3c", "#4aa58a", "#c85a54", "#8069b5", "#8f9e3d", "#c76f9e", "#4aa3c7", "#b08a55", "#6f7fd0"];
const ROLES = { joint: "#56606c", support: "#8b95a1" };

export const bodyColor = (k) => BODIES[((k % BODIES.length) + BODIES.length) % BODIES.length];

export function matrixOf(row) {
  return new Matrix4().set(...row, 0, 0, 0, 1);
}

// One geometry, with colours and normals, of several solids [kind, place, size, pose, role, color].
export function mergedGeometry(solids, arrays) {
  const parts = solids.map(([kind, , size, pose, role, color]) => {
    const made = geometryOf(kind, size, arrays);
    return { made, matrix: matrixOf(pose), color: new Color(ROLES[role] ?? bodyColor(color)) };
  });
  const count = parts.reduce((sum, { made }) => sum + made.attributes.position.count, 0);
  const positions = new Float32Array(3 * count);
  const normals = new Float32Array(3 * count);
  const colors = new Float32Array(3 * count);
  const index = [];
  const point = new Vector3();
  let at = 0;
  for (const { made, matrix, color } of parts) {
    const turn = new Matrix3().setFromMatrix4(matrix);
    const { position, normal } = made.attributes;
    for (let k = 0; k < position.count; k++) {
      point.fromBufferAttribute(position, k).applyMatrix4(matrix).toArray(positions, 3 * (at + k));
      point.fromBufferAttribute(normal, k).applyMatrix3(turn).toArray(normals, 3 * (at + k));
      color.toArray(colors, 3 * (at + k));
    }
    if (made.index) for (const i of made.index.array) index.push(at + i);
    else for (let i = 0; i < position.count; i++) index.push(at + i);
    at += position.count;
  }
  const whole = new BufferGeometry();
  whole.setAttribute("position", new BufferAttribute(positions, 3));
  whole.setAttribute("normal", new BufferAttribute(normals, 3));
  whole.setAttribute("color", new BufferAttribute(colors, 3));
  whole.setIndex(index);
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
    default: return meshGeometry(arrays[`mesh${size[0]}`]);
  }
}

function meshGeometry({ n, values }) {
  const corners = new Float32Array(3 * n);
  for (let k = 0; k < n; k++) for (let c = 0; c < 3; c++) corners[3 * k + c] = values[c * n + k];
  const made = new BufferGeometry();
  made.setAttribute("position", new BufferAttribute(corners, 3));
  made.computeVertexNormals();
  return made;
}
