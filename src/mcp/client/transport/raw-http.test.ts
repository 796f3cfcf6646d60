import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { RawHttp } from "./raw-http.ts";

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

type Answer = (asked: Asked, response: ServerResponse, request: IncomingMessage) => unknown;

/** A client of a server that answers so. */
async function openRaw(answer: Answer, logged?: (params: object) => void, token?: () => Promise<string | undefined>) {
  const server = createServer(
    (request, response) => void text(request).then((body) => answer(JSON.parse(body) as Asked, response, request)),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const options = { name: "one", url, headers: { authorization: "Bearer t" }, version: "2026-07-28", clientInfo: { name: "me" } };
  const raw = new RawHttp({ ...options, ...(logged && { logged }), token });
  return {
    call: (more: Partial<Parameters<RawHttp["request"]>[0]> = {}) =>
      raw.request({
        method: "tools/call",
        params: { name: "é", arguments: { a: 1 }, _meta: { own: 1 } },
        headers: {},
        timeoutMs: 60_000,
        ...more,
      }),
    async [Symbol.asyncDispose]() {
      raw[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function reply(response: ServerResponse, message: object, headers: object = {}): void {
  response
    .writeHead(200, { "content-type": "application/json; charset=utf-8", ...headers })
    .end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

it("asks as the revision has it, and gives the answer as it came", async () => {
  let seen: readonly [Asked, IncomingMessage["headers"]] | undefined;
  const result = { content: [{ type: "text", text: "x", vendor: 1 }], resultType: "complete", _meta: { a: 1 }, other: null };
  await using raw = await openRaw((asked, response, { headers }) => {
    seen = [asked, headers];
    reply(response, { id: asked.id, result });
  });
  const { resultType: _, ...rest } = result;
  expect(await raw.call({ headers: { "Mcp-Param-A": "1" } })).toEqual(rest);
  const [asked, headers] = seen ?? [];
  expect(asked?.params).toEqual({
    name: "é",
    arguments: { a: 1 },
    _meta: {
      own: 1,
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "me" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  });
  expect(headers).toMatchObject({
    authorization: "Bearer t",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "=?base64?w6k=?=",
    "mcp-param-a": "1",
  });
});

it("tells progress and logs of a stream, passes over what is none of its own, and takes the answer", async () => {
  const logs: object[] = [];
  await using raw = await openRaw(
    ({ id }, response) => {
      const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
      const progress = (progressToken: unknown, value: number) =>
        event({ method: "notifications/progress", params: { progressToken, progress: value, message: "on" } });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`${progress(id, 1)}${progress("another's", 5)}data: no JSON\n\n`);
      response.write(event({ method: "notifications/message", params: { level: "info", data: "told" } }));
      response.write(event({ id, result: { resultType: "input_required", inputRequests: {} } }));
    },
    (params) => logs.push(params),
  );
  const progress: object[] = [];
  const answer = await raw.call({ onProgress: (one) => progress.push(one) });
  expect(answer).toEqual({ resultType: "input_required", inputRequests: {} });
  expect(progress).toEqual([{ progressToken: expect.any(Number), progress: 1, message: "on" }]);
  expect(logs).toEqual([{ level: "info", data: "told" }]);
});

it.each<readonly [string, Answer, object]>([
  [
    "an error",
    ({ id }, to) => reply(to, { id, error: { code: -32_602, message: "no", data: { a: 1 } } }),
    { code: -32_602, data: { a: 1 } },
  ],
  [
    "an error with status 400",
    ({ id }, to) => to.writeHead(400).end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_000, message: "no" } })),
    { code: -32_000 },
  ],
  ["no token", (_asked, to) => to.writeHead(401).end(), { name: "UnauthorizedError" }],
  ["a refused token", (_asked, to) => to.writeHead(403).end("no"), { status: 403 }],
  ["a fault", (_asked, to) => to.writeHead(500).end("x".repeat(1_000)), { status: 500 }],
  ["another's answer", ({ id }, to) => reply(to, { id: id + 1, result: {} }), { code: "SERVER_INCOMPATIBLE" }],
  ["no result", ({ id }, to) => reply(to, { id, result: 7 }), { code: "SERVER_INCOMPATIBLE" }],
  ["an unknown kind", ({ id }, to) => reply(to, { id, result: { resultType: "task" } }), { code: "SERVER_INCOMPATIBLE" }],
  ["no JSON", (_asked, to) => to.writeHead(200, { "content-type": "application/json" }).end("{"), { code: "SERVER_INCOMPATIBLE" }],
  ["a page", (_asked, to) => to.writeHead(200, { "content-type": "text/html" }).end("<p>"), { code: "SERVER_INCOMPATIBLE" }],
  [
    "what was packed",
    (_asked, to) => to.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(gzipSync("{}")),
    { code: "SERVER_INCOMPATIBLE" },
  ],
  [
    "50 MB",
    ({ id }, to) => reply(to, { id, result: { content: "x".repeat(50_000_000) } }),
    { code: "RESULT_TOO_LARGE", message: 'The server "one" sent a message that is too large' },
  ],
  [
    "an event of 50 MB",
    (_asked, to) => to.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${"x".repeat(50_000_000)}`),
    { code: "RESULT_TOO_LARGE" },
  ],
  [
    "very many values",
    ({ id }, to) => reply(to, { id, result: { content: Array.from({ length: 200_000 }, () => []) } }),
    { code: "RESULT_TOO_LARGE" },
  ],
  [
    "an event of very many values",
    (_asked, to) => to.writeHead(200, { "content-type": "text/event-stream" }).end(`data: [${"[],".repeat(200_000)}0]\n\n`),
    { code: "RESULT_TOO_LARGE" },
  ],
  [
    "a stream that ends",
    (_asked, to) => to.writeHead(200, { "content-type": "text/event-stream" }).end(": on\n\n"),
    { code: "SERVER_UNREACHABLE" },
  ],
  ["a broken connection", (_asked, to) => to.socket?.destroy(), { code: "ECONNRESET" }],
  [
    "half an answer",
    (_asked, to) => (to.writeHead(200, { "content-length": "99" }).write("{"), to.socket?.destroy()),
    { code: "ECONNRESET" },
  ],
])("rejects with what went wrong for %s, and asks again", async (_what, answer, error) => {
  let isFirst = true;
  await using raw = await openRaw((asked, response, request) => {
    if (!isFirst) return reply(response, { id: asked.id, result: {} });
    isFirst = false;
    return answer(asked, response, request);
  });
  await expect(raw.call()).rejects.toMatchObject(error);
  expect(await raw.call()).toEqual({});
});

it("gives nothing for a request that is sent elsewhere", async () => {
  await using raw = await openRaw((_asked, response) => response.writeHead(307, { location: "/other" }).end());
  expect(await raw.call()).toBeUndefined();
});

it.each<readonly [string, (response: ServerResponse) => void]>([
  ["nothing", () => undefined],
  ["a part", (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).write("data: ")],
])("ends a request that has brought %s when it is cancelled, and when its time is up, which the server sees", async (_what, begin) => {
  const ended: Promise<unknown>[] = [];
  let begun = (): void => undefined;
  await using raw = await openRaw((_asked, response) => {
    ended.push(once(response, "close"));
    begin(response);
    begun();
  });
  await expect(raw.call({ timeoutMs: 20 })).rejects.toMatchObject({ message: "Request timed out" });
  const stop = new AbortController();
  const isBegun = new Promise<void>((resolve) => (begun = resolve));
  const call = raw.call({ signal: stop.signal });
  const settled = Promise.allSettled([call]);
  await isBegun;
  stop.abort();
  expect(await settled).toMatchObject([{ status: "rejected" }]);
  await Promise.all(ended);
});

it("sends the token of a login, and leaves what is refused for it to whoever knows of logins", async () => {
  const seen: (string | undefined)[] = [];
  const answers: readonly (readonly [status: number, headers: object])[] = [
    [401, {}],
    [403, { "www-authenticate": 'Bearer error="insufficient_scope"' }],
    [403, {}],
  ];
  let turn = 0;
  const tokens = ["one", undefined, "three"];
  const answer: Answer = (_asked, response, { headers }) => {
    const [status, more] = answers[turn++] ?? [500, {}];
    seen.push(headers.authorization);
    response.writeHead(status, { ...more }).end();
  };
  await using raw = await openRaw(answer, undefined, async () => tokens[turn]);
  expect([await raw.call(), await raw.call()]).toEqual([undefined, undefined]);
  await expect(raw.call()).rejects.toMatchObject({ status: 403 });
  expect(seen).toEqual(["Bearer one", "Bearer t", "Bearer three"]);
});

it("tells each of two calls what came with its own answer, and no other handler", async () => {
  const heard: string[] = [];
  const hear =
    (who: string) =>
    ({ data }: { readonly data?: unknown }): void =>
      void heard.push(`${who} ${String(data)}`);
  await using raw = await openRaw(({ id }, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const tell = (message: object): boolean => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    tell({ method: "notifications/message", params: { level: "info", data: id } });
    tell({ id, result: { content: [] } });
    response.end();
  }, hear("all"));
  await Promise.all([raw.call({ logged: hear("first") }), raw.call({ logged: hear("second") })]);
  expect(heard.toSorted()).toEqual(["first 1", "second 2"]);
  await raw.call();
  expect(heard.at(-1)).toBe("all 3");
});
