import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { EgressLab } from "../../../test/support/egress-lab.ts";
import { converse, openConnect, openEgressLab, openListeningGuest, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import { createEgress } from "./create-egress.ts";
import { tlsAlert } from "./tls-alert.ts";

const NAMES = { "good.test": ["127.0.0.1"] };

afterEach(() => vi.useRealTimers());

/** The address inside of good.test. */
async function lookUp(lab: EgressLab): Promise<string> {
  const labels = Buffer.from("\u0004good\u0004test\u0000", "latin1");
  const message = Buffer.concat([Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), labels, Buffer.from([0, 1, 0, 1])]);
  const client = await lab.names();
  client.end(Buffer.concat([Buffer.from([0, message.length]), message]));
  const answer: Buffer[] = [];
  for await (const chunk of client) answer.push(chunk as Buffer);
  return Buffer.concat(answer).subarray(-4).join(".");
}

describe("a program without a proxy", () => {
  it.each([
    [80, /^HTTP\/1\.1 403 Forbidden[^]*x-belljar-error: no-rule/],
    [443, new RegExp(`^${tlsAlert("access_denied").toString("latin1")}$`)],
    [8080, /^$/],
  ])("is refused on port %i in the protocol of that port", async (port, answer) => {
    await using lab = await openEgressLab({ policy: { allow: [`good.test:${port}`] }, names: NAMES });
    const address = await lookUp(lab);
    lab.update({ policy: { allow: ["other.test"] } });
    expect(await converse(await lab.inside.dial({ address, port }), "")).toMatch(answer);
    expect(lab.records).toMatchObject([{ via: "transparent", host: "good.test", port, reason: "no-rule" }]);
  });
});

describe("a request that names no place", () => {
  it("is refused by the proxy, with what it asked for", async () => {
    await using lab = await openEgressLab({ policy: "all" });
    for (const authority of ["nonsense", "good.test", "good.test:0", ":443"])
      expect(await converse(await lab.proxy(), `CONNECT ${authority} HTTP/1.1\r\n\r\n`), authority).toContain("400 Bad Request");
    expect(lab.records[0]).toMatchObject({ via: "connect", host: "nonsense", port: 0, reason: "bad-request" });
    expect(lab.records).toHaveLength(4);
  });
});

describe("requests on one connection", () => {
  it("are answered in their order, sixteen at a time", async () => {
    await using origin = await openOrigin(createServer((request, response) => response.end(`<${request.url}>`)));
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    const line = (at: number): string =>
      `GET http://${host}/${at} HTTP/1.1\r\nHost: ${host}\r\n${at === 16 ? "Connection: close\r\n" : ""}\r\n`;
    const answer = await converse(await lab.proxy(), Array.from({ length: 16 }, (_, at) => line(at + 1)).join(""));
    expect([...answer.matchAll(/<\/(\d+)>/g)].map(([, at]) => Number(at))).toEqual(Array.from({ length: 16 }, (_, at) => at + 1));
  });

  it("are not read beyond sixteen that wait, and their connection is closed", async () => {
    await using origin = await openOrigin(createServer(() => undefined));
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    const answer = await converse(await lab.proxy(), `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(17)).catch(() => "");
    expect(answer).toBe("");
    expect(await lab.recorded(({ reason }) => reason === "too-fast")).toMatchObject({ via: "http", host: "", verdict: "refused" });
  });

  it.each(["Connection: Upgrade\r\nUpgrade: websocket\r\n", ""])("take no switch while one waits: %j", async (upgrade) => {
    const asked: string[] = [];
    await using origin = await openOrigin(
      createServer((request) => void asked.push(request.url ?? "")).on("upgrade", (_request, socket) => socket.end()),
    );
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    const first = `GET http://${host}/1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const second = upgrade === "" ? `CONNECT ${host} HTTP/1.1\r\n` : `GET http://${host}/2 HTTP/1.1\r\nHost: ${host}\r\n${upgrade}`;
    expect(await converse(await lab.proxy(), `${first}${second}\r\n`).catch(() => "")).toBe("");
    expect(asked.filter((path) => path === "/2")).toEqual([]);
    expect(lab.records.map(({ via }) => via)).not.toContain("connect");
  });
});

describe("an upgrade", () => {
  const ask = (host: string, upgrade: string): string =>
    `GET http://${host}/ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nContent-Length: 0\r\n\r\n`;

  it("to another protocol is an ordinary request", async () => {
    const seen: IncomingHttpHeaders[] = [];
    await using origin = await openOrigin(createServer((request, response) => response.end(String(seen.push(request.headers)))));
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    expect(await converse(await lab.proxy(), ask(host, "h2c"))).toMatch(/^HTTP\/1\.1 200 OK[^]*Connection: close/i);
    expect(seen[0]?.upgrade).toBeUndefined();
    expect(await lab.recorded(({ verdict }) => verdict === "allowed")).toMatchObject({ host: "good.test" });
  });

  it("that the origin does not answer ends in time", async () => {
    await using origin = await openOrigin(createServer().on("upgrade", () => undefined));
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES, limits: { idleMs: 100 } });
    expect(await converse(await lab.proxy(), ask(host, "WebSocket"))).toMatch(/^HTTP\/1\.1 504 [^]*x-belljar-error: timed-out/);
    expect(lab.records).toMatchObject([{ reason: "timed-out" }]);
  });

  it("that the origin answers with another protocol is refused", async () => {
    const other = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n";
    const server = createServer().on("upgrade", (_request, socket) => socket.on("error", () => undefined).write(other));
    await using origin = await openOrigin(server);
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    expect(await converse(await lab.proxy(), ask(host, "websocket"))).toContain("x-belljar-error: bad-response");
  });

  it("carries the headers of the switch, but those of the connection", async () => {
    const head =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-Hop\r\nUpgrade: websocket\r\nX-Hop: 1\r\nX-Kept: 2\r\n\r\nfirst";
    const asked: IncomingMessage[] = [];
    const server = createServer().on("upgrade", (request, socket) => {
      asked.push(request);
      socket.on("error", () => undefined).end(head);
    });
    await using origin = await openOrigin(server);
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    const client = await lab.proxy();
    client.write(ask(host, "WEBSOCKET"));
    const answer = await readUntil(client, "first");
    expect(answer).toMatch(/^HTTP\/1\.1 101 [^]*x-kept: 2\r\n/i);
    expect(answer.toLowerCase()).not.toContain("x-hop");
    expect(asked[0]?.headers).toMatchObject({ connection: "upgrade", upgrade: "websocket", host });
    client.end();
  });
});

describe("a body of known length", () => {
  it.each([
    ["of 1 MiB costs its connection to the origin", 1_048_576, "GET", 2],
    ["of a byte less keeps it", 1_048_575, "GET", 1],
    ["that is only told of keeps it", 1_048_576, "HEAD", 1],
  ])("%s", async (_what, length, method, expected) => {
    let connections = 0;
    const body = Buffer.alloc(length, "x");
    const server = createServer((_request, response) => response.setHeader("content-length", length).end(body));
    await using origin = await openOrigin(server.on("connection", () => (connections += 1)));
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
    const client = await lab.proxy();
    const line = (more = ""): string => `${method} http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
    client.write(line());
    await readUntil(client, "\r\n\r\n");
    for (let left = method === "HEAD" ? 0 : length; left > 0;) {
      const chunk = client.read(Math.min(left, client.readableLength) || undefined) as Buffer | null;
      if (chunk === null) await once(client, "readable");
      else left -= chunk.length;
    }
    await lab.recorded(({ verdict }) => verdict === "allowed");
    const rest = await converse(client, line("Connection: close\r\n"));
    expect(rest).toContain(`${length}`);
    expect(connections).toBe(expected);
  });
});

describe("a tunnel where TLS must be spoken", () => {
  it.each([
    ["begins with half a hello", Buffer.from([22, 3, 1, 0, 200, 1, 0])],
    ["says nothing", Buffer.alloc(0)],
  ])("is closed with an alert if its client %s", async (_what, bytes) => {
    await using origin = await openOrigin(createTcpServer());
    const host = `good.test:${origin.port}`;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await using lab = await openEgressLab({ policy: { allow: [`https://${host}`] }, names: NAMES });
    const client = await openConnect(lab, host);
    client.write(bytes);
    vi.advanceTimersByTime(29_999);
    expect(lab.records).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await converse(client, "")).toBe(tlsAlert("access_denied").toString("latin1"));
    expect(await lab.recorded(() => true)).toMatchObject({ via: "connect", verdict: "refused", reason: "too-slow" });
  });

  it("is closed with an alert if its client speaks anything else", async () => {
    await using origin = await openOrigin(createTcpServer());
    const host = `good.test:${origin.port}`;
    await using lab = await openEgressLab({ policy: { allow: [`https://${host}`] }, names: NAMES });
    expect(await converse(await openConnect(lab, host), "SSH-2.0-x\r\n")).toBe(tlsAlert("access_denied").toString("latin1"));
  });
});

it("stops all that it serves when it is disposed", async () => {
  await using inside = await openListeningGuest();
  const egress = createEgress({ listeners: NO_LISTENERS, record: () => undefined });
  for (const id of ["a", "b"])
    await egress.serve({ id, owner: "local", guest: inside.guest }, { policy: { allow: ["127.0.0.1:9"] } }).ready;
  expect(inside.listening()).toEqual(["127.0.0.1:1080", "127.0.0.1:3128", "127.0.0.1:53", "127.0.0.1:9"]);
  await egress[Symbol.asyncDispose]();
  expect(inside.listening()).toEqual([]);
});

describe("connections beyond a bound", () => {
  const limits = { sandbox: { connections: 0, connectionsPerSecond: 1_000, bytesPerDay: 1e9 } };

  it("are told so, sixty-four at a time, and are one line of the audit in a second", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    vi.advanceTimersByTime(1);
    await using lab = await openEgressLab({ policy: "all", limits });
    const told: Socket[] = [];
    for (let count = 0; count < 64; count += 1) {
      const client = await lab.proxy();
      expect(await readUntil(client, "\r\n\r\n")).toContain("429 Too Many Requests");
      told.push(client);
    }
    expect(await converse(await lab.proxy(), "")).toBe("");
    expect(lab.records).toMatchObject([{ via: "http", host: "", reason: "too-many-connections" }]);
    vi.advanceTimersByTime(999);
    await converse(await lab.proxy(), "");
    expect(lab.records).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await converse(await lab.proxy(), "");
    expect(lab.records).toHaveLength(2);
    for (const client of told) client.destroy();
  });

  it.each(["socks", "names"] as const)("are closed without a word if they are no HTTP: %s", async (kind) => {
    await using lab = await openEgressLab({ policy: "all", limits });
    expect(await converse(await lab[kind](), "")).toBe("");
    expect(lab.records).toMatchObject([{ via: kind === "names" ? "dns" : "socks", reason: "too-many-connections" }]);
  });
});
