import type { CommandSpec } from "../command.ts";
import { LIFETIME, LIMIT_OPTIONS } from "../limit-options.ts";
import { MCP_CONFIG, NETWORK, NONE, READ_ONLY, SNIPPETS, TOOLSETS, WORKSPACE, TOOLS_FOLDER } from "./shared-options.ts";

const DEFAULTS_THAT_LIVE = `--network and --timeout hold at once for a default sandbox that lives already. Its limits cannot
change: a line on stderr and the first result say so. With another workspace every call is refused. In both cases
\`belljar sandbox kill ID\` makes room for a new sandbox.`;

/** Commands that serve tools to hosts. */
export const SERVING: readonly CommandSpec[] = [
  {
    name: "serve",
    summary: "Serve MCP over HTTP at /mcp",
    usage: "",
    positionals: NONE,
    options: {
      host: { type: "string", value: "HOST", description: "Address to listen on (default 127.0.0.1)" },
      port: { type: "string", short: "p", value: "N", description: "Port to listen on (default 6060; 0 chooses a free one)" },
      "admin-port": { type: "string", value: "N", description: "Second port, for the API of MCP Box alone (default: none; 0 chooses one)" },
      "tls-domain": { type: "string", value: "DOMAIN", description: "Domain that clients of E2B ask by TLS: api.DOMAIN, PORT-ID.DOMAIN" },
      workspace: WORKSPACE,
      network: NETWORK,
      ...LIMIT_OPTIONS,
      timeout: LIFETIME,
      snippets: SNIPPETS,
      tools: TOOLS_FOLDER,
      "mcp-config": MCP_CONFIG,
      toolsets: TOOLSETS,
      "read-only": READ_ONLY,
      "e2b-debug": { type: "boolean", description: "Serve E2B SDKs that run with E2B_DEBUG, without a token: localhost:49983 and :49999" },
      inside: { type: "boolean", description: "Serve the machine or container that this runs in, as it is: no sandboxes, no isolation" },
      listen: {
        type: "string",
        value: "HOST[:PORT]",
        description: "With --inside: where to listen (default 127.0.0.1:6060). Beyond loopback it needs a token",
      },
      "as-root": { type: "boolean", description: "With --inside: let every client be root of this machine" },
      "legacy-sse": { type: "boolean", description: "Serve old clients at /sse too (HTTP+SSE, which MCP has replaced)" },
      sse: { type: "boolean", description: "As --legacy-sse" },
    },
    details: DEFAULTS_THAT_LIVE,
    load: () => import("../commands/serve.ts"),
  },
  {
    name: "mcp",
    summary: "Serve MCP over stdio, for a host to start",
    usage: "",
    positionals: NONE,
    options: {
      workspace: WORKSPACE,
      network: NETWORK,
      ...LIMIT_OPTIONS,
      timeout: LIFETIME,
      sandbox: { type: "string", value: "NAME", description: "Name of the default sandbox (default: made from the start folder)" },
      "all-sandboxes": { type: "boolean", description: "Let the agent use sandboxes of other projects too (default: those of its own)" },
      gateway: { type: "string", value: "URL", description: "Forward MCP to that server instead (BELLJAR_URL)" },
      snippets: SNIPPETS,
      tools: TOOLS_FOLDER,
      "mcp-config": MCP_CONFIG,
      toolsets: TOOLSETS,
      "read-only": READ_ONLY,
    },
    details: DEFAULTS_THAT_LIVE,
    load: () => import("../commands/mcp.ts"),
  },
];
