import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const SRC = join(ROOT, "src");

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

/** The rows of the walls table: room -> what it may import. */
function readWalls(): Map<string, string> {
  const text = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const table = text.split("## Walls")[1]?.split("\n\n")[1] ?? "";
  const rows = table
    .split("\n")
    .slice(2)
    .map((line) => line.split("|").map((cell) => cell.trim()));
  return new Map(rows.flatMap(([, rooms, allowed]) => (rooms ?? "").split(", ").map((room) => [room, allowed ?? ""] as const)));
}

/** The name in the table of the room that a file of `src/` lies in. */
function roomOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  if (first === "errors.ts" || first === "index.ts" || first === "client.ts") return first.slice(0, -3);
  if (first === "mcp") return second === "client" || second === "proxy" ? `mcp/${second}` : first;
  if (first !== "runtime") return first;
  return second === "contract" || second === "registry.ts" || second === "guest" ? `runtime/${second}` : "runtime/<one>";
}

function isAllowed(allowed: string, from: string, to: Import): boolean {
  const target = roomOf(to.to);
  if (allowed.startsWith("everything but ")) return !allowed.slice("everything but ".length).split(", ").includes(target);
  if (target === "runtime/<one>" && roomOf(from) === "runtime/<one>") return from.split("/")[1] === to.to.split("/")[1];
  if (target === roomOf(from)) return true;
  const entries = allowed.split(", ");
  return entries.includes(target) || (to.typeOnly && entries.includes(`${target} (types)`));
}

function sourceFiles(): string[] {
  const entries = readdirSync(SRC, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts"))
    .map((entry) => relative(SRC, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith("interpreter/kernels/") && !file.startsWith("dashboard/"));
}

const IMPORT = /^(import|export)\s(type\s)?(?:[\w*{}\s,$]*\sfrom\s)?["'](\.[^"']+)["']|\bimport\(\s*["'](\.[^"']+)["']\s*\)/gm;

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), "utf8");
  return [...text.matchAll(IMPORT)].map((match) => ({
    from: file,
    to: relative(SRC, resolve(SRC, dirname(file), match[3] ?? match[4] ?? "")),
    typeOnly: match[2] !== undefined,
  }));
}

const imports = sourceFiles().flatMap(importsOf);

/** A path of files that ends where it starts, through imports of types too. */
function findCycle(): string[] | undefined {
  const edges = new Map<string, string[]>();
  for (const { from, to } of imports) edges.set(from, [...(edges.get(from) ?? []), to]);
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of edges.get(file) ?? []) {
      const cycle = visit(next, [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of edges.keys()) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return undefined;
}

describe("walls", () => {
  const walls = readWalls();

  it("has a row for every room of src/", () => {
    const rooms = new Set(sourceFiles().map(roomOf));
    expect([...rooms].filter((room) => !walls.has(room))).toEqual([]);
  });

  it("reads imports of every form", () => {
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.some((one) => one.typeOnly)).toBe(true);
  });

  it("lets no room import what its row does not name", () => {
    const broken = imports.filter((one) => !isAllowed(walls.get(roomOf(one.from)) ?? "nothing", one.from, one));
    expect(broken.map((one) => `${one.from} -> ${one.to}`)).toEqual([]);
  });

  it("refuses imports that the table forbids", () => {
    const bad = (from: string, to: string, typeOnly = false) => isAllowed(walls.get(roomOf(from)) ?? "", from, { from, to, typeOnly });
    expect(bad("protocol/wire.ts", "gateway/gateway.ts")).toBe(false);
    expect(bad("runtime/fake/a.ts", "runtime/namespace/b.ts")).toBe(false);
    expect(bad("catalog/a.ts", "sandbox/sandbox.ts")).toBe(false);
    expect(bad("catalog/a.ts", "sandbox/sandbox.ts", true)).toBe(true);
    expect(bad("gateway/a.ts", "cli/main.ts")).toBe(false);
    expect(bad("mcp/client/a.ts", "mcp/server/b.ts")).toBe(false);
  });

  it("has no import cycle", () => {
    expect(findCycle()).toBeUndefined();
  });
});
