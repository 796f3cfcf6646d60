import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Sandbox } from "../../../../src/sandbox/sandbox.ts";
import type { E2bPortsLab, PortQuestion } from "../../../support/e2b-ports-lab.ts";
import { DOMAIN, OWNER, openE2bPortsLab, serveInside, waysTo } from "../../../support/e2b-ports-lab.ts";

const PORT = 8_000;
const APP = "https://app.example";
let lab: E2bPortsLab;
let open: Sandbox;
let closed: Sandbox;

beforeAll(async () => {
  lab = await openE2bPortsLab();
  [open, closed] = await Promise.all([lab.make(), lab.make({ allowPublicTraffic: false, maskRequestHost: "app.test:${PORT}" })]);
  await Promise.all([open, closed].map((sandbox) => serveInside(sandbox, PORT)));
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());
beforeEach(() => Object.assign(lab.given, { publicTraffic: true, hasKey: true }));

const withHeaders = (way: PortQuestion, headers: PortQuestion["headers"]): PortQuestion => ({
  ...way,
  headers: { ...way.headers, ...headers },
});
const asTold = async (way: PortQuestion) => {
  const { status, json } = await lab.ask(way);
  return { status, ...(json as { url: string; headers: IncomingMessage["headers"] }) };
};
const trafficOf = ({ id }: Sandbox) => ({ "e2b-traffic-access-token": lab.tokens.of("traffic", id) });

describe("a port of a sandbox that E2B's client made", () => {
  it("is open by both names and by the headers, under every path", async () => {
    const { port } = lab.origin;
    const hosts = [`${PORT}-${open.id}.localhost:${port}`, `${PORT}-${open.id}.${DOMAIN}:${port}`, `localhost:${PORT}`];
    for (const [index, way] of waysTo(open, PORT).entries())
      for (const path of ["/", "/sandboxes?a=b", "/files", "/health", "/mcp"]) {
        const told = await asTold({ ...way, path });
        expect(told).toMatchObject({ status: 200, url: path, headers: { host: hosts[index] } });
        expect(told.headers["x-forwarded-proto"]).toBe(index === 1 ? "https" : "http");
      }
  });

  it("takes WebSockets by each of the ways", async () => {
    for (const way of waysTo(open, PORT)) {
      const socket = lab.connect(way);
      const [said] = (await once(socket, "message")) as [Buffer];
      expect(String(said)).toMatch(/^hello (?:8000-|localhost:8000)/);
      socket.terminate();
    }
  });

  it("needs the traffic token where its maker or the configuration says so, and no other one does", async () => {
    const wrong: readonly Record<string, string>[] = [
      {},
      trafficOf(open),
      { "e2b-traffic-access-token": lab.tokens.of("access", closed.id) },
      { "x-access-token": "x" },
    ];
    for (const way of waysTo(closed, PORT)) {
      for (const headers of wrong) {
        const refused = await lab.ask(withHeaders(way, headers));
        expect(refused).toMatchObject({ status: 403, json: { sandboxId: closed.id, code: 403 } });
      }
      expect((await asTold(withHeaders(way, trafficOf(closed)))).status).toBe(200);
    }
    lab.given.publicTraffic = false;
    for (const way of waysTo(open, PORT)) {
      expect((await lab.ask(way)).status).toBe(403);
      expect((await asTold(withHeaders(way, trafficOf(open)))).status).toBe(200);
    }
    const socket = lab.connect(waysTo(open, PORT)[0] ?? {});
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toContain("403");
  });

  it("is closed once its owner has no key", async () => {
    lab.given.hasKey = false;
    for (const way of waysTo(open, PORT)) expect((await lab.ask(withHeaders(way, trafficOf(open)))).status).toBe(403);
  });

  it("is open by path to holders of a link alone", async () => {
    expect((await lab.ask({ path: `/ports/${open.id}/${PORT}/` })).status).toBe(401);
  });

  it("shows its program no token and no header of E2B's routing", async () => {
    const sent = {
      ...trafficOf(open),
      "x-access-token": lab.tokens.of("access", open.id),
      "x-api-key": `e2b_${"0a".repeat(20)}`,
      authorization: `Bearer e2b_${"0a".repeat(20)}`,
      "x-other": "belljar_aaaaaaaaaa_secretsecret",
    };
    for (const way of waysTo(open, PORT)) {
      const { headers } = await asTold(withHeaders(way, sent));
      expect(JSON.stringify(headers)).not.toMatch(/e2b_|e2b[atv]_|belljar_|e2b-/i);
    }
    const own = { "x-api-key": "a-key-of-the-program", authorization: "Bearer abc", "x-access-token": "abc" };
    for (const way of waysTo(open, PORT)) expect((await asTold(withHeaders(way, own))).headers).toMatchObject(own);
  });

  it("has the Host that its maker wants, and redirects to that name lead back", async () => {
    for (const way of waysTo(closed, PORT)) {
      const own = withHeaders(way, trafficOf(closed));
      expect((await asTold(own)).headers.host).toBe(`app.test:${PORT}`);
      const to = `/to?${encodeURIComponent(`http://app.test:${PORT}//evil.example/a`)}`;
      expect((await lab.ask({ ...own, path: to })).headers.location).toBe("/.//evil.example/a");
    }
  });
});

describe("who is asked", () => {
  it("is found by the host name, whatever the headers say", async () => {
    const other = { "e2b-sandbox-id": closed.id, "e2b-sandbox-port": "49983", "x-access-token": lab.tokens.of("access", closed.id) };
    for (const way of waysTo(open, PORT).slice(0, 2)) {
      const told = await asTold({ ...way, path: "/files?path=x", headers: other });
      expect(told).toMatchObject({ status: 200, url: "/files?path=x" });
      expect(told.headers.host).toContain(open.id);
    }
    // The token that opens the named sandbox opens no other one.
    const mixed = { ...other, "e2b-sandbox-id": closed.id };
    expect((await lab.ask({ host: `49983-${open.id}.localhost`, path: "/envs", headers: mixed })).status).toBe(401);
  });

  it("is the server itself at the ports of envd and of the interpreter", async () => {
    for (const domain of ["localhost", DOMAIN]) {
      expect((await lab.ask({ host: `49983-${open.id}.${domain}`, path: "/health" })).status).toBe(204);
      expect(await lab.ask({ host: `49983-${open.id}.${domain}`, path: "/files?path=x" })).toMatchObject({
        status: 401,
        json: { code: 401 },
      });
      expect(await lab.ask({ host: `49999-${open.id}.${domain}`, path: "/contexts" })).toMatchObject({ status: 401, json: { code: 401 } });
    }
  });

  it("is nobody at other names below the domain", async () => {
    const names = [`${PORT}-${open.id}.x`, "x", "0-x", `65536-${open.id}`, `49983-${open.id}.x`].map((name) => `${name}.${DOMAIN}`);
    for (const host of names) expect(await lab.ask({ host, handshake: `a.${DOMAIN}` })).toMatchObject({ status: 404, json: { code: 404 } });
  });

  it("is nobody in a handshake for a name outside the domain", async () => {
    for (const handshake of ["localhost", "evil.example", DOMAIN, `x${DOMAIN}`])
      await expect(lab.ask({ host: `${PORT}-${open.id}.${DOMAIN}`, handshake }), handshake).rejects.toThrow();
  });

  it("is not the domain's without TLS", async () => {
    const asked = { host: `${PORT}-${open.id}.${DOMAIN}`, handshake: false as const };
    expect((await lab.ask(asked)).status).toBe(404);
    expect((await lab.ask({ host: `api.${DOMAIN}`, path: "/sandboxes", handshake: false as const })).status).toBe(404);
  });

  it.each([
    [{ "e2b-sandbox-id": "ID" }, "Port"],
    [{ "e2b-sandbox-port": "8000" }, "Id"],
    [{ "e2b-sandbox-port": "49983" }, "Id"],
    [{ "e2b-sandbox-port": "49999" }, "Id"],
    [{ "e2b-sandbox-id": "../x", "e2b-sandbox-port": "8000" }, ""],
    [{ "e2b-sandbox-id": "ID", "e2b-sandbox-port": "0" }, ""],
    [{ "e2b-sandbox-id": "ID", "e2b-sandbox-port": "65536" }, ""],
    [{ "e2b-sandbox-id": "ID", "e2b-sandbox-port": "08000" }, ""],
    [{ "e2b-sandbox-id": ["ID", "ID"], "e2b-sandbox-port": "8000" }, ""],
    [{ "e2b-sandbox-id": "ID", "e2b-sandbox-port": ["49983", "8000"] }, ""],
  ])("is not guessed from %o", async (headers, missing) => {
    const named = JSON.parse(JSON.stringify(headers).replaceAll('"ID"', `"${open.id}"`)) as Record<string, string>;
    const sent = { ...named, "x-access-token": lab.tokens.of("access", open.id) };
    const answer = await lab.ask({ path: "/files?path=x", headers: sent });
    expect(answer).toMatchObject({ status: 400, json: { code: 400 } });
    if (missing) expect(answer.text).toContain(`missing header E2b-Sandbox-${missing}`);
  });

  it("is nobody for a name of another server, or for two", async () => {
    const headers = { "e2b-sandbox-id": open.id, "e2b-sandbox-port": String(PORT) };
    expect(await lab.ask({ host: "evil.example", headers })).toMatchObject({ status: 403, json: { code: 403 } });
    const socket = connect(Number(lab.origin.port), lab.origin.hostname);
    socket.end(
      `GET / HTTP/1.1\r\nHost: localhost\r\nHost: x\r\nE2b-Sandbox-Id: ${open.id}\r\nE2b-Sandbox-Port: 8000\r\nConnection: close\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [^]*"code":400/);
  });
});

describe("pages of other sites", () => {
  it("read what comes from a sandbox by the headers, without a browser's credentials", async () => {
    const [, , way = {}] = waysTo(open, PORT);
    const { headers } = await lab.ask(withHeaders(way, { origin: APP, cookie: "belljar-port=x; other=y" }));
    expect(headers).toMatchObject({ "access-control-allow-origin": "*", "access-control-expose-headers": "*" });
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
    // A browser that keeps the answer shows it at no address of the server.
    expect(headers.vary).toBe("E2b-Sandbox-Id, E2b-Sandbox-Port");
    expect(headers["content-security-policy"]).toMatch(/^sandbox /);
    expect(headers["set-cookie"]).toEqual([`port.${PORT}-${open.id}.a=1; Path=/`]);
    expect((await asTold(withHeaders(way, { cookie: "other=y" }))).headers).not.toHaveProperty("cookie");
  });

  it("may ask with the headers of a sandbox, and not of the control plane", async () => {
    const asks = { origin: APP, "access-control-request-method": "POST" };
    const names = "E2b-Sandbox-Port, e2b-sandbox-id, x-access-token";
    const preflight = { method: "OPTIONS", path: "/files", headers: { ...asks, "access-control-request-headers": names } };
    const { status, headers } = await lab.ask(preflight);
    expect([status, headers]).toMatchObject([204, { "access-control-allow-origin": "*", "access-control-allow-headers": names }]);
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
    const control = { ...preflight, path: "/sandboxes", headers: { ...asks, "access-control-request-headers": "x-api-key" } };
    for (const host of [undefined, `api.${DOMAIN}`]) {
      const refused = await lab.ask({ ...control, ...(host !== undefined && { host }) });
      expect(refused.status).toBe(403);
      expect(Object.keys(refused.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });

  it("read the answers of envd, its refusals too", async () => {
    for (const path of ["/health", "/files?path=x", "/nowhere"]) {
      const { headers } = await lab.ask({ host: `49983-${open.id}.localhost`, path, headers: { origin: APP } });
      expect(headers).toMatchObject({ "access-control-allow-origin": "*", "access-control-expose-headers": "*" });
      expect(headers).not.toHaveProperty("access-control-allow-credentials");
    }
  });
});

describe("a port that does not answer", () => {
  it("is told of as E2B's proxy does", async () => {
    for (const way of waysTo(open, 8_001)) {
      const { status, json, headers } = await lab.ask(way);
      expect([status, json]).toMatchObject([502, { sandboxId: open.id, port: 8_001, code: 502 }]);
      expect((json as { message: string }).message).toBe("The sandbox is running but port is not open");
      expect(headers["access-control-allow-origin"]).toBe("*");
    }
  });

  it("of a sandbox that is unknown or no client of E2B's made is told of as none", async () => {
    const plain = await lab.home.sandboxes.create(OWNER, {}, AbortSignal.timeout(30_000));
    for (const id of ["a".repeat(20), plain.id]) {
      const [local, ...others] = waysTo({ id }, PORT);
      for (const way of others) {
        const { status, json } = await lab.ask(way);
        expect([status, json]).toMatchObject([502, { sandboxId: id, message: "The sandbox was not found", code: 502 }]);
      }
      expect(await lab.ask(local ?? {})).toMatchObject({ status: 401, json: { error: { code: "PORT_LINK_INVALID" } } });
    }
    await plain.kill();
  });

  it("of a paused sandbox wakes it only where its maker said so", async () => {
    const [kept, waking] = await Promise.all([lab.make(), lab.make({ autoResume: true })]);
    await Promise.all([kept, waking].map((sandbox) => serveInside(sandbox, PORT)));
    const stateOf = async ({ id }: Sandbox) => (await lab.home.sandboxes.info(OWNER, id)).state;
    for (const [index, way] of waysTo(kept, PORT).entries()) {
      // A connection that was kept wakes nobody either.
      expect((await lab.ask(way)).status).toBe(200);
      await kept.pause();
      expect(await lab.ask(way)).toMatchObject({ status: 502, json: { sandboxId: kept.id, message: "The sandbox was not found" } });
      expect(await stateOf(kept)).toBe("paused");
      await kept.resume();
      await waking.pause();
      expect((await lab.ask(waysTo(waking, PORT)[index] ?? {})).status).toBe(200);
      expect(await stateOf(waking)).toBe("running");
    }
    await Promise.all([kept.kill(), waking.kill()]);
  });

  it("of a sandbox that is killed loses its connections, and says why from then on", async () => {
    const sandbox = await lab.make();
    await serveInside(sandbox, PORT);
    const ways = waysTo(sandbox, PORT);
    const answers = await Promise.all(ways.map((way) => lab.open({ ...way, path: "/hang" })));
    const sockets = ways.map((way) => lab.connect(way));
    await Promise.all(sockets.map((socket) => once(socket, "message")));
    const ends = [...answers.map((answer) => once(answer.resume(), "error")), ...sockets.map((socket) => once(socket, "close"))];
    await sandbox.kill();
    await Promise.all(ends);
    for (const way of ways) {
      const { status, json } = await lab.ask(way);
      expect([status, json]).toMatchObject([502, { sandboxId: sandbox.id, message: "The sandbox was not found", code: 502 }]);
      expect((json as { reason: string }).reason).toContain("killed");
    }
  });
});
