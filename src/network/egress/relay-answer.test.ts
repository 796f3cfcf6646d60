import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer, request as openRequest } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openOrigin } from "../../../test/support/egress-lab.ts";
import { createPlaceholder } from "../secrets/placeholder.ts";
import { createResponseMask } from "../secrets/response-mask.ts";
import { answerRefusal } from "./answer-refusal.ts";
import type { FlowSummary } from "./flow.ts";
import { Flow } from "./flow.ts";
import { relayAnswer } from "./relay-answer.ts";

const VALUE = "sk-planted-0123456789abcdef";
const MASK = createResponseMask([{ value: VALUE, placeholder: createPlaceholder() }]);

interface Told {
  readonly status: number;
  readonly phrase: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** What a program inside gets of an answer, and what is told of the flow. */
async function relay(answer: RequestListener, { isMasked = true, method = "GET" } = {}) {
  await using origin = await openOrigin(createServer(answer));
  const ended: (FlowSummary | undefined)[] = [];
  let touches = 0;
  await using proxy = await openOrigin(
    createServer((_request, response) => {
      const owner = {
        takeBytes: () => true,
        ended: (_flow: Flow, summary: FlowSummary | undefined) => void ended.push(summary),
        overdrawn: () => undefined,
      };
      const flow = new Flow(owner, { via: "http", place: { host: "good.test", port: 80 } });
      flow.cut = (refusal) => answerRefusal(response, refusal);
      response.once("close", () => flow.end());
      const upstream = openRequest({ host: "127.0.0.1", port: origin.port, method, agent: false });
      upstream.once("response", (incoming) =>
        relayAnswer(incoming, { response, flow, mask: isMasked ? MASK : undefined, touch: () => (touches += 1) }),
      );
      upstream.on("error", () => undefined).end();
    }),
  );
  const client = openRequest({ host: "127.0.0.1", port: proxy.port, method, agent: false }).end();
  const [incoming] = (await once(client, "response")) as [IncomingMessage];
  client.on("error", () => undefined);
  const chunks: Buffer[] = [];
  const isWhole = await new Promise<boolean>((resolve) => {
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => resolve(false));
    incoming.once("end", () => resolve(true));
  });
  const told: Told = {
    status: incoming.statusCode ?? 0,
    phrase: incoming.statusMessage ?? "",
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString(),
  };
  return { ...told, isWhole, ended, touches };
}

const CODED = {
  gzip: gzipSync(VALUE),
  "x-gzip": gzipSync(VALUE),
  br: brotliCompressSync(VALUE),
  deflate: deflateSync(VALUE),
  " GZIP ": gzipSync(VALUE),
};

describe("an answer without secrets", () => {
  it("is passed on as it came, but for the headers of the connection", async () => {
    const told = await relay(
      (_request, response) => {
        response.sendDate = false;
        response.writeHead(299, "Odd phrase", {
          connection: "x-hop",
          "x-hop": "1",
          "x-kept": ["a", "b"],
          "content-encoding": "gzip",
          "content-length": 2,
        });
        response.end("{}");
      },
      { isMasked: false },
    );
    expect(told).toMatchObject({ status: 299, phrase: "Odd phrase", body: "{}", isWhole: true });
    expect(told.headers).toMatchObject({ "x-kept": "a, b", "content-encoding": "gzip", "content-length": "2" });
    expect([told.headers["x-hop"], told.headers.date]).toEqual([undefined, undefined]);
    expect(told.ended).toMatchObject([{ verdict: "allowed" }]);
    expect(told.ended[0]?.receivedBytes).toBeGreaterThan(80);
    expect(told.touches).toBeGreaterThan(0);
  });

  it.each([206, 226])("may be in pieces: %i", async (status) => {
    const told = await relay((_request, response) => response.writeHead(status).end("part"), { isMasked: false });
    expect(told).toMatchObject({ status, body: "part" });
  });
});

describe("an answer with secrets", () => {
  it("is masked in its phrase, its headers and its body, which loses its length", async () => {
    const told = await relay((_request, response) => {
      response.writeHead(200, `Key ${VALUE}`, { "x-key": VALUE, "content-length": VALUE.length, "content-md5": "x", "x-kept": "1" });
      response.end(VALUE);
    });
    expect(JSON.stringify([told.phrase, told.headers, told.body])).not.toContain("planted");
    expect(told.phrase).toMatch(/^Key ./);
    expect(told.headers).toMatchObject({ "x-kept": "1", "transfer-encoding": "chunked" });
    expect([told.headers["content-length"], told.headers["content-md5"]]).toEqual([undefined, undefined]);
    expect(told.body).not.toBe("");
  });

  it.each(Object.entries(CODED))("is read in the coding %j, and passed on without it", async (coding, body) => {
    const told = await relay((_request, response) => response.setHeader("content-encoding", coding).end(body));
    expect([told.status, told.headers["content-encoding"], told.isWhole]).toEqual([200, undefined, true]);
    expect(told.body).not.toContain("planted");
    expect(told.body.length).toBeGreaterThan(5);
  });

  it.each(["identity", ""])("is read without a coding: %j", async (coding) => {
    const told = await relay((_request, response) => response.setHeader("content-encoding", coding).end("plain"));
    expect([told.status, told.body]).toEqual([200, "plain"]);
  });

  it("keeps the length of an answer to HEAD", async () => {
    const told = await relay((_request, response) => response.setHeader("content-length", 7).end(), { method: "HEAD" });
    expect(told.headers["content-length"]).toBe("7");
  });

  it.each<[what: string, answer: RequestListener]>([
    ["in pieces", (_request, response) => response.writeHead(206).end("part")],
    ["as a delta", (_request, response) => response.writeHead(226).end("part")],
    ["in an unknown coding", (_request, response) => response.setHeader("content-encoding", "zstd").end("x")],
    ["in two codings", (_request, response) => response.setHeader("content-encoding", "gzip, gzip").end("x")],
    ["in another transfer coding", (_request, response) => response.setHeader("transfer-encoding", "gzip, chunked").end("x")],
  ])("%s is refused", async (_what, answer) => {
    const told = await relay(answer);
    expect([told.status, told.headers["x-belljar-error"]]).toEqual([502, "bad-response"]);
    expect(told.ended).toMatchObject([{ verdict: "failed", reason: "bad-response" }]);
  });

  it("that cannot be decoded is broken off", async () => {
    const cut = gzipSync(randomBytes(100_000).toString("hex")).subarray(0, 60_000);
    const told = await relay((_request, response) => response.setHeader("content-encoding", "gzip").end(cut));
    expect([told.status, told.isWhole]).toEqual([200, false]);
    expect(told.ended).toMatchObject([{ reason: "reset" }]);
  });
});

it.each([true, false])("breaks off an answer that its origin breaks off, masked or not: %s", async (isMasked) => {
  const told = await relay(
    (_request, response) => {
      response.setHeader("content-length", 100);
      response.write("half", () => response.destroy());
    },
    { isMasked },
  );
  expect(told.isWhole).toBe(false);
  expect(told.ended).toMatchObject([{ verdict: "failed", reason: "reset" }]);
});
