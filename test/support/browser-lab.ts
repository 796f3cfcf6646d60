import { Browsers, type BrowsersOptions, type BrowserSession } from "../../src/browser/browsers.ts";
import type { CreateOptions, Sandbox } from "../../src/sandbox/sandbox.ts";
import { type ContextLab, openContextLab } from "./context-lab.ts";

/** A home with real sandboxes, and their browsers. */
export interface BrowserLab extends AsyncDisposable {
  readonly lab: ContextLab;
  readonly browsers: Browsers;
  readonly sandbox: Sandbox;
  /** The tabs of that name in the sandbox. */
  session(name?: string): BrowserSession;
}

export async function openBrowserLab(options: Partial<BrowsersOptions> = {}, create: CreateOptions = {}): Promise<BrowserLab> {
  const lab = await openContextLab();
  const browsers = new Browsers({ idleMs: 600_000, ...options });
  const sandbox = await lab.sandbox({ limits: { pids: 512 }, ...create });
  return {
    lab,
    browsers,
    sandbox,
    session: (name = "test") => browsers.of(sandbox, name),
    async [Symbol.asyncDispose]() {
      await browsers[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}
