import { once } from "node:events";
import { createServer, request, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { fetchBy, type HttpWay } from "./http-way.ts";

const PLAIN: HttpWay = { open: (url, start) => request(url, { ...start, agent: false }) };

async function serve(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.dispose]: () => (server.closeAllConnections(), server.close()),
  };
}

const sends = fetchBy(PLAIN);

it("sends a body with its headers, and gives the answer as it comes", async () => {
  using server = await serve((asked, response) => {
    void text(asked).then((body) => response.writeHead(201, { "x-a": asked.headers["x-b"] }).write(`${asked.method} ${body}`));
  });
  const answer = await sends(server.url, { method: "POST", headers: { "x-b": "1" }, body: "hi" });
  expect([answer.status, answer.headers.get("x-a")]).toEqual([201, "1"]);
  const { value } = (await answer.body?.getReader().read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toBe("POST hi");
});

it("follows no redirect, and gives no body where there is none", async () => {
  using server = await serve((_asked, response) => response.writeHead(307, { location: "http://127.0.0.1:1/", "content-length": 0 }).end());
  const answer = await sends(server.url);
  expect([answer.status, answer.headers.get("location"), answer.body]).toEqual([307, "http://127.0.0.1:1/", null]);
  using empty = await serve((_asked, response) => response.writeHead(204).end());
  expect((await sends(empty.url)).status).toBe(204);
});

it("fails as the way does, and takes no packed answer", async () => {
  const refused = new Error("refused");
  const closed = fetchBy({
    open: () => {
      throw refused;
    },
  });
  await expect(closed("http://127.0.0.1:1/")).rejects.toBe(refused);
  using server = await serve((_asked, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"));
  await expect(sends(server.url)).rejects.toThrow("packed");
});

it("ends the request when it is cancelled, before its answer and in it", async () => {
  const over = new AbortController();
  using silent = await serve(() => over.abort(new Error("enough")));
  await expect(sends(silent.url, { signal: over.signal })).rejects.toThrow("enough");
  let left: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (left = resolve));
  using endless = await serve((_asked, response) =>
    response
      .on("close", () => left())
      .writeHead(200)
      .write("x"),
  );
  const answer = await sends(endless.url);
  await answer.body?.cancel();
  await gone;
});
