import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";
import { textOf } from "../../../test/support/tool-caller.ts";
import { createCatalog } from "../../catalog/catalog.ts";
import { fixedTools } from "../../catalog/tool-source.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { webTools } from "../../tools/web/web-tools.ts";
import { createFacadeSettings } from "./facade-settings.ts";
import { createToolServerOwners } from "./tool-server-owners.ts";
import { createToolServerSearch } from "./tool-server-search.ts";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "bj-search-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const KEY = "a-key-of-mine";
const CREDENTIAL = { session_id: "abc123", user_api_key: KEY };
const OTHER: Principal = { id: "other", name: "other" };
const RESULTS = { results: [{ title: "Jars", link: "http://jars.test/", snippet: "All of them" }, "odd", {}], cost: 1 };

interface Asked {
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function openToolServer(status: number, answer: string) {
  const asked: Asked[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked.push({ what: `${request.method} ${request.url}`, headers: request.headers, body: await text(request) });
    response.writeHead(status, { location: "/elsewhere" }).end(answer);
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`;
  return { url, asked, [Symbol.asyncDispose]: async () => void server.close() };
}

function openTools() {
  const owners = createToolServerOwners(createFacadeSettings({ home }));
  const catalog = createCatalog({
    sources: [fixedTools(webTools({ search: createToolServerSearch(owners.settings) }))],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
    scope: (principal) => (owners.has(principal) ? {} : { without: { web_search: "there is no tool server" } }),
    onScopeChange: (listener) => owners.onChange(listener),
  });
  const changes: unknown[] = [];
  catalog.onChange((ownerId) => void changes.push(ownerId));
  const search = (query: unknown, principal = LOCAL) =>
    catalog.call(principal, "web_search", { query }, { signal: AbortSignal.timeout(5_000) });
  const names = (principal: Principal) => catalog.listAll(principal).map(({ name }) => name);
  return { owners, search, names, changes };
}

async function openSearch(status: number, answer: string) {
  const outside = await openToolServer(status, answer);
  const tools = openTools();
  await tools.owners.settings.setCredential(LOCAL, CREDENTIAL);
  await tools.owners.settings.setToolServer(LOCAL, outside.url);
  return { ...tools, outside, [Symbol.asyncDispose]: () => outside[Symbol.asyncDispose]() };
}

it("searches through the caller's tool server, with the credential that was given for it", async () => {
  await using place = await openSearch(200, JSON.stringify(RESULTS));
  const result = await place.search("bell jars");
  expect(result.value).toEqual({
    results: [{ title: "Jars", url: "http://jars.test/", snippet: "All of them" }],
    answer: null,
  });
  expect(textOf(result)).toMatch(/^\[Outside text .*\n1\. Jars\nhttp:\/\/jars\.test\/\nAll of them\n\[Outside text [0-9a-f]{24} ends\]$/);
  expect(place.outside.asked).toMatchObject([{ what: "POST /base/web-search", headers: { authorization: `Bearer ${KEY}` } }]);
  expect(JSON.parse(place.outside.asked[0]?.body ?? "")).toEqual({ query: "bell jars", session_id: "abc123" });
});

it("is listed for callers who have a tool server alone, and each change is told", async () => {
  await using place = await openSearch(200, "[]");
  expect([place.names(LOCAL), place.names(OTHER)]).toEqual([["web_visit", "web_search"], ["web_visit"]]);
  expect(textOf(await place.search("x", OTHER))).toMatch(/^FORBIDDEN: .*no tool server/);
  const before = place.changes.length;
  await place.owners.settings.setCredential(LOCAL, { ...CREDENTIAL, user_api_key: "another" });
  expect(place.names(LOCAL)).toEqual(["web_visit"]);
  expect(place.changes.slice(before)).toEqual([LOCAL.id]);
  expect((await place.search("x")).isError).toBe(true);
  expect(place.outside.asked).toEqual([]);
});

it("is found by a server that starts later, once it looked", async () => {
  await using place = await openSearch(200, "[]");
  const later = openTools();
  expect(later.names(LOCAL)).toEqual(["web_visit"]);
  await Promise.all([later.owners.load(LOCAL), later.owners.load(OTHER)]);
  expect([later.names(LOCAL), later.names(OTHER), later.changes]).toEqual([["web_visit", "web_search"], ["web_visit"], [LOCAL.id]]);
  expect(textOf(await later.search("x"))).toBe("Nothing was found");
  expect(place.outside.asked).toHaveLength(1);
});

it.each([
  ["a failure", 500, "{}", /^NETWORK_FAILED: .*HTTP 500/],
  ["a redirect, which could lead the key elsewhere", 302, "{}", /^NETWORK_FAILED: .*HTTP 302/],
  ["an answer without end", 200, "x".repeat(300_000), /^NETWORK_FAILED: .*larger than/],
])("says so of %s", async (_what, status, answer, said) => {
  await using place = await openSearch(status, answer);
  const result = await place.search("x");
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(said);
  expect(place.outside.asked).toHaveLength(1);
});

it.each(["a plain text", JSON.stringify({ said: "no list" })])("answers %s as it is, without the key", async (answer) => {
  await using place = await openSearch(200, answer);
  expect((await place.search("x")).value).toEqual({ results: [], answer });
  await using echo = await openSearch(200, JSON.stringify({ echo: `Bearer ${KEY}` }));
  expect(JSON.stringify(await echo.search("x"))).not.toContain(KEY);
});

it("refuses an address of this machine for callers other than its user", async () => {
  await using place = await openSearch(200, "[]");
  await place.owners.settings.setCredential(OTHER, CREDENTIAL);
  await place.owners.settings.setToolServer(OTHER, place.outside.url);
  expect(textOf(await place.search("x", OTHER))).toMatch(/^NETWORK_DENIED/);
  expect(place.outside.asked).toEqual([]);
});
