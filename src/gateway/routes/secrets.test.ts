import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";
import { createSecretStore } from "../../secrets/create-secret-store.ts";
import { createGateway } from "../gateway.ts";

const VALUE = "sk-planted-0123456789abcdef";
const JSON_TYPE = { "content-type": "application/json" };

async function openServer() {
  const home = await mkdtemp(join(tmpdir(), "belljar-routes-"));
  const [store, logged] = [createSecretStore({ home }), [] as unknown[]];
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    secrets: store,
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("nobody asks")),
    version: "1.2.3",
    log: { error: (fields) => void logged.push(fields) },
  });
  const url = await gateway.listen();
  return {
    store,
    logged,
    put: (name: string, body: string, headers: Record<string, string> = JSON_TYPE) =>
      fetch(new URL(`/v1/secrets/${name}`, url), { method: "PUT", headers, body }),
    ask: (path: string, method = "GET") => fetch(new URL(path, url), { method }),
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await rm(home, { recursive: true, force: true });
    },
  };
}

it("stores, lists and forgets the caller's secrets, and gives no value back", async () => {
  await using server = await openServer();
  expect((await server.put("openai", JSON.stringify({ value: VALUE }))).status).toBe(204);
  expect(await server.store.reveal("local", "openai")).toBe(VALUE);
  const listed = await (await server.ask("/v1/secrets")).text();
  expect(JSON.parse(listed)).toMatchObject({ secrets: [{ name: "openai" }] });
  expect(listed).not.toContain(VALUE);
  expect((await server.ask("/v1/secrets/openai", "DELETE")).status).toBe(204);
  expect((await server.ask("/v1/secrets/openai", "DELETE")).status).toBe(404);
});

it.each([
  ["a bad name", "..%2Fup", JSON.stringify({ value: VALUE })],
  ["a value of two lines", "openai", JSON.stringify({ value: `${VALUE}\n${VALUE}` })],
  ["a value that is no text", "openai", JSON.stringify({ value: [VALUE] })],
  ["another field", "openai", JSON.stringify({ value: VALUE, owner: "other" })],
  ["broken JSON", "openai", `{"value": "${VALUE}`],
])("refuses %s, and repeats the value nowhere", async (_what, name, body) => {
  await using server = await openServer();
  const answer = await server.put(name, body);
  expect(answer.status).toBe(400);
  expect(await answer.text()).not.toContain(VALUE);
  expect(JSON.stringify(server.logged)).not.toContain(VALUE);
  expect(await server.store.list("local")).toEqual([]);
});

it("refuses what a page of another origin could make a browser send", async () => {
  await using server = await openServer();
  const body = JSON.stringify({ value: VALUE });
  expect((await server.put("openai", body, { "content-type": "text/plain" })).status).toBe(415);
  expect((await server.put("openai", body, { ...JSON_TYPE, origin: "https://elsewhere.example" })).status).toBe(403);
});
