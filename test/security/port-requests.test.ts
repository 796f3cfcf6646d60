import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { hostOf, openPortLab } from "../support/port-lab.ts";

const SANDBOX = "abcdefghij0123456789";
const PORT = 8000;

interface Seen {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A port of a sandbox behind the real router, and what its program was asked. */
async function openSite() {
  const seen: Seen[] = [];
  const program = createServer((request, response) => {
    seen.push({ url: request.url ?? "", headers: request.headers });
    request.resume().once("end", () => response.end("inside"));
  });
  program.on("upgrade", (request, socket) => {
    seen.push({ url: request.url ?? "", headers: request.headers });
    socket.on("error", () => undefined).end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\ninside");
  });
  program.listen(0, "127.0.0.1");
  await once(program, "listening");
  const lab = await openPortLab();
  const { port } = program.address() as AddressInfo;
  const link = lab.link(SANDBOX, PORT, {
    dial: async (_port, signal) => {
      const stream = connect({ port, host: "127.0.0.1", signal });
      await once(stream, "connect");
      return stream;
    },
  });
  const { token = "" } = link;
  const host = `${hostOf(link)}:${lab.origin.port}`;
  return {
    seen,
    token,
    host,
    own: lab.origin.host,
    failures: lab.failures,
    /** The answer to a request as it is written here. */
    async send(lines: readonly string[], body = ""): Promise<string> {
      const socket = connect({ host: "127.0.0.1", port: Number(lab.origin.port) });
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
      socket.write(
        Buffer.from(
          `${lines.join("\r\n")}\r\nConnection: ${lines.some((line) => line.startsWith("Upgrade")) ? "Upgrade" : "close"}\r\n\r\n${body}`,
          "latin1",
        ),
      );
      await once(socket, "close");
      return Buffer.concat(chunks).toString("latin1");
    },
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      program.closeAllConnections();
      program.close();
      await once(program, "close");
    },
  };
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);

it("reaches a port by its name alone, and not by what looks like it", async () => {
  await using site = await openSite();
  const header = `belljar-port-token: ${site.token}`;
  const { host } = site;
  for (const name of [host, host.toUpperCase()]) expect(statusOf(await site.send(["GET / HTTP/1.1", `Host: ${name}`, header]))).toBe(200);
  const names = [
    host.replace(":", ".:"),
    `x@${host}`,
    host.replace("-", "%2d"),
    `0${host}`,
    host.replace(/^8000/, "73536"),
    host.replace(/^8000/, "0"),
    host.replace(/^8000/, "8e3"),
    `a.${host}`,
    host.replace("localhost", "localhost.example"),
    `${host}:1`,
    `${host},x`,
    `${host} x`,
    "[::1].localhost",
    "localhost",
    "",
  ];
  for (const name of names) expect([400, 403, 404], name).toContain(statusOf(await site.send(["GET / HTTP/1.1", `Host: ${name}`, header])));
  for (const target of [`http://${host}/`, "http://127.0.0.1/x", "*", "http:/x", "x"])
    expect(statusOf(await site.send([`GET ${target} HTTP/1.1`, `Host: ${host}`, header])), target).toBe(400);
  for (const path of ["//ports/", "/PORTS/", "/%70orts/", "/ports%2f", "/ports/./", "/ports//"])
    expect([400, 404], path).toContain(statusOf(await site.send([`GET ${path}${SANDBOX}/8000/ HTTP/1.1`, `Host: ${site.own}`, header])));
  for (const lines of [
    [`CONNECT ${host} HTTP/1.1`, `Host: ${host}`],
    ["PRI * HTTP/2.0"],
    ["GET / HTTP/1.1"],
    ["GET / HTTP/1.1", `Host: ${host}`, `Host: ${host}`],
  ])
    expect([0, 400, 404], lines.join()).toContain(statusOf(await site.send([...lines, header])));
  expect(site.seen).toHaveLength(2);
});

it.each([
  ["a length and chunks", ["Content-Length: 4", "Transfer-Encoding: chunked"], "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["two codings", ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], "0\r\n\r\n"],
  ["a coding before chunks", ["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"],
  ["an unknown coding", ["Transfer-Encoding: xchunked"], "0\r\n\r\n"],
  ["a coding with a space in its name", ["Transfer-Encoding : chunked"], "0\r\n\r\n"],
  ["a coding on a second line", ["Transfer-Encoding:", " chunked"], "0\r\n\r\n"],
  ["two lengths", ["Content-Length: 3", "Content-Length: 5"], "abcde"],
  ["a length with a sign", ["Content-Length: +3"], "abc"],
  ["a list of lengths", ["Content-Length: 3, 3"], "abc"],
  ["a length beyond all numbers", ["Content-Length: 99999999999999999999"], "abc"],
  ["a chunk beyond all numbers", ["Transfer-Encoding: chunked"], "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n"],
  ["a line break in a chunk's extension", ["Transfer-Encoding: chunked"], '3;a="\nx"\r\nabc\r\n0\r\n\r\n'],
  ["a zero in a header", ["X: a\0b"], ""],
  ["a body behind an upgrade", ["Upgrade: websocket", "Content-Length: 5"], "12345"],
])("lets nothing in with %s", async (_what, headers, body) => {
  await using site = await openSite();
  const answer = await site.send(["POST / HTTP/1.1", `Host: ${site.host}`, `belljar-port-token: ${site.token}`, ...headers], body);
  expect(statusOf(answer)).toBe(400);
  expect(site.seen.filter(({ url }) => url.includes("smuggled"))).toEqual([]);
});

describe("a header behind two thousand others", () => {
  const many = Array.from({ length: 2_100 }, () => "a:");

  it("counts: another page's name does not vanish", async () => {
    await using site = await openSite();
    const asked = ["GET / HTTP/1.1", `Host: ${site.host}`, `Cookie: belljar-port=${site.token}`];
    expect(statusOf(await site.send(asked))).toBe(200);
    expect(statusOf(await site.send([...asked, "Origin: https://evil.example"]))).toBe(401);
    expect(statusOf(await site.send([...asked, ...many, "Origin: https://evil.example"]))).toBe(401);
    expect(statusOf(await site.send(["GET / HTTP/1.1", `Host: ${site.host}`, ...many, `Host: ${site.own}`]))).toBe(400);
  });

  it("counts: a body behind an upgrade is seen", async () => {
    await using site = await openSite();
    const asked = ["GET / HTTP/1.1", `Host: ${site.host}`, `belljar-port-token: ${site.token}`, "Upgrade: websocket"];
    expect(statusOf(await site.send([...asked, ...many, "Content-Length: 5"], "12345"))).toBe(400);
  });
});

it("opens a port by a cookie for its own pages alone", async () => {
  await using site = await openSite();
  const cookie = `Cookie: belljar-port=${site.token}`;
  const upgrade = ["Upgrade: websocket", "Sec-WebSocket-Version: 13"];
  const ask = async (...more: readonly string[]) => statusOf(await site.send(["GET / HTTP/1.1", `Host: ${site.host}`, ...more]));
  expect(await ask(cookie, `Origin: http://${site.host}`, ...upgrade)).toBe(101);
  for (const origin of [
    "https://evil.example",
    "null",
    `http://8001-${SANDBOX}.localhost`,
    `http://${site.own}`,
    `http://${site.host}.evil.example`,
    "file://",
  ])
    for (const more of [[], upgrade]) expect(await ask(cookie, `Origin: ${origin}`, ...more), origin).toBe(401);
  for (const fetched of ["cross-site", "same-site"])
    expect(await ask(cookie, `Origin: http://${site.host}`, `Sec-Fetch-Site: ${fetched}`, "Sec-Fetch-Mode: websocket", ...upgrade)).toBe(
      401,
    );
  for (const bad of [
    `belljar-port="${site.token}"`,
    `Belljar-Port=${site.token}`,
    `belljar-port=${site.token}x`,
    `belljar-port=${site.token.slice(1)}`,
  ])
    expect(await ask(`Cookie: ${bad}`)).toBe(401);
});

it("shows the program inside no token of the link, wherever it stands", async () => {
  await using site = await openSite();
  const { token, host } = site;
  const header = `belljar-port-token: ${token}`;
  await site.send([
    "GET /a HTTP/1.1",
    `Host: ${host}`,
    header,
    `Referer: http://${host}/?belljar_token=${token}`,
    `Cookie: x=1; belljar-port=${token}`,
  ]);
  await site.send([
    `GET /ports/${SANDBOX}/8000/~${token}/b HTTP/1.1`,
    `Host: ${site.own}`,
    `Referer: http://${site.own}/ports/${SANDBOX}/8000/~${token}/`,
  ]);
  await site.send([`POST /c?belljar_token=${token}&x=1 HTTP/1.1`, `Host: ${host}`, "Content-Length: 0"]);
  expect(site.seen.map(({ url }) => url)).toEqual(["/a", "/b", "/c?x=1"]);
  const [byHost, byPath, posted] = site.seen.map(({ headers }) => JSON.stringify(headers));
  expect(byHost).not.toContain(token);
  expect(posted).not.toContain(token);
  // In path style the program must know where its pages lie, to write links.
  expect(JSON.parse(byPath ?? "")).not.toHaveProperty("referer");
});

it("sends a first visitor to this port and nowhere else", async () => {
  await using site = await openSite();
  for (const path of ["//evil.example/", "/\\evil.example/", "/\\/evil.example/", "///evil.example"]) {
    const answer = await site.send([`GET ${path}?belljar_token=${site.token} HTTP/1.1`, `Host: ${site.host}`]);
    const location = /^location: (.*)$/im.exec(answer)?.[1] ?? "";
    expect(new URL(location.trim(), `http://${site.host}/`).host, location).toBe(site.host);
  }
});

it("serves others beside many heads that never end", async () => {
  await using site = await openSite();
  const slow = Array.from({ length: 300 }, () => connect({ host: "127.0.0.1", port: Number(site.own.split(":")[1]) }));
  await Promise.all(
    slow.map((socket) =>
      once(
        socket.on("error", () => undefined),
        "connect",
      ),
    ),
  );
  for (const socket of slow) socket.write(`GET / HTTP/1.1\r\nHost: ${site.host}\r\nX: `);
  expect(statusOf(await site.send(["GET / HTTP/1.1", `Host: ${site.host}`, `belljar-port-token: ${site.token}`]))).toBe(200);
  for (const socket of slow) socket.destroy();
});
