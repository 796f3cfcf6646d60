import type { IncomingMessage, RequestListener } from "node:http";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { BASE, byHost, byPath, ID, openInside, openWeb, PORT, sayRaw } from "../../../test/support/port-inside.ts";
import { askPort, hostOf, openAnswer, openPortLab, tokenOf } from "../../../test/support/port-lab.ts";
import { BelljarError } from "../../errors.ts";

/** Answers with the lines of the request's head and its body, as they came. */
const echo: RequestListener = (request, response) => {
  const body: Buffer[] = [];
  request.on("data", (chunk: Buffer) => body.push(chunk));
  request.on("end", () => {
    const headers = request.rawHeaders.flatMap((name, at) =>
      at % 2 === 0 ? [`${name.toLowerCase()}: ${request.rawHeaders[at + 1]}`] : [],
    );
    response.end([`${request.method} ${request.url}`, ...headers, "", Buffer.concat(body).toString()].join("\n"));
  });
};

describe("the server's own tokens", () => {
  it("reach no program, and others do", async () => {
    const server = createServer(echo).listen(0, "127.0.0.1");
    await once(server, "listening");
    await using ports = await openPortLab({ isOwnToken: (token) => token === "ours" });
    const dial = async () => connect((server.address() as AddressInfo).port, "127.0.0.1");
    const link = ports.link(ID, PORT, { dial });
    const seen = async (...values: readonly string[]): Promise<readonly string[]> => {
      const headers = { ...tokenOf(link), accept: "text/plain", "x-last": "1", authorization: values };
      const { text } = await askPort(ports.origin, { host: hostOf(link), headers });
      expect(text).toContain("accept: text/plain\n");
      expect(text).toContain("x-last: 1\n");
      return text.split("\n").filter((line) => line.startsWith("authorization: "));
    };
    expect(await seen("Bearer ours")).toEqual([]);
    expect(await seen("bearer   ours")).toEqual([]);
    expect(await seen("Bearer theirs")).toEqual(["authorization: Bearer theirs"]);
    expect(await seen("Basic ours")).toEqual(["authorization: Basic ours"]);
    expect(await seen("Bearer")).toEqual(["authorization: Bearer"]);
    server.closeAllConnections();
    server.close();
  });
});

describe("a question of a page without an origin", () => {
  const asks = { origin: "null", "access-control-request-method": "PUT" };

  it("is answered for the program, for ten minutes", async () => {
    await using inside = await openWeb(echo);
    const { status, headers, text } = await askPort(inside.ports.origin, { ...byPath(inside), method: "OPTIONS", headers: asks });
    expect([status, text, headers["access-control-max-age"], headers["access-control-allow-headers"]]).toEqual([204, "", "600", undefined]);
  });

  it.each([
    ["in host style", byHost, asks, "OPTIONS"],
    ["of another page", byPath, { ...asks, origin: "http://a.test" }, "OPTIONS"],
    ["that names no method", byPath, { origin: "null" }, "OPTIONS"],
    ["by another method", byPath, asks, "GET"],
  ] as const)("is the program's own to answer %s", async (_what, to, headers, method) => {
    await using inside = await openWeb(echo);
    const asked = to(inside);
    const told = await askPort(inside.ports.origin, {
      ...asked,
      method,
      headers: { ...("headers" in asked && asked.headers), ...headers },
    });
    expect([told.status, told.text.split("\n")[0]]).toEqual([200, `${method} /`]);
  });
});

it("leads a path without a slash to the path with one, and keeps the query", async () => {
  await using inside = await openWeb(echo, "public");
  for (const query of ["", "?a=b"]) {
    const told = await askPort(inside.ports.origin, { path: `${BASE}${query}` });
    expect([told.status, told.headers.location]).toEqual([308, `${BASE}/${query}`]);
  }
});

it("serves path style under its own names alone", async () => {
  await using inside = await openWeb(echo, "public");
  const statusAt = async (host: string) => (await askPort(inside.ports.origin, { path: `${BASE}/`, host })).status;
  expect([await statusAt("localhost"), await statusAt("127.0.0.1"), await statusAt("evil.test"), await statusAt("127.0.0.2")]).toEqual([
    200, 200, 403, 403,
  ]);
  expect((await askPort(inside.ports.origin, { path: "/other" })).status).toBe(404);
});

describe("a failure", () => {
  it("of the sandbox is told with its code, and one of Belljar's with none", async () => {
    await using ports = await openPortLab();
    const failWith = async (error: Error, port: number) => {
      const link = ports.link(ID, port, { dial: () => Promise.reject(error) });
      const { status, text } = await askPort(ports.origin, { host: hostOf(link), headers: tokenOf(link) });
      return [status, (JSON.parse(text) as { error: { code: string; message: string } }).error] as const;
    };
    expect(await failWith(new BelljarError("PORT_REFUSED", "Nothing listens"), 1)).toMatchObject([
      502,
      { code: "PORT_REFUSED", message: "Nothing listens" },
    ]);
    expect(await failWith(new Error("read ECONNRESET"), 2)).toMatchObject([502, { code: "PORT_REFUSED" }]);
    expect(ports.failures).toEqual([]);
    const fault = new BelljarError("INTERNAL", "a secret of the server");
    ports.end(ID, fault);
    const { status, text } = await askPort(ports.origin, { host: `1-${ID}.localhost` });
    expect([status, text.includes("secret")]).toEqual([500, false]);
    expect(ports.failures).toEqual([fault]);
  });
});

describe("a body", () => {
  const bodyOf = (text: string): string => text.slice(text.indexOf("\n\n") + 2);
  const framing = (text: string): readonly string[] =>
    text.split("\n").filter((line) => /^(content-length|transfer-encoding): /.test(line));

  it("is framed for the program as it came", async () => {
    await using inside = await openWeb(echo);
    const { host, headers } = byHost(inside);
    const head = (method: string): string =>
      `${method} / HTTP/1.1\r\nHost: ${host}\r\nBelljar-Port-Token: ${headers["belljar-port-token"]}\r\nConnection: close\r\n`;
    const bodies = {
      length: await sayRaw(inside, `${head("POST")}Content-Length: 3\r\n\r\nabc`),
      chunks: await sayRaw(inside, `${head("GET")}Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
      none: await sayRaw(inside, `${head("POST")}\r\n`),
      empty: await sayRaw(inside, `${head("POST")}Content-Length: 0\r\n\r\n`),
      get: await sayRaw(inside, `${head("GET")}\r\n`),
    };
    const told = (answer: string) => {
      const text = answer.slice(answer.indexOf("\r\n\r\n") + 4);
      return [framing(text), /abc/.test(bodyOf(text))];
    };
    expect(Object.fromEntries(Object.entries(bodies).map(([name, answer]) => [name, told(answer)]))).toEqual({
      length: [["content-length: 3"], true],
      chunks: [["transfer-encoding: chunked"], true],
      none: [["content-length: 0"], false],
      empty: [["content-length: 0"], false],
      get: [[], false],
    });
  });

  it("that its client breaks off ends for the program too", async () => {
    let came = (_request: IncomingMessage): void => undefined;
    const request = new Promise<IncomingMessage>((resolve) => (came = resolve));
    await using inside = await openWeb((one) => came(one));
    const client = connect(Number(inside.ports.origin.port), "127.0.0.1");
    const { host, headers } = byHost(inside);
    client.write(
      `POST / HTTP/1.1\r\nHost: ${host}\r\nBelljar-Port-Token: ${headers["belljar-port-token"]}\r\nContent-Length: 9\r\n\r\nabc`,
    );
    const got = await request;
    const closed = new Promise<void>((resolve) => got.once("close", () => resolve()));
    got.on("error", () => undefined).resume();
    client.destroy();
    await closed;
    expect(got.complete).toBe(false);
  });

  it("whose length nobody knows is begun at once", async () => {
    await using inside = await openWeb((_request, response) => response.flushHeaders());
    const answer = await openAnswer(inside.ports.origin, byHost(inside));
    expect(answer.statusCode).toBe(200);
    answer.on("error", () => undefined).destroy();
  });
});

it("sends a request on a kept connection, and so perhaps twice, only if it has no body and changes nothing", async () => {
  const used = new WeakSet<object>();
  const said: string[] = [];
  const server = createServer((request, response) => {
    said.push(request.method ?? "");
    request.resume();
    // A second request finds its connection closed.
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    response.end("ok");
  });
  await using inside = await openInside(server);
  const ask = async (method: string, body?: string) =>
    (await askPort(inside.ports.origin, { ...byHost(inside), method, ...(body !== undefined && { body }) })).status;
  for (const method of ["GET", "HEAD", "OPTIONS"])
    expect([await ask(method), await ask(method), await ask(method)], method).toEqual([200, 200, 200]);
  const before = said.length;
  for (const method of ["POST", "PUT", "DELETE"]) expect([await ask(method), await ask(method)], method).toEqual([200, 200]);
  expect(said.slice(before)).toEqual(["POST", "POST", "PUT", "PUT", "DELETE", "DELETE"]);
});
