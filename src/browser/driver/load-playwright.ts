import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import type { BrowserType } from "playwright-core";

/** The package's own files lie beside the driver (`scripts/build.mjs`). They are not bundled: they find one another by their places. */
const LIB = join(import.meta.dirname, "playwright-core/lib");
/** Seven megabytes of source, which are half of the time until the first page, unless what the compiler made of them is there. */
const CACHED = ["coreBundle", "utilsBundle"];

type Load = (name: string) => unknown;

export function loadPlaywright(): BrowserType {
  return load(LIB).chromium;
}

/** Written once, when Belljar is built, by whoever builds it. Another release of Node takes no notice of it. */
export function writeCodeCache(): void {
  const { scripts } = load(LIB);
  for (const [name, script] of scripts) writeFileSync(join(LIB, `${name}.cache`), script.createCachedData());
}

interface Loaded {
  readonly chromium: BrowserType;
  readonly scripts: ReadonlyMap<string, Script>;
}

/** As Node loads CommonJS, but for what is kept of the compiler's work. */
function load(folder: string): Loaded {
  const [scripts, modules] = [new Map<string, Script>(), new Map<string, { exports: unknown }>()];
  const native = createRequire(join(folder, "index.js"));
  const need: Load = (id) => (CACHED.includes(id.replace("./", "")) ? run(id.replace("./", "")) : native(id));
  const run: Load = (name) => {
    const known = modules.get(name);
    if (known) return known.exports;
    const module = { exports: {} as unknown };
    modules.set(name, module);
    const path = join(folder, `${name}.js`);
    const script = compile(path);
    scripts.set(name, script);
    const wrapped = script.runInThisContext() as (...given: readonly unknown[]) => void;
    wrapped.call(module.exports, module.exports, need, module, path, dirname(path));
    return module.exports;
  };
  native("./bootstrap");
  const core = run("coreBundle") as { readonly inprocess: { readonly playwright: { readonly chromium: BrowserType } } };
  return { chromium: core.inprocess.playwright.chromium, scripts };
}

function compile(path: string): Script {
  const cache = path.replace(/\.js$/, ".cache");
  const source = `(function (exports, require, module, __filename, __dirname) { ${readFileSync(path, "utf8")}\n});`;
  return new Script(source, { filename: path, ...(existsSync(cache) && { cachedData: readFileSync(cache) }) });
}
