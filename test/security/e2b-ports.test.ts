import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { statSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { openE2bDomain } from "../../src/cli/compose/open-e2b-domain.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { E2bPortsLab, PortQuestion } from "../support/e2b-ports-lab.ts";
import { DOMAIN, openE2bPortsLab, serveInside, waysTo } from "../support/e2b-ports-lab.ts";
import { verifies } from "./verifies.ts";

const PORT = 8_000;
const APP = "https://app.example";
const KEY = `e2b_${"0a".repeat(20)}`;
let lab: E2bPortsLab;
let open: Sandbox;
let closed: Sandbox;

beforeAll(async () => {
  lab = await openE2bPortsLab();
  [open, closed] = await Promise.all([lab.make(), lab.make({ allowPublicTraffic: false })]);
  await Promise.all([open, closed].map((sandbox) => serveInside(sandbox, PORT)));
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());
beforeEach(() => Object.assign(lab.given, { publicTraffic: true, hasKey: true }));

const withHeaders = (way: PortQuestion, headers: PortQuestion["headers"]): PortQuestion => ({
  ...way,
  headers: { ...way.headers, ...headers },
});
const trafficOf = ({ id }: Sandbox) => ({ "e2b-traffic-access-token": lab.tokens.of("traffic", id) });
const statusOf = async (way: PortQuestion): Promise<number> => (await lab.ask(way)).status;
/** What the program inside was asked. */
const seenBy = async (way: PortQuestion) => {
  const { status, json } = await lab.ask(way);
  return { status, ...(json as { url: string; headers: IncomingMessage["headers"] }) };
};

verifies("e2b-ports-open-as-said", async () => {
  const wrong: readonly Record<string, string>[] = [
    {},
    trafficOf(open),
    { "e2b-traffic-access-token": lab.tokens.of("access", closed.id) },
    { "x-access-token": lab.tokens.of("access", closed.id) },
    { "e2b-traffic-access-token": `${lab.tokens.of("traffic", closed.id)}x` },
  ];
  for (const way of waysTo(closed, PORT)) {
    for (const headers of wrong) {
      const { status, json } = await lab.ask(withHeaders(way, headers));
      expect([status, json]).toMatchObject([403, { sandboxId: closed.id, code: 403 }]);
    }
    expect(await statusOf(withHeaders(way, trafficOf(closed)))).toBe(200);
  }
  // In path style the page would lie at the server's own address.
  expect(await statusOf({ path: `/ports/${open.id}/${PORT}/` })).toBe(401);
  lab.given.publicTraffic = false;
  for (const way of waysTo(open, PORT)) {
    expect(await statusOf(way)).toBe(403);
    expect(await statusOf(withHeaders(way, trafficOf(open)))).toBe(200);
  }
  const socket = lab.connect(waysTo(open, PORT)[0] ?? {});
  const [refused] = (await once(socket, "error")) as [Error];
  expect(refused.message).toContain("403");
  lab.given.publicTraffic = true;
  const answers = await Promise.all(waysTo(open, PORT).map((way) => lab.open({ ...way, path: "/hang" })));
  const sockets = waysTo(open, PORT).map((way) => lab.connect(way));
  await Promise.all(sockets.map((one) => once(one, "message")));
  const ends = [...answers.map((answer) => once(answer.resume(), "error")), ...sockets.map((one) => once(one, "close"))];
  lab.given.hasKey = false;
  await Promise.all(ends);
  const link = await open.registerPort(PORT, "token");
  for (const [index, way] of waysTo(open, PORT).entries()) {
    expect(await statusOf(withHeaders(way, trafficOf(open)))).toBe(403);
    if (index === 0) expect(await statusOf(withHeaders(way, { "belljar-port-token": link.token ?? "" }))).toBe(200);
  }
});

verifies("e2b-tokens-stay-outside", async () => {
  const sent = {
    ...trafficOf(open),
    "x-access-token": lab.tokens.of("access", open.id),
    "x-api-key": KEY,
    authorization: `Bearer ${KEY}`,
    "x-other": "belljar_aaaaaaaaaa_secretsecret",
    e2b_traffic_access_token: "not-even-one",
  };
  const own = { "x-api-key": "a-key-of-the-program", authorization: "Bearer abc", "x-access-token": "abc" };
  for (const way of waysTo(open, PORT)) {
    const { headers } = await seenBy(withHeaders(way, sent));
    expect(JSON.stringify(headers)).not.toMatch(/e2b_|e2b[atv]_|belljar_|e2b-(?!\w+\.)/i);
    expect((await seenBy(withHeaders(way, own))).headers).toMatchObject(own);
  }
});

verifies("e2b-host-decides", async () => {
  const other = { "e2b-sandbox-id": closed.id, "e2b-sandbox-port": "49983", "x-access-token": lab.tokens.of("access", closed.id) };
  for (const way of waysTo(open, PORT).slice(0, 2)) {
    const seen = await seenBy({ ...way, path: "/files?path=x", headers: other });
    expect(seen).toMatchObject({ status: 200, url: "/files?path=x" });
    expect(seen.headers.host).toContain(open.id);
  }
  // The token of the sandbox that the headers name opens no other one.
  for (const domain of ["localhost", DOMAIN])
    expect(await statusOf({ host: `49983-${open.id}.${domain}`, path: "/files?path=x", headers: other })).toBe(401);
  for (const [names, told] of IN_PART) {
    const headers = JSON.parse(JSON.stringify(names).replaceAll('"ID"', `"${open.id}"`)) as Record<string, string>;
    const access = { "x-access-token": lab.tokens.of("access", open.id) };
    const answer = await lab.ask({ path: "/files?path=x", headers: { ...headers, ...access } });
    expect([answer.status, answer.text], JSON.stringify(names)).toEqual([400, expect.stringContaining(told)]);
  }
  const headers = { "e2b-sandbox-id": open.id, "e2b-sandbox-port": String(PORT) };
  expect(await lab.ask({ host: "evil.example", headers })).toMatchObject({ status: 403, json: { code: 403 } });
  const socket = connect(Number(lab.origin.port), lab.origin.hostname);
  const lines = ["Host: localhost", "Host: x", `E2b-Sandbox-Id: ${open.id}`, `E2b-Sandbox-Port: ${PORT}`, "Connection: close"];
  socket.end(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [^]*"code":400/);
});

/** Headers that name no port of a sandbox, and what is said of them. */
const IN_PART: readonly (readonly [Readonly<Record<string, string | readonly string[]>>, string])[] = [
  [{ "e2b-sandbox-id": "ID" }, "missing header E2b-Sandbox-Port"],
  ...["8000", "49983", "49999"].map((port) => [{ "e2b-sandbox-port": port }, "missing header E2b-Sandbox-Id"] as const),
  [{ "e2b-sandbox-id": "../x", "e2b-sandbox-port": "8000" }, ""],
  ...["0", "65536", "08000", "-1", "8e3", ""].map((port) => [{ "e2b-sandbox-id": "ID", "e2b-sandbox-port": port }, ""] as const),
  [{ "e2b-sandbox-id": ["ID", "ID"], "e2b-sandbox-port": "8000" }, ""],
  [{ "e2b-sandbox-id": "ID", "e2b-sandbox-port": ["49983", "8000"] }, ""],
];

verifies("e2b-pages-without-credentials", async () => {
  const [, , way = {}] = waysTo(open, PORT);
  const { headers } = await lab.ask(withHeaders(way, { origin: APP }));
  expect(headers).toMatchObject({ "access-control-allow-origin": "*", "access-control-expose-headers": "*" });
  // A browser that keeps the answer shows it at no address of the server.
  expect([headers.vary, headers["content-security-policy"]]).toEqual([
    "E2b-Sandbox-Id, E2b-Sandbox-Port",
    expect.stringMatching(/^sandbox (?!.*allow-same-origin)/) as string,
  ]);
  expect(headers["set-cookie"]).toEqual([`port.${PORT}-${open.id}.a=1; Path=/`]);
  expect((await seenBy(withHeaders(way, { cookie: "other=y; belljar-port=x" }))).headers).not.toHaveProperty("cookie");
  const ofEnvd = ["/health", "/files?path=x", "/nowhere"].map((path) => ({ host: `49983-${open.id}.localhost`, path }));
  const names = "E2b-Sandbox-Port, e2b-sandbox-id, x-access-token";
  const asks = { origin: APP, "access-control-request-method": "POST" };
  const preflight = { method: "OPTIONS", path: "/files", headers: { ...asks, "access-control-request-headers": names } };
  for (const asked of [way, ...ofEnvd, preflight, ...waysTo(open, 8_001)]) {
    const answer = await lab.ask(withHeaders(asked, { origin: APP }));
    expect(answer.headers["access-control-allow-origin"], JSON.stringify(asked)).toBe("*");
    expect(answer.headers).not.toHaveProperty("access-control-allow-credentials");
  }
  expect((await lab.ask(preflight)).headers).toMatchObject({ "access-control-allow-headers": names });
  const control = { method: "OPTIONS", path: "/sandboxes", headers: { ...asks, "access-control-request-headers": "x-api-key" } };
  // A page that was let ask for a sandbox asks the control plane, with the same permission.
  const kept = { path: "/sandboxes", headers: { origin: APP, "x-api-key": KEY } };
  for (const asked of [control, kept, { ...control, host: `api.${DOMAIN}` }, { ...kept, host: `api.${DOMAIN}` }]) {
    const refused = await lab.ask(asked);
    expect(refused.status).toBe(403);
    expect(Object.keys(refused.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
});

verifies("domain-authority-narrow", async () => {
  const { home } = lab.home.crash;
  const made = await openE2bDomain({ home, tls: { domain: DOMAIN } }, () => undefined);
  const folder = join(made?.trust?.authority ?? "", "..");
  expect([statSync(folder).mode & 0o777, statSync(join(folder, "authority.pem")).mode & 0o777]).toEqual([0o700, 0o600]);
  const host = `${PORT}-${open.id}.${DOMAIN}`;
  expect(await statusOf({ host })).toBe(200);
  for (const handshake of ["localhost", "evil.example", DOMAIN, `x${DOMAIN}`])
    await expect(lab.ask({ host, handshake }), handshake).rejects.toThrow(/disconnected before secure|ECONNRESET|alert/);
  // The same host without a handshake is none of the domain's.
  expect(await statusOf({ host, handshake: false })).toBe(404);
});
