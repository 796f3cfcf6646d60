import { expect, it } from "vitest";
import { createCallProbe } from "../../../support/call-probe.ts";
import { openFakeSandboxes } from "../../../support/fake-sandboxes.ts";
import { createRecordedEgress } from "../../../support/recorded-egress.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { createRemoteSandboxes } from "../../../../src/remote/remote-sandboxes.ts";
import { createGateway } from "../../../../src/gateway/gateway.ts";

const NPM = { allow: ["npm"] };
const signal = new AbortController().signal;
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

/** A server whose sandboxes have a network, and a client of it. */
async function openServer() {
  const egress = createRecordedEgress();
  const home = await openFakeSandboxes({ egress });
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: home.sandboxes,
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("nobody asks")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = (await gateway.listen()).href;
  return {
    egress,
    url,
    local: home.sandboxes,
    remote: createRemoteSandboxes({ url }),
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await home[Symbol.asyncDispose]();
    },
  };
}

it("makes a sandbox with a policy, and changes it", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, { network: NPM, networkCeiling: "all" }, signal);
  expect(await sandbox.info()).toMatchObject({ network: NPM, networkCeiling: "all" });
  await sandbox.setNetwork({ allow: ["PyPI"] });
  expect(server.egress.serves(sandbox.id)).toEqual({ policy: { allow: ["pypi"] } });
});

it("keeps a capped change within what a person gave", async () => {
  await using server = await openServer();
  const sandbox = await server.remote.create(LOCAL, { network: NPM }, signal);
  await expect(sandbox.setNetwork("all", { capped: true })).rejects.toThrow(withCode("FORBIDDEN"));
  expect((await sandbox.info()).network).toEqual(NPM);
});

it("gives a client's commands the same variables as the server's own, whoever made the sandbox", async () => {
  await using server = await openServer();
  const made = await server.local.create(LOCAL, { network: NPM, env: { GREETING: "hello" } }, signal);
  const remote = await server.remote.get(LOCAL, made.id);
  expect(await remote.environment()).toEqual(await made.environment());
  const { stdout } = await remote.guest.run({ argv: ["sh", "-c", "printf %s,%s $GREETING $https_proxy"], signal });
  expect(stdout.toString()).toBe("hello,http://127.0.0.1:3128");
});

it("shows the policy and its ceiling", async () => {
  await using server = await openServer();
  const { id } = await server.local.create(LOCAL, { network: NPM }, signal);
  const answer = await fetch(new URL(`/v1/sandboxes/${id}/network`, server.url));
  expect(await answer.json()).toEqual({ policy: NPM, ceiling: NPM });
});

it.each([
  ["no body", undefined],
  ["a policy of another shape", { policy: { deny: ["npm"] } }],
  ["a rule that cannot be used", { policy: { allow: ["*.com"] } }],
  ["too many rules", { policy: { allow: Array.from({ length: 1001 }, (_, index) => `a${index}.example.com`) } }],
  ["an unknown field", { policy: "none", force: true }],
])("refuses %s", async (_, body) => {
  await using server = await openServer();
  const { id } = await server.local.create(LOCAL, { network: NPM }, signal);
  const answer = await fetch(new URL(`/v1/sandboxes/${id}/network`, server.url), {
    method: "PUT",
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(400);
});

it("refuses what a page of another site can send without asking", async () => {
  await using server = await openServer();
  const { id } = await server.local.create(LOCAL, {}, signal);
  const url = new URL(`/v1/sandboxes/${id}/network`, server.url);
  const send = (headers: Record<string, string>) => fetch(url, { method: "PUT", headers, body: '{"policy":"all"}' });
  expect((await send({ "content-type": "text/plain" })).status).toBe(415);
  expect((await send({ "content-type": "application/json", origin: "https://example.com" })).status).toBe(403);
});

it("answers for another's sandbox as for none", async () => {
  await using server = await openServer();
  const { id } = await server.local.create({ id: "other", name: "other" }, { network: NPM }, signal);
  for (const path of ["network", "environment"]) expect((await fetch(new URL(`/v1/sandboxes/${id}/${path}`, server.url))).status).toBe(404);
});
