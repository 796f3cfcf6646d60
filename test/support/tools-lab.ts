import type { AuditedCall } from "../../src/audit/audit.ts";
import { type CallOptions, type Catalog, createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import type { PackageSettings } from "../../src/packages/package-index.ts";
import type { UnitInfo } from "../../src/dynamic/wire/unit-schema.ts";
import type { ToolLanguage, UnitSpec } from "../../src/dynamic/unit.ts";
import type { UserTools } from "../../src/dynamic/user-tools.ts";
import type { Egress } from "../../src/network/egress.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { LOCAL, type Principal, type Quotas } from "../../src/sandbox/sandbox.ts";
import { userTools } from "../../src/tools/user-tools/user-tools.ts";
import { byName } from "./by-name.ts";
import { KERNELS, makeHome } from "./namespace-home.ts";
import { createTestTexts } from "./test-texts.ts";
import { WarmPrograms } from "../../src/interpreter/warm/warm-programs.ts";
import type { PassingOptions, PoolKind, PoolOptions } from "../../src/sandbox/pool/pool-options.ts";
import { openTestUserTools, TOOL_LIMITS } from "./test-user-tools.ts";

const config = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };

/** One process of a home with users' tools. */
export interface ToolsProcess {
  readonly tools: UserTools;
  readonly sandboxes: LocalSandboxes;
  readonly catalog: Catalog;
  onProblem(listener: (problem: string) => void): void;
  /** The names of users' tools in the principal's list. */
  names(principal?: Principal): readonly string[];
  add(code: string, more?: Partial<UnitSpec> & { readonly name?: string; readonly language?: ToolLanguage }): Promise<UnitInfo>;
  call(tool: string, args?: object, options?: Partial<CallOptions> & { readonly principal?: Principal }): Promise<ToolResult>;
}

/** A home of real sandboxes with users' tools. Disposing it ends them, and leaves nothing. */
export interface ToolsLab extends ToolsProcess, AsyncDisposable {
  readonly path: string;
  /** Another process of the same home. It is closed with the lab. */
  another(): Promise<ToolsProcess>;
}

export interface ToolsLabOptions {
  readonly packages?: PackageSettings;
  /** A folder of tools. */
  readonly folder?: string;
  /** The address of a PostgreSQL database. Absent: they lie in files. */
  readonly database?: string;
  /** The way out of its sandboxes. It belongs to the caller. */
  readonly egress?: Egress;
  /** Is told of each call. */
  readonly record?: (call: AuditedCall) => void;
  /** How many sandboxes wait for a call, with a Python that has started. */
  readonly waiting?: number;
  /** How many kinds with packages wait, and how many sandboxes of each; they go when they have idled so long. */
  readonly passing?: Pick<PassingOptions, "kinds" | "size"> & Partial<Pick<PassingOptions, "idleMs" | "warm">>;
  readonly quotas?: Quotas;
}

export async function openToolsLab(options: ToolsLabOptions = {}): Promise<ToolsLab> {
  const home = await makeHome();
  const opened: (() => Promise<void>)[] = [];
  const another = async (): Promise<ToolsProcess> => {
    const process = await openProcess(home.path, byName(await home.open("auto", "run", KERNELS)), options);
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

async function openProcess(
  path: string,
  runtimes: Parameters<typeof createLocalSandboxes>[0]["runtimes"],
  { packages, egress, folder, database, record, quotas, waiting = 0, passing }: ToolsLabOptions,
): Promise<ToolsProcess & { close(): Promise<void> }> {
  const listeners: ((problem: string) => void)[] = [];
  const report = (problem: string): void => listeners.forEach((listener) => listener(problem));
  const warm = new WarmPrograms(["json"]);
  const programs: PoolKind = {
    name: "programs",
    size: waiting,
    options: { limits: TOOL_LIMITS, ephemeral: true },
    isEager: true,
    warm: (sandbox, signal) => warm.warm(sandbox, signal),
  };
  const packed = passing && { name: "packages", idleMs: 600_000, warm: warmPacked(warm), ...passing };
  const pool: PoolOptions = {
    version: "1",
    kinds: [programs],
    ...(packed && { passing: packed }),
    handOver: async () => undefined,
    room: () => "free",
  };
  const waits = waiting > 0 || passing !== undefined;
  const sandboxes = createLocalSandboxes({
    home: path,
    runtimes,
    config,
    report,
    ...(egress && { egress }),
    ...(quotas && { quotas }),
    ...(waits && { pool }),
  });
  if (waits) sandboxes.beginPool();
  const tools = await openTestUserTools({
    path,
    sandboxes,
    report,
    ...(waits && { warm }),
    ...(packages && { packages }),
    ...(folder !== undefined && { folder }),
    ...(database !== undefined && { database }),
  });
  const texts = createTestTexts();
  const catalog = createCatalog({
    sources: [fixedTools(userTools({ life: async () => tools, texts, agentPublish: false })), tools.source],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
    ...(record && { audit: { assertWritable: () => undefined, record, written: async () => undefined } }),
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
      // Their files may have owners inside, whose folders an ordinary user cannot remove.
      for (const { id } of await sandboxes.hiddenSnapshots.list()) await sandboxes.hiddenSnapshots.remove(id);
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

function warmPacked(warm: WarmPrograms): PassingOptions["warm"] {
  return async (start, sandbox, signal) => (start === "python" ? warm.warm(sandbox, signal) : undefined);
}

export function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}
