import { register } from "node:module";

/** Beside the kernel's own file; a bundle of its own, so that only a context that runs TypeScript loads it. */
const HOOKS = "./typescript-hooks.mjs";
const IMPORTS_A_FILE = /["'](?:\.{1,2}\/|\/|file:)/;

type Transpile = (source: string) => string;

let hooks: Promise<{ readonly transpileRun: Transpile }> | undefined;
let isRegistered = false;

/** The transpiler for a run of this source. */
export async function loadTranspiler(source: string): Promise<Transpile> {
  hooks ??= import(new URL(HOOKS, import.meta.url).href) as typeof hooks & object;
  const { transpileRun } = await hooks;
  if (!isRegistered && IMPORTS_A_FILE.test(source)) {
    isRegistered = true;
    // From now on, an import finds TypeScript files too.
    register(HOOKS, { parentURL: import.meta.url, data: { entry: "" } });
  }
  return (text) => transpile(transpileRun, text);
}

function transpile(transpileRun: Transpile, text: string): string {
  try {
    return transpileRun(text);
  } catch (error) {
    // The stack of the transpiler means nothing to the code's author.
    const message = error instanceof Error ? error.message : String(error);
    throw Object.assign(new SyntaxError(message), { stack: `SyntaxError: ${message}` });
  }
}
