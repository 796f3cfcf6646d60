import type { InitializeHook, LoadHook, ResolveHook } from "node:module";
import type { MessagePort } from "node:worker_threads";

export interface HooksData {
  /** Sends one `UnitModule`, when it is known. */
  readonly port: MessagePort;
  /** The folder of the harness. */
  readonly home: string;
  /** The modules that `belljar` and, where the unit has none of its own, `zod` are. */
  readonly api: string;
  readonly zod: string;
}

/** The author's code as a module that is in no file. */
export interface UnitModule {
  readonly url: string;
  readonly source: string;
}

const ZOD = new Set(["zod", "zod/v4"]);

let urls: Omit<HooksData, "port">;
let given: MessagePort;
let told: Promise<UnitModule>;

export const initialize: InitializeHook<HooksData> = ({ port, ...rest }) => {
  urls = rest;
  given = port;
  told = new Promise((resolve) => void port.once("message", resolve));
  // It keeps no process that has nothing else to do.
  port.unref();
};

/** Where nothing else keeps this thread, Node says that a hook never answers, and the code's import waits for ever. */
async function unit(): Promise<UnitModule> {
  given.ref();
  try {
    return await told;
  } finally {
    given.unref();
  }
}

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  if (specifier === "belljar") return { url: urls.api, shortCircuit: true };
  // The unit is in no file. Only the harness asks for it, and for its own files before it is known.
  if (context.parentURL === urls.api && !isHarness(specifier) && specifier === (await unit()).url)
    return { url: specifier, shortCircuit: true };
  try {
    return await nextResolve(specifier, context);
  } catch (error) {
    if (ZOD.has(specifier) && (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND")
      return { url: urls.zod, shortCircuit: true };
    throw Object.assign(error as Error, { specifier });
  }
};

export const load: LoadHook = async (url, context, nextLoad) => {
  if (isHarness(url) || !url.startsWith("file:")) return nextLoad(url, context);
  const { url: own, source } = await unit();
  return url === own ? { format: "module", source, shortCircuit: true } : nextLoad(url, context);
};

function isHarness(url: string): boolean {
  return url.startsWith(urls.home);
}
