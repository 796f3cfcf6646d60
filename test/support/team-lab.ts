import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { createAuditLog } from "../../src/audit/audit-log.ts";
import { createCatalog } from "../../src/catalog/catalog.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { narrowScope } from "../../src/catalog/narrow-scope.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolSource } from "../../src/catalog/tool-source.ts";
import type { Tool } from "../../src/catalog/tool.ts";
import { createLog } from "../../src/cli/log.ts";
import type { ProtectedResource } from "../../src/gateway/auth/oauth/protected-resource.ts";
import type { TokenStore } from "../../src/gateway/auth/token-store.ts";
import { createTokenStore } from "../../src/gateway/auth/token-store.ts";
import { createFacadeSettings } from "../../src/gateway/facade/facade-settings.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import { createServerMetrics } from "../../src/gateway/metrics/server-metrics.ts";
import { createInterpreter } from "../../src/interpreter/interpreter.ts";
import { createBelljarResources } from "../../src/mcp/resources/belljar-resources.ts";
import type { ResourceDoor } from "../../src/mcp/server/resource-door.ts";
import type { Egress } from "../../src/network/egress.ts";
import { createSecretStore } from "../../src/secrets/create-secret-store.ts";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { Runtimes } from "../../src/sandbox/runtimes.ts";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { MadeTemplates } from "../../src/template/made-templates.ts";
import { StoredTemplates } from "../../src/template/stored-templates.ts";
import { builtinTools } from "../../src/tools/builtin-tools.ts";
import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { openTestUserTools } from "./test-user-tools.ts";
import { createTestTexts } from "./test-texts.ts";
import { byName } from "./by-name.ts";
import { fakeServers } from "./fake-servers.ts";
import { listed } from "./listed.ts";
import { withMemoryStates } from "./memory-states.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";

export interface Member {
  readonly principal: Principal;
  readonly token: string;
}

/** A whole server for a team, with every tool and route, on the fake runtime; two members hold tokens. */
export interface TeamLab extends AsyncDisposable {
  readonly home: string;
  readonly url: string;
  readonly alice: Member;
  readonly bob: Member;
  readonly catalog: Catalog;
  readonly sandboxes: LocalSandboxes;
  readonly resources: ResourceDoor;
  /** `METHOD /path` of all that the gateway serves. */
  readonly routes: readonly string[];
  /** The same, and what is upgraded, with what each asks of its caller. */
  readonly gateway: Pick<Gateway, "routes">;
  readonly tokens: TokenStore;
  /** What the server wrote to its log. */
  logged(): string;
  /** All lines of the audit so far. */
  audit(): Promise<string>;
  ask(member: Member, route: string, body?: unknown): Promise<{ readonly status: number; readonly text: string }>;
}

export interface TeamLabOptions {
  readonly tools?: readonly Tool[];
  /** After the built-in tools. */
  readonly sources?: readonly ToolSource[];
  /** Default: loopback, where a caller without a token is the local user. */
  readonly host?: string;
  readonly oauth?: ProtectedResource;
  /** Default: the fake runtime, which knows one user. */
  readonly runtime?: Runtime;
  /** Default: none, and policies cannot be changed. */
  readonly egress?: Egress;
  /** Whether the configuration allows root in sandboxes. Default: true. */
  readonly root?: boolean;
  /** Whether its sandboxes have snapshots and time lines, in memory. */
  readonly states?: boolean;
}

export async function openTeamLab(more: TeamLabOptions = {}): Promise<TeamLab> {
  const home = await mkdtemp(join(tmpdir(), "bj-team-"));
  const config = { sandbox: { timeoutMs: 600_000, root: more.root ?? true }, listMax: 1_000, tombstoneRetentionMs: 600_000 };
  const runtimes = byName(more.runtime ?? fakeRuntime());
  const stored = new StoredTemplates(home, () => undefined);
  const local = createLocalSandboxes({ home, runtimes, config, templates: stored, ...(more.egress && { egress: more.egress }) });
  const templates = new MadeTemplates({
    home,
    stored,
    sandboxes: local,
    runtimes: new Runtimes(runtimes, {}),
    maxBytes: 2 ** 30,
    report: () => undefined,
  });
  const sandboxes = more.states ? withMemoryStates(local) : local;
  const audit = createAuditLog({ home });
  const secrets = createSecretStore({ home });
  const limits = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
  const interpreter = createInterpreter({ sandboxes });
  const shells = createShellSessions(limits);
  const texts = createTestTexts();
  const userTools = await openTestUserTools({ path: home, sandboxes: local });
  let text = "";
  const log = createLog({ write: (chunk: string) => ((text += chunk), true) } as never, { logLevel: "trace" });
  const builtin = builtinTools({
    interpreter,
    sandboxes,
    shells,
    late: new LateCommands(),
    texts,
    templates: async () => templates,
    userTools: async () => userTools,
    config: limits,
    portUrls: async () => ({ url: "http://x", pathUrl: "http://x" }),
  });
  const catalog = createCatalog({
    sources: [fixedTools([...builtin, ...(more.tools ?? [])]), userTools.source, ...(more.sources ?? [])],
    sandboxes,
    defaultSandbox: (_principal, { defaultName = "default" }) => ({ name: defaultName, options: {} }),
    scope: ({ grants }) => narrowScope({ toolsets: "all" }, grants),
    audit,
    log,
  });
  const resources = createBelljarResources({
    sandboxes,
    catalog,
    templates: (principal) => sandboxes.templates(principal),
    madeTemplates: (principal) => templates.list(principal),
  });
  const tokens = createTokenStore(home);
  const { routes, gateway } = watchRoutes(() =>
    createGateway({
      config: { host: more.host ?? "127.0.0.1", port: 0, legacySse: true },
      ...(more.oauth && { oauth: more.oauth }),
      sandboxes,
      templates: async () => templates,
      userTools: async () => userTools,
      secrets,
      mcpServers: fakeServers("memo"),
      tools: catalog,
      resources,
      facade: { defaultSandbox: () => ({ name: "default", options: {} }), tools: catalog, settings: createFacadeSettings({ home }) },
      isolation: () => sandboxes.isolation(),
      metrics: createServerMetrics(),
      tokens: [tokens],
      audit,
      version: "1.2.3",
      log,
    }),
  );
  const origin = `http://127.0.0.1:${(await gateway.listen()).port}`;
  const member = async (name: string): Promise<Member> => {
    const { token } = await tokens.create(name, []);
    return { token, principal: { id: `token:${name}`, name, grants: {} } };
  };
  const [alice, bob] = [await member("alice"), await member("bob")];
  return {
    home,
    url: origin,
    alice,
    bob,
    catalog,
    sandboxes,
    resources,
    routes,
    gateway,
    tokens,
    logged: () => text,
    async audit() {
      await audit.close();
      const files = await readdir(join(home, "audit"));
      return (await Promise.all(files.map((file) => readFile(join(home, "audit", file), "utf8")))).join("");
    },
    async ask({ token }, route, body) {
      const [method = "GET", path = "/"] = route.split(" ");
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) };
      const response = await fetch(origin + path, { method, headers, ...sent });
      return { status: response.status, text: await response.text() };
    },
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await userTools[Symbol.asyncDispose]();
      await templates[Symbol.asyncDispose]();
      texts[Symbol.dispose]();
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
      for (const { principal } of [alice, bob]) {
        for (const { id } of await listed(sandboxes, principal, { state: ["running"] })) await (await sandboxes.get(principal, id)).kill();
      }
      await sandboxes[Symbol.asyncDispose]();
      await audit.close();
      await rm(home, { recursive: true });
    },
  };
}

const CREATED = "fastify.initialization";

/** Fastify tells of each instance on a diagnostics channel. */
function watchRoutes<Made>(create: () => Made): { readonly gateway: Made; readonly routes: readonly string[] } {
  const routes: string[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook("onRoute", ({ method, url }) => {
      for (const one of [method].flat()) if (one !== "HEAD") routes.push(`${one} ${url}`);
    });
  };
  subscribe(CREATED, watch);
  try {
    return { gateway: create(), routes };
  } finally {
    unsubscribe(CREATED, watch);
  }
}
