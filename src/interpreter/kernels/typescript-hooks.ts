import { readFileSync, statSync } from "node:fs";
import type { InitializeHook, LoadHook, ResolveHook } from "node:module";
import { fileURLToPath } from "node:url";
import { transform } from "sucrase";
import { transpile } from "./javascript/transpile.ts";

const TYPESCRIPT = /\.(?:ts|mts|cts|tsx)$/;
/** The extensions that an import may use for a TypeScript file, as in TypeScript itself. */
const TYPED: Readonly<Record<string, readonly string[]>> = { ".js": [".ts", ".tsx"], ".mjs": [".mts"], ".cjs": [".cts"], ".jsx": [".tsx"] };
const ENDINGS = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.tsx", "/index.js"];

let entryUrl = "";

export const initialize: InitializeHook<{ readonly entry: string }> = ({ entry }) => {
  entryUrl = entry;
};

/** `./util`, `./util.js` and `./util.ts` all find `util.ts`. An import of an existing file is left to Node. */
export const resolve: ResolveHook = (specifier, context, nextResolve) => {
  const url = toFileUrl(specifier, context.parentURL);
  const found = url && !isFile(url) ? candidates(url).find(isFile) : undefined;
  return nextResolve(found ?? specifier, context);
};

/** Transpiles TypeScript line by line, so that stack traces name the author's lines. */
export const load: LoadHook = async (url, context, nextLoad) => {
  if (!url.startsWith("file:")) return nextLoad(url, context);
  const { pathname } = new URL(url);
  if (TYPESCRIPT.test(pathname)) return loadTypeScript(fileURLToPath(url), url === entryUrl);
  if (pathname.endsWith(".json") && context.importAttributes?.["type"] !== "json") {
    const text = JSON.stringify(readFileSync(fileURLToPath(url), "utf8"));
    return { format: "module", source: `export default JSON.parse(${text});`, shortCircuit: true };
  }
  return nextLoad(url, context);
};

function loadTypeScript(path: string, isEntry: boolean) {
  const source = transpile(path, readFileSync(path, "utf8"));
  if (!path.endsWith(".cts") && !isCommonJs(source)) return { format: "module", source, shortCircuit: true } as const;
  // On the first line, so that the author's line numbers hold.
  const main = isEntry ? "require.main = module;" : "";
  return { format: "commonjs", source: main + source, shortCircuit: true } as const;
}

/** The code of one run of a context: what it imports may be used by a later run, so that every import stays. */
export function transpileRun(source: string): string {
  return transform(source, { transforms: ["typescript"], disableESTransforms: true, production: true, keepUnusedImports: true }).code;
}

/** A program that uses `require`, without any syntax of ES modules, runs as CommonJS. */
function isCommonJs(code: string): boolean {
  const usesRequire = /\brequire\s*[.(]|\bmodule\.exports\b|\bexports\.\w/.test(code);
  return usesRequire && !/^[ \t]*(?:import\s*[\w{*"']|export\s*[\w{*])|\bimport\.meta\b|(?:^|[=(]\s*)await\s/m.test(code);
}

function toFileUrl(specifier: string, parent: string | undefined): URL | undefined {
  const isPath = /^(?:\.{0,2}\/|file:)/.test(specifier) || specifier === "." || specifier === "..";
  return isPath && parent?.startsWith("file:") ? new URL(specifier, parent) : undefined;
}

function candidates(url: URL): string[] {
  const [ending] = /\.[a-z]+$/.exec(url.pathname) ?? [""];
  const typed = (TYPED[ending] ?? []).map((replacement) => url.pathname.slice(0, -ending.length) + replacement);
  const added = ENDINGS.map((addition) => url.pathname.replace(/\/$/, "") + addition);
  return [...typed, ...added].map((pathname) => Object.assign(new URL(url), { pathname }).href);
}

function isFile(url: URL | string): boolean {
  return statSync(fileURLToPath(url), { throwIfNoEntry: false })?.isFile() ?? false;
}
