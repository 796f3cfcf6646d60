import { once } from "node:events";
import type { AuditLog } from "../../audit/audit-log.ts";
import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import type { TokenVerifier } from "../../gateway/auth/authenticate.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import { createToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import { createGateway } from "../../gateway/gateway.ts";
import { isLoopback } from "../../gateway/loopback.ts";
import { createServerMetrics } from "../../gateway/metrics/server-metrics.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { assertAlone } from "../compose/assert-alone.ts";
import { insideFolder } from "../compose/inside-folder.ts";
import { openFacadeSettings } from "../compose/open-facade-settings.ts";
import { openListeners } from "../compose/open-listeners.ts";
import { openLocalStack, prepareRuntimes, readConfig } from "../compose/open-stack.ts";
import { NEED_SANDBOXES, openTools } from "../compose/open-tools.ts";
import { readPackage } from "../compose/package-root.ts";
import { listenGateway } from "../listen-gateway.ts";
import { listenPlace } from "../listen-place.ts";
import { createLog } from "../log.ts";
import { printLine } from "../print.ts";
import { usage } from "../usage.ts";

const LINES = [
  "Files and network: those of this machine. Belljar runs inside it and keeps nothing apart: commands have all rights of the server's user.",
];
/** What needs sandboxes, or is another way in. */
const UNUSABLE = ["mcp-config", "workspace", "network", "tls-domain", "e2b-debug", "admin-port", "memory", "cpus", "pids", "disk"];

/**
 * The tool server of a machine or container that somebody else made: that is its only sandbox. Nothing in it is kept apart, so a person must have
 * asked for it, as root twice, and others reach it with a token alone.
 */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  assertUsable(call);
  const config = insideConfig(call, context);
  await assertAlone(config.home);
  const folder = await insideFolder(context.env["WORKSPACE_DIR"]);
  const metrics = createServerMetrics();
  const inside = async () => {
    const { openHostRuntime } = await import("../../runtime/host/host-runtime.ts");
    return openHostRuntime({ ...prepareRuntimes(config, context.stderr), workspace: folder, env: variablesOf(context.env) });
  };
  await using stack = await openLocalStack(config, context, { counted: (audit: AuditLog) => metrics.counted(audit), inside });
  const log = createLog(context.stderr, config);
  let served = new URL(`http://127.0.0.1:${config.port}`);
  const settings = openFacadeSettings(config);
  const toolServers = createToolServerOwners(settings);
  const options = { defaultName: "default", portOrigin: async () => served, log, toolServers, inside: { lines: LINES } };
  await using tools = await openTools(stack, options);
  const tokens = createTokenStore(config.home);
  const gateway = createGateway({
    config,
    sandboxes: stack.sandboxes,
    toolsAlone: true,
    facade: { tools: tools.catalog, settings: toolServers.settings, defaultSandbox: tools.defaultSandbox },
    prepare: (principal) => toolServers.load(principal).catch((err: unknown) => log.error({ err }, "No tool server")),
    tools: tools.catalog,
    resources: tools.resources,
    prompts: tools.prompts,
    introduce: tools.introduce,
    connected: tools.connected,
    left: tools.left,
    isolation: () => stack.sandboxes.isolation(),
    metrics,
    liveSandboxes: () => stack.liveSandboxes(),
    assertReady: () => stack.audit.assertWritable(),
    // Without any token the gateway listens on loopback alone.
    tokens: isLoopback(config.host) || (await tokens.list()).length > 0 ? [asOneOwner(tokens)] : [],
    audit: stack.audit,
    listeners: openListeners(config),
    version: readPackage().version,
    log,
  });
  served = await listenGateway(gateway, config);
  try {
    printLine(
      context.stderr,
      `Belljar serves this machine as it is, without isolation. MCP: ${new URL("/mcp", served).href}, folder: ${folder}`,
    );
    if (!context.signal.aborted) await once(context.signal, "abort");
    printLine(context.stderr, "Stopping. What was started through this server ends with it.");
  } finally {
    await gateway.close();
  }
  return 0;
}

function assertUsable(call: CommandCall): void {
  const named = UNUSABLE.find((name) => call.options[name] !== undefined);
  if (named !== undefined)
    throw usage(`--${named} is not for --inside: this machine is the only sandbox, as it is`, "belljar serve --help");
  if (process.getuid?.() !== 0 || isSet(call, "as-root")) return;
  throw new BelljarError(
    "CONFIG_INVALID",
    "serve --inside would give every client the rights of root on this machine. Run it as another user, or say so with --as-root",
  );
}

/** The machine is one sandbox, so all who are let in are its one owner. Each token keeps its own scopes. */
function asOneOwner(tokens: TokenVerifier): TokenVerifier {
  return {
    async find(token) {
      const holder = await tokens.find(token);
      return holder && { ...holder, id: LOCAL.id };
    },
  };
}

/** Others reach it by `--listen` or `--host` alone, whatever a file or a variable says. */
function insideConfig(call: CommandCall, context: CommandContext): Config {
  const config = readConfig(call, context);
  const host = textOption(call, "listen") === undefined && textOption(call, "host") === undefined ? "127.0.0.1" : config.host;
  const { host: named = host, port = config.port } = listenPlace(textOption(call, "listen"));
  assertToolsets(config);
  return {
    ...config,
    host: named,
    port,
    workspace: undefined,
    adminPort: undefined,
    tls: {},
    e2b: { ...config.e2b, debug: false },
    runtime: "host",
    runtimes: [],
    url: undefined,
    sandbox: { ...config.sandbox, network: "none" },
  };
}

/** Throws `CONFIG_INVALID` for a toolset that would be empty here. */
function assertToolsets({ toolsets = [] }: Config): void {
  const absent = toolsets.filter((name) => NEED_SANDBOXES.has(name));
  if (absent.length === 0) return;
  throw new BelljarError("CONFIG_INVALID", `No toolset ${absent.join(", ")} with --inside: this machine is the only sandbox, as it is`);
}

/** Of the server's own variables, what is no secret of Belljar's: a display, a language, where programs lie. */
function variablesOf(env: CommandContext["env"]): Readonly<Record<string, string>> {
  const given = Object.entries(env).flatMap(([name, value]) => (value !== undefined && PASSED.test(name) ? [[name, value] as const] : []));
  return Object.fromEntries(given);
}

const PASSED = /^(?:PATH|LANG|LC_[A-Z]{1,20}|TZ|DISPLAY|XAUTHORITY|WORKSPACE_DIR|HTTPS?_PROXY|NO_PROXY|https?_proxy|no_proxy)$/;
