import { createRequire, register } from "node:module";
import { dirname } from "node:path";
import vm from "node:vm";
import { MessageChannel } from "node:worker_threads";
import type { HooksData, UnitModule } from "./hooks.ts";
import { Refusal } from "./refusal.ts";
import { loadZod, ZOD_URL } from "./schemas.ts";
import type * as Syntax from "./syntax.ts";
import type { UnitSource } from "./unit-source.ts";

export type Exports = Readonly<Record<string, unknown>>;

const FILE_LOADER = (vm.constants as { readonly USE_MAIN_CONTEXT_DEFAULT_LOADER?: number } | undefined)?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
const SYNTAX = "./javascript-tools-syntax.mjs";

/** Runs the author's code as a module. One for each process, as Node forgets no module. */
export class UnitLoader {
  readonly #port: { postMessage(unit: UnitModule): void };
  readonly #api: Exports;

  /** Starts the thread of the hooks: before the code is known, so that a process that waits for it has done this. */
  constructor(api: Exports, apiUrl: string) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#api = api;
    const data: HooksData = { port: port2, home: new URL("./", apiUrl).href, api: apiUrl, zod: ZOD_URL };
    register("./javascript-tools-hooks.mjs", { parentURL: import.meta.url, data, transferList: [port2] });
  }

  /** What the code exports. Throws a `Refusal` for code that is none, and what the code itself throws. */
  async load(unit: UnitSource): Promise<Exports> {
    const source = await toSource(unit);
    const isCommonJs = usesCommonJs(source);
    try {
      return isCommonJs ? await this.#require(unit, source) : await this.#import(unit, source);
    } catch (error) {
      throw await explain(error, unit, { source, sourceType: isCommonJs ? "script" : "module" });
    }
  }

  /** Runs the code as the body of an async function that has these names, and resolves with what it returns. Rejects as it does. */
  async runBody(unit: UnitSource, given: Readonly<Record<string, unknown>>): Promise<unknown> {
    this.#port.postMessage({ url: "", source: "" });
    const body = await toSource(unit, (code) => `const __script = async () => { "use strict"; ${code}\n};`);
    const source = `${body}\nreturn __script();`;
    const require = createRequire(unit.path);
    try {
      const names = { ...given, require };
      const run = compile(unit.path, source, Object.keys(names));
      return await run(...Object.values(names));
    } catch (error) {
      throw await explain(error, unit, { source, sourceType: "script" });
    }
  }

  async #import({ url }: UnitSource, source: string): Promise<Exports> {
    this.#port.postMessage({ url, source });
    return (await import(url)) as Exports;
  }

  async #require({ path }: UnitSource, source: string): Promise<Exports> {
    this.#port.postMessage({ url: "", source: "" });
    const own = createRequire(path);
    const zod = source.includes("zod") ? await loadZod() : undefined;
    const find = (id: string): unknown => {
      if (id === "belljar") return this.#api;
      try {
        return own(id);
      } catch (error) {
        if (zod && id === "zod" && (error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return zod;
        throw Object.assign(error as Error, { specifier: id });
      }
    };
    const module = { exports: {} as unknown, id: ".", filename: path, loaded: false };
    const names = ["exports", "require", "module", "__filename", "__dirname"];
    const run = compile(path, source, names);
    Reflect.apply(run, module.exports, [module.exports, Object.assign(find, own), module, path, dirname(path)]);
    return toExports(module.exports);
  }
}

function compile(filename: string, source: string, names: readonly string[]): (...values: unknown[]) => unknown {
  const options = { filename, ...(FILE_LOADER === undefined ? {} : { importModuleDynamically: FILE_LOADER }) };
  return vm.compileFunction(source, names, options) as (...values: unknown[]) => unknown;
}

/** The one thing that a module of CommonJS may be is its default. */
function toExports(exported: unknown): Exports {
  const isFields = typeof exported === "object" && exported !== null && Object.getPrototypeOf(exported) === Object.prototype;
  return isFields ? { ...exported } : { default: exported };
}

async function toSource({ file, code }: UnitSource, wrap = (body: string): string => body): Promise<string> {
  // A function has no such line.
  const source = wrap(code.startsWith("#!") ? `//${code.slice(2)}` : code);
  if (!file.endsWith(".ts")) return source;
  const { transpile } = await loadSyntax();
  try {
    return transpile(file, source);
  } catch (error) {
    const { message, loc } = error as Error & { readonly loc?: { readonly line: number } };
    throw new Refusal(`SyntaxError: ${message}`, loc?.line ?? null);
  }
}

/** Unlike a program, a unit that is CommonJS must export by it. */
function usesCommonJs(source: string): boolean {
  return /\bmodule\.exports\b|\bexports\.\w/.test(source) && !/^[ \t]*(?:import\s*[\w{*"']|export\s*[\w{*])|\bimport\.meta\b/m.test(source);
}

interface Parsed {
  readonly source: string;
  readonly sourceType: "module" | "script";
}

/** Errors of the loader have no line of the code. */
async function explain(error: unknown, unit: UnitSource, { source, sourceType }: Parsed): Promise<unknown> {
  if (!(error instanceof Error)) return error;
  const { specifier } = error as { readonly specifier?: unknown };
  if (typeof specifier === "string") {
    const line = unit.lineOfQuoted(specifier);
    const advice = "name it in a block // requirements at the head of the code";
    return line === null ? error : new Refusal(`The package ${JSON.stringify(specifier)} is not installed; ${advice}`, line);
  }
  if (!(error instanceof SyntaxError)) return error;
  const { findSyntaxError } = await loadSyntax();
  const found = findSyntaxError(source, sourceType);
  return found.line === undefined ? error : new Refusal(`SyntaxError: ${error.message}`, found.line);
}

async function loadSyntax(): Promise<typeof Syntax> {
  return (await import(new URL(SYNTAX, import.meta.url).href)) as typeof Syntax;
}
