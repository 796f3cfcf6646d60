import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { describe, expect, it } from "vitest";
import { askHalfOpen } from "../../../support/ask-half-open.ts";
import { BelljarError } from "../../../../src/errors.ts";
import type { Access } from "../../../../src/gateway/auth/access.ts";
import { changes, DOOR, OPEN, reads } from "../../../../src/gateway/auth/access.ts";
import { plainErrors } from "../../../../src/gateway/error-answer.ts";
import type { Route } from "../../../../src/gateway/routes/route.ts";
import { defineRoute } from "../../../../src/gateway/routes/route.ts";
import type { UpgradeRoute } from "../../../../src/gateway/routes/upgrade-route.ts";
import { createOrigin } from "../../../../src/gateway/surfaces/origin.ts";
import type { RoutedSurface, Surface } from "../../../../src/gateway/surfaces/surface.ts";
import type { SurfaceAppOptions } from "../../../../src/gateway/surfaces/surface-app.ts";

const HOLDER = { id: "token:ci", name: "ci", grants: { toolsets: ["files"] } };

/** As REST is: the local user is served. */
const HOME: RoutedSurface = {
  kind: "routed",
  name: "home",
  reach: { prefixes: ["/"] },
  authentication: { localUser: "loopback" },
  cors: "none",
  shapeError: plainErrors,
  routes: [whoRoute("/who")],
  upgrades: [switchTo("/home", reads("toolset:sandbox"))],
};

/** Another vendor's API: its own hosts, header, key, error shape, bodies. */
const VENDOR: RoutedSurface = {
  kind: "routed",
  name: "vendor",
  reach: { hosts: ["*.vendor.test"], headers: ["vendor-box"] },
  authentication: { localUser: "never", tokenOf: ({ "x-api-key": key }) => (key === undefined ? undefined : String(key)) },
  cors: "any",
  shapeError: ({ status, message }) => ({ code: status, message }),
  routes: [
    whoRoute("/who"),
    defineRoute({
      method: "POST",
      path: "/small",
      access: DOOR,
      summary: "Takes little",
      takes: { limitBytes: 64 },
      body: z.object({ a: z.string() }),
      answers: { 201: z.object({ a: z.string() }) },
      handle: async ({ body }) => body,
    }),
    defineRoute({
      method: "POST",
      path: "/file",
      access: DOOR,
      summary: "Takes bytes",
      takes: { types: ["application/octet-stream"], limitBytes: 8_000_000 },
      answers: { 200: z.object({ length: z.number() }) },
      handle: async ({ body }) => ({ length: (await text(body as Readable)).length }),
    }),
    defineRoute({
      method: "POST",
      path: "/unread",
      access: DOOR,
      summary: "Takes bytes, and reads none",
      takes: { types: ["application/octet-stream"], limitBytes: 80_000_000 },
      answers: { 200: z.object({}) },
      async handle() {
        throw new BelljarError("SANDBOX_NOT_FOUND", "There is none");
      },
    }),
    defineRoute({
      method: "DELETE",
      path: "/box",
      access: changes("toolset:sandbox"),
      summary: "For who has the scope",
      answers: { 204: null },
      handle: async () => undefined,
    }),
  ],
  upgrades: [switchTo("/switch/:to", reads("toolset:files")), switchTo("/narrow", reads("toolset:sandbox"))],
};

function switchTo(path: string, access: Access): UpgradeRoute {
  return {
    path,
    protocol: "vendor",
    access,
    summary: "Leaves HTTP",
    async serve({ socket }, { caller, params }) {
      socket.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: vendor\r\n\r\n${caller.id} ${params["to"]}`);
    },
  };
}

function whoRoute(path: string): Route {
  const answers = { 200: z.object({ id: z.string() }) };
  return defineRoute({
    method: "GET",
    path,
    access: DOOR,
    summary: "Who asks",
    answers,
    handle: async ({ caller }) => ({ id: caller.id }),
  });
}

async function openOrigin(surfaces: readonly Surface[] = [HOME, VENDOR], more: Partial<SurfaceAppOptions> = {}) {
  const audited: unknown[] = [];
  const origin = createOrigin(surfaces, {
    host: "127.0.0.1",
    verifiers: [{ find: async (token) => (token === "good" ? HOLDER : undefined) }],
    audit: { assertWritable: () => undefined, recordRequest: (line) => void audited.push(line) },
    log: { error: () => undefined },
    ...more,
  });
  const url = await origin.listen(0);
  return { origin, url, audited, [Symbol.asyncDispose]: () => origin.close(0) };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** `fetch` sets Host and Origin by itself. */
async function ask({ url }: { readonly url: URL }, path: string, { method = "GET", headers = {}, body }: Sent = {}) {
  const sent = request(new URL(path, url), { method, headers, agent: false });
  sent.on("error", () => undefined);
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const answer = await text(response);
  return { status: response.statusCode, headers: response.headers, body: answer === "" ? undefined : (JSON.parse(answer) as unknown) };
}

/** More than the buffers of a connection hold. */
const CHUNK = Buffer.alloc(1_000_000, "x");
const CHUNKS = 24;

function connectTo(host: string, port: number) {
  const stream = connect({ host, port });
  stream.on("error", () => undefined);
  return { stream, [Symbol.asyncDispose]: async () => void stream.destroy() };
}

/** All that the server sends until it ends the connection. */
async function readAnswers(stream: Socket): Promise<string> {
  const parts: Buffer[] = [];
  stream.on("data", (part: Buffer) => parts.push(part));
  await new Promise((resolve) => stream.once("close", resolve));
  return Buffer.concat(parts).toString();
}

function statusesIn(answers: string): readonly number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
}

const KEY = { "x-api-key": "good" };
const BOX = { "vendor-box": "1" };
const JSON_TYPE = { "content-type": "application/json" };

describe("a surface with a key of its own", () => {
  it("is found by its header before the path, and by its hosts", async () => {
    await using server = await openOrigin();
    expect(await ask(server, "/who")).toMatchObject({ status: 200, body: { id: "local" } });
    expect(await ask(server, "/who", { headers: { ...BOX, ...KEY } })).toMatchObject({ status: 200, body: { id: "token:ci" } });
    const host = "49983-x.vendor.test";
    expect(await ask(server, "/who", { headers: { host, ...KEY } })).toMatchObject({ status: 200, body: { id: "token:ci" } });
  });

  it("serves nobody as the local user, whatever else is sent", async () => {
    await using server = await openOrigin();
    const tries: readonly Record<string, string>[] = [{}, { "x-api-key": "" }, { "x-api-key": "bad" }, { authorization: "Bearer good" }];
    for (const headers of tries) {
      for (const path of ["/who", "/nowhere"]) {
        const { status, headers: answered } = await ask(server, path, { headers: { ...BOX, ...headers } });
        expect([status, answered["www-authenticate"]]).toEqual([401, undefined]);
      }
    }
  });

  it("is asked under no other name", async () => {
    await using server = await openOrigin();
    for (const host of ["vendor.test", "evil.example", "x.vendor.test.evil.example"]) {
      expect((await ask(server, "/who", { headers: { host, ...BOX, ...KEY } })).status).toBe(403);
    }
  });

  it("gives its refusals its own form", async () => {
    await using server = await openOrigin();
    const headers = { ...BOX, ...KEY };
    expect(await ask(server, "/nowhere", { headers })).toMatchObject({ status: 404, body: { code: 404, message: expect.any(String) } });
    const post = { method: "POST", headers: { ...headers, ...JSON_TYPE } };
    expect(await ask(server, "/small", { ...post, body: "{" })).toMatchObject({ status: 400, body: { code: 400 } });
    expect(await ask(server, "/small", { ...post, body: '{"a":1}' })).toMatchObject({ status: 400, body: { code: 400 } });
    expect((await ask(server, "/nowhere")).body).toMatchObject({ error: { code: "ROUTE_NOT_FOUND" } });
  });

  it("asks for the scopes of its routes, and its changes are lines of the audit", async () => {
    await using server = await openOrigin();
    const box = { method: "DELETE", headers: { ...BOX, ...KEY } };
    expect(await ask(server, "/box", box)).toMatchObject({
      status: 403,
      body: { code: 403, message: expect.stringContaining("toolset:sandbox") },
    });
    expect(server.audited).toMatchObject([{ principal: "token:ci", request: "DELETE /box", outcome: "403" }]);
  });
});

describe("the pages of other sites", () => {
  const origin = "https://page.example";

  it("ask a surface that is open to them, and are given no credentials", async () => {
    await using server = await openOrigin();
    const answer = await ask(server, "/who", { headers: { ...BOX, ...KEY, origin } });
    expect(answer).toMatchObject({ status: 200, headers: { "access-control-allow-origin": "*" } });
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
    const wanted = { "access-control-request-method": "POST", "access-control-request-headers": "x-api-key" };
    const preflight = await ask(server, "/small", { method: "OPTIONS", headers: { host: "1-x.vendor.test", origin, ...wanted } });
    expect(preflight).toMatchObject({ status: 204, headers: { "access-control-allow-headers": "x-api-key" } });
  });

  it("reach a surface by its header, with which a browser asks only by name", async () => {
    await using server = await openOrigin();
    const wanted = { "access-control-request-method": "POST", "access-control-request-headers": "content-type, Vendor-Box" };
    const preflight = await ask(server, "/small", { method: "OPTIONS", headers: { origin, ...wanted } });
    expect(preflight).toMatchObject({ status: 204, headers: { "access-control-allow-headers": "content-type, Vendor-Box" } });
  });

  it("are told what a refusal says, and are let in by no preflight", async () => {
    await using server = await openOrigin();
    const refused = await ask(server, "/who", { headers: { ...BOX, origin } });
    expect(refused).toMatchObject({ status: 401, headers: { "access-control-allow-origin": "*" } });
    const plain = await ask(server, "/who", { method: "OPTIONS", headers: { ...BOX, origin } });
    expect(plain.status).toBe(401);
  });

  it("are refused by every other surface", async () => {
    await using server = await openOrigin();
    const { status, headers } = await ask(server, "/who", { headers: { origin } });
    expect([status, headers["access-control-allow-origin"]]).toEqual([403, undefined]);
    const own = await ask(server, "/who", { headers: { origin: server.url.origin } });
    expect([own.status, own.headers["access-control-allow-origin"]]).toEqual([200, undefined]);
  });

  it("never meet a surface that has a local user", () => {
    const options = { host: "127.0.0.1", verifiers: [], log: { error: () => undefined } };
    expect(() => createOrigin([{ ...HOME, cors: "any" }], options)).toThrow(/home is open to pages of other sites/);
  });
});

describe("a body", () => {
  const post = (type: string, body: string): Sent => ({ method: "POST", headers: { ...BOX, ...KEY, "content-type": type }, body });

  it("is as large as its route takes, and no larger", async () => {
    await using server = await openOrigin();
    expect(await ask(server, "/small", post("application/json", '{"a":"b"}'))).toMatchObject({ status: 201, body: { a: "b" } });
    const large = JSON.stringify({ a: "b".repeat(64) });
    expect(await ask(server, "/small", post("application/json", large))).toMatchObject({
      status: 413,
      body: { message: "The request's body is larger than 64 bytes" },
    });
    const bytes = "x".repeat(5_000_000);
    expect(await ask(server, "/file", post("application/octet-stream", bytes))).toMatchObject({ status: 200, body: { length: 5_000_000 } });
    expect(await ask(server, "/file", post("application/octet-stream", bytes + bytes))).toMatchObject({ status: 413 });
  });

  it.each([
    ["of JSON that says how large it is", "/small", "application/json", 413, false],
    ["of JSON in chunks", "/small", "application/json", 413, true],
    ["of bytes that says how large it is", "/file", "application/octet-stream", 413, false],
    ["of bytes in chunks", "/file", "application/octet-stream", 413, true],
    ["that its route does not read", "/unread", "application/octet-stream", 404, false],
    ["of another type", "/file", "text/plain", 415, true],
    ["of a path that is none", "/nowhere", "application/json", 413, false],
  ] as const)("%s and is refused is read to its end, so that its client has the answer, and its connection ends", async (...given) => {
    const [, path, type, status, isChunked] = given;
    await using server = await openOrigin();
    const { hostname, port } = server.url;
    await using socket = connectTo(hostname, Number(port));
    const answers = readAnswers(socket.stream);
    const head = ["vendor-box: 1", "x-api-key: good", `host: ${hostname}:${port}`];
    const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${CHUNK.length * CHUNKS}`;
    socket.stream.write(`POST ${path} HTTP/1.1\r\n${[...head, framing, `content-type: ${type}`].join("\r\n")}\r\n\r\n`);
    for (let sent = 0; sent < CHUNKS; sent++) {
      const size = isChunked ? `${CHUNK.length.toString(16)}\r\n` : "";
      if (!socket.stream.write(Buffer.concat([Buffer.from(size), CHUNK, Buffer.from(isChunked ? "\r\n" : "")])))
        await once(socket.stream, "drain");
    }
    if (isChunked) socket.stream.write("0\r\n\r\n");
    const all = await answers;
    expect([statusesIn(all), /^connection: close\r$/im.test(all)]).toEqual([[status], true]);
  });

  it.each(["/small", "/file", "/unread"])("that is refused at %s ends the request of a client of Node", async (path) => {
    await using server = await openOrigin();
    const type = path === "/small" ? "application/json" : "application/octet-stream";
    const headers = { "vendor-box": "1", "x-api-key": "good", "content-type": type, "content-length": CHUNK.length * CHUNKS };
    const sent = request(new URL(path, server.url), { method: "POST", headers });
    sent.on("error", () => undefined);
    const closed = new Promise((resolve) => sent.once("close", resolve));
    void pipeline(Readable.from(Array(CHUNKS).fill(CHUNK)), sent).catch(() => undefined);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([
      path === "/unread" ? 404 : 413,
      { code: expect.any(Number) },
    ]);
    await closed;
  });

  it("that is refused and sent on without an end is cut off", async () => {
    await using server = await openOrigin();
    const { hostname, port } = server.url;
    await using socket = connectTo(hostname, Number(port));
    const answers = readAnswers(socket.stream);
    const head = ["vendor-box: 1", "x-api-key: good", `host: ${hostname}:${port}`, "content-type: text/plain"];
    socket.stream.write(`POST /file HTTP/1.1\r\n${head.join("\r\n")}\r\ntransfer-encoding: chunked\r\n\r\n`);
    const chunk = Buffer.concat([Buffer.from(`${CHUNK.length.toString(16)}\r\n`), CHUNK, Buffer.from("\r\n")]);
    const send = (): void => void socket.stream.write(chunk, (failed) => !failed && (sent += 1) < 1_000 && send());
    let sent = 0;
    send();
    expect(statusesIn(await answers)).toEqual([415]);
    expect(sent).toBeGreaterThan(60);
    expect(sent).toBeLessThan(1_000);
  });

  it("that is refused and never ends has its time, and then loses its connection", async () => {
    await using server = await openOrigin([HOME, VENDOR], { arrivalMs: 2_000 });
    const { hostname, port } = server.url;
    await using socket = connectTo(hostname, Number(port));
    const answers = readAnswers(socket.stream);
    const head = ["vendor-box: 1", "x-api-key: good", `host: ${hostname}:${port}`, "content-type: application/octet-stream"];
    socket.stream.write(`POST /file HTTP/1.1\r\n${head.join("\r\n")}\r\ntransfer-encoding: chunked\r\n\r\n`);
    for (let sent = 0; sent < CHUNKS; sent++)
      socket.stream.write(Buffer.concat([Buffer.from(`${CHUNK.length.toString(16)}\r\n`), CHUNK, Buffer.from("\r\n")]));
    expect(statusesIn(await answers)).toEqual([413]);
  });

  it("is of the types that its route takes, and of no other", async () => {
    await using server = await openOrigin();
    for (const [path, type] of [
      ["/small", "application/octet-stream"],
      ["/small", "text/plain"],
      ["/file", "application/json"],
      ["/file", "text/plain"],
      ["/nowhere", "application/octet-stream"],
    ] as const) {
      expect((await ask(server, path, post(type, "{}"))).status, `${path} ${type}`).toBe(415);
    }
  });
});

describe("an upgrade", () => {
  async function upgrade({ url }: { readonly url: URL }, lines: readonly string[], path = "/switch/b"): Promise<string> {
    const socket = connect(Number(url.port), url.hostname);
    socket.write(`GET ${path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: vendor\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`);
    return text(socket);
  }

  it("is a route of its surface: its key, its scopes, its form of a refusal", async () => {
    await using server = await openOrigin();
    const host = "Host: 1-x.vendor.test";
    expect(await upgrade(server, [host, "X-API-Key: good"])).toMatch(/^HTTP\/1\.1 101 [^]*token:ci b$/);
    expect(await upgrade(server, [host])).toMatch(/^HTTP\/1\.1 401 [^]*\{"code":401,/);
    expect(await upgrade(server, [host, "X-API-Key: good"], "/narrow")).toMatch(/^HTTP\/1\.1 403 [^]*no scope toolset:sandbox/);
    expect(await upgrade(server, ["Host: 127.0.0.1", "X-API-Key: good"])).toMatch(/^HTTP\/1\.1 404 [^]*"ROUTE_NOT_FOUND"/);
    expect(await upgrade(server, ["Host: evil.example", "Vendor-Box: 1", "X-API-Key: good"])).toMatch(/^HTTP\/1\.1 403 /);
  });

  it("is refused with the headers that a request gets", async () => {
    const busy = {
      ...switchTo("/busy", DOOR),
      serve: () => Promise.reject(new BelljarError("QUOTA_EXCEEDED", "Wait", { retryAfterMs: 1_500 })),
    };
    await using server = await openOrigin([{ ...HOME, upgrades: [...(HOME.upgrades ?? []), busy] }]);
    const refused = async (line: string, path: string): Promise<readonly string[]> => {
      const answer = await upgrade(server, [`Host: ${server.url.host}`, "X-Request-Id: mine", line], path);
      return answer.split("\r\n").filter((header) => /^(HTTP|x-request-id|www-authenticate|retry-after)/.test(header));
    };
    const id = "x-request-id: mine";
    expect(await refused("Authorization: Bearer bad", "/home")).toEqual(["HTTP/1.1 401 Unauthorized", id, "www-authenticate: Bearer"]);
    expect(await refused("Authorization: Bearer good", "/home")).toEqual(["HTTP/1.1 403 Forbidden", id, "www-authenticate: Bearer"]);
    expect(await refused("Origin: https://page.example", "/home")).toEqual(["HTTP/1.1 403 Forbidden", id]);
    expect(await refused("A: b", "/busy")).toEqual(["HTTP/1.1 429 Too Many Requests", id, "retry-after: 2"]);
  });

  it("that is refused leaves no socket, whatever its client keeps open", async () => {
    await using server = await openOrigin();
    const head = "GET /home HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: vendor\r\n\r\n";
    expect(await askHalfOpen(server.url, head)).toMatch(/^HTTP\/1\.1 403 /);
  });
});

it("upgrades nothing for the pages of other sites", async () => {
  await using server = await openOrigin();
  const { port, hostname, host } = server.url;
  const ask = async (lines: string): Promise<string> => {
    const socket = connect(Number(port), hostname);
    socket.write(`GET /home HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: vendor\r\nHost: ${host}\r\n${lines}\r\n`);
    return text(socket);
  };
  expect(await ask("")).toMatch(/^HTTP\/1\.1 101 [^]*local/);
  expect(await ask("Origin: https://page.example\r\n")).toMatch(/^HTTP\/1\.1 403 /);
});

describe("the start is refused", () => {
  const options = { host: "127.0.0.1", verifiers: [], log: { error: () => undefined } };

  it("for a route that asks for no scope", () => {
    const { access: _, ...hole } = whoRoute("/hole");
    expect(() => createOrigin([{ ...HOME, routes: [hole as Route] }], options)).toThrow(
      "The route GET /hole does not say which scope it needs",
    );
  });

  it("for an upgrade that asks for no scope", () => {
    const [one] = VENDOR.upgrades ?? [];
    const { access: _, ...hole } = one ?? { access: OPEN };
    expect(() => createOrigin([HOME, { ...VENDOR, upgrades: [hole as never] }], options)).toThrow(/GET \/switch\/:to does not say/);
  });

  it("for two surfaces that claim the same", () => {
    expect(() => createOrigin([HOME, { ...VENDOR, reach: { prefixes: ["/"] } }], options)).toThrow(/belongs to home already/);
  });
});

it("listens at both addresses of localhost", async () => {
  const origin = createOrigin([HOME], { host: "localhost", verifiers: [], log: { error: () => undefined } });
  const { port } = await origin.listen(0);
  for (const host of ["127.0.0.1", "localhost"]) expect((await fetch(`http://${host}:${port}/who`)).status).toBe(200);
  await origin.close(0);
});

it("cuts a request that does not arrive in time, and no answer", async () => {
  const answers: ServerResponse[] = [];
  const handle: Route["handle"] = async (asked) => {
    const { response } = asked.takeOver();
    answers.push(response);
    response.write("first, ");
  };
  const surface: Surface = {
    ...HOME,
    routes: [
      { ...whoRoute("/stream"), handle },
      { ...whoRoute("/slow"), method: "POST" },
    ],
  };
  await using server = await openOrigin([surface], { arrivalMs: 50 });
  const stream = await fetch(new URL("/stream", server.url));
  const slow = connect(Number(server.url.port), server.url.hostname);
  slow.write(`POST /slow HTTP/1.1\r\nHost: ${server.url.host}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
  // The time of the stream's request was over before that of this one.
  expect(await text(slow)).toBe("");
  answers[0]?.end("last");
  expect(await stream.text()).toBe("first, last");
});

it("gives a body that is read as it comes any time, but no long pause", async () => {
  await using server = await openOrigin([HOME, VENDOR], { arrivalMs: 500 });
  const begin = (): Socket => {
    const socket = connect(Number(server.url.port), server.url.hostname);
    const head = ["POST /file HTTP/1.1", `Host: ${server.url.host}`, "Vendor-Box: 1", "X-API-Key: good", "Connection: close"];
    socket.write(`${head.join("\r\n")}\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n`);
    return socket;
  };
  const [steady, paused] = [begin(), begin()];
  paused.write("1\r\nx\r\n");
  const sending = setInterval(() => steady.write("1\r\nx\r\n"), 10);
  // Its time began after the steady one's.
  expect(await text(paused)).toBe("");
  clearInterval(sending);
  steady.end("0\r\n\r\n");
  expect(await text(steady)).toMatch(/^HTTP\/1\.1 200 [^]*"length":\d\d/);
});

it("ends the work of its surfaces before it cuts their connections", async () => {
  const ended: number[] = [];
  const close = async (graceMs: number): Promise<void> => void ended.push(graceMs);
  const { origin } = await openOrigin([{ ...HOME, close }]);
  await origin.close(7);
  expect(ended).toEqual([7]);
});

it("logs what nobody foresaw, and tells the surface's own form of it alone", async () => {
  const failing: Route = { ...whoRoute("/fail"), handle: () => Promise.reject(new TypeError("a secret detail")) };
  const known: Route = { ...whoRoute("/known"), handle: () => Promise.reject(new BelljarError("SANDBOX_ENDED", "It ended")) };
  await using server = await openOrigin([HOME, { ...VENDOR, routes: [failing, known] }]);
  const headers = { ...BOX, ...KEY };
  expect(await ask(server, "/known", { headers })).toMatchObject({ status: 410, body: { code: 410, message: "It ended" } });
  const { status, body } = await ask(server, "/fail", { headers });
  expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining("secret")]);
});
