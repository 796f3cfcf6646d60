import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A Python program of several modules as one file: the entry's text, and above it the other modules of a folder as strings. */
export function bundlePython(entry, folder = dirname(entry)) {
  const modules = readdirSync(folder).filter((name) => name.endsWith(".py") && name !== basename(entry));
  const sources = modules.toSorted().map((name) => `${JSON.stringify(basename(name, ".py"))}: ${literal(join(folder, name))},\n`);
  return `SOURCES = {\n${sources.join("")}}\n${readFileSync(entry, "utf8")}`;
}

function literal(path) {
  const text = readFileSync(path, "utf8");
  if (text.includes("'''") || text.endsWith("\\")) throw new Error(`${path} cannot stand in a raw string of Python: it holds '''`);
  return `r'''${text}'''`;
}
