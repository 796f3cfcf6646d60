import { expect, it } from "vitest";
import { openTeamLab } from "../../test/support/team-lab.ts";
import { openGuestStream } from "../remote/server-connection.ts";

interface Line {
  readonly kind: string;
  readonly request?: string;
  readonly sandbox?: string;
}

const requestsIn = (audit: string): readonly Line[] =>
  audit
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
    .filter(({ kind }) => kind === "request");

it("writes down who changed what, and to which sandbox a stream was opened", async () => {
  await using lab = await openTeamLab();
  const made = JSON.parse((await lab.ask(lab.alice, "POST /v1/sandboxes", {})).text) as { id: string };
  await lab.ask(lab.alice, `GET /v1/sandboxes/${made.id}`);
  await lab.ask(lab.bob, `DELETE /v1/sandboxes/${made.id}`);
  (await openGuestStream({ url: lab.url, token: lab.alice.token }, made.id, AbortSignal.timeout(10_000))).destroy();
  await expect(openGuestStream({ url: lab.url, token: lab.bob.token }, made.id, AbortSignal.timeout(10_000))).rejects.toMatchObject({
    code: "SANDBOX_NOT_FOUND",
  });
  await lab.ask(lab.alice, "PUT /v1/secrets/openai", { value: "planted" });
  await lab.ask(lab.alice, "POST /mcp/tools/call", { name: "todo_read", arguments: {} });
  await fetch(`${lab.url}/v1/sandboxes`, {
    method: "POST",
    headers: { authorization: "Bearer wrong", "content-type": "application/json" },
    body: "{}",
  });
  const audit = await lab.audit();
  expect(requestsIn(audit)).toMatchObject([
    { principal: "token:alice", request: "POST /v1/sandboxes", outcome: "ok", sandbox: made.id },
    { principal: "token:bob", request: "DELETE /v1/sandboxes/:id", outcome: "404", sandbox: made.id },
    { principal: "token:alice", request: "GET /v1/sandboxes/:id/guest", outcome: "ok", sandbox: made.id },
    { principal: "token:bob", request: "GET /v1/sandboxes/:id/guest", outcome: "404", sandbox: made.id },
    { principal: "token:alice", request: "PUT /v1/secrets/:name", outcome: "ok" },
  ]);
  expect(audit.match(/"tool":"todo_read"/g)).toHaveLength(1);
  expect(audit).not.toContain("planted");
});

it("names the sandbox of a stream by its full id, though it was asked for by a short one", async () => {
  await using lab = await openTeamLab();
  const { id } = JSON.parse((await lab.ask(lab.alice, "POST /v1/sandboxes", {})).text) as { id: string };
  (await openGuestStream({ url: lab.url, token: lab.alice.token }, id.slice(0, 8), AbortSignal.timeout(10_000))).destroy();
  await lab.ask(lab.alice, `POST /v1/sandboxes/${id}/stop`, {});
  await expect(
    openGuestStream({ url: lab.url, token: lab.alice.token }, id.slice(0, 8), AbortSignal.timeout(10_000)),
  ).rejects.toMatchObject({
    code: "SANDBOX_STOPPED",
  });
  const lines = requestsIn(await lab.audit()).filter(({ request }) => request?.endsWith("/guest"));
  expect(lines).toMatchObject([
    { outcome: "ok", sandbox: id },
    { outcome: "409", sandbox: id },
  ]);
});

it("names the sandbox of a request by its full id, though it was asked for by a short one", async () => {
  await using lab = await openTeamLab();
  const { id } = JSON.parse((await lab.ask(lab.alice, "POST /v1/sandboxes", {})).text) as { id: string };
  const short = `/v1/sandboxes/${id.slice(0, 8)}`;
  await lab.ask(lab.alice, `POST ${short}/extend`, { timeoutMs: 60_000 });
  await lab.ask(lab.alice, `PUT ${short}/network`, { policy: { allow: ["npm"] } });
  await lab.ask(lab.alice, `POST ${short}/ports`, { port: 8000 });
  await lab.ask(lab.alice, `POST ${short}/stop`, {});
  await lab.ask(lab.alice, `POST ${short}/start`, {});
  await lab.ask(lab.alice, `DELETE ${short}`);
  await lab.ask(lab.alice, "POST /v1/default-sandboxes/x", {});
  const lines = requestsIn(await lab.audit());
  expect(lines.map(({ request = "" }) => request.replace(/^\w+ |\/v1\/sandboxes\/:id/g, ""))).toEqual([
    "/v1/sandboxes",
    "/extend",
    "/network",
    "/ports",
    "/stop",
    "/start",
    "",
    "/v1/default-sandboxes/:name",
  ]);
  const named = lines.map(({ sandbox }) => sandbox);
  expect(named.slice(0, -1)).toEqual(Array.from({ length: 7 }, () => id));
  expect(named.at(-1)).toMatch(/^[a-z0-9]{20}$/);
});
