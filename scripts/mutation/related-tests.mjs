/** Which tests run which source: by their imports, the nearest first. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Imports of values; those of types are erased. */
const IMPORTS = /^(?:import|export) (?!type\b)[^;]*?\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;
const MOST = 12;

/** All TypeScript files below a folder of the checkout. */
export function sourcesBelow(root, folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

/** A function that gives the tests of a source: of `tests` those that import nothing of `never`, and of `always`. */
export function createRelatedTests(root, { tests, never, always }) {
  const imports = new Map();
  const importsOf = (path) => {
    const known = imports.get(path) ?? readImports(root, path);
    imports.set(path, known);
    return known;
  };
  const reach = (test) => [test, distancesFrom(test, importsOf)];
  const quick = tests.map(reach).filter(([, reached]) => !never.some((path) => reached.has(path)));
  const distances = [...quick, ...always.map(reach)];
  return (source) =>
    distances
      .flatMap(([test, reached]) => (reached.has(source) ? [{ test, steps: reached.get(source), shared: sharedParts(test, source) }] : []))
      .toSorted((one, other) => other.shared - one.shared || one.steps - other.steps)
      .slice(0, MOST)
      .map(({ test }) => test);
}

function readImports(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(IMPORTS)].map(([, from, lazily]) => join(dirname(path), from ?? lazily)).filter((to) => to.endsWith(".ts"));
}

/** How many imports lie between, for each file that is reached. */
function distancesFrom(test, importsOf) {
  const reached = new Map([[test, 0]]);
  for (const [path, steps] of reached) for (const to of importsOf(path)) if (!reached.has(to)) reached.set(to, steps + 1);
  return reached;
}

/** How much of their folders a test and a source have in common. The integration tests of a room lie in a folder of its name. */
function sharedParts(test, source) {
  const [left, right] = [test.replace(/^test\/integration\//, "src/").split("/"), source.split("/")];
  const differs = left.findIndex((part, at) => part !== right[at]);
  return differs < 0 ? left.length : differs;
}
