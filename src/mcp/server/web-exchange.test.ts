import { once } from "node:events";
import { createServer, request as openRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import type { WebExchange, WebHandler } from "./web-exchange.ts";
import { answerExchange } from "./web-exchange.ts";

async function openServer(handler: WebHandler, complete: WebExchange["complete"] = (answer) => [answer]) {
  const served: Promise<void>[] = [];
  const errors: unknown[] = [];
  const server = createServer((request, response) => {
    served.push(answerExchange(handler, { request, response, complete, onError: (error) => void errors.push(error) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    served,
    errors,
    ask(headers: Record<string, string> = {}) {
      const sent = openRequest({
        host: "127.0.0.1",
        port: (server.address() as AddressInfo).port,
        path: "/mcp?a=b",
        method: "POST",
        headers,
      });
      sent.on("error", () => undefined).end("{}");
      return sent;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

it("gives the handler the method, the address and each header, and sends its answer with its length", async () => {
  const told: unknown[] = [];
  const handler: WebHandler = async ({ method, url, headers, body }) => {
    told.push(method, new URL(url).pathname, headers.get("mcp-method"), body);
    return Response.json({ text: "é" }, { status: 418, headers: { "x-told": "yes" } });
  };
  await using server = await openServer(handler);
  const [response] = (await once(server.ask({ "mcp-method": "tools/call" }), "response")) as [IncomingMessage];
  expect(told).toEqual(["POST", "/mcp", "tools/call", null]);
  expect(response).toMatchObject({ statusCode: 418, headers: { "x-told": "yes", "content-length": "13" } });
  expect(await text(response)).toBe('{"text":"é"}');
});

it("sends an answer in parts, with the length of the whole", async () => {
  await using server = await openServer(
    async () => Response.json([]),
    () => [Buffer.from("[1,"), Buffer.from("2]")],
  );
  const [response] = (await once(server.ask(), "response")) as [IncomingMessage];
  expect(response.headers["content-length"]).toBe("5");
  expect(await text(response)).toBe("[1,2]");
});

it("sends each part of a stream as it comes, and tells its maker when the client goes", async () => {
  const left = new AbortController();
  const parts = new TransformStream<Uint8Array, Uint8Array>();
  const writer = parts.writable.getWriter();
  const handler: WebHandler = async ({ signal }) => {
    signal.addEventListener("abort", () => left.abort());
    return new Response(parts.readable, { headers: { "content-type": "text/event-stream" } });
  };
  await using server = await openServer(handler);
  const sent = server.ask();
  void writer.write(Buffer.from("one"));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.headers["content-length"]).toBeUndefined();
  expect(String(await once(response, "data"))).toBe("one");
  void writer.write(Buffer.from("two"));
  expect(String(await once(response, "data"))).toBe("two");
  sent.destroy();
  await once(left.signal, "abort");
  await writer.close().catch(() => undefined);
  await Promise.all(server.served);
});

it("aborts the work of a client that goes before its answer, and of no other", async () => {
  const begun = new AbortController();
  const signals: AbortSignal[] = [];
  const handler: WebHandler = async ({ headers, signal }) => {
    signals.push(signal);
    if (headers.get("mcp-method") === "wait") {
      begun.abort();
      await once(signal, "abort");
    }
    return Response.json({});
  };
  await using server = await openServer(handler);
  const [answered] = (await once(server.ask(), "response")) as [IncomingMessage];
  await text(answered);
  const waiting = server.ask({ "mcp-method": "wait" });
  await once(begun.signal, "abort");
  waiting.destroy();
  await Promise.all(server.served);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
});

it("answers 500 for a handler that fails, and reports the failure", async () => {
  const failure = new Error("closed");
  await using server = await openServer(() => Promise.reject(failure));
  const [response] = (await once(server.ask(), "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(500);
  expect(JSON.parse(await text(response))).toMatchObject({ jsonrpc: "2.0", error: { code: -32_603 }, id: null });
  expect(server.errors).toEqual([failure]);
});
