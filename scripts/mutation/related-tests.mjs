/** Which tests import which sources, and which of them lie nearest. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Imports of values; those of types are erased. */
const IMPORTS = /^(?:import|export) (?!type\b)[^;]*?\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;

/** All TypeScript files below a folder of the checkout. */
export function sourcesBelow(root, folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

/** What each file imports, over any number of steps, as a map of paths to steps. */
export function createImports(root) {
  const texts = new Map();
  const imports = new Map();
  const textOf = (path) => remember(texts, path, () => readFileSync(join(root, path), "utf8"));
  const importsOf = (path) => remember(imports, path, () => importedBy(path, textOf(path)));
  const reaches = new Map();
  const reach = (path) => {
    const reached = new Map([[path, 0]]);
    for (const [at, steps] of reached) for (const to of importsOf(at)) if (!reached.has(to)) reached.set(to, steps + 1);
    return reached;
  };
  const reachedBy = (path) => remember(reaches, path, () => reach(path));
  return {
    reachedBy,
    /** Changes when the file changes, or a file that it imports. */
    digestOf(path) {
      const hash = createHash("sha256");
      for (const reached of reachedBy(path).keys()) hash.update(`${reached}\0${textOf(reached)}\0`);
      return hash.digest("hex");
    },
  };
}

/** The order of tests for a source: those of its folder and its nearest folders first, then by imports that lie between. */
export function compareNearness(source, { reachedBy }) {
  const rank = (test) => [-sharedParts(test, source), reachedBy(test).get(source) ?? Infinity];
  return (one, other) => {
    const [[shared, steps], [otherShared, otherSteps]] = [rank(one), rank(other)];
    return shared - otherShared || steps - otherSteps;
  };
}

/** The integration tests of a room lie in a folder of its name. */
export function roomPath(test) {
  return test.replace(/^test\/integration\//, "src/");
}

function importedBy(path, text) {
  return [...text.matchAll(IMPORTS)].map(([, from, lazily]) => join(dirname(path), from ?? lazily)).filter((to) => to.endsWith(".ts"));
}

/** How much of their folders a test and a source have in common. */
function sharedParts(test, source) {
  const [left, right] = [roomPath(test).split("/"), source.split("/")];
  const differs = left.findIndex((part, at) => part !== right[at]);
  return differs < 0 ? left.length : differs;
}

function remember(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}
