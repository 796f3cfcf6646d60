import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCallProbe } from "../../../support/call-probe.ts";
import { openFakeSandboxes } from "../../../support/fake-sandboxes.ts";
import { createRecordedEgress } from "../../../support/recorded-egress.ts";
import { openGuestStream } from "../../../../src/remote/server-connection.ts";
import { createGateway } from "../../../../src/gateway/gateway.ts";
import type { TokenStore } from "../../../../src/gateway/auth/token-store.ts";
import { createTokenStore } from "../../../../src/gateway/auth/token-store.ts";
import { listed } from "../../../support/listed.ts";

let home: string;
let tokens: TokenStore;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-granted-"));
  tokens = createTokenStore(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function openServer() {
  const place = await openFakeSandboxes({ egress: createRecordedEgress() });
  const { tools } = createCallProbe();
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: place.sandboxes,
    tools,
    isolation: () => Promise.reject(new Error("Nobody asks")),
    tokens: [tokens],
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const { origin } = await gateway.listen();
  return {
    origin,
    async ask(token: string, method: string, path: string, body?: unknown) {
      const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) };
      const response = await fetch(origin + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      const text = await response.text();
      return { status: response.status, headers: response.headers, json: (text === "" ? {} : JSON.parse(text)) as { readonly id: string } };
    },
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      for (const id of ["ci"].map((name) => ({ id: `token:${name}`, name }))) {
        for (const info of await listed(place.sandboxes, id, { state: ["running"] })) await (await place.sandboxes.get(id, info.id)).kill();
      }
      await place[Symbol.asyncDispose]();
    },
  };
}

const FORBIDDEN = { status: 403, json: { error: { code: "FORBIDDEN" } } };

describe.each([["read-only"], ["toolset:files"]])("a token with the scope %s", (scope) => {
  it("changes no sandbox but through tools, and reaches no guest", async () => {
    await using server = await openServer();
    const { token: wide } = await tokens.create("ci", []);
    const { token: narrow } = await tokens.create("ci", [scope]);
    const path = `/v1/sandboxes/${(await server.ask(wide, "POST", "/v1/sandboxes", {})).json.id}`;
    expect(await server.ask(narrow, "POST", "/v1/sandboxes", {})).toMatchObject(FORBIDDEN);
    expect(await server.ask(narrow, "POST", "/v1/default-sandboxes/default", {})).toMatchObject(FORBIDDEN);
    expect(await server.ask(narrow, "POST", `${path}/extend`, { timeoutMs: 1_000 })).toMatchObject(FORBIDDEN);
    expect(await server.ask(narrow, "PUT", `${path}/network`, { policy: "none" })).toMatchObject(FORBIDDEN);
    expect(await server.ask(narrow, "DELETE", path)).toMatchObject(FORBIDDEN);
    const guest = openGuestStream({ url: server.origin, token: narrow }, path.slice(14), new AbortController().signal);
    await expect(guest).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect((await server.ask(wide, "GET", path)).json).toMatchObject({ state: "running" });
    expect((await server.ask(narrow, "POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" })).status).not.toBe(403);
  });
});

it("a token that only reads may look at its sandboxes, and one with toolset:sandbox may make them", async () => {
  await using server = await openServer();
  const { token: reader } = await tokens.create("ci", ["read-only"]);
  const { token: maker } = await tokens.create("ci", ["toolset:sandbox"]);
  const { id } = (await server.ask(maker, "POST", "/v1/sandboxes", {})).json;
  expect((await server.ask(reader, "GET", `/v1/sandboxes/${id}`)).json).toMatchObject({ id });
});

const NPM = { allow: ["npm"] };
const PYPI = { allow: ["pypi"] };

describe("a token with the scope network:npm", () => {
  it("makes no sandbox that reaches more, now or later", async () => {
    await using server = await openServer();
    const { token } = await tokens.create("ci", ["network:npm"]);
    const make = (body: object) => server.ask(token, "POST", "/v1/sandboxes", body);
    for (const body of [{ network: PYPI }, { network: "all" }, { network: NPM, networkCeiling: PYPI }, { networkCeiling: "all" }]) {
      expect(await make(body), JSON.stringify(body)).toMatchObject(FORBIDDEN);
      const named = await server.ask(token, "POST", "/v1/default-sandboxes/default", body);
      expect(named, JSON.stringify(body)).toMatchObject(FORBIDDEN);
    }
    expect(await make({ network: NPM, networkCeiling: NPM })).toMatchObject({ status: 201 });
  });

  it("opens its sandbox no further, nor to the ceiling that another token of its owner gave", async () => {
    await using server = await openServer();
    const { token: narrow } = await tokens.create("ci", ["network:npm"]);
    const { token: wide } = await tokens.create("ci", []);
    const { id } = (await server.ask(wide, "POST", "/v1/sandboxes", { network: "none", networkCeiling: { allow: ["npm", "pypi"] } })).json;
    const change = (token: string, body: object) => server.ask(token, "PUT", `/v1/sandboxes/${id}/network`, body);
    for (const capped of [true, false]) {
      for (const policy of [PYPI, { allow: ["npm", "pypi"] }, "all"])
        expect(await change(narrow, { policy, capped }), JSON.stringify({ policy, capped })).toMatchObject(FORBIDDEN);
    }
    expect((await server.ask(wide, "GET", `/v1/sandboxes/${id}/network`)).json).toMatchObject({ policy: "none" });
    expect((await change(wide, { policy: PYPI, capped: true })).status).toBe(204);
    expect((await change(wide, { policy: "none", capped: true })).status).toBe(204);
    expect((await change(narrow, { policy: NPM, capped: true })).status).toBe(204);
  });
});

it("a refusal by a quota tells when to try again", async () => {
  await using server = await openServer();
  const { token } = await tokens.create("ci", ["sandboxes:1"]);
  await server.ask(token, "POST", "/v1/sandboxes", { timeoutMs: 60_000 });
  const { status, headers, json } = await server.ask(token, "POST", "/v1/sandboxes", {});
  expect({ status, json }).toMatchObject({ status: 429, json: { error: { code: "QUOTA_EXCEEDED", retryable: true } } });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(30);
  expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(60);
});
