import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { createInterpreter } from "../../src/interpreter/interpreter.ts";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { builtinTools } from "../../src/tools/builtin-tools.ts";
import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { textOf } from "../support/tool-caller.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const MEBIBYTE = 2 ** 20;
const signal = new AbortController().signal;
const HOG = "python3 -c 'held = bytearray(512 << 20)'";
const USED_UP = "memory was used up";

interface Place extends AsyncDisposable {
  readonly root: string;
  readonly limitsMemory: boolean;
  call(name: string, args: unknown): Promise<ToolResult>;
}

/** The built-in tools on the real runtime, in sandboxes of 64 MiB. */
async function openPlace(shared?: string): Promise<Place> {
  const root = shared ?? realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  const config = { sandbox: { timeoutMs: 600_000, memoryBytes: 64 * MEBIBYTE, pids: 64 }, listMax: 100, tombstoneRetentionMs: 600_000 };
  const runtime = await openRuntime("namespace", {
    home: join(root, "home"),
    runtimeDirectory: join(root, "run"),
    storage: "home",
    binary,
  });
  const sandboxes = createLocalSandboxes({ home: join(root, "home"), runtimes: byName(runtime), config });
  const interpreter = createInterpreter({ sandboxes, limits: { memoryBytes: 64 * MEBIBYTE } });
  const toolLimits = { execTimeoutMs: 60_000, maxOutputBytes: MEBIBYTE, listMax: 100 };
  const shells = createShellSessions(toolLimits);
  const catalog: Catalog = createCatalog({
    sources: [fixedTools(builtinTools({ interpreter, sandboxes, shells, texts: createTestTexts(), config: toolLimits }))],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  return {
    root,
    limitsMemory: (await runtime.probe()).limits.includes("memoryBytes"),
    call: (name, args) => catalog.call(LOCAL, name, args, { signal }),
    async [Symbol.asyncDispose]() {
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
      for (const { id } of await listed(sandboxes, LOCAL, { state: ["running"] })) await (await sandboxes.get(LOCAL, id)).kill();
      await sandboxes[Symbol.asyncDispose]();
      if (shared === undefined) rmSync(root, { recursive: true });
    },
  };
}

it("a command that used up the memory is told so, where memory is limited, and its sandbox lives on", async () => {
  await using place = await openPlace();
  const text = async (command: string) => textOf(await place.call("run_command", { command }));
  for (const command of [HOG, `${HOG}; exit $?`]) {
    await text("echo kept > file");
    expect((await text(command)).includes(USED_UP)).toBe(place.limitsMemory);
    expect(await text("cat file; kill -KILL $$")).not.toContain(USED_UP);
    expect(await text("cat file")).toContain("kept\n");
  }
});

it("a process that did not see a sandbox use up its memory does not tell so of what somebody else kills", async () => {
  await using first = await openPlace();
  await first.call("run_command", { command: `${HOG}; echo on` });
  await using second = await openPlace(first.root);
  const text = async (command: string) => textOf(await second.call("run_command", { command }));
  expect(await text("kill -KILL $$")).not.toContain(USED_UP);
  expect((await text(HOG)).includes(USED_UP)).toBe(second.limitsMemory);
});

it("a program that used up the memory is told so, where memory is limited, whether a part or the whole of it was killed", async () => {
  await using place = await openPlace();
  const run = (entrypoint_code: string) => place.call("execute_code", { language: "bash", entrypoint_code });
  for (const code of [`exec ${HOG}`, `${HOG}; exit $?`]) {
    const result = await run(code);
    expect(result.isError).toBe(place.limitsMemory);
    expect(textOf(result).includes(USED_UP)).toBe(place.limitsMemory);
  }
  expect(textOf(await run("kill -KILL $$"))).not.toContain(USED_UP);
});
