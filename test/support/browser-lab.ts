import { Browsers, type BrowsersOptions, type BrowserSession } from "../../src/browser/browsers.ts";
import type { CreateOptions, Sandbox } from "../../src/sandbox/sandbox.ts";
import { type ContextLab, openContextLab } from "./context-lab.ts";

const SITE_PORT = 8_000;

/** A home with real sandboxes, and their browsers. */
export interface BrowserLab extends AsyncDisposable {
  readonly lab: ContextLab;
  readonly browsers: Browsers;
  readonly sandbox: Sandbox;
  /** The tabs of that name in the sandbox. */
  session(name?: string): BrowserSession;
  /** From now on the sandbox has a site that shows this, at http://127.0.0.1:8000/. */
  serve(html: string): Promise<void>;
  /** Resolves once the sandbox has no browser. */
  ended(): Promise<void>;
}

export async function openBrowserLab(options: Partial<BrowsersOptions> = {}, create: CreateOptions = {}): Promise<BrowserLab> {
  const browsers = new Browsers({ idleMs: 600_000, ...options });
  const lab = await openContextLab({ beforeFreeze: (run, signal) => browsers.keep(run, signal) });
  const sandbox = await lab.sandbox({ ...create, limits: { pids: 512, ...create.limits } });
  return {
    lab,
    browsers,
    sandbox,
    session: (name = "test") => browsers.of(sandbox, name),
    serve: (html) => serveSite(sandbox, html),
    ended: () => untilNoBrowser(sandbox),
    async [Symbol.asyncDispose]() {
      await browsers[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

/** A start on a busy machine. */
export function patiently(): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  return { signal: AbortSignal.timeout(50_000), timeoutMs: 40_000 };
}

/** The command lines of whatever is of a browser. */
export async function chromiumProcesses({ guest }: Sandbox): Promise<readonly string[]> {
  const all = await guest.processes(AbortSignal.timeout(10_000));
  return all.map(({ argv }) => argv.join(" ")).filter((line) => /chromium|browser-driver/.test(line));
}

/** From now on the sandbox has a site that shows this, at http://127.0.0.1:8000/. */
export async function serveSite({ guest }: Sandbox, html: string): Promise<void> {
  const script = `require("http").createServer((q, a) => a.setHeader("content-type", "text/html").end(process.argv[1])).listen(${SITE_PORT}, "127.0.0.1", () => console.log("listens"))`;
  const site = await guest.exec({ argv: ["node", "-e", script, html], stdin: false, signal: new AbortController().signal });
  site.exited.catch(() => undefined);
  site.stderr.resume();
  await new Promise((resolve) => site.stdout.once("data", resolve));
  site.stdout.resume();
}

/** Resolves once no process of a browser is left. */
export async function untilNoBrowser(sandbox: Sandbox): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  while ((await chromiumProcesses(sandbox)).length > 0) signal.throwIfAborted();
}
