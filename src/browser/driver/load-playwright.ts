import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import type { BrowserType, Selectors } from "playwright-core";

/** The package's own files lie beside the driver (`scripts/build.mjs`). They are not bundled: they find one another by their places. */
const LIB = join(import.meta.dirname, "playwright-core/lib");
/** Seven megabytes of source, which are half of the time until the first page, unless what the compiler made of them is there. */
const CORE = "coreBundle";
const UTILS = "utilsBundle";

type Load = (id: string) => unknown;

export interface Playwright {
  readonly chromium: BrowserType;
  readonly selectors: Selectors;
}

export function loadPlaywright(): Playwright {
  return load(LIB).playwright;
}

/** Written once, when Belljar is built, by whoever builds it. Another release of Node takes no notice of it. */
export function writeCodeCache(): void {
  const { scripts } = load(LIB, true);
  for (const [name, script] of scripts) writeFileSync(join(LIB, `${name}.cache`), script.createCachedData());
}

interface Core {
  readonly inprocess: { readonly playwright: Playwright };
}

interface Loaded {
  readonly playwright: Playwright;
  readonly scripts: ReadonlyMap<string, Script>;
}

/** As Node loads CommonJS, but for what is kept of the compiler's work, and for the second bundle, which waits until somebody needs it. */
function load(folder: string, isWhole = false): Loaded {
  const scripts = new Map<string, Script>();
  const native = createRequire(join(folder, "index.js"));
  const run = (name: string, need: Load): unknown => {
    const path = join(folder, `${name}.js`);
    const script = compile(path);
    scripts.set(name, script);
    const module = { exports: {} as unknown };
    const wrapped = script.runInThisContext() as (...given: readonly unknown[]) => void;
    wrapped.call(module.exports, module.exports, need, module, path, dirname(path));
    return module.exports;
  };
  let utils: object | undefined;
  const needUtils = (): object => (utils ??= run(UTILS, native) as object);
  const later = lateUtils(needUtils);
  native("./bootstrap");
  const core = run(CORE, (id) => (id === `./${UTILS}` ? later : native(id))) as Core;
  if (isWhole) needUtils();
  return { playwright: core.inprocess.playwright, scripts };
}

/**
 * The libraries that playwright brings along, each loaded with its first use: nearly all are for what a browser here never does. Its loggers
 * alone are asked for at once, and they say nothing.
 */
function lateUtils(need: () => object): object {
  const known = new Map<PropertyKey, unknown>([
    ["debug", SILENT],
    ["yauzl", unzipper(need)],
  ]);
  return new Proxy(
    {},
    {
      get(_, name) {
        const value = known.get(name) ?? late(() => Reflect.get(need(), name) as object);
        known.set(name, value);
        return value;
      },
    },
  );
}

/** Its `open` is wrapped at once, and wrapping looks at it. */
function unzipper(need: () => object): object {
  const own = (): object => Reflect.get(need(), "yauzl") as object;
  const open = (...given: unknown[]): unknown => (Reflect.get(own(), "open") as (...all: unknown[]) => unknown)(...given);
  return Object.setPrototypeOf({ open }, late(own)) as object;
}

const logger = Object.assign(() => undefined, { enabled: false });
const SILENT = Object.assign(() => logger, { enabled: () => false, enable: () => undefined, formatters: {} });

/** Stands for what `need` gives, whatever is done with it. */
function late(need: () => object): object {
  const handler: ProxyHandler<() => void> = {};
  for (const trap of ["apply", "construct", "get", "set", "has", "ownKeys", "getOwnPropertyDescriptor", "getPrototypeOf"] as const)
    handler[trap] = (_: unknown, ...given: unknown[]) => (Reflect[trap] as (...all: unknown[]) => never)(need(), ...given);
  return new Proxy(() => undefined, handler);
}

function compile(path: string): Script {
  const cache = path.replace(/\.js$/, ".cache");
  const source = `(function (exports, require, module, __filename, __dirname) { ${readFileSync(path, "utf8")}\n});`;
  return new Script(source, { filename: path, ...(existsSync(cache) && { cachedData: readFileSync(cache) }) });
}
