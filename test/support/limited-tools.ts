import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { createInterpreter } from "../../src/interpreter/interpreter.ts";
import type { Limits } from "../../src/runtime/contract/sandbox-spec.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { builtinTools } from "../../src/tools/builtin-tools.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";
import { byName } from "./by-name.ts";
import { listed } from "./listed.ts";
import { type Home, makeHome, type StorageName } from "./namespace-home.ts";
import { createTestTexts } from "./test-texts.ts";
import { textOf } from "./tool-caller.ts";

const MEBIBYTE = 2 ** 20;
const WAIT_MS = 8_000;
const signal = new AbortController().signal;

export interface LimitedTools extends AsyncDisposable {
  readonly home: Home;
  /** The limits that hold here. */
  readonly enforced: readonly (keyof Limits)[];
  call(name: string, args: unknown): Promise<ToolResult>;
  text(name: string, args: unknown): Promise<string>;
  /** Runs a command in the background, and returns what is told of it at its end. */
  textBehind(command: string): Promise<string>;
}

interface LimitedToolsOptions {
  readonly limits: Limits;
  readonly storage: StorageName;
  /** Somebody else's, who disposes it. */
  readonly shared?: Home;
}

/** The built-in tools on the real runtime, in sandboxes with these limits. */
export async function openLimitedTools({ limits, storage, shared }: LimitedToolsOptions): Promise<LimitedTools> {
  const home = shared ?? (await makeHome());
  const config = { sandbox: { timeoutMs: 600_000, pids: 64, ...limits }, listMax: 100, tombstoneRetentionMs: 600_000 };
  const runtime = await home.open(storage);
  const sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(runtime), config });
  const interpreter = createInterpreter({ sandboxes, limits });
  const toolLimits = { execTimeoutMs: 60_000, maxOutputBytes: MEBIBYTE, listMax: 100 };
  const shells = createShellSessions(toolLimits);
  const late = new LateCommands();
  const tools = builtinTools({ interpreter, sandboxes, shells, late, texts: createTestTexts(), config: toolLimits });
  const catalog = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const call = (name: string, args: unknown): Promise<ToolResult> => catalog.call(LOCAL, name, args, { signal });
  return {
    home,
    enforced: (await runtime.probe()).limits,
    call,
    text: async (name, args) => textOf(await call(name, args)),
    textBehind: async (command) => {
      const { process_id } = (await call("run_command", { command, background: true })).value as { process_id: string };
      while (true) {
        const result = await call("process_output", { process_id, wait_ms: WAIT_MS });
        if ((result.value as { state: string }).state !== "running") return textOf(result);
      }
    },
    async [Symbol.asyncDispose]() {
      await late[Symbol.asyncDispose]();
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
      for (const { id } of await listed(sandboxes, LOCAL, { state: ["running"] })) await (await sandboxes.get(LOCAL, id)).kill();
      await sandboxes[Symbol.asyncDispose]();
      if (shared === undefined) await home[Symbol.asyncDispose]();
    },
  };
}
