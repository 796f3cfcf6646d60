import type { McpHttp } from "../mcp/server/http.ts";
import { INTERNAL_ERROR, PARSE_ERROR, REQUEST_REFUSED } from "../mcp/server/json-rpc.ts";
import type { GatewayLog } from "./gateway-log.ts";
import { mcpRoutes } from "./routes/mcp.ts";
import { mcpSseRoutes } from "./routes/mcp-sse.ts";
import type { ErrorShape, RoutedSurface } from "./surfaces/surface.ts";

export interface McpSurfaceOptions {
  readonly mcp: McpHttp;
  /** For clients that speak 2024-11-05 alone. */
  readonly legacySse: boolean;
  readonly log: GatewayLog;
}

/** MCP at `/mcp`. The SDK answers what is let in. */
export function mcpSurface({ mcp, legacySse, log }: McpSurfaceOptions): RoutedSurface {
  return {
    kind: "routed",
    name: "mcp",
    reach: { prefixes: ["/mcp", ...(legacySse ? ["/sse", "/messages"] : [])] },
    authentication: { localUser: "loopback" },
    cors: "none",
    shapeError: jsonRpcErrors,
    routes: [...mcpRoutes(mcp, log), ...(legacySse ? mcpSseRoutes(mcp, log) : [])],
    close: (graceMs) => mcp.close(graceMs),
  };
}

/** What is refused before MCP reads it has no id. */
const jsonRpcErrors: ErrorShape = ({ status, message, isUnreadable }) => {
  const code = isUnreadable ? PARSE_ERROR : status === 500 ? INTERNAL_ERROR : REQUEST_REFUSED;
  return { jsonrpc: "2.0", error: { code, message }, id: null };
};
