/** docs/reference/http-api.md: the routes of a running gateway, and the fields of its OpenAPI document. */
import { page, schemaRows, table } from "./markdown.mjs";

const BEFORE = [
  '`belljar serve` answers on `http://127.0.0.1:6060`. Bodies are JSON; times are ISO 8601. A failure is `{ "error": { code, message, retryable, requestId } }` ([errors](errors.md)).',
  "A request may name itself with `X-Request-Id` (letters, digits, `.`, `_`, `:`, `-`; at most 128). The answer, the log and the audit then carry this id. Other requests are given one.",
  "Requests whose Host or Origin is not this server's are refused with 403, and a POST or PUT that is not `application/json` with 415.",
  "On loopback a caller without a token is the local user. With `Authorization: Bearer TOKEN` it is the token's holder ([`belljar token create`](cli.md)). Beyond loopback a token is needed; 401 otherwise.",
  "With an OAuth issuer in the configuration its access tokens are taken too, and a 401 says in `WWW-Authenticate` where a client gets one ([teams](../guides/team.md)).",
  "Each route says what it needs. *Nothing*: everybody may ask. *A caller*: any token; the toolset of the tool or resource that is asked for then decides.",
  "Else the scopes of a token: one that names no toolset, `secrets`, `settings` or `metrics` has them all, one that names some has those alone. A route that *changes* something is not for a token with `read-only`. A refusal is 403 and names the scope that is missing.",
  "`QUOTA_EXCEEDED` is 429 with `Retry-After` in seconds, where that is known.",
  "Only a token with a scope `workspace:DIR` for it, or `workspaces`, may name a workspace; else `belljar serve --workspace DIR` does.",
  "`GET /openapi.json` gives the routes of REST and the façade as OpenAPI 3.1, with their answers. [Who answers a request](../architecture.md#who-answers-a-request) lists the roots.",
];

const PORTS = [
  "A port with a link is served raw beside these routes: HTTP/1.1, WebSocket and other upgrades, streams.",
  "- `http://PORT-ID.localhost:6060/` by host name. A page there has an origin of its own. Browsers and curl know such names by themselves.\n- `/ports/ID/PORT/` by path, where such names do not resolve. A page there has no origin: no storage, no service worker.",
  "The first visit carries `?belljar_token=TOKEN` and is answered with 303 and a cookie; in path style the token also becomes part of the path.\nPrograms send the header `belljar-port-token`. Without the token the answer is 401 `PORT_LINK_INVALID`, whatever is wrong.\n502 `PORT_REFUSED`: nothing listens there. 410 `SANDBOX_ENDED`: the sandbox is gone.\nThe program inside sees `X-Forwarded-Host`, `X-Forwarded-Proto` and, in path style, `X-Forwarded-Prefix`.",
];

const SURFACES = {
  rest: "REST",
  mcp: "MCP",
  facade: "Tools over plain HTTP (the façade)",
  "mcp-box": "Tools as MCP Box adds them",
};

export async function httpApiPage(load) {
  const { routes, document } = await readGateway(load);
  const served = routes.filter(({ method }) => method !== "HEAD");
  const sections = Object.entries(SURFACES).map(([surface, title]) => {
    const rows = served
      .filter((route) => route.surface === surface)
      .map((route) => [nameOf(route), needs(route.access), whatOf(route, served)]);
    return `## ${title}\n\n${table(["route", "needs", "what it does"], rows)}`;
  });
  const bodies = served.filter((route) => !isRepeated(route, served)).flatMap((route) => bodyOf(route, document));
  return page(
    "HTTP API",
    BEFORE.join("\n"),
    ...sections,
    "## Bodies",
    "REST refuses a field that is not named here.",
    ...bodies,
    "## Ports",
    ...PORTS,
  );
}

/** A gateway with every surface, which nobody but this asks. */
async function readGateway(load) {
  const { createGateway } = await load("gateway/gateway.js");
  const refuse = () => Promise.reject(new Error("The reference page calls nothing"));
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0, legacySse: true },
    sandboxes: {},
    tools: { onChange: () => () => undefined },
    facade: { tools: {}, settings: {}, defaultSandbox: refuse },
    isolation: refuse,
    version: "0",
    log: { error: () => undefined },
  });
  const url = await gateway.listen();
  try {
    return { routes: gateway.routes, document: await (await fetch(new URL("/openapi.json", url))).json() };
  } finally {
    await gateway.close(0);
  }
}

const nameOf = ({ method, path }) => `\`${method} ${path}\``;

function needs(access) {
  if (access.kind === "open") return "nothing";
  if (access.kind === "door") return "a caller";
  return access.scopes.map((scope) => `\`${scope}\``).join(" ") + (access.changes ? ", changes" : "");
}

/** The façade's routes are there twice. */
function isRepeated({ surface, method, path }, served) {
  return served.some((other) => other.surface === surface && other.method === method && path === `/mcp${other.path}`);
}

function whatOf(route, served) {
  return isRepeated(route, served) ? "the same" : route.summary;
}

function bodyOf(route, { paths }) {
  const operation = paths[route.path.replaceAll(/:(\w+)/g, "{$1}")]?.[route.method.toLowerCase()];
  const schema = operation?.requestBody?.content["application/json"].schema;
  return schema ? [`### ${nameOf(route)}\n\n${table(["field", "type", "required", "what"], schemaRows(schema))}`] : [];
}
