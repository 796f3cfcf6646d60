import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createAuthFetch } from "./auth-fetch.ts";

async function serve(handle: RequestListener): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const near = createAuthFetch({ server: "far", reach: "loopback" });

it("sends a form, and gives the answer with its headers", async () => {
  await using server = await serve((request, response) => {
    request.on("data", (chunk: Buffer) =>
      response.writeHead(201, { "x-a": String(request.headers["x-b"]) }).end(`${request.method} ${chunk.toString()}`),
    );
  });
  const body = new URLSearchParams({ a: "b c" });
  const answer = await near(`http://127.0.0.1:${server.port}/`, { method: "POST", headers: { "x-b": "1" }, body });
  expect([answer.status, answer.headers.get("x-a"), await answer.text()]).toEqual([201, "1", "POST a=b+c"]);
});

it("connects to an address of a name that it has checked itself", async () => {
  await using server = await serve((_request, response) => response.end("here"));
  expect(await (await near(`http://localhost:${server.port}/`)).text()).toBe("here");
  for (const reach of ["public", "private"] as const) {
    const far = createAuthFetch({ server: "far", reach });
    await expect(far(`https://localhost:${server.port}/`)).rejects.toMatchObject({ code: "SERVER_INCOMPATIBLE", message: /nearer/ });
    await expect(far(`https://127.0.0.1:${server.port}/`)).rejects.toMatchObject({ code: "SERVER_INCOMPATIBLE", message: /nearer/ });
  }
});

it("follows no redirect", async () => {
  await using server = await serve((_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end());
  expect((await near(`http://127.0.0.1:${server.port}/`)).status).toBe(302);
});

describe("refuses", () => {
  it.each([
    ["http://10.0.0.1/", /no TLS/],
    ["http://example.com/", /no TLS/],
    ["ftp://127.0.0.1/", /no TLS/],
    ["https://u:p@127.0.0.1/", /password/],
    ["https://169.254.169.254/", /nearer/],
  ])("%s, and shows no path of it", async (url, said) => {
    await expect(near(`${url}k3y?k3y`)).rejects.toMatchObject({ code: "SERVER_INCOMPATIBLE", message: said });
    await expect(near(`${url}k3y?k3y`)).rejects.not.toThrow(/k3y/);
  });

  it.each<readonly [string, RequestListener, RegExp]>([
    ["an answer that is too large", (_request, response) => response.end("x".repeat(300_000)), /over 262144 bytes/],
    [
      "an answer that is packed",
      (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")),
      /packed/,
    ],
    [
      "a status that is none",
      (_request, response) => response.socket?.end("HTTP/1.1 999 no\r\ncontent-length: 0\r\n\r\n"),
      /no answer of HTTP/,
    ],
    ["a connection that ends", (request) => request.destroy(), /cannot be reached/],
  ])("%s", async (_what, handle, said) => {
    await using server = await serve(handle);
    await expect(near(`http://127.0.0.1:${server.port}/`)).rejects.toThrow(said);
  });

  it("to wait for whoever was cancelled", async () => {
    await using server = await serve(() => over.abort());
    const over = new AbortController();
    const cancelled = createAuthFetch({ server: "far", reach: "loopback", signal: over.signal });
    await expect(cancelled(`http://127.0.0.1:${server.port}/`)).rejects.toMatchObject({ code: "CANCELLED" });
  });
});
