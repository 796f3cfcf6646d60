import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import * as z from "zod";
import { describe, expect, it } from "vitest";
import { createSandboxAuthority, createServerCertificates } from "../../../../src/network/tls/sandbox-authority.ts";
import { DOOR } from "../../../../src/gateway/auth/access.ts";
import { plainErrors } from "../../../../src/gateway/error-answer.ts";
import { defineRoute } from "../../../../src/gateway/routes/route.ts";
import { createOrigin } from "../../../../src/gateway/surfaces/origin.ts";
import type { RoutedSurface } from "../../../../src/gateway/surfaces/surface.ts";
import type { SurfaceAppOptions } from "../../../../src/gateway/surfaces/surface-app.ts";

const authority = createSandboxAuthority();
const NAME = "1-x.vendor.test";

function surface(name: string, reach: RoutedSurface["reach"]): RoutedSurface {
  return {
    kind: "routed",
    name,
    reach,
    authentication: { localUser: "loopback" },
    cors: "none",
    shapeError: plainErrors,
    routes: [
      defineRoute({
        method: "GET",
        path: "/where",
        access: DOOR,
        summary: "Which surface answers",
        answers: { 200: z.object({ name: z.string(), origin: z.string() }) },
        handle: async ({ origin }) => ({ name, origin }),
      }),
    ],
    upgrades: [
      {
        path: "/switch",
        protocol: "test",
        access: DOOR,
        summary: "Leaves HTTP",
        serve: async ({ socket }) => void socket.end(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\n\r\n${name}`),
      },
    ],
  };
}

async function openOrigin(more: Partial<SurfaceAppOptions> = {}) {
  const tls = { hosts: ["*.vendor.test"], certificates: createServerCertificates(authority) };
  const vendor = surface("vendor", { headers: ["vendor-box"], tls });
  const origin = createOrigin([surface("home", { prefixes: ["/"] }), vendor], {
    host: "127.0.0.1",
    verifiers: [],
    log: { error: () => undefined },
    ...more,
  });
  const { port, hostname } = await origin.listen(0);
  return { port: Number(port), hostname, origin, [Symbol.asyncDispose]: () => origin.close(0) };
}

type Opened = Awaited<ReturnType<typeof openOrigin>>;

async function askSecurely({ port, hostname }: Opened, { host = NAME, servername = NAME } = {}) {
  const sent = secureRequest({ port, hostname, path: "/where", agent: false, servername, ca: authority.certificatePem, headers: { host } });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: JSON.parse(await text(response)) as unknown };
}

async function askPlainly({ port, hostname }: Opened, headers: Record<string, string>) {
  const sent = plainRequest({ port, hostname, path: "/where", agent: false, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: JSON.parse(await text(response)) as unknown };
}

describe("a surface with certificates", () => {
  it("is asked by TLS under its hosts, at the port where the others are asked without", async () => {
    await using server = await openOrigin();
    expect(await askSecurely(server)).toEqual({ status: 200, body: { name: "vendor", origin: `https://${NAME}` } });
    expect(await askPlainly(server, { host: `127.0.0.1:${server.port}` })).toMatchObject({ status: 200, body: { name: "home" } });
    expect(await askPlainly(server, { host: "127.0.0.1", "vendor-box": "1" })).toMatchObject({ status: 200, body: { name: "vendor" } });
  });

  it("is not asked under its hosts without TLS, whichever header is sent", async () => {
    await using server = await openOrigin();
    const tries: readonly Record<string, string>[] = [{}, { "vendor-box": "1" }];
    for (const more of tries) expect((await askPlainly(server, { host: NAME, ...more })).status).toBe(403);
  });

  it("has its upgrades there too", async () => {
    await using server = await openOrigin();
    const { port, hostname: host } = server;
    const socket = connectTls({ port, host, servername: NAME, ca: authority.certificatePem });
    socket.write(`GET /switch HTTP/1.1\r\nHost: ${NAME}\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 101 [^]*vendor$/);
  });

  it("serves clients that ask for HTTP/2 with the first request", async () => {
    await using server = await openOrigin();
    const { port, hostname: host } = server;
    const socket = connectTls({ port, host, servername: NAME, ca: authority.certificatePem });
    socket.write(
      `GET /where HTTP/1.1\r\nHost: ${NAME}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
    );
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 [^]*"vendor"/);
    socket.destroy();
  });
});

describe("a handshake", () => {
  it.each(["evil.example", "vendor.test", "localhost"])("for %s is not answered", async (servername) => {
    await using server = await openOrigin();
    await expect(askSecurely(server, { servername })).rejects.toThrow(/disconnected before secure|ECONNRESET|alert/);
  });

  it("lets nobody ask for another name than this server's", async () => {
    await using server = await openOrigin();
    expect((await askSecurely(server, { host: "evil.example" })).status).toBe(403);
  });
});

it("ends connections that have sent nothing, half a handshake or half a request when it closes", async () => {
  const { origin, port, hostname } = await openOrigin();
  const sockets = ["", "\x16\x03\x01", "GET /where HT"].map((begun) => {
    const socket = connect(port, hostname);
    socket.on("error", () => undefined);
    socket.write(Buffer.from(begun, "latin1"));
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().once("close", resolve)));
  await origin.close(0);
  await Promise.all(closed);
});

/** Resolves when the server has ended it, however. */
function cut(socket: Socket): Promise<void> {
  return new Promise(
    (resolve) =>
      void socket
        .on("error", () => undefined)
        .once("close", () => resolve())
        .resume(),
  );
}

describe("a connection that does not go on", () => {
  it.each([
    ["before its first byte", ""],
    ["in the head of a request", "GET /where HT"],
    ["in its handshake", "\x16\x03\x01"],
  ])("is cut %s", async (_when, bytes) => {
    await using server = await openOrigin({ arrivalMs: 100 });
    const socket = connect(server.port, server.hostname);
    socket.write(bytes);
    await expect(cut(socket)).resolves.toBeUndefined();
  });

  it.each([
    ["before a request", ""],
    ["in the head of a request", "GET /where HT"],
  ])("is cut behind the handshake, %s", async (_when, bytes) => {
    // Long enough for the handshake.
    await using server = await openOrigin({ arrivalMs: 1_000 });
    const socket = connectTls({ port: server.port, host: server.hostname, servername: NAME, ca: authority.certificatePem });
    await once(socket, "secureConnect");
    socket.write(bytes);
    await expect(cut(socket)).resolves.toBeUndefined();
  });
});
