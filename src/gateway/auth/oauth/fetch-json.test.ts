import type { RequestListener } from "node:http";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { openOrigin } from "../../../../test/support/egress-lab.ts";
import { fetchJson } from "./fetch-json.ts";

async function openIssuer(listener: RequestListener) {
  const origin = await openOrigin(createServer(listener));
  return { url: new URL(`http://127.0.0.1:${origin.port}/keys`), [Symbol.asyncDispose]: () => origin[Symbol.asyncDispose]() };
}

const FAILED = { code: "SERVER_UNREACHABLE", retryable: true };

it("gives the document that is there", async () => {
  await using issuer = await openIssuer((request, response) => void response.end(JSON.stringify({ accept: request.headers.accept })));
  expect(await fetchJson(issuer.url)).toEqual({ accept: "application/json" });
});

it.each<[what: string, listener: RequestListener]>([
  ["a failure", (_request, response) => void response.writeHead(500).end("{}")],
  ["no JSON", (_request, response) => void response.end("<html>")],
  ["nothing", (_request, response) => void response.writeHead(204).end()],
  [
    "half a document",
    (_request, response) => void (response.writeHead(200, { "content-length": "9" }), response.write("{}"), response.destroy()),
  ],
])("fails when the answer is %s", async (_what, listener) => {
  await using issuer = await openIssuer(listener);
  await expect(fetchJson(issuer.url)).rejects.toMatchObject(FAILED);
});

it("follows no redirect", async () => {
  await using other = await openIssuer((_request, response) => void response.end("{}"));
  await using issuer = await openIssuer((_request, response) => void response.writeHead(302, { location: other.url.href }).end());
  await expect(fetchJson(issuer.url)).rejects.toMatchObject(FAILED);
});

it("reads a document of 1 MiB, and none of a byte more", async () => {
  const text = `"${"x".repeat(2 ** 20 - 2)}"`;
  await using issuer = await openIssuer((request, response) => void response.end(request.url === "/keys" ? text : `${text} `));
  expect(await fetchJson(issuer.url)).toHaveLength(2 ** 20 - 2);
  await expect(fetchJson(new URL("/more", issuer.url))).rejects.toMatchObject(FAILED);
});
