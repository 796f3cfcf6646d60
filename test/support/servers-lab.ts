import { createCatalog } from "../../src/catalog/catalog.ts";
import { narrowScope } from "../../src/catalog/narrow-scope.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { loadConfig } from "../../src/config/config.ts";
import { type OpenedHub, openHub } from "../../src/cli/compose/open-hub.ts";
import { createOwnerGrants } from "../../src/gateway/auth/owner-grants.ts";
import { createTokenStore } from "../../src/gateway/auth/token-store.ts";
import { createFacadeSettings } from "../../src/gateway/facade/facade-settings.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { HubEgress } from "../../src/mcp/proxy/server-way.ts";
import type { Entries } from "../../src/mcp/proxy/sources/served-servers.ts";
import type { ClientRecord } from "../../src/network/egress/client-gate.ts";
import type { Workspace } from "../../src/runtime/contract/sandbox-spec.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { createSecretStore } from "../../src/secrets/create-secret-store.ts";
import { byName } from "./by-name.ts";
import { makeHome } from "./namespace-home.ts";
import { NO_LISTENERS } from "./no-listeners.ts";

const SANDBOXES = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const LONGEST_MS = 100_000;

export interface ServersLabOptions {
  /** Of an earlier lab, whose home is still there. */
  readonly home?: string;
  /** That the command line names. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Of the configuration. */
  readonly workspace?: Workspace;
  readonly sent?: Entries;
  /** Of requests to servers over HTTP. */
  readonly egress?: Partial<HubEgress>;
}

/** What a route answers. */
export interface Answered {
  readonly status: number;
  readonly answer: Record<string, unknown>;
}

/** A server with the servers of its owners behind it, in real sandboxes. Disposing it ends them, and leaves nothing. */
export interface ServersLab extends OpenedHub, AsyncDisposable {
  readonly home: string;
  readonly sandboxes: LocalSandboxes;
  readonly problems: readonly string[];
  /** What the audit would have of requests to servers over HTTP. */
  readonly connections: readonly ClientRecord[];
  /** Resolves once something was told that fits, now or later. */
  told(pattern: RegExp): Promise<string>;
  token(name: string, ...scopes: string[]): Promise<string>;
  /** Of all tokens of the name. */
  revokeAll(name: string): Promise<void>;
  /** Of a token's holder, or without one of the local user. */
  ask(route: string, body?: unknown, token?: string): Promise<Answered>;
  names(principal?: Principal): readonly string[];
  call(tool: string, args?: object, principal?: Principal): Promise<ToolResult>;
  until(isSo: () => boolean): Promise<void>;
  /** Ends the servers and the gateway, and not the home. */
  close(): Promise<void>;
}

export async function openServersLab({
  home: earlier,
  file,
  env = {},
  workspace,
  sent = {},
  ...options
}: ServersLabOptions = {}): Promise<ServersLab> {
  const home = await makeHome();
  const path = earlier ?? home.path;
  const sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(await home.open("auto")), config: SANDBOXES });
  const problems: string[] = [];
  const ears = new Set<() => void>();
  const report = (problem: string): void => {
    problems.push(problem);
    for (const ear of ears) ear();
  };
  const tokens = createTokenStore(path);
  const config = { ...loadConfig({ env: {}, flags: { home: path } }), secretsKey: "file" } as const;
  const connections: ClientRecord[] = [];
  const egress = { listeners: NO_LISTENERS, record: (one: ClientRecord) => void connections.push(one), ...options.egress };
  const owners = createOwnerGrants({ tokens });
  const started = { sandboxes, secrets: createSecretStore({ home: path }), templates: async () => ({ list: async () => [] }) };
  const shown = { workspace, owners: async () => [] };
  const opened = await openHub({ file, config, ...started, shown, owners, env, egress, sent: async () => sent, report });
  const { hub, servers } = opened;
  const defaultSandbox = () => ({ name: "default", options: {} });
  const tools = createCatalog({
    sources: [hub],
    sandboxes,
    defaultSandbox,
    isDefault: () => true,
    scope: ({ grants }) => narrowScope({ toolsets: "all" }, grants),
  });
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes,
    mcpServers: servers,
    tools,
    facade: { defaultSandbox, tools, settings: createFacadeSettings({ home: path }) },
    prepare: (principal) => servers.load(principal),
    tokens: [tokens],
    isolation: () => sandboxes.isolation(),
    version: "1.2.3",
    log: { error: ({ err }: { err?: unknown }) => report(String(err)) },
  });
  const url = await gateway.listen();
  const close = async (): Promise<void> => {
    await gateway.close(0);
    await hub[Symbol.asyncDispose]();
  };
  return {
    ...opened,
    home: path,
    sandboxes,
    problems,
    connections,
    told: (pattern) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = problems.find((problem) => pattern.test(problem));
          if (found === undefined) return;
          ears.delete(look);
          resolve(found);
        };
        ears.add(look);
        look();
      }),
    token: async (name, ...scopes) => (await tokens.create(name, scopes)).token,
    async revokeAll(name) {
      for (const one of await tokens.list()) if (one.name === name) await tokens.revoke(one.id);
    },
    async ask(route, body, token) {
      const [method = "GET", target = "/"] = route.split(" ");
      const headers = {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      };
      const response = await fetch(new URL(target, url), { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      const text = await response.text();
      return { status: response.status, answer: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
    },
    names: (principal = LOCAL) => tools.listAll(principal).map(({ name }) => name),
    call: (tool, args = {}, principal = LOCAL) => tools.call(principal, tool, args, { signal: AbortSignal.timeout(LONGEST_MS) }),
    until: (isSo) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!isSo()) return;
          for (const stop of stops) stop();
          resolve();
        };
        const stops = [hub.onState(look), hub.onChange(look)];
        look();
      }),
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await sandboxes[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}
