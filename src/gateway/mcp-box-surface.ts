import { healthRoute } from "./routes/health.ts";
import { type McpBoxOptions, mcpBoxRoutes } from "./routes/mcp-box.ts";
import type { ErrorShape, RoutedSurface } from "./surfaces/surface.ts";

/** As this API tells of everything. */
const shapeError: ErrorShape = ({ message }) => ({ result: 2, error: message });

/** Adding and removing tools as clients of MCP Box do. */
export function mcpBoxSurface(options: McpBoxOptions): RoutedSurface {
  return {
    kind: "routed",
    name: "mcp-box",
    reach: { prefixes: ["/add_mcp_tool", "/remove_mcp_tool"] },
    authentication: { localUser: "loopback" },
    cors: "none",
    shapeError,
    routes: mcpBoxRoutes(options),
  };
}

/** The same for a port that serves nothing else, where such clients look for it. */
export function mcpBoxAdminSurface(options: McpBoxOptions): RoutedSurface {
  const surface = mcpBoxSurface(options);
  return { ...surface, reach: { prefixes: ["/"] }, routes: [...surface.routes, healthRoute()] };
}
