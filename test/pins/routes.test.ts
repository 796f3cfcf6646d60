import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Access } from "../../src/gateway/auth/access.ts";
import { createFacadeSettings } from "../../src/gateway/facade/facade-settings.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import { createCallProbe } from "../support/call-probe.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";

const ARCHITECTURE = readFileSync(join(import.meta.dirname, "../../docs/architecture.md"), "utf8");
const REFERENCE = readFileSync(join(import.meta.dirname, "../../docs/reference/http-api.md"), "utf8");

/** The real gateway, with every surface. */
async function openedGateway(legacySse = false): Promise<Gateway> {
  const { tools } = createCallProbe();
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0, legacySse },
    sandboxes: createNoSandboxes(),
    tools,
    facade: {
      defaultSandbox: () => ({ name: "default", options: {} }),
      tools,
      settings: createFacadeSettings({ home: "/nowhere" }),
    },
    isolation: () => Promise.reject(new Error("nobody asks")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  await gateway.listen();
  await gateway.close(0);
  return gateway;
}

/** What it serves, with what each route asks of its caller. */
async function collectRoutes(legacySse = false): Promise<ReadonlyMap<string, string>> {
  const gateway = await openedGateway(legacySse);
  const routes = gateway.routes.filter(({ method }) => method !== "HEAD");
  return new Map(routes.map(({ method, path, access }) => [`${method} ${path}`, needs(access)]));
}

function needs(access: Access): string {
  if (access.kind === "open") return "nothing";
  if (access.kind === "door") return "a caller";
  return access.scopes.map((scope) => `\`${scope}\``).join(" ") + (access.changes ? ", changes" : "");
}

/** Scripts and clients of other versions call these. */
it("keeps every route", async () => {
  expect([...(await collectRoutes()).entries()].map(([route, needed]) => `${route}: ${needed}`).toSorted()).toMatchInlineSnapshot(`
    [
      "DELETE /mcp: a caller",
      "DELETE /v1/sandboxes/:id/checkpoints/:checkpoint: \`toolset:sandbox\`, changes",
      "DELETE /v1/sandboxes/:id/contexts/:context: \`toolset:code\`, changes",
      "DELETE /v1/sandboxes/:id/ports/:port: \`toolset:sandbox\`, changes",
      "DELETE /v1/sandboxes/:id: \`toolset:sandbox\`, changes",
      "DELETE /v1/secrets/:name: \`secrets\`, changes",
      "DELETE /v1/servers/:name: \`toolset:mcp\`, changes",
      "DELETE /v1/snapshots/:snapshot: \`toolset:sandbox\`, changes",
      "DELETE /v1/templates/:name/builds/:id: \`toolset:template\`, changes",
      "DELETE /v1/templates/:name: \`toolset:template\`, changes",
      "DELETE /v1/tools/:name: \`toolset:tools\`, changes",
      "GET /.well-known/oauth-protected-resource/mcp: nothing",
      "GET /.well-known/oauth-protected-resource: nothing",
      "GET /health: nothing",
      "GET /mcp/health: nothing",
      "GET /mcp/tools: a caller",
      "GET /mcp: a caller",
      "GET /metrics: \`metrics\`",
      "GET /openapi.json: nothing",
      "GET /ready: nothing",
      "GET /tools: a caller",
      "GET /v1/doctor: \`toolset:sandbox\`",
      "GET /v1/sandboxes/:id/checkpoints: \`toolset:sandbox\`",
      "GET /v1/sandboxes/:id/contexts: \`toolset:code\`",
      "GET /v1/sandboxes/:id/environment: \`toolset:sandbox\`",
      "GET /v1/sandboxes/:id/guest: \`toolset:sandbox\`, changes",
      "GET /v1/sandboxes/:id/network: \`toolset:sandbox\`",
      "GET /v1/sandboxes/:id/ports: \`toolset:sandbox\`",
      "GET /v1/sandboxes/:id/usage: \`toolset:sandbox\`",
      "GET /v1/sandboxes/:id: \`toolset:sandbox\`",
      "GET /v1/sandboxes/events: \`toolset:sandbox\`",
      "GET /v1/sandboxes: \`toolset:sandbox\`",
      "GET /v1/secrets: \`secrets\`",
      "GET /v1/servers/:name/logs: \`toolset:mcp\`",
      "GET /v1/servers/:name: \`toolset:mcp\`",
      "GET /v1/servers: \`toolset:mcp\`",
      "GET /v1/snapshots/:snapshot: \`toolset:sandbox\`",
      "GET /v1/snapshots: \`toolset:sandbox\`",
      "GET /v1/templates/:name/builds/:id/logs: \`toolset:template\`",
      "GET /v1/templates/:name/builds/:id: \`toolset:template\`",
      "GET /v1/templates/:name: \`toolset:template\`",
      "GET /v1/templates: \`toolset:template\`",
      "GET /v1/tools/:name/calls: \`toolset:tools\`",
      "GET /v1/tools/:name/tests: \`toolset:tools\`",
      "GET /v1/tools/:name/versions: \`toolset:tools\`",
      "GET /v1/tools/:name: \`toolset:tools\`",
      "GET /v1/tools: \`toolset:tools\`",
      "PATCH /v1/tools/:name: \`toolset:tools\`, changes",
      "POST /add_mcp_tool/: \`toolset:tools\`, changes",
      "POST /add_mcp_tool: \`toolset:tools\`, changes",
      "POST /credential: \`settings\`, changes",
      "POST /custom-mcp: \`settings\`, changes",
      "POST /mcp/credential: \`settings\`, changes",
      "POST /mcp/custom-mcp: \`settings\`, changes",
      "POST /mcp/register-codex: \`settings\` \`toolset:sandbox\`, changes",
      "POST /mcp/tool-server-url: \`settings\`, changes",
      "POST /mcp/tools/call: a caller",
      "POST /mcp: a caller",
      "POST /register-codex: \`settings\` \`toolset:sandbox\`, changes",
      "POST /remove_mcp_tool/: \`toolset:tools\`, changes",
      "POST /remove_mcp_tool: \`toolset:tools\`, changes",
      "POST /tool-server-url: \`settings\`, changes",
      "POST /tools/call: a caller",
      "POST /v1/default-sandboxes/:name: \`toolset:sandbox\`, changes",
      "POST /v1/forks: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/checkpoints: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/contexts/:context/interrupt: \`toolset:code\`, changes",
      "POST /v1/sandboxes/:id/contexts/:context/restart: \`toolset:code\`, changes",
      "POST /v1/sandboxes/:id/contexts: \`toolset:code\`, changes",
      "POST /v1/sandboxes/:id/diff: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/extend: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/merge: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/pause: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/ports: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/refusals: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/resume: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/rollback: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/snapshots: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/start: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/stop: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/undo: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/workspace-base/text: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes/:id/workspace-base: \`toolset:sandbox\`, changes",
      "POST /v1/sandboxes: \`toolset:sandbox\`, changes",
      "POST /v1/servers/:name/approve: \`toolset:mcp\`, changes",
      "POST /v1/servers/:name/login: \`toolset:mcp\`, changes",
      "POST /v1/servers/:name/restart: \`toolset:mcp\`, changes",
      "POST /v1/servers/:name/update: \`toolset:mcp\`, changes",
      "POST /v1/servers: \`toolset:mcp\`, changes",
      "POST /v1/templates/builds: \`toolset:template\`, changes",
      "POST /v1/templates/prune: \`toolset:template\`, changes",
      "POST /v1/templates: \`toolset:template\`, changes",
      "POST /v1/tools/:name/publish: \`toolset:tools\`, changes",
      "POST /v1/tools/:name/test: \`toolset:tools\`, changes",
      "POST /v1/tools/:name/versions/:version/rollback: \`toolset:tools\`, changes",
      "POST /v1/tools: \`toolset:tools\`, changes",
      "PUT /v1/sandboxes/:id/network: \`toolset:sandbox\`, changes",
      "PUT /v1/secrets/:name: \`secrets\`, changes",
      "PUT /v1/templates/:name/shared: \`toolset:template\`, changes",
      "PUT /v1/tools/:name: \`toolset:tools\`, changes",
    ]
  `);
});

it("has a row in the reference for every route, with what it needs, and no other", async () => {
  const rows = [...REFERENCE.matchAll(/^\| `(\w+ [^`]+)` \| ([^|]+) \|/gm)].map(([, route = "", needed = ""]) => [route, needed] as const);
  expect(new Map(rows)).toEqual(await collectRoutes(true));
});

it("says in the table of roots who answers what", async () => {
  const [, table = ""] = ARCHITECTURE.split("| asked by | root | surface | what |");
  const rows = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| (host|header|path) \| `([^`]+)` \| ([\w-]+) \|/gm)];
  const { roots } = await openedGateway(true);
  expect(rows.map(([, kind, root, surface]) => ({ kind, root, surface }))).toEqual(roots);
});
