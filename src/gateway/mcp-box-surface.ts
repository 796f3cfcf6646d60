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
