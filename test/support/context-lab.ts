import { afterAll, beforeAll } from "vitest";
import type { CodeResult, RunCode } from "../../src/interpreter/lasting/contexts.ts";
import { runCode } from "../../src/interpreter/lasting/contexts.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxesOptions } from "../../src/sandbox/local-sandboxes-options.ts";
import type { CreateOptions, Sandbox, Sandboxes } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { byName } from "./by-name.ts";
import { listed } from "./listed.ts";
import { KERNELS, makeHome } from "./namespace-home.ts";

const config = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };

/** A home in which real sandboxes are made. Disposing it ends them, and leaves nothing. */
export interface ContextLab extends AsyncDisposable {
  readonly sandboxes: Sandboxes;
  sandbox(options?: CreateOptions): Promise<Sandbox>;
  /** The same sandbox, as another process of Belljar has it. */
  again(sandbox: Sandbox): Promise<Sandbox>;
}

export async function openContextLab(options: Pick<LocalSandboxesOptions, "beforeFreeze"> = {}): Promise<ContextLab> {
  const home = await makeHome();
  const open = async () =>
    createLocalSandboxes({ home: home.path, runtimes: byName(await home.open("auto", "run", KERNELS)), config, ...options });
  const processes = [await open(), await open()] as const;
  return {
    sandboxes: processes[0],
    sandbox: (options = {}) => processes[0].create(LOCAL, { ephemeral: true, ...options }, AbortSignal.timeout(30_000)),
    again: ({ id }) => processes[1].get(LOCAL, id),
    async [Symbol.asyncDispose]() {
      for (const { id } of await listed(processes[0], LOCAL, { state: ["running"] })) await (await processes[0].get(LOCAL, id)).kill();
      for (const sandboxes of processes) await sandboxes[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** One sandbox for a test file, and the runs in its default context of a language. */
export interface SharedContexts {
  sandbox(): Sandbox;
  /** The same sandbox, as another process of Belljar has it. */
  beside(): Promise<Sandbox>;
  readonly run: (code: string, options?: Partial<RunCode>, inside?: Sandbox) => Promise<CodeResult>;
}

export function shareContexts(language: string): SharedContexts {
  let shared: { readonly lab: ContextLab; readonly sandbox: Sandbox } | undefined;
  beforeAll(async () => {
    const lab = await openContextLab();
    shared = { lab, sandbox: await lab.sandbox() };
  }, 60_000);
  afterAll(() => shared?.lab[Symbol.asyncDispose](), 60_000);
  const get = () => {
    if (!shared) throw new Error("the shared sandbox could not be made");
    return shared;
  };
  return {
    sandbox: () => get().sandbox,
    beside: () => get().lab.again(get().sandbox),
    run: (code, options = {}, inside = get().sandbox) =>
      runCode(inside, { code, language, timeoutMs: 40_000, signal: soon(), maxOutputBytes: 100_000, ...options }),
  };
}

export function soon(): AbortSignal {
  return AbortSignal.timeout(50_000);
}

/** What a run printed, to stdout and stderr. */
export function streamsOf({ windows }: CodeResult): readonly [string, string] {
  return [windows.stdout.text(), windows.stderr.text()];
}
