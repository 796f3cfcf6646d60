import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { openProtectedResource } from "../../src/gateway/auth/oauth/protected-resource.ts";
import { openGuestStream } from "../../src/remote/server-connection.ts";
import { KERNELS, makeHome } from "../support/namespace-home.ts";
import { createRecordedEgress } from "../support/recorded-egress.ts";
import { addImage, BlobStore, tarOf, writeLayout } from "../support/image-maker.ts";
import type { TeamLab } from "../support/team-lab.ts";
import { openTeamLab } from "../support/team-lab.ts";

const ISSUER = "https://issuer.example.com";
const UPGRADED = "GET /v1/sandboxes/{id}/guest";

/** One request, and what comes back. */
interface Step {
  /** `METHOD /path`, as it is asked for. */
  readonly ask: string;
  readonly body?: unknown;
  /** In place of a body: as a plain text. */
  readonly text?: string;
  /** Without the token: the local user. */
  readonly asLocal?: true;
  readonly status: number;
  readonly answer?: unknown;
}

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Project extends AsyncDisposable {
  readonly folder: string;
  /** An outside tool server. */
  readonly toolServer: string;
}

/** A folder of the host with a text, and a program `codex`. */
async function openProject(): Promise<Project> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bj-answers-")));
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "notes.txt"), "as it began\n");
  await writeFile(join(folder, "bin/codex"), "#!/bin/sh\n", { mode: 0o755 });
  const server = createServer((_, response) => void response.end("{}")).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    folder,
    toolServer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Real work for every route; each answer says that it was done. */
function stepsOf({ folder, toolServer }: Project, id: string): readonly Step[] {
  const at = `/v1/sandboxes/${id}`;
  return [
    ...ownSteps(),
    { ask: "POST /v1/sandboxes", body: { name: "other" }, status: 201, answer: { name: "other", state: "running" } },
    { ask: "POST /v1/sandboxes", body: { ephemeral: true }, status: 201, answer: { state: "running" } },
    { ask: "GET /v1/sandboxes?limit=1", status: 200, answer: { nextCursor: expect.any(String) } },
    { ask: "GET /v1/sandboxes/events", status: 200, answer: { type: "resync" } },
    { ask: `GET ${at}`, status: 200, answer: { id, workspace: { path: folder, mode: "copy" } } },
    { ask: `GET ${at}/usage`, status: 200, answer: { phase: "running" } },
    { ask: `GET ${at}/environment`, status: 200, answer: { env: { COLOUR: "red" } } },
    { ask: `POST ${at}/workspace-base`, body: { keys: ["notes.txt"] }, status: 200, answer: { isComplete: true, entries: [{ size: 12 }] } },
    {
      ask: `POST ${at}/workspace-base/text`,
      body: { key: "notes.txt" },
      status: 200,
      answer: { text: Buffer.from("as it began\n").toString("base64") },
    },
    { ask: `PUT ${at}/network`, body: { policy: { allow: ["example.com"] } }, status: 204 },
    { ask: `GET ${at}/network`, status: 200, answer: { policy: { allow: ["example.com"] } } },
    { ask: `POST ${at}/refusals`, body: {}, status: 200, answer: { lines: [] } },
    { ask: `POST ${at}/ports`, body: { port: 8000 }, status: 201, answer: { sandbox: id, port: 8000, access: "token" } },
    { ask: `GET ${at}/ports`, status: 200, answer: { links: [{ port: 8000 }] } },
    { ask: `DELETE ${at}/ports/8000`, status: 200, answer: { removed: true } },
    ...stateSteps(at, id),
    { ask: `POST ${at}/extend`, body: { timeoutMs: 600_000, action: "stop" }, status: 204 },
    { ask: `GET ${at}/usage`, status: 200, answer: { deadlineAction: "stop" } },
    { ask: `POST ${at}/pause`, status: 204 },
    { ask: `GET ${at}`, status: 200, answer: { state: "paused" } },
    { ask: `POST ${at}/resume`, status: 204 },
    { ask: `GET ${at}`, status: 200, answer: { state: "running" } },
    { ask: `POST ${at}/stop`, status: 204 },
    { ask: `GET ${at}`, status: 200, answer: { state: "stopped" } },
    { ask: `POST ${at}/start`, status: 200, answer: { id, state: "running" } },
    { ask: "DELETE /v1/sandboxes/other", status: 204 },
    {
      ask: "GET /v1/sandboxes?state=ended",
      status: 200,
      answer: { sandboxes: expect.arrayContaining([expect.objectContaining({ name: "other" })]) },
    },
    {
      ask: "POST /v1/default-sandboxes/default",
      body: { env: { PATH: `${folder}/bin:/usr/bin:/bin` } },
      status: 200,
      answer: { created: true, sandbox: { state: "running" } },
    },
    { ask: "GET /v1/servers", status: 200, answer: { servers: [{ name: "memo", state: "ready" }] } },
    { ask: "GET /v1/servers/memo/logs", status: 200, answer: { lines: ["ready"] } },
    { ask: "GET /v1/servers/memo", status: 200, answer: { name: "memo", runs: "memo --fast", changes: [] } },
    { ask: "POST /v1/servers/memo/restart", status: 204 },
    { ask: "POST /v1/servers/memo/update", status: 200, answer: { before: "1.0.0", now: "1.1.0" } },
    { ask: "POST /v1/servers/memo/login", body: {}, status: 200, answer: { status: "waiting", state: "s" } },
    {
      ask: "POST /v1/servers/memo/login",
      body: { code: "c", state: "s" },
      status: 200,
      answer: { status: "done", server: { name: "memo" } },
    },
    { ask: "POST /v1/servers/memo/approve", body: { digest: "d" }, status: 200, answer: { name: "memo" } },
    {
      ask: "POST /v1/servers",
      body: { name: "more", command: "more" },
      asLocal: true,
      status: 201,
      answer: { name: "more", state: "ready" },
    },
    { ask: "DELETE /v1/servers/more", status: 204 },
    { ask: "PUT /v1/secrets/openai", body: { value: "a" }, status: 204 },
    { ask: "GET /v1/secrets", status: 200, answer: { secrets: [{ name: "openai" }] } },
    { ask: "DELETE /v1/secrets/openai", status: 204 },
    { ask: "GET /v1/secrets", status: 200, answer: { secrets: [] } },
    ...facadeSteps("", toolServer, "success"),
    ...facadeSteps("/mcp", toolServer, "already_running"),
  ];
}

/** Checkpoints and snapshots have ids that the memory counts. */
function stateSteps(at: string, id: string): readonly Step[] {
  const point = "sssssss1";
  const fork = { sandboxes: [{ name: "fork", state: "running" }] };
  return [
    { ask: `POST ${at}/checkpoints`, body: { label: "first" }, status: 201, answer: { id: point, label: "first" } },
    { ask: `POST ${at}/checkpoints`, body: {}, status: 201, answer: { parent: point } },
    { ask: `GET ${at}/checkpoints`, status: 200, answer: { head: "sssssss2", checkpoints: [{ id: point }, { parent: point }] } },
    { ask: `DELETE ${at}/checkpoints/sssssss2`, status: 204 },
    { ask: `POST ${at}/rollback`, body: { to: point }, status: 200, answer: { checkpoint: point, lost: [] } },
    { ask: `POST ${at}/diff`, body: { from: point }, status: 200, answer: { changes: [], omitted: 0 } },
    { ask: `POST ${at}/undo`, body: { to: point, paths: ["/home/user/a"] }, status: 200, answer: { changed: [], conflicts: [] } },
    { ask: `POST ${at}/snapshots`, body: { name: "kept" }, status: 201, answer: { name: "kept", sandbox: id } },
    { ask: `GET /v1/snapshots?sandbox=${id}`, status: 200, answer: { snapshots: [{ name: "kept" }] } },
    { ask: "GET /v1/snapshots/kept", status: 200, answer: { name: "kept" } },
    { ask: "POST /v1/forks", body: { snapshot: "kept", name: "fork" }, status: 201, answer: fork },
    { ask: `POST ${at}/merge`, body: { from: "fork" }, status: 200, answer: { changed: [], conflicts: [] } },
    { ask: "DELETE /v1/snapshots/kept", status: 204 },
    { ask: "GET /v1/snapshots", status: 200, answer: { snapshots: [] } },
  ];
}

/** Of a context that was made. */
function contextSteps(at: string, id: string): readonly Step[] {
  return [
    { ask: `GET ${at}`, status: 200, answer: { contexts: [{ id, language: "bash", isDefault: false }] } },
    { ask: `POST ${at}/${id}/interrupt`, body: {}, status: 204 },
    { ask: `POST ${at}/${id}/restart`, body: {}, status: 200, answer: { id, isRunning: true } },
    { ask: `DELETE ${at}/${id}`, status: 204 },
    { ask: `GET ${at}`, status: 200, answer: { contexts: [] } },
  ];
}

function ownSteps(): readonly Step[] {
  const metadata = { status: 200, answer: { authorization_servers: [ISSUER] } };
  return [
    { ask: "GET /health", status: 200, answer: { status: "ok" } },
    { ask: "GET /mcp/health", status: 200, answer: { status: "ok" } },
    { ask: "GET /ready", status: 200, answer: { status: "ready" } },
    { ask: "GET /metrics", status: 200, answer: expect.stringContaining("belljar_http_request_duration_seconds") },
    { ask: "GET /.well-known/oauth-protected-resource", ...metadata },
    { ask: "GET /.well-known/oauth-protected-resource/mcp", ...metadata },
    { ask: "GET /openapi.json", status: 200, answer: { openapi: "3.1.0" } },
    { ask: "GET /v1/doctor", status: 200, answer: { runtime: "fake", available: true } },
  ];
}

function facadeSteps(prefix: string, toolServer: string, registered: string): readonly Step[] {
  const success = { status: 200, answer: { status: "success" } };
  const local = { asLocal: true, ...success } as const;
  const call = { name: "run_command", arguments: { command: "echo done" } };
  return [
    {
      ask: `GET ${prefix}/tools`,
      status: 200,
      answer: { tools: expect.arrayContaining([expect.objectContaining({ name: "read_file" })]) },
    },
    { ask: `POST ${prefix}/tools/call`, body: call, status: 200, answer: { value: { stdout: "done\n", exit_code: 0 } } },
    { ask: `POST ${prefix}/register-codex`, status: 200, answer: { status: registered } },
    { ask: `POST ${prefix}/credential`, body: { user_api_key: "a", session_id: "b" }, ...local },
    { ask: `POST ${prefix}/tool-server-url`, body: { tool_server_url: toolServer }, ...local },
    {
      ask: `POST ${prefix}/custom-mcp`,
      body: { mcpServers: { one: { command: "npx" } } },
      ...local,
      answer: { status: "success", servers: { one: { state: "ready" } } },
    },
  ];
}

interface Answered {
  readonly status: number;
  readonly type: string | undefined;
  readonly value: unknown;
}

/** Of an answer that stays open the first line is read. */
async function send(lab: TeamLab, { ask, body, text: plain, asLocal }: Step, token: string): Promise<Answered> {
  const [method = "", path = ""] = ask.split(" ");
  const sent = plain ?? (body === undefined ? undefined : JSON.stringify(body));
  const headers = {
    ...(!asLocal && { authorization: `Bearer ${token}` }),
    ...(sent !== undefined && { "content-type": plain === undefined ? "application/json" : "text/plain" }),
  };
  const response = await fetch(lab.url + path, { method, headers, ...(sent !== undefined && { body: sent }) });
  const type = response.headers.get("content-type")?.split(";")[0];
  const text = type === "application/x-ndjson" ? await firstLine(response) : await response.text();
  const value: unknown = type?.endsWith("json") ? JSON.parse(text) : text;
  return { status: response.status, type, value };
}

async function firstLine(response: Response): Promise<string> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}

/** `METHOD /path/{id}` of the document, by which a request is answered. */
function operationOf({ paths }: Document, ask: string): string {
  const [method = "", path = ""] = (ask.split("?")[0] ?? "").split(" ");
  const asked = path.split("/");
  const fits = (parts: readonly string[]): boolean =>
    parts.length === asked.length && parts.every((part, index) => part.startsWith("{") || part === asked[index]);
  const [found] = Object.keys(paths)
    .filter((template) => fits(template.split("/")) && paths[template]?.[method.toLowerCase()])
    .toSorted((a, b) => a.split("{").length - b.split("{").length);
  return `${method} ${found}`;
}

function describedAs({ paths }: Document, operation: string): Operation["responses"] {
  const [method = "", path = ""] = operation.split(" ");
  return paths[path]?.[method.toLowerCase()]?.responses ?? {};
}

/** What is answered otherwise than as the document says; empty if nothing is. */
function differences(responses: Operation["responses"], { status, type, value }: Answered): readonly string[] {
  const described = responses[status];
  if (!described) return ["the status is not described"];
  if (!described.content) return value === "" ? [] : ["a body that is not described"];
  const schema = type === undefined ? undefined : described.content[type]?.schema;
  if (!schema) return [`the type ${type} is not described`];
  const checked = z.fromJSONSchema(closed(schema) as z.core.JSONSchema.JSONSchema).safeParse(value);
  return checked.error?.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`) ?? [];
}

/** The schema with no field but those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const all = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return "properties" in all ? { additionalProperties: false, ...all } : all;
}

/** Every success that the document names, as `METHOD /path STATUS`. */
function successes({ paths }: Document): readonly string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses).flatMap((status) => (Number(status) < 400 ? [`${method.toUpperCase()} ${path} ${status}`] : [])),
    ),
  );
}

it("answers every route of REST and of the façade well, and as openapi.json describes it", async () => {
  await using project = await openProject();
  const oauth = openProtectedResource({ issuer: ISSUER, audience: "https://belljar.example.com/mcp" });
  await using lab = await openTeamLab({ oauth, egress: createRecordedEgress(), states: true });
  const { token } = await lab.tokens.create("alice", ["workspaces"]);
  const document = (await (await fetch(`${lab.url}/openapi.json`)).json()) as Document;
  const made = { workspace: { path: project.folder, mode: "copy" }, env: { COLOUR: "red" } };
  const created = await send(lab, { ask: "POST /v1/sandboxes", body: made, status: 201 }, token);
  const { id } = created.value as { readonly id: string };
  const driven = new Set([`${UPGRADED} 101`]);
  (await openGuestStream({ url: lab.url, token }, id, AbortSignal.timeout(10_000))).destroy();
  const ask: Ask = async (to, step, as) => {
    const answered = await send(to, step, as);
    const operation = operationOf(document, step.ask);
    expect.soft(answered, step.ask).toMatchObject({ status: step.status, value: step.answer ?? "" });
    expect.soft(differences(describedAs(document, operation), answered), step.ask).toEqual([]);
    driven.add(`${operation} ${answered.status}`);
    return answered;
  };
  for (const step of stepsOf(project, id)) await ask(lab, step, token);
  await driveRealSandboxes(ask);
  expect(
    successes(document).filter((success) => !driven.has(success)),
    "answers that no step gets",
  ).toEqual([]);
}, 30_000);

type Ask = (lab: TeamLab, step: Step, token: string) => Promise<Answered>;

/** Contexts are kept commands, and templates are layers: the fake runtime has neither. */
async function driveRealSandboxes(ask: Ask): Promise<void> {
  await using home = await makeHome();
  await using lab = await openTeamLab({ runtime: await home.open("auto", "run", KERNELS) });
  await driveContexts(ask, lab);
  await driveTemplates(ask, lab);
  await driveTools(ask, lab);
}

const SCRIPT = '# ---\n# { "description": "Says done" }\n# ---\necho done';
const MCP_BOX_CODE = '@mcp.tool(description="Says done")\ndef say() -> str:\n    return "done"\n';

async function driveTools(ask: Ask, lab: TeamLab): Promise<void> {
  const { token } = await lab.tokens.create("alice", ["tools:publish", "tools:share"]);
  const spec = { language: "shell", code: SCRIPT };
  const unit = { name: "done", language: "shell", tools: [{ name: "done", description: "Says done" }] };
  const at = "/v1/tools/done";
  const test = { arguments: {}, expect: { text: "done" } };
  const steps: readonly Step[] = [
    { ask: "POST /v1/tools", body: { name: "done", ...spec }, status: 201, answer: { ...unit, state: "draft", version: 1 } },
    { ask: "GET /v1/tools", status: 200, answer: { tools: [unit] } },
    { ask: "GET /v1/tools?limit=1&cursor=ZG9u", status: 200, answer: { tools: [unit] } },
    { ask: "GET /v1/tools?cursor=ZG9uZQ", status: 200, answer: { tools: [] } },
    { ask: "GET /v1/tools?cursor=!", status: 400, answer: { error: { code: "ARGUMENTS_INVALID" } } },
    { ask: `PUT ${at}`, body: { ...spec, tests: [test], publish: true }, status: 200, answer: { ...unit, state: "live", version: 2 } },
    { ask: `GET ${at}?version=1`, status: 200, answer: { ...unit, version: 1, code: SCRIPT } },
    { ask: `POST ${at}/test`, status: 200, answer: { unit, tests: [{ tool: "done" }] } },
    { ask: `POST ${at}/publish`, status: 200, answer: { ...unit, version: 2, newest: 2 } },
    { ask: `PATCH ${at}`, body: { isShared: true, publish: true }, status: 400, answer: { error: { code: "ARGUMENTS_INVALID" } } },
    { ask: `PATCH ${at}`, body: { publish: true }, status: 400, answer: { error: { code: "ARGUMENTS_INVALID" } } },
    { ask: `PATCH ${at}`, body: { timeoutMs: null, limits: { pids: null } }, status: 200, answer: { version: 2, newest: 3 } },
    { ask: `PATCH ${at}`, body: { resolvesAgain: true }, status: 200, answer: { version: 2, newest: 3 } },
    { ask: `GET ${at}?version=3`, status: 200, answer: { tests: [test] } },
    { ask: `PATCH ${at}`, body: { isShared: true }, status: 200, answer: { isShared: true, state: "live" } },
    { ask: `PATCH ${at}`, body: { isDisabled: true }, status: 200, answer: { isShared: true, state: "disabled" } },
    { ask: `GET ${at}/versions`, status: 200, answer: { versions: [{ number: 1 }, { number: 2 }, { number: 3 }] } },
    { ask: `POST ${at}/versions/2/rollback`, status: 200, answer: { state: "live", version: 2 } },
    { ask: `GET ${at}/tests`, status: 200, answer: { tests: [test] } },
    { ask: `GET ${at}/calls`, status: 200, answer: { stats: { calls: 0, errors: 0 } } },
    { ask: `DELETE ${at}`, status: 204 },
    ...["", "/"].flatMap((end): readonly Step[] => [
      { ask: `POST /add_mcp_tool${end}?mcp_tool_name=say`, text: MCP_BOX_CODE, status: 200, answer: { result: 0, error: "" } },
      { ask: `POST /remove_mcp_tool${end}?mcp_tool_name=say`, status: 200, answer: { result: 0, error: "" } },
    ]),
    { ask: "GET /v1/tools", status: 200, answer: { tools: [] } },
  ];
  for (const step of steps) await ask(lab, step, token);
}

async function driveContexts(ask: Ask, lab: TeamLab): Promise<void> {
  const { id } = await lab.sandboxes.create(lab.alice.principal, {}, AbortSignal.timeout(30_000));
  const at = `/v1/sandboxes/${id}/contexts`;
  const language = "bash";
  const made = await ask(
    lab,
    { ask: `POST ${at}`, body: { language }, status: 201, answer: { language, isRunning: true } },
    lab.alice.token,
  );
  for (const step of contextSteps(at, (made.value as { readonly id: string }).id)) await ask(lab, step, lab.alice.token);
}

async function driveTemplates(ask: Ask, lab: TeamLab): Promise<void> {
  const store = new BlobStore();
  await using image = await writeLayout(store, [addImage(store, { layers: [{ plain: tarOf({ "a.txt": "a" }) }] })]);
  const { token } = await lab.tokens.create("alice", [`workspace:${image.path}:ro`, "template-share"]);
  const made = { name: "made", layers: 1, source: { kind: "image", from: image.path } };
  const built = { name: "built", dockerfile: "FROM scratch\nWORKDIR /srv" };
  const steps: readonly Step[] = [
    { ask: "POST /v1/templates", body: { name: "made", image: image.path }, status: 201, answer: { ...made, isShared: false } },
    { ask: "GET /v1/templates", status: 200, answer: { templates: [made] } },
    { ask: "PUT /v1/templates/made/shared", body: { isShared: true }, status: 200, answer: { ...made, isShared: true } },
    { ask: "GET /v1/templates/made", status: 200, answer: { ...made, isShared: true } },
    { ask: "DELETE /v1/templates/made", status: 204 },
    { ask: "POST /v1/templates", body: built, status: 201, answer: { name: "built", layers: 1, source: { kind: "dockerfile" } } },
    { ask: "DELETE /v1/templates/built", status: 204 },
    { ask: "POST /v1/templates/prune", status: 200, answer: { steps: 1 } },
    { ask: "GET /v1/templates", status: 200, answer: { templates: [] } },
  ];
  for (const step of steps) await ask(lab, step, token);
  const begun = await ask(
    lab,
    { ask: "POST /v1/templates/builds", body: built, status: 202, answer: { name: "built", state: "building" } },
    token,
  );
  for (const step of buildSteps((begun.value as { readonly id: string }).id)) await ask(lab, step, token);
}

function buildSteps(id: string): readonly Step[] {
  const at = `/v1/templates/built/builds/${id}`;
  return [
    { ask: `GET ${at}/logs?wait=30`, status: 200, answer: { text: expect.stringContaining("FROM scratch") as string } },
    { ask: `DELETE ${at}`, status: 204 },
    { ask: `GET ${at}`, status: 200, answer: { id, name: "built", state: expect.stringMatching(/ready|failed/) as string } },
  ];
}
