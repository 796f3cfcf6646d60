import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Sandbox } from "../../../../src/sandbox/sandbox.ts";
import type { E2bPortsLab, PortQuestion } from "../../../support/e2b-ports-lab.ts";
import { DOMAIN, OWNER, openE2bPortsLab, serveInside, waysTo } from "../../../support/e2b-ports-lab.ts";

const PORT = 8_000;
const isRoot = process.getuid?.() === 0;
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
  it("is the server itself at the ports of envd and of the interpreter", async () => {
    for (const domain of ["localhost", DOMAIN]) {
      expect((await lab.ask({ host: `49983-${open.id}.${domain}`, path: "/health" })).status).toBe(204);
      expect(await lab.ask({ host: `49983-${open.id}.${domain}`, path: "/files?path=x" })).toMatchObject({
        status: 401,
        json: { code: 401 },
      });
      // The interpreter's errors are plain texts.
      const code = await lab.ask({ host: `49999-${open.id}.${domain}`, path: "/contexts" });
      expect([code.status, code.headers["content-type"]]).toEqual([401, "text/plain; charset=utf-8"]);
    }
  });

  it("is nobody at other names below the domain", async () => {
    const names = [`${PORT}-${open.id}.x`, "x", "0-x", `65536-${open.id}`, `49983-${open.id}.x`].map((name) => `${name}.${DOMAIN}`);
    for (const host of names) expect(await lab.ask({ host, handshake: `a.${DOMAIN}` })).toMatchObject({ status: 404, json: { code: 404 } });
  });

  it("is not the domain's without TLS", async () => {
    const asked = { host: `${PORT}-${open.id}.${DOMAIN}`, handshake: false as const };
    expect((await lab.ask(asked)).status).toBe(404);
    expect((await lab.ask({ host: `api.${DOMAIN}`, path: "/sandboxes", handshake: false as const })).status).toBe(404);
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

  it.skipIf(!isRoot)(
    "of a paused sandbox wakes it only where its maker said so (skipped for an ordinary user, who has no freezer)",
    async () => {
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
    },
  );

  it("of a stopped sandbox starts it for nobody", async () => {
    const sandbox = await lab.make({ autoResume: true });
    await sandbox.stop();
    for (const way of waysTo(sandbox, PORT)) {
      expect(await lab.ask(way)).toMatchObject({ status: 502, json: { sandboxId: sandbox.id, message: "The sandbox was not found" } });
      expect((await lab.home.sandboxes.info(OWNER, sandbox.id)).state).toBe("stopped");
    }
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
