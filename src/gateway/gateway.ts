import type { HostIsolation } from "../sandbox/runtimes.ts";
import { openOnce } from "../async/open-once.ts";
import type { UnitLife } from "../dynamic/unit-life.ts";
import type { Caller } from "../catalog/caller.ts";
import { BelljarError } from "../errors.ts";
import type { McpHttp } from "../mcp/server/http.ts";
import { createMcpHttp } from "../mcp/server/http.ts";
import type { PromptDoor } from "../mcp/server/prompt-door.ts";
import type { ResourceDoor } from "../mcp/server/resource-door.ts";
import type { ToolDoor } from "../mcp/server/tool-door.ts";
import type { OwnListeners } from "../network/own-listeners.ts";
import { createPortRouter } from "../network/ports/port-router.ts";
import type { PortRouterOptions } from "../network/ports/port-router.ts";
import { findPortSandbox } from "../sandbox/port-sandbox.ts";
import type { Principal, Sandboxes } from "../sandbox/sandbox.ts";
import type { McpServers } from "./routes/servers.ts";
import type { SecretVault } from "../secrets/secret-store.ts";
import type { RequestAudit } from "./audit-requests.ts";
import { claimOrigin } from "./claimed-origin.ts";
import type { TokenVerifier } from "./auth/authenticate.ts";
import type { ProtectedResource } from "./auth/oauth/protected-resource.ts";
import type { E2b } from "./e2b/e2b.ts";
import { e2bSurfaces } from "./e2b/e2b-surfaces.ts";
import { createDebugOrigins } from "./e2b/debug/debug-origins.ts";
import { portsOfAll } from "./e2b/ports/find-e2b-port.ts";
import { facadeSurface } from "./facade-surface.ts";
import type { GatewayLog } from "./gateway-log.ts";
import { assertListenable, isLoopback } from "./loopback.ts";
import { mcpBoxAdminSurface, mcpBoxSurface } from "./mcp-box-surface.ts";
import { mcpSurface } from "./mcp-surface.ts";
import type { PoolCounts } from "../sandbox/pool/pool-options.ts";
import type { ServerMetrics, WatchedState } from "./metrics/server-metrics.ts";
import { portsSurface } from "./ports-surface.ts";
import { restSurface } from "./rest-surface.ts";
import type { FacadeRouteOptions } from "./routes/facade.ts";
import { createOpenApi } from "./surfaces/openapi.ts";
import type { OpenApiDocument } from "./surfaces/openapi.ts";
import type { Origin } from "./surfaces/origin.ts";
import { createOrigin } from "./surfaces/origin.ts";
import { isOwnName } from "./surfaces/origin-guard.ts";
import type { RoutedSurface, Surface } from "./surfaces/surface.ts";
import type { Templates } from "../template/templates.ts";

export interface GatewayConfig {
  readonly host: string;
  readonly port: number;
  readonly legacySse?: boolean;
  /** Serves MCP Box's API at a port of its own too. */
  readonly adminPort?: number | undefined;
  readonly e2b?: {
    /** Serves E2B's SDKs that run with `E2B_DEBUG`, too. */
    readonly debug?: boolean | undefined;
  };
}

export interface GatewayOptions {
  readonly config: GatewayConfig;
  readonly sandboxes: Sandboxes;
  /** Absent: none are served. */
  readonly templates?: () => Promise<Templates>;
  /** Absent: none are kept. */
  readonly userTools?: () => Promise<UnitLife>;
  readonly secrets?: SecretVault;
  /** Absent: it serves the tools of no other server. */
  readonly mcpServers?: McpServers | undefined;
  readonly tools: ToolDoor;
  readonly resources?: ResourceDoor;
  readonly prompts?: PromptDoor;
  /** What the instructions for an MCP client say of its tools and its default sandbox. */
  readonly introduce?: (caller: Caller) => readonly string[];
  /** Keeps the default sandbox of a connected MCP client alive until it is disposed. */
  readonly connected?: (caller: Caller) => Disposable;
  /** Told when an MCP client with a session has gone, with the id that its calls carried. */
  readonly left?: (caller: Caller, clientId: string) => void;
  readonly isolation: () => Promise<HostIsolation>;
  /** Tools over plain HTTP, and what callers told of their tool servers. Absent: not served. */
  readonly facade?: Pick<FacadeRouteOptions, "tools" | "settings" | "defaultSandbox">;
  /** No routes of the domain: tools, ports, and what the server says of itself. */
  readonly toolsAlone?: boolean;
  /** Absent: E2B's clients are not served. */
  readonly e2b?:
    | (Pick<E2b, "tokens" | "keys" | "settings" | "domain" | "turns" | "noteClient"> &
        Partial<Pick<E2b, "templates" | "secrets" | "volumes">>)
    | undefined;
  /** Learns what must be known of a caller before it is served. Never rejects. */
  readonly prepare?: (principal: Principal) => Promise<void>;
  readonly metrics?: ServerMetrics;
  /** For the metrics. */
  readonly liveSandboxes?: () => number;
  readonly keptBytes?: WatchedState["keptBytes"];
  /** The same. */
  readonly poolCounts?: () => readonly PoolCounts[];
  /** Throws while calls would fail, as when the audit cannot be written. */
  readonly assertReady?: () => void;
  /** Who knows the holders of tokens. Without any only this machine is served. */
  readonly tokens?: readonly TokenVerifier[];
  /** Where it says on which port it listens, so that no sandbox is led there. */
  readonly listeners?: Pick<OwnListeners, "claim">;
  /** Where requests that are no tool calls are written down. */
  readonly audit?: RequestAudit;
  /** Holders of an issuer's access tokens are served too. */
  readonly oauth?: ProtectedResource;
  readonly version: string;
  readonly log: GatewayLog;
}

/** The HTTP origin: all surfaces behind one address. */
export interface Gateway extends Pick<Origin, "routes" | "roots"> {
  /**
   * Resolves with the address once all ports accept requests. Rejects with `CONFIG_INVALID` for an address that others reach, and with the
   * error of the system for a port that cannot be had; then nothing listens.
   */
  listen(): Promise<URL>;
  /** Of the port for MCP Box's API alone, while it listens. */
  readonly adminAddress: URL | undefined;
  /** Where E2B's SDKs with `E2B_DEBUG` are served; none unless the configuration says so. */
  readonly debugAddresses: readonly URL[];
  /** Takes no new requests, lets calls in flight end for at most `graceMs`, then cuts them. */
  close(graceMs?: number): Promise<void>;
}

/** Below the second within which a signal ends the server. */
const GRACE_MS = 500;

export function createGateway(options: GatewayOptions): Gateway {
  const { config, log } = options;
  const mcp = openMcp(options);
  const { liveSandboxes: sandboxes = () => 0, keptBytes = () => ({ disk: 0, memory: 0 }), poolCounts: pool = () => [] } = options;
  options.metrics?.watch({ sandboxes, keptBytes, pool, sessions: () => mcp.sessionCount() });
  let isClosing = false;
  const assertReady = (): void => {
    if (isClosing) throw new BelljarError("SERVER_UNREACHABLE", "The server is stopping");
    options.assertReady?.();
  };
  const { oauth, metrics, prepare, audit, listeners } = options;
  const shared = {
    host: config.host,
    verifiers: verifiersOf(options),
    ...(oauth && { metadataUrl: oauth.metadataUrl }),
    ...(prepare && { prepare }),
    ...(audit && { audit }),
    ...(metrics && { metrics }),
    log,
  };
  const origin = createOrigin(surfacesOf(options, { mcp, assertReady }), shared);
  const main = claimOrigin(origin, { ...config, listeners });
  let address: URL | undefined;
  let adminAddress: URL | undefined;
  const box = mcpBoxAdminSurface({ ...mcpBoxOptions(options), mcpPort: () => address?.port ?? "" });
  const { host, adminPort } = config;
  const admin = adminPort === undefined ? undefined : claimOrigin(createOrigin([box], shared), { host, port: adminPort, listeners });
  const e2b = e2bOf(options);
  const debug = config.e2b?.debug && e2b ? createDebugOrigins({ e2b, shared, listeners }) : undefined;
  let debugAddresses: readonly URL[] = [];
  const listenBeside = async (): Promise<void> => {
    // It answers with the address of the other one.
    adminAddress = await admin?.listen();
    debugAddresses = (await debug?.listen()) ?? [];
  };
  const closeAll = async (graceMs: number): Promise<void> => {
    await Promise.all([main.close(graceMs), adminAddress && admin?.close(graceMs), debug?.close(graceMs)]);
    adminAddress = undefined;
    debugAddresses = [];
  };
  return {
    roots: origin.roots,
    get routes() {
      return origin.routes;
    },
    get adminAddress() {
      return adminAddress;
    },
    get debugAddresses() {
      return debugAddresses;
    },
    async listen() {
      assertListenable(host, shared.verifiers.length > 0);
      address = await main.listen();
      await listenBeside().catch(async (error: unknown) => {
        await closeAll(0);
        throw error;
      });
      return address;
    },
    async close(graceMs = GRACE_MS) {
      isClosing = true;
      await closeAll(graceMs);
    },
  };
}

function mcpBoxOptions({ userTools, config }: GatewayOptions) {
  return { userTools, legacySse: config.legacySse === true };
}

function openMcp({ tools, resources, prompts, introduce, connected, left, toolsAlone, version, log }: GatewayOptions): McpHttp {
  const onError = (error: unknown, requestId?: string): void => log.error({ err: error, requestId }, "mcp call failed");
  const told = {
    ...(introduce && { introduce }),
    ...(connected && { connected }),
    ...(left && { left }),
    ...(toolsAlone && { isMachine: true }),
  };
  return createMcpHttp({ tools, ...(resources && { resources }), ...(prompts && { prompts }), ...told, version, onError });
}

/** Who answers what: the table of roots in docs/architecture.md. */
function surfacesOf(
  options: GatewayOptions,
  { mcp, assertReady }: { readonly mcp: McpHttp; readonly assertReady: () => void },
): readonly Surface[] {
  const { config, facade, sandboxes, version, log } = options;
  const legacySse = config.legacySse === true;
  const box = mcpBoxSurface(mcpBoxOptions(options));
  const alone = facade ? [facadeSurface({ ...facade, sandboxes, servers: options.mcpServers })] : [];
  const described = options.toolsAlone ? alone : [...alone, box];
  const openApi = openOnce((): Promise<OpenApiDocument> => createOpenApi([rest, ...described], version));
  const rest: RoutedSurface = restSurface({ ...options, assertReady, openApi });
  const served = e2bOf(options);
  const ports = portOptions(options);
  const forE2b = served ? e2bSurfaces(served, ports) : [];
  const found = served ? portsOfAll(served) : { find: findPortSandbox(sandboxes) };
  if (options.toolsAlone)
    return [portsSurface(createPortRouter({ ...ports, ...found })), mcpSurface({ mcp, legacySse, log }), rest, ...alone];
  return [portsSurface(createPortRouter({ ...ports, ...found })), mcpSurface({ mcp, legacySse, log }), rest, ...described, ...forE2b];
}

function e2bOf({ e2b, sandboxes, log }: GatewayOptions): E2b | undefined {
  return e2b && { templates: undefined, secrets: undefined, volumes: undefined, ...e2b, sandboxes, log };
}

function verifiersOf({ tokens = [], oauth }: GatewayOptions): readonly TokenVerifier[] {
  return oauth ? [...tokens, oauth.verifier] : tokens;
}

function portOptions({ config, log, oauth }: GatewayOptions): Omit<PortRouterOptions, "find"> {
  return {
    // Beyond loopback a server has names that it does not know.
    ...(oauth && { isOwnToken: (token) => oauth.isOurs(token) }),
    isOwnName: (name) => !isLoopback(config.host) || isOwnName(name, config.host),
    onFailure: (err, requestId) => log.error({ err, requestId }, "port request failed"),
  };
}
