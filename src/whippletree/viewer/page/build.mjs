// Builds viewer.bundle.js, the script of the page, from the sources beside it and three.js: `make viewer`.
// Its first line holds a hash of the sources, by which a test tells whether it was built from them.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { build } from "esbuild";

const SOURCES = ["labels.js", "live.js", "main.js", "package-lock.json", "plots.js", "scene.js", "solids.js", "stage.js"];
const hash = createHash("sha256");
for (const name of SOURCES) hash.update(readFileSync(name));

await build({
  entryPoints: ["main.js"],
  outfile: "viewer.bundle.js",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "eof",
  banner: { js: `/* whippletree viewer, sources ${hash.digest("hex")} */` },
});
