import { once } from "node:events";
import { basename } from "node:path";
import type { AuditLog } from "../../audit/audit-log.ts";
import type { TokenVerifier } from "../../gateway/auth/authenticate.ts";
import { createSeenTokens } from "../../gateway/auth/oauth/seen-tokens.ts";
import { keepPausedSandboxes } from "../../gateway/e2b/paused-retention.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import { createToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import { isLoopback } from "../../gateway/loopback.ts";
import { openOnce } from "../../async/open-once.ts";
import { createGateway } from "../../gateway/gateway.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { createServerMetrics } from "../../gateway/metrics/server-metrics.ts";
import type { Config } from "../../config/config.ts";
import { countedLife } from "../../dynamic/counted-life.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openLocalStack, readConfig } from "../compose/open-stack.ts";
import { openListeners } from "../compose/open-listeners.ts";
import { openOAuth } from "../compose/open-oauth.ts";
import { createLog } from "../log.ts";
import { openE2b } from "../compose/open-e2b.ts";
import type { OpenedDomain } from "../compose/open-e2b-domain.ts";
import { tellDomain } from "../tell-domain.ts";
import { openFacadeSettings } from "../compose/open-facade-settings.ts";
import { openHomeSecretStore } from "../compose/open-home-secret-store.ts";
import { readPackage } from "../compose/package-root.ts";
import { serverOrigin } from "../compose/port-origin.ts";
import { listenGateway } from "../listen-gateway.ts";
import { printLine } from "../print.ts";
import { namedWishes } from "../compose/named-wishes.ts";
import { hubOf } from "../compose/hub-of.ts";
import { openTools } from "../compose/open-tools.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { takeUpDefault } from "../take-up-default.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  if (isSet(call, "inside")) return (await import("./serve-inside.ts")).run(call, context);
  assertNotForInside(call);
  const config = readConfig(call, context);
  const metrics = createServerMetrics();
  const accessTokens = createSeenTokens();
  const counted = (audit: AuditLog): AuditLog => metrics.counted(audit);
  await using stack = await openLocalStack(config, context, { counted, pool: "server", accessTokens });
  const log = createLog(context.stderr, config);
  let served = serverOrigin(config);
  const secrets = openHomeSecretStore(config);
  const settings = openFacadeSettings(config);
  const toolServers = createToolServerOwners(settings);
  const wishes = await namedWishes(call);
  const defaults = { defaultName: "default", ...(wishes && { wishes }) };
  const opened = hubOf(call, context, stack, { settings, accessTokens });
  const hub = async () => (await opened()).hub;
  await using tools = await openTools(stack, { ...defaults, portOrigin: async () => served, log, toolServers, hub });
  const { servers: mcpServers } = await opened();
  const unknown = (err: unknown): void => log.error({ err }, "The tool server of a caller cannot be looked up");
  const oauth = await openOAuth(config, accessTokens);
  const templates = openOnce(() => stack.templates());
  const e2b = await openE2b(config, log);
  const gateway = createGateway({
    config,
    sandboxes: stack.sandboxes,
    templates,
    userTools: async () => countedLife(await stack.userTools(), tools.quota),
    secrets,
    mcpServers,
    facade: { tools: tools.catalog, settings: toolServers.settings, defaultSandbox: tools.defaultSandbox },
    prepare: async (principal) => void (await Promise.all([toolServers.load(principal).catch(unknown), mcpServers.load(principal)])),
    tools: tools.catalog,
    resources: tools.resources,
    prompts: tools.prompts,
    introduce: tools.introduce,
    connected: tools.connected,
    left: tools.left,
    isolation: () => stack.isolation(),
    metrics,
    liveSandboxes: () => stack.liveSandboxes(),
    keptBytes: () => stack.keptBytes(),
    poolCounts: () => stack.sandboxes.poolCounts(),
    assertReady: () => stack.audit.assertWritable(),
    tokens: await usableTokens(config),
    ...(oauth && { oauth }),
    e2b: { ...e2b, templates, secrets, volumes: stack.sandboxes.volumes },
    audit: stack.audit,
    listeners: openListeners(config),
    version: readPackage().version,
    log,
  });
  const address = await listenGateway(gateway, config);
  served = address;
  try {
    announce(context, gateway, { address, home: config.home, domain: e2b.domain });
    stack.startUpkeep();
    await using _paused = keepPausedSandboxes({
      sandboxes: stack.sandboxes,
      tokens: createTokenStore(config.home),
      turns: e2b.turns,
      retentionMs: config.e2b.pausedRetention,
      log,
    });
    await takeUpDefault(tools, { principal: LOCAL }, context);
    if (!context.signal.aborted) await once(context.signal, "abort");
    printLine(context.stderr, "Stopping. Sandboxes live on until their deadline.");
  } finally {
    await gateway.close();
  }
  return 0;
}

/** Throws a usage error: an option that did nothing would leave its person with another server than asked for. */
function assertNotForInside(call: CommandCall): void {
  const named = ["listen", "as-root"].find((name) => call.options[name] !== undefined);
  if (named !== undefined) throw usage(`--${named} goes with --inside alone`, "belljar serve --help");
}

/** Without any token, returns no verifier for a non-loopback address, so that the gateway refuses to listen there. */
async function usableTokens({ home, host }: Config): Promise<readonly TokenVerifier[]> {
  const tokens = createTokenStore(home);
  return isLoopback(host) || (await tokens.list()).length > 0 ? [tokens] : [];
}

/** As a shell takes it: a checkout has no `belljar` on the PATH. */
function ownCommand(): string {
  const [, script = ""] = process.argv;
  return basename(script) === "belljar" ? "belljar" : `node ${script}`;
}

interface Announced {
  readonly address: URL;
  readonly home: string;
  readonly domain: OpenedDomain | undefined;
}

function announce({ stderr }: CommandContext, { adminAddress, debugAddresses }: Gateway, { address, home, domain }: Announced): void {
  const url = new URL("/mcp", address).href;
  printLine(
    stderr,
    [
      `Belljar serves MCP at ${url}`,
      ...(adminAddress ? [`Tools are added at ${new URL("/add_mcp_tool/", adminAddress).href}`] : []),
      ...(debugAddresses.length > 0
        ? [`E2B's SDKs with E2B_DEBUG=true are served without a token at ${debugAddresses.join(" and ")}`]
        : []),
      "",
      "Connect a host:",
      `  Claude Code   claude mcp add --transport http belljar ${url}`,
      `  Others        {"mcpServers": {"belljar": {"type": "http", "url": "${url}"}}}`,
      ...(domain ? ["", ...tellDomain(domain, address)] : []),
      "",
      `State: ${home}. Check this machine: ${ownCommand()} doctor. Stop with Ctrl+C.`,
    ].join("\n"),
  );
}
