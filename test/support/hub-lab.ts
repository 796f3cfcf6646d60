import { readFileSync } from "node:fs";
import { join } from "node:path";
import { redactText } from "../../src/audit/redact.ts";
import { openJsonSchemas } from "../../src/catalog/json-schemas.ts";
import { type CallOptions, createCatalog } from "../../src/catalog/catalog.ts";
import type { CallClient } from "../../src/catalog/question.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { lookOnHost } from "../../src/cli/compose/look-on-host.ts";
import { Hub } from "../../src/mcp/proxy/hub.ts";
import { readHubFile } from "../../src/mcp/proxy/hub-file.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { byName } from "./by-name.ts";
import { makeHome } from "./namespace-home.ts";

const CODE = readFileSync(join(import.meta.dirname, "../fixtures/hub-server.mjs"), "utf8");
const config = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const LONGEST_MS = 100_000;

/** The entry of a server that is in no file of the host. */
export function hubServer(more: object = {}): object {
  return { command: "node", args: ["--input-type=module", "-e", CODE], ...more };
}

export interface HubLabOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly idleMs?: number;
  readonly prefix?: string;
  readonly listMax?: number;
  /** Of earlier labs: what was approved in it is known. */
  readonly pins?: string;
}

export interface HubCallOptions extends Partial<CallOptions> {
  readonly principal?: Principal;
  readonly clientId?: string;
  /** The person's answer. */
  readonly ask?: CallClient["ask"];
}

/** A hub with real sandboxes, behind a catalog. Disposing it ends them, and leaves nothing. */
export interface HubLab extends AsyncDisposable {
  readonly hub: Hub;
  readonly problems: readonly string[];
  /** What a list shows. */
  names(principal?: Principal): readonly string[];
  call(tool: string, args?: object, options?: HubCallOptions): Promise<ToolResult>;
  /** By the server's name. */
  states(): Readonly<Record<string, string>>;
  /** Resolves once the hub is so. */
  until(isSo: () => boolean): Promise<void>;
  liveSandboxes(): number;
  /** Ends the servers, and not the home. */
  close(): Promise<void>;
}

export async function openHubLab(servers: object, options: HubLabOptions = {}): Promise<HubLab> {
  const home = await makeHome();
  const { env = {}, idleMs = 600_000, prefix = "mcp_", listMax = 40, pins = join(home.path, "pins") } = options;
  const sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(await home.open("auto")), config });
  const problems: string[] = [];
  const scope = { env, workspaceFolder: "/", userHome: "/", inputs: new Map(), lookOnHost };
  const file = await readHubFile(JSON.stringify({ mcpServers: servers }), "mcp.json", scope);
  const report = (problem: string): void => void problems.push(problem);
  const kept = { pins, principalOf: async () => LOCAL, redact: redactText };
  const hub = new Hub(file, { sandboxes, version: "1", schemas: openJsonSchemas, idleMs, prefix, listMax, report, ...kept });
  const catalog = createCatalog({
    sources: [hub],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
    isDefault: () => false,
  });
  const close = (): Promise<void> => hub[Symbol.asyncDispose]();
  return {
    hub,
    problems,
    names: (principal = LOCAL) => {
      const page = JSON.parse(`[${catalog.listPage(principal).bytes.toString()}]`) as readonly { name: string }[];
      return page.flat().map(({ name }) => name);
    },
    call: (tool, args = {}, { principal = LOCAL, clientId, ask, ...more } = {}) =>
      catalog.call(principal, tool, args, {
        signal: AbortSignal.timeout(LONGEST_MS),
        ...((clientId !== undefined || ask) && { client: { ...(clientId !== undefined && { id: clientId }), ask: ask ?? asksNobody } }),
        ...more,
      }),
    states: () => Object.fromEntries(hub.servers(LOCAL).map(({ name, state }) => [name, state])),
    until: (isSo) => changed(hub, isSo),
    liveSandboxes: () => sandboxes.liveCount(),
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await sandboxes[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

async function asksNobody(): Promise<never> {
  throw new Error("This client asks nobody");
}

function changed(hub: Hub, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo()) return;
      for (const stop of stops) stop();
      resolve();
    };
    const stops = [hub.onState(look), hub.onChange(look)];
    look();
  });
}
