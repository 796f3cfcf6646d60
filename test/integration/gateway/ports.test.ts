import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createCallProbe } from "../../support/call-probe.ts";
import { openFakeSandboxes } from "../../support/fake-sandboxes.ts";
import { askPort, hostOf, openAnswer, tokenOf } from "../../support/port-lab.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openProtectedResource } from "../../../src/gateway/auth/oauth/protected-resource.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";

const ISSUER = "https://id.example.com";
const JSON_TYPE = { "content-type": "application/json" };

/** A gateway over a sandbox of the fake runtime, whose loopback is the host's, with a program that listens. */
async function openSite() {
  const site = createServer((request, response) => {
    if (request.url === "/seen") response.end(JSON.stringify(request.rawHeaders));
    else if (request.url === "/hang") response.writeHead(200).write("begun");
    else response.end(`${request.method} ${request.url}`);
  });
  site.on("upgrade", (_request, socket) => void socket.write("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const home = await openFakeSandboxes();
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: home.sandboxes,
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("nobody asks")),
    oauth: openProtectedResource({ issuer: ISSUER, audience: "https://belljar.example.com/mcp" }),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const origin = await gateway.listen();
  const sandbox = await home.sandboxes.create(LOCAL, {}, AbortSignal.timeout(10_000));
  const link = await sandbox.registerPort((site.address() as AddressInfo).port, "token");
  return {
    origin,
    gateway,
    sandbox,
    link,
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await home[Symbol.asyncDispose]();
      site.closeAllConnections();
      site.close();
    },
  };
}

describe("a port through the gateway", () => {
  it("is served by host name and by path, under every path and method", async () => {
    await using site = await openSite();
    const { origin, link } = site;
    for (const [method, path] of [
      ["GET", "/mcp"],
      ["POST", "/v1/sandboxes"],
      ["PROPFIND", "/health"],
      ["GET", "/%zz"],
    ] as const) {
      const text = `${method} ${path}`;
      const asked = { method, headers: { ...tokenOf(link), "content-type": "text/plain" }, body: method === "POST" ? "x" : "" };
      expect(await askPort(origin, { ...asked, host: hostOf(link), path })).toMatchObject({ status: 200, text });
      expect(await askPort(origin, { ...asked, path: `/ports/${link.sandbox}/${link.port}${path}` })).toMatchObject({ status: 200, text });
    }
  });

  it("takes a body beyond what the server's own routes take", async () => {
    await using site = await openSite();
    const body = "x".repeat(5 * 1024 * 1024);
    const answer = await askPort(site.origin, { method: "PUT", path: "/big", host: hostOf(site.link), headers: tokenOf(site.link), body });
    expect(answer).toMatchObject({ status: 200, text: "PUT /big" });
  });

  it("never answers for the server: under a port's name there is no route of its own", async () => {
    await using site = await openSite();
    for (const path of ["/mcp", "/v1/sandboxes", "/health"]) {
      expect((await askPort(site.origin, { host: hostOf(site.link), path })).status).toBe(401);
      expect((await askPort(site.origin, { host: "x.localhost", path })).status).toBe(404);
    }
  });

  it("shows its program no token that lets into the server", async () => {
    await using site = await openSite();
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const jwt = (iss: string): string => `${encode({ alg: "ES256" })}.${encode({ iss })}.c2lnbmF0dXJl`;
    const seen = async (authorization: string): Promise<string> => {
      const headers = { ...tokenOf(site.link), authorization };
      return (await askPort(site.origin, { host: hostOf(site.link), path: "/seen", headers })).text;
    };
    for (const own of [`Bearer ${jwt(ISSUER)}`, `bearer   ${jwt(ISSUER)}`, `Bearer belljar_aaaaaaaaaa_${"x".repeat(43)}`]) {
      expect(await seen(own)).not.toMatch(/authorization|bearer/i);
    }
    // A program's own log-in goes on working.
    for (const other of [`Bearer ${jwt("https://other.example")}`, "Bearer a.b.c", "Basic eDp5"])
      expect(await seen(other)).toContain(other);
  });

  it("is told apart from the server by one name alone", async () => {
    await using site = await openSite();
    const names = [hostOf(site.link), site.origin.host];
    for (const [first = "", second = ""] of [names, names.toReversed()]) {
      const socket = connect(Number(site.origin.port), "127.0.0.1");
      socket.write(`GET /v1/sandboxes HTTP/1.1\r\nHost: ${first}\r\nHost: ${second}\r\nConnection: close\r\n\r\n`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
      socket.destroy();
    }
  });

  it("has pages that cannot call the server", async () => {
    await using site = await openSite();
    const { port } = site.origin;
    const pages = [
      `http://${hostOf(site.link)}:${port}`,
      "null",
      "http://127.0.0.1:8000",
      `http://localhost:${port}`,
      `http://127.0.0.1:${port}0`,
    ];
    for (const origin of pages) {
      for (const path of ["/mcp", "/v1/sandboxes"]) {
        const asked = { method: "POST", path, headers: { ...JSON_TYPE, origin }, body: "{}" };
        expect([origin, (await askPort(site.origin, asked)).status]).toEqual([origin, 403]);
      }
    }
    const own = { method: "POST", path: "/v1/sandboxes", headers: { ...JSON_TYPE, origin: site.origin.origin }, body: '{"x":1}' };
    expect((await askPort(site.origin, own)).status).toBe(400);
  });

  it("ends with the server", async () => {
    await using site = await openSite();
    const answer = await openAnswer(site.origin, { host: hostOf(site.link), headers: tokenOf(site.link), path: "/hang" });
    const socket = connect(Number(site.origin.port), "127.0.0.1");
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${hostOf(site.link)}\r\nBelljar-Port-Token: ${site.link.token}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`,
    );
    await once(socket, "data");
    const ends = [once(answer.resume(), "error"), once(socket, "close")];
    await site.gateway.close(0);
    await Promise.all(ends);
  });
});

describe("REST of ports", () => {
  const ask = async ({ origin, sandbox }: Awaited<ReturnType<typeof openSite>>, method: string, body = "") => {
    const answer = await askPort(origin, { method, path: `/v1/sandboxes/${sandbox.id}/ports`, headers: JSON_TYPE, body });
    return { status: answer.status, value: JSON.parse(answer.text) as unknown };
  };

  it("makes a link, or gives the one that is there", async () => {
    await using site = await openSite();
    const made = await ask(site, "POST", '{"port":8000}');
    expect(made).toMatchObject({ status: 201, value: { sandbox: site.sandbox.id, port: 8000, access: "token" } });
    expect(await ask(site, "POST", '{"port":8000,"access":"token"}')).toEqual(made);
    const { value } = await ask(site, "GET");
    expect(value).toMatchObject({ links: [{ port: site.link.port, token: site.link.token }, { port: 8000 }] });
  });

  it.each(['{"port":0}', '{"port":65536}', '{"port":"80"}', '{"port":80,"access":"all"}', "{}", '{"port":80,"x":1}'])(
    "refuses %s",
    async (body) => {
      await using site = await openSite();
      expect(await ask(site, "POST", body)).toMatchObject({ status: 400, value: { error: { code: "ARGUMENTS_INVALID" } } });
    },
  );
});
