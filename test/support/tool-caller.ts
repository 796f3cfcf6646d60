import { createCatalog } from "../../src/catalog/catalog.ts";
import type { CallOptions } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { findPackagedPrograms } from "../../src/cli/compose/packaged-programs.ts";
import { createInterpreter } from "../../src/interpreter/interpreter.ts";
import type { LocalSandboxesOptions } from "../../src/sandbox/local-sandboxes-options.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { builtinTools } from "../../src/tools/builtin-tools.ts";
import type { BrowserSource } from "../../src/tools/browser/browser-call.ts";
import type { SearchPrograms } from "../../src/tools/search/search-programs.ts";
import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { openFakeSandboxes } from "./fake-sandboxes.ts";
import { withMemoryStates } from "./memory-states.ts";
import { createTestTexts } from "./test-texts.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";

export interface ToolCallerOptions {
  readonly snippetsDirectory?: string;
  /** The search programs, where they are not the packaged ones. */
  readonly programs?: SearchPrograms;
  /** What the home has beyond the fake runtime. */
  readonly home?: Partial<LocalSandboxesOptions>;
  /** Takes commands that run out of time; it is disposed with the caller. */
  readonly late?: LateCommands;
  /** Whether its sandboxes have snapshots and time lines, in memory. */
  readonly states?: boolean;
  /** Default: its browser tools say that there are none. */
  readonly browsers?: BrowserSource;
}

/** A result whose value the built-in tools made: an object, of a failure its code and message. */
export interface CalledResult extends ToolResult {
  readonly value: Readonly<Record<string, unknown>>;
}

export function toCalled(result: ToolResult): CalledResult {
  return { ...result, value: Object(result.value) as CalledResult["value"] };
}

/** One pool for all callers of a test process, with which its workers end: each costs a start of Node. */
const texts = createTestTexts();

/** The built-in tools behind their door, on the fake runtime. */
export async function openToolCaller({
  snippetsDirectory,
  programs = findPackagedPrograms(),
  home,
  late = new LateCommands(),
  states = false,
  browsers,
}: ToolCallerOptions = {}) {
  const place = await openFakeSandboxes(home);
  const sandboxes = states ? withMemoryStates(place.sandboxes) : place.sandboxes;
  const config = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
  const interpreter = createInterpreter({ sandboxes });
  const shells = createShellSessions(config);
  const tools = builtinTools({
    interpreter,
    sandboxes,
    shells,
    late,
    texts,
    programs,
    config,
    ...(browsers && { browsers }),
    ...(snippetsDirectory !== undefined && { snippetsDirectory }),
  });
  const catalog = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes,
    defaultSandbox: (_principal, { defaultName = "default" }) => ({ name: defaultName, options: {} }),
  });
  return {
    catalog,
    late,
    sandboxes,
    call: (name: string, args: unknown, options: Partial<CallOptions> = {}): Promise<CalledResult> =>
      catalog.call(LOCAL, name, args, { signal: new AbortController().signal, ...options }).then(toCalled),
    async [Symbol.asyncDispose]() {
      await late[Symbol.asyncDispose]();
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** The lines of a cut result that its text says can be read on. */
export async function readRest(
  caller: Pick<Awaited<ReturnType<typeof openToolCaller>>, "call">,
  result: ToolResult,
): Promise<readonly string[]> {
  const uri = /belljar:\/\/results\/[0-9a-f]{32}(?:\?offset=\d+)?/.exec(textOf(result))?.[0];
  let text = "";
  let offset: unknown;
  do {
    const part = (await caller.call("read_result", { uri, ...(offset !== undefined && { offset }) })).value;
    text += String(part["text"]);
    offset = part["next_offset"];
  } while (typeof offset === "number");
  return text.replace(/\n$/, "").split("\n");
}

/** All text of a result, its blocks joined. */
export function textOf(result: ToolResult): string {
  return result.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}
