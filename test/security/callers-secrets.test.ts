import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/catalog/tool.ts";
import type { TeamLab } from "../support/team-lab.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { textOf } from "../support/tool-caller.ts";
import { verifies } from "./verifies.ts";

const PLANTED = "planted0value1that2nobody3may4see";
/** Sent beside it as what is no secret, so that each search shows that it can find. */
const CONTROL = "control0value1that2everybody3may4see";
const ADDRESS = `https://ann:${PLANTED}@example.invalid/x.git`;

/** Fails in a way that nobody foresaw, with words of a request in its error. */
const leak = defineTool({
  name: "leak_words",
  title: "Leak",
  description: "Has a bug",
  toolset: "probe",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.looseObject({}),
  async run() {
    const cause = new TypeError(`${CONTROL}: no answer to {"headers":{"authorization":"Bearer ${PLANTED}"}}`);
    throw new TypeError(`Fetching ${ADDRESS} failed`, { cause });
  },
});

const CALLS: readonly (readonly [tool: string, args: unknown])[] = [
  ["run_command", { command: `echo ${CONTROL} >/dev/null`, env: { API_KEY: PLANTED, DATABASE_PASSWORD: PLANTED } }],
  ["run_command", { command: `: curl -H 'Authorization: Bearer ${PLANTED}' -H "X-Api-Key: ${PLANTED}" https://example.invalid` }],
  ["run_command", { command: `: mysql --password ${PLANTED} && export GITHUB_TOKEN=${PLANTED}` }],
  ["run_command", { command: `: git clone ${ADDRESS}` }],
  ["git_clone", { url: ADDRESS, credential: { username: "ann", password: PLANTED } }],
  ["write_file", { path: ".env", content: `NAME=x\nSECRET_KEY="${PLANTED}"\n` }],
  ["read_file", { path: "x", token: PLANTED }],
  ["read_file", { path: { password: PLANTED } }],
  ["no_such_tool", { authorization: `Bearer ${PLANTED}` }],
  ["leak_words", { cookie: PLANTED }],
  ["call_tool", { name: "run_command", arguments: { command: ":", env: { SECRET: PLANTED } } }],
];

async function callTools({ catalog, alice }: TeamLab): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const [name, args] of CALLS) {
    const call = catalog.call(alice.principal, name, args, { signal: AbortSignal.timeout(30_000) });
    answers.push(await call.then(textOf, String));
  }
  return answers;
}

/** Each way of HTTP by which a caller sends a secret, and each way in which that fails. */
async function sendRequests(lab: TeamLab): Promise<readonly string[]> {
  await using toolServer = await openToolServer();
  const answers: string[] = [];
  const ask = async (route: string, body?: unknown): Promise<void> => void answers.push((await lab.ask(lab.alice, route, body)).text);
  const send = async (path: string, headers: Record<string, string>, body?: string): Promise<void> => {
    const method = body === undefined ? "GET" : "POST";
    answers.push(await (await fetch(lab.url + path, { method, headers, ...(body !== undefined && { body }) })).text());
  };
  await ask("PUT /v1/secrets/openai", { value: PLANTED });
  await ask("PUT /v1/secrets/openai", { value: PLANTED, more: PLANTED });
  await ask("PUT /v1/secrets/bad%20name", { value: PLANTED });
  await ask("PUT /v1/secrets/openai", { value: { password: PLANTED } });
  await ask("GET /v1/secrets");
  await ask("POST /credential", { user_api_key: PLANTED, session_id: CONTROL });
  await ask("POST /credential", { user_api_key: { password: PLANTED } });
  await ask("POST /tool-server-url", { tool_server_url: `http://ann:${PLANTED}@127.0.0.1:1/` });
  const local = (path: string, body: object) => send(path, { "content-type": "application/json" }, JSON.stringify(body));
  await local("/credential", { user_api_key: PLANTED, session_id: CONTROL });
  await local("/tool-server-url", { tool_server_url: `${toolServer.url}/broken` });
  await local("/tool-server-url", { tool_server_url: toolServer.url });
  await ask("POST /custom-mcp", { mcpServers: { x: { command: "x", env: { API_KEY: PLANTED } } } });
  await ask("POST /custom-mcp", { mcpServers: { x: { env: { API_KEY: PLANTED } } } });
  await ask("POST /v1/sandboxes", { env: { API_KEY: PLANTED } });
  await ask("POST /v1/sandboxes", { env: { API_KEY: [PLANTED] } });
  await ask("POST /v1/sandboxes", { secrets: { API_KEY: { secret: PLANTED, hosts: [] } } });
  await send("/v1/sandboxes", { authorization: `Bearer ${PLANTED}`, cookie: `session=${PLANTED}` });
  await send("/v1/sandboxes", { authorization: `Bearer belljar_abcdefghij_${PLANTED.padEnd(43, "0")}` });
  await send("/v1/sandboxes", { authorization: `Basic ${Buffer.from(PLANTED).toString("base64")}`, "x-api-key": PLANTED });
  await send(`/v1/sandboxes?token=${PLANTED}`, {});
  await send(`/nowhere?belljar_token=${PLANTED}`, { authorization: `Bearer ${lab.alice.token}` });
  await send("/mcp", { authorization: `Bearer ${lab.alice.token}`, "content-type": "application/json" }, `{"password": "${PLANTED}"`);
  await send("/mcp", { authorization: `Bearer ${lab.alice.token}`, "content-type": "application/json" }, `{"password": "${PLANTED}"}`);
  expect(toolServer.seen.length, "the tool server that is well was asked").toBeGreaterThan(0);
  return answers;
}

/** One that is well, and one that repeats what it was sent as it fails. */
async function openToolServer() {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const isBroken = request.url?.startsWith("/broken") ?? false;
    const sent = JSON.stringify(request.headers);
    if (!isBroken) seen.push(sent);
    response.writeHead(isBroken ? 500 : 200).end(sent + PLANTED);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** All that Belljar keeps in the home, but what belongs to the sandboxes themselves. */
async function kept(home: string): Promise<string> {
  const entries = (await readdir(home, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const own = entries.filter(({ parentPath }) => !parentPath.startsWith(join(home, "sandboxes")));
  return (await Promise.all(own.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")))).join("\n");
}

const FORMS = [PLANTED, Buffer.from(PLANTED).toString("base64").slice(0, 40), Buffer.from(PLANTED).toString("hex")];

function expectClean(what: string, text: string): void {
  for (const form of FORMS) {
    const at = text.indexOf(form);
    expect.soft(at < 0 ? "" : text.slice(Math.max(0, at - 200), at + 80), what).toBe("");
  }
}

verifies("callers-secrets-unlogged", async () => {
  await using lab = await openTeamLab({ tools: [leak] });
  const answers = [...(await callTools(lab)), ...(await sendRequests(lab))];
  const audit = await lab.audit();
  expect(audit, "the search finds what is no secret").toContain(CONTROL);
  expect(lab.logged(), "the search finds what is no secret").toContain(CONTROL);
  // A line for each call, and one for the call that call_tool makes.
  expect(audit.match(/"kind":"call"/g)).toHaveLength(CALLS.length + 1);
  expectClean("an answer", answers.join("\n"));
  expectClean("the audit", audit);
  expectClean("the log", lab.logged());
  expectClean("the home", await kept(lab.home));
  for (const { token } of [lab.alice, lab.bob]) expect(audit + lab.logged() + (await kept(lab.home))).not.toContain(token.slice(-43));
});
