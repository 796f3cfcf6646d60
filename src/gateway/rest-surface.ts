import type { UnitLife } from "../dynamic/unit-life.ts";
import type { HostIsolation } from "../sandbox/runtimes.ts";
import type { Sandboxes } from "../sandbox/sandbox.ts";
import type { SecretVault } from "../secrets/secret-store.ts";
import type { Templates } from "../template/templates.ts";
import type { ProtectedResource } from "./auth/oauth/protected-resource.ts";
import { plainErrors } from "./error-answer.ts";
import type { GatewayLog } from "./gateway-log.ts";
import type { ServerMetrics } from "./metrics/server-metrics.ts";
import { contextRoutes } from "./routes/contexts.ts";
import { doctorRoute } from "./routes/doctor.ts";
import { guestUpgrade } from "./routes/guest.ts";
import { healthRoutes } from "./routes/health.ts";
import { metricsRoute } from "./routes/metrics.ts";
import { networkRoutes } from "./routes/network.ts";
import { openApiRoute } from "./routes/openapi.ts";
import { portRoutes } from "./routes/ports.ts";
import { protectedResourceRoutes } from "./routes/protected-resource.ts";
import { sandboxEventsRoute } from "./routes/sandbox-events.ts";
import { sandboxRoutes } from "./routes/sandboxes.ts";
import { snapshotRoutes } from "./routes/snapshots.ts";
import { templateRoutes } from "./routes/templates.ts";
import { toolRoutes } from "./routes/tools.ts";
import { timeLineRoutes } from "./routes/time-line.ts";
import { workspaceBaseRoutes } from "./routes/workspace-base.ts";
import { secretRoutes } from "./routes/secrets.ts";
import { type McpServers, serverRoutes } from "./routes/servers.ts";
import type { OpenApiDocument } from "./surfaces/openapi.ts";
import type { RoutedSurface } from "./surfaces/surface.ts";

export interface RestSurfaceOptions {
  readonly sandboxes: Sandboxes;
  readonly templates?: (() => Promise<Templates>) | undefined;
  readonly userTools?: (() => Promise<UnitLife>) | undefined;
  readonly secrets?: SecretVault;
  readonly mcpServers?: McpServers | undefined;
  readonly isolation: () => Promise<HostIsolation>;
  readonly metrics?: ServerMetrics;
  readonly oauth?: ProtectedResource;
  /** Throws, with the reason, while the server should be given no requests. */
  readonly assertReady: () => void;
  /** What the server says of itself, and nothing of the domain. */
  readonly toolsAlone?: boolean;
  /** What this surface and its neighbours serve. */
  readonly openApi: () => Promise<OpenApiDocument>;
  readonly log: GatewayLog;
}

/** The domain over HTTP, and what a server says of itself. What no other surface claims is answered here, with 404. */
export function restSurface(options: RestSurfaceOptions): RoutedSurface {
  return {
    kind: "routed",
    name: "rest",
    reach: { prefixes: ["/", "/v1", "/health", "/mcp/health", "/ready", "/metrics", "/.well-known", "/openapi.json"] },
    authentication: { localUser: "loopback" },
    cors: "none",
    shapeError: plainErrors,
    routes: [
      ...healthRoutes(options.assertReady),
      metricsRoute(options.metrics),
      ...protectedResourceRoutes(options.oauth),
      openApiRoute(options.openApi),
      doctorRoute(options.isolation),
      ...(options.toolsAlone ? [] : domainRoutes(options)),
    ],
    upgrades: options.toolsAlone ? [] : [guestUpgrade({ sandboxes: options.sandboxes })],
  };
}

function domainRoutes(options: RestSurfaceOptions): RoutedSurface["routes"] {
  const { sandboxes, log } = options;
  return [
    ...sandboxRoutes(sandboxes, log),
    ...workspaceBaseRoutes(sandboxes),
    ...snapshotRoutes(sandboxes),
    ...templateRoutes(options.templates),
    ...toolRoutes(options.userTools),
    ...timeLineRoutes(sandboxes),
    ...contextRoutes(sandboxes),
    sandboxEventsRoute(sandboxes),
    ...networkRoutes(sandboxes),
    ...portRoutes(sandboxes),
    ...secretRoutes(options.secrets),
    ...serverRoutes(options.mcpServers),
  ];
}
