import { readFileSync } from "node:fs";
import { join } from "node:path";
import { StoredApprovals } from "../../src/approvals/stored-approvals.ts";
import { redactText } from "../../src/audit/redact.ts";
import { openJsonSchemas } from "../../src/catalog/json-schemas.ts";
import { createCallQuota } from "../../src/catalog/call-quota.ts";
import { type Catalog, type CallOptions, createCatalog } from "../../src/catalog/catalog.ts";
import type { AuditedCall } from "../../src/audit/audit.ts";
import type { CallClient, ClientRequest } from "../../src/catalog/question.ts";
import type { JsonSchema } from "../../src/catalog/tool-schema.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { serverImages } from "../../src/cli/compose/server-images.ts";
import { serverSecrets } from "../../src/cli/compose/server-secrets.ts";
import { lookOnHost } from "../../src/cli/compose/look-on-host.ts";
import { Hub } from "../../src/mcp/proxy/hub.ts";
import { readHubFile } from "../../src/mcp/proxy/hub-file.ts";
import { PackagePrograms } from "../../src/mcp/proxy/prepare/package-programs.ts";
import type { HubEgress } from "../../src/mcp/proxy/server-way.ts";
import type { HubLogins } from "../../src/mcp/proxy/relay/upstream-login.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { createSecretStore } from "../../src/secrets/create-secret-store.ts";
import type { SecretStore } from "../../src/secrets/secret-store.ts";
import type { Templates } from "../../src/template/templates.ts";
import { byName } from "./by-name.ts";
import { makeHome } from "./namespace-home.ts";
import { NO_LISTENERS } from "./no-listeners.ts";
import type { PackageLab } from "./package-lab.ts";
import type { SecretLab } from "./secret-lab.ts";

/** A server of MCP in one file. */
export const SERVER_CODE = readFileSync(join(import.meta.dirname, "../fixtures/hub-server.mjs"), "utf8");
const config = { sandbox: { timeoutMs: 600_000, pids: 256 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const LONGEST_MS = 100_000;

/** The entry of a server that is in no file of the host. */
export function hubServer(more: object = {}): object {
  return { command: "node", args: ["--input-type=module", "-e", SERVER_CODE], ...more };
}

export interface HubLabOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly idleMs?: number;
  readonly prefix?: string;
  readonly listMax?: number;
  readonly concurrency?: number;
  readonly queue?: number;
  /** Where packages of servers come from, and the way of sandboxes there. It belongs to the caller. */
  readonly packages?: Pick<PackageLab, "settings" | "egress" | "refusals">;
  /** Whose sandboxes and secrets they are, in the place of a home's of its own. It belongs to the caller. */
  readonly on?: Pick<SecretLab, "sandboxes" | "store" | "home">;
  /** What sandboxes of servers with `docker run` begin with. */
  readonly templates?: Pick<Templates, "list">;
  /** Of earlier labs: what was approved in it is known. */
  readonly pins?: string;
  /** Where logins at servers are kept. */
  readonly logins?: HubLogins;
  /** Of requests to servers over HTTP. */
  readonly egress?: Partial<HubEgress>;
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
  readonly catalog: Catalog;
  /** What the servers have beside tools. */
  readonly doors: ReturnType<Hub["doors"]>;
  /** Every call, read and prompt that came through. */
  readonly audited: readonly AuditedCall[];
  readonly approvals: StoredApprovals;
  readonly problems: readonly string[];
  /** What a list shows. */
  names(principal?: Principal): readonly string[];
  call(tool: string, args?: object, options?: HubCallOptions): Promise<ToolResult>;
  /** By the server's name. */
  states(): Readonly<Record<string, string>>;
  /** Resolves once the hub, or what was audited, is so. */
  until(isSo: () => boolean): Promise<void>;
  liveSandboxes(): number;
  readonly sandboxes: LocalSandboxes;
  readonly store: SecretStore;
  /** Its home. */
  readonly path: string;
  readonly programs: PackagePrograms;
  /** Ends the servers, and not the home. */
  close(): Promise<void>;
}

export async function openHubLab(servers: object, options: HubLabOptions = {}): Promise<HubLab> {
  const { env = {}, packages, pins, idleMs = 600_000, prefix = "mcp_", listMax = 40, concurrency = 64, queue = 256 } = options;
  const { sandboxes, store, home, end } = options.on ? { ...options.on, end: async () => undefined } : await ownHome(packages);
  const problems: string[] = [];
  const scope = { env, workspaceFolder: "/", userHome: "/", inputs: new Map(), lookOnHost };
  const file = await readHubFile(JSON.stringify({ mcpServers: servers }), "mcp.json", scope);
  const report = (problem: string): void => void problems.push(problem);
  const programs = new PackagePrograms({ sandboxes, folder: join(home, "server-packages"), report, ...packages?.settings });
  const secrets = serverSecrets(store);
  const images = serverImages(async () => options.templates ?? { list: async () => [] });
  const logins = options.logins && { logins: options.logins };
  const egress: HubEgress = { listeners: NO_LISTENERS, record: () => undefined, ...options.egress };
  const kept = { ...logins, egress, pins: pins ?? join(home, "pins"), principalOf: async () => LOCAL, redact: redactText };
  const bounds = { idleMs, prefix, listMax, concurrency, queue };
  const hub = new Hub(file, { sandboxes, programs, secrets, images, version: "1", schemas: openJsonSchemas, ...bounds, ...kept, report });
  const audited: AuditedCall[] = [];
  const noted = new Set<() => void>();
  const audit = {
    assertWritable: () => undefined,
    record: (call: AuditedCall) => (audited.push(call), noted.forEach((look) => look())),
    written: async () => undefined,
  };
  const quota = createCallQuota();
  const approvals = new StoredApprovals(home);
  const catalog = createCatalog({
    sources: [hub],
    audit,
    quota,
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
    isDefault: () => false,
    approvals,
  });
  const close = (): Promise<void> => hub[Symbol.asyncDispose]();
  return {
    hub,
    catalog,
    doors: hub.doors({ quota, audit }),
    audited,
    approvals,
    problems,
    names: (principal = LOCAL) => {
      const page = JSON.parse(`[${catalog.listPage(principal).bytes.toString()}]`) as readonly { name: string }[];
      return page.flat().map(({ name }) => name);
    },
    call: (tool, args = {}, { principal = LOCAL, clientId, ask, ...more } = {}) =>
      catalog.call(principal, tool, args, {
        signal: AbortSignal.timeout(LONGEST_MS),
        ...((clientId !== undefined || ask) && { client: clientOf(clientId, ask) }),
        ...more,
      }),
    states: () => Object.fromEntries(hub.servers(LOCAL).map(({ name, state }) => [name, state])),
    until: (isSo) => changed({ hub, noted }, isSo),
    liveSandboxes: () => sandboxes.liveCount(),
    sandboxes,
    store,
    path: home,
    programs,
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await end();
    },
  };
}

function clientOf(id: string | undefined, ask: CallClient["ask"] = asksNobody): CallClient {
  const answer = async ({ params }: ClientRequest, signal: AbortSignal): Promise<unknown> => {
    const { message, requestedSchema: schema } = params as { message: string; requestedSchema: JsonSchema };
    return ask({ message, schema }, signal);
  };
  return {
    ...(id !== undefined && { id }),
    ask,
    relay: async (requests, signal) => {
      const answers = Object.entries(requests).map(async ([key, request]) => [key, await answer(request, signal)] as const);
      return Object.fromEntries(await Promise.all(answers));
    },
  };
}

async function ownHome(packages: HubLabOptions["packages"]) {
  const home = await makeHome();
  const store = createSecretStore({ home: home.path });
  const way = packages && { egress: packages.egress, refusals: packages.refusals };
  const sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(await home.open("auto")), config, secrets: store, ...way });
  const end = async (): Promise<void> => {
    // Their files may have owners inside, whose folders an ordinary user cannot remove.
    for (const { id } of await sandboxes.hiddenSnapshots.list()) await sandboxes.hiddenSnapshots.remove(id);
    await sandboxes[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  };
  return { home: home.path, store, sandboxes, end };
}

async function asksNobody(): Promise<never> {
  throw new Error("This client asks nobody");
}

function changed({ hub, noted }: { readonly hub: Hub; readonly noted: Set<() => void> }, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo()) return;
      for (const stop of stops) stop();
      resolve();
    };
    noted.add(look);
    const stops = [hub.onState(look), hub.onChange(look), hub.onList("resources", look), () => noted.delete(look)];
    look();
  });
}
