import { type CallOptions, type Catalog, createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import type { UnitInfo } from "../../src/dynamic/wire/unit-schema.ts";
import type { ToolLanguage, UnitSpec } from "../../src/dynamic/unit.ts";
import type { UserTools } from "../../src/dynamic/user-tools.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL, type Principal, type Sandboxes } from "../../src/sandbox/sandbox.ts";
import { userTools } from "../../src/tools/user-tools/user-tools.ts";
import { byName } from "./by-name.ts";
import { KERNELS, makeHome } from "./namespace-home.ts";
import { createTestTexts } from "./test-texts.ts";
import { openTestUserTools } from "./test-user-tools.ts";

const config = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };

/** One process of a home with users' tools. */
export interface ToolsProcess {
  readonly tools: UserTools;
  readonly sandboxes: Sandboxes;
  readonly catalog: Catalog;
  onProblem(listener: (problem: string) => void): void;
  /** The names of users' tools in the principal's list. */
  names(principal?: Principal): readonly string[];
  add(code: string, more?: Partial<UnitSpec> & { readonly name?: string; readonly language?: ToolLanguage }): Promise<UnitInfo>;
  call(tool: string, args?: object, options?: Partial<CallOptions> & { readonly principal?: Principal }): Promise<ToolResult>;
}

/** A home of real sandboxes, whose tools lie in files. Disposing it ends them, and leaves nothing. */
export interface ToolsLab extends ToolsProcess, AsyncDisposable {
  readonly path: string;
  /** Another process of the same home. It is closed with the lab. */
  another(): Promise<ToolsProcess>;
}

export async function openToolsLab({ folder }: { readonly folder?: string } = {}): Promise<ToolsLab> {
  const home = await makeHome();
  const opened: (() => Promise<void>)[] = [];
  const another = async (): Promise<ToolsProcess> => {
    const process = await openProcess({ path: home.path, folder, runtimes: byName(await home.open("auto", "run", KERNELS)) });
    opened.push(() => process.close());
    return process;
  };
  return {
    ...(await another()),
    path: home.path,
    another,
    async [Symbol.asyncDispose]() {
      for (const close of opened) await close();
      await home[Symbol.asyncDispose]();
    },
  };
}

interface ProcessOptions {
  readonly path: string;
  readonly folder: string | undefined;
  readonly runtimes: Parameters<typeof createLocalSandboxes>[0]["runtimes"];
}

async function openProcess({ path, folder, runtimes }: ProcessOptions): Promise<ToolsProcess & { close(): Promise<void> }> {
  const listeners: ((problem: string) => void)[] = [];
  const report = (problem: string): void => listeners.forEach((listener) => listener(problem));
  const sandboxes = createLocalSandboxes({ home: path, runtimes, config });
  const tools = await openTestUserTools({ path, sandboxes, report, ...(folder !== undefined && { folder }) });
  const texts = createTestTexts();
  const catalog = createCatalog({
    sources: [fixedTools(userTools({ life: async () => tools, texts, agentPublish: false })), tools.source],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const signal = AbortSignal.timeout(120_000);
  return {
    tools,
    sandboxes,
    catalog,
    onProblem: (listener) => void listeners.push(listener),
    names: (principal = LOCAL) => catalog.list(principal).flatMap(({ name }) => (name.startsWith("tool_") ? [] : [name])),
    add: (code, { name, ...spec } = {}) =>
      tools.add(LOCAL, { name, spec: { language: "python", code, ...spec } }, signal, { publish: true }),
    call: (tool, args = {}, { principal = LOCAL, ...options } = {}) => catalog.call(principal, tool, args, { signal, ...options }),
    async close() {
      texts[Symbol.dispose]();
      await tools[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

export function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}
