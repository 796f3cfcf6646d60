import type { HostileCase, HostileLab } from "./hostile-lab.ts";
import { HOSTILE_TEXTS, toAscii } from "./hostile-texts.ts";
import type { KnownValues, Schema } from "./hostile-values.ts";
import { hostileValues, RawJson } from "./hostile-values.ts";

/** Bodies that come to the route's real work. A route that is not here gets what any route may get. */
const WORKING_BODIES: Readonly<Record<string, object>> = {
  "POST /v1/sandboxes": {
    template: "none-such",
    network: { allow: ["example.test"] },
    metadata: { a: "a" },
    env: { a: "a" },
    timeoutMs: 1_000,
  },
  "POST /v1/default-sandboxes/:name": { template: "none-such", metadata: { a: "a" }, env: { a: "a" } },
  "POST /v1/sandboxes/:id/extend": { timeoutMs: 600_000 },
  "POST /v1/sandboxes/:id/ports": { port: 8_000, access: "token" },
  "PUT /v1/sandboxes/:id/network": { policy: { allow: ["example.test"] } },
  "PUT /v1/secrets/:name": { value: "a" },
  "POST /tools/call": { name: "describe_tool", arguments: { name: "edit_file" } },
  "POST /credential": { user_api_key: "a", session_id: "a" },
  "POST /tool-server-url": { tool_server_url: "http://127.0.0.1:1" },
  "POST /v1/servers": {
    name: "a",
    command: "a",
    args: ["a"],
    env: { a: "a" },
    network: { allow: ["a.test"] },
    select: ["a"],
    rename: { a: "a" },
  },
  "POST /v1/servers/:name/approve": { digest: "a" },
  "POST /v1/servers/:name/login": { redirectUri: "https://app.example/back", scope: "a" },
  "POST /custom-mcp": {
    mcpServers: { a: { command: "a", args: ["a"], env: { a: "a" } }, b: { url: "http://127.0.0.1:1", headers: { a: "a" } } },
  },
};

/** What a header and an address may hold in all. */
const HEAD_LENGTH = 7_000;
const HEADERS = [
  "authorization",
  "cookie",
  "x-request-id",
  "accept",
  "origin",
  "forwarded",
  "x-forwarded-for",
  "user-agent",
  "mcp-session-id",
  "mcp-protocol-version",
  "last-event-id",
  "accept-encoding",
  "if-none-match",
];

/** One route as it was registered, with hostile addresses, queries, headers and bodies. */
export function* routeCases(lab: HostileLab, route: string): Generator<HostileCase> {
  const [method = "", path = ""] = route.split(" ");
  const heads = texts().map(([what, make]) => [what, toAscii(make(), HEAD_LENGTH / 3)] as const);
  // What ends a sandbox would end the one that all others are about.
  const known = fill(path, method === "DELETE" ? "aaaaaaaa" : String(lab.known.values["sandbox"]));
  const ask = (what: string, target: string, more: RequestInit = {}): HostileCase => ({
    what: `${route} ${what}`,
    run: async (signal) => (await fetch(lab.server.url + target, { method, signal, ...more })).text(),
  });
  yield ask("as it is", known);
  for (const [what, text] of heads) {
    if (path.includes(":")) yield ask(`at ${what}`, fill(path, encodeURIComponent(text)));
    yield ask(`asked for ${what}`, `${known}?${encodeURIComponent(text)}=${encodeURIComponent(text)}`);
  }
  yield ask("asked for many fields", `${known}?${"state=running&metadata.a=a&".repeat(HEAD_LENGTH / 27)}`);
  for (const [what, text] of heads) {
    const headers = HEADERS.map((name) => [name, text.slice(0, HEAD_LENGTH / HEADERS.length)] as const);
    yield ask(`with headers of ${what}`, known, { headers: Object.fromEntries(headers) });
  }
  if (method !== "POST" && method !== "PUT") return;
  for (const { what, value } of bodies(route, lab.known)) {
    yield { what: `${route} with ${what}`, run: (signal) => lab.send(`${method} ${known}`, value(), signal) };
  }
}

interface Body {
  readonly what: string;
  readonly value: () => unknown;
}

function* bodies(route: string, known: KnownValues): Generator<Body> {
  for (const [what, make] of texts()) {
    yield { what, value: make };
    yield { what: `${what} as it is`, value: () => new RawJson(make()) };
  }
  const working = WORKING_BODIES[route] ?? WORKING_BODIES[route.replace("/mcp/", "/")] ?? {};
  yield { what: "its own body", value: () => working };
  for (const { what, value } of hostileValues(schemaOf(working), working, known)) yield { what, value: () => value };
}

/** A schema that the value follows, with no bound on anything. */
function schemaOf(value: unknown): Schema {
  if (Array.isArray(value)) return { type: "array", items: schemaOf(value[0] ?? "") };
  if (typeof value !== "object" || value === null) return { type: typeof value };
  const fields = Object.entries(value).map(([name, inner]) => [name, schemaOf(inner)]);
  return { type: "object", properties: Object.fromEntries(fields) as Record<string, Schema>, required: Object.keys(value) };
}

/** The texts that can cost what no schema has looked at. */
function texts(): readonly (readonly [what: string, make: () => string])[] {
  return [
    "runs of one character",
    "JSON that nests",
    "JSON with a million items",
    "JSON with 100,000 keys",
    "halves of surrogates and NULs",
  ].map((what) => [what, HOSTILE_TEXTS[what] ?? String]);
}

function fill(path: string, value: string): string {
  return path.replaceAll(/:\w+/g, () => value);
}
