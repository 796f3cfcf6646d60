import { randomUUID } from "node:crypto";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Secret, Template } from "e2b";
import { expect, it } from "vitest";
import { type E2bLab, openE2bLab } from "../../support/e2b-lab.ts";
import { tarArchive } from "../../support/tar-archive.ts";

const HASH = "a".repeat(64);

interface Asked {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

type Ask = (path: string, init?: { readonly method?: string; readonly body?: unknown }) => Promise<Asked>;

const askAs =
  (lab: E2bLab, key: string): Ask =>
  async (path, { method = "GET", body } = {}) => {
    const headers = { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) };
    const answer = await lab.ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
  };

/** Plans a build, and gives the path below which it is asked. */
async function plan(ask: Ask, name = "one"): Promise<string> {
  const { status, body } = await ask("/v3/templates", { method: "POST", body: { name } });
  expect(status).toBe(202);
  return `${String(body["templateID"])}/builds/${String(body["buildID"])}`;
}

const begin = (ask: Ask, build: string, body: unknown) => ask(`/v2/templates/${build}`, { method: "POST", body });

/** Resolves once the build has ended, with why it failed. */
async function outcome(ask: Ask, build: string): Promise<string> {
  for (;;) {
    const { body } = await ask(`/templates/${build}/status`);
    if (body["status"] === "ready") return "ready";
    if (body["status"] === "error") return (body["reason"] as { message: string }).message;
  }
}

it("what is no template, build, step, tag or file is refused in E2B's form, and others' are none", async () => {
  await using lab = await openE2bLab();
  const ask = askAs(lab, lab.key);
  const other = askAs(lab, await lab.makeKey("other"));
  const reader = askAs(lab, await lab.makeKey("reader", ["read-only"]));
  const post = async (path: string, body: unknown, as = ask) => (await as(path, { method: "POST", body })).status;
  const names = ["", "A b", "agent/../x", "base", "bare", "x".repeat(70), "one:t g", "mcp-gateway", 7, null];
  for (const name of names) expect([400, 409], String(name)).toContain(await post("/v3/templates", { name }));
  for (const name of ["other/one", "../x", "a/b/c"]) expect(await post("/v3/templates", { name }), name).toBe(403);
  expect(await post("/v3/templates", { name: "one", tags: ["a b"] })).toBe(400);
  expect(await post("/v3/templates", { name: "one" }, reader)).toBe(403);
  expect(await ask("/templates", { method: "POST", body: { dockerfile: "FROM base" } })).toMatchObject({
    status: 400,
    body: { code: 400 },
  });

  const build = await plan(ask);
  const waiting = await ask(`/templates/${build}/status`);
  expect(waiting).toMatchObject({ status: 200, body: { status: "waiting", logEntries: [] } });
  const strange = [
    { fromTemplate: "base", steps: [{ type: "FORMAT", args: ["/"] }] },
    { fromTemplate: "base", steps: [{ type: "RUN", args: [] }] },
    { fromTemplate: "base", steps: [{ type: "RUN", args: ["a\0b"] }] },
    { fromTemplate: "base", steps: [{ type: "ENV", args: ["A=B", "c"] }] },
    { fromTemplate: "base", steps: [{ type: "ENV", args: ["A"] }] },
    { fromTemplate: "base", steps: [{ type: "COPY", args: ["x", "y"] }] },
    { fromTemplate: "base", steps: [{ type: "COPY", args: ["x", "y"], filesHash: "../../../etc/passwd" }] },
    { fromTemplate: "base", steps: [{ type: "COPY", args: ["x", "y"], filesHash: HASH }] },
    { fromTemplate: "base", steps: Array.from({ length: 1_001 }, () => ({ type: "RUN", args: ["true"] })) },
    { fromTemplate: "base", fromImage: "ubuntu" },
    { fromImage: "/etc" },
    { fromImage: "ubuntu", fromImageRegistry: { type: "aws", awsAccessKeyId: "a", awsSecretAccessKey: "b", awsRegion: "c" } },
    { fromImage: "ubuntu", fromImageRegistry: { type: "ftp" } },
    {},
  ];
  for (const body of strange) expect((await begin(ask, build, body)).status, JSON.stringify(body).slice(0, 80)).toBe(400);
  for (const to of [
    `one/builds/${randomUUID()}`,
    build.replace("one", "two"),
    "one/builds/x",
    build.toUpperCase().replace("ONE/BUILDS", "three/builds"),
  ])
    expect((await begin(ask, to, { fromTemplate: "base" })).status, to).toBe(404);
  const own = { status: 404, body: { code: 404 } };
  expect([await begin(other, build, { fromTemplate: "base" }), await other(`/templates/${build}/status`)]).toMatchObject([own, own]);
  expect((await ask(`/templates/${build}/status?logsOffset=-1`)).status).toBe(400);
  for (const hash of ["x", HASH.toUpperCase(), `${HASH}0`, "..%2f..%2fetc"])
    expect((await ask(`/templates/one/files/${hash}`)).status, hash).toBe(400);

  expect((await begin(ask, build, { fromTemplate: "base" })).status).toBe(202);
  expect(await outcome(ask, build)).toBe("ready");
  expect((await begin(ask, build, { fromTemplate: "base" })).status, "it has begun").toBe(409);
  const foreign = ["/templates/one", "/templates/one/tags", "/templates/aliases/one", "/templates/aliases/agent%2Fone"];
  for (const path of foreign) expect((await other(path)).status, path).toBe(404);
  const tag = { target: "one", tags: ["v1"] };
  expect([await post("/templates/tags", tag, other), await post("/templates/tags", tag, reader)]).toEqual([404, 403]);
  expect((await other("/templates/one", { method: "DELETE" })).status).toBe(404);
  expect(await other("/templates")).toMatchObject({ status: 200, body: [] });

  expect((await ask("/v2/templates/one", { method: "PATCH", body: { public: true } })).status, "a key shares without a scope").toBe(403);
  const sharing = askAs(lab, await lab.makeKey("agent", ["template-share"]));
  expect(await sharing("/v2/templates/one", { method: "PATCH", body: { public: true } })).toMatchObject({
    status: 200,
    body: { names: ["agent/one"] },
  });
  expect(await other("/templates/aliases/one")).toMatchObject({ status: 200, body: { public: true } });
  expect([await post("/templates/tags", tag, other), (await other("/templates/one", { method: "DELETE" })).status]).toEqual([404, 404]);
  expect(await sharing("/templates/one", { method: "PATCH", body: { public: false } })).toMatchObject({ status: 200, body: {} });
  expect(await Template.exists("one", { ...lab.options, apiKey: await lab.makeKey("other") })).toBe(false);
});

it("an upload URL takes one archive once, whole, and what is no archive fails the build alone", async () => {
  await using lab = await openE2bLab();
  const ask = askAs(lab, lab.key);
  const link = async () => (await ask(`/templates/one/files/${HASH}`)).body as { present: boolean; url: string };
  const put = async (url: string, body: Uint8Array | string, type = "application/octet-stream") =>
    (await fetch(url, { method: "PUT", body, headers: { "content-type": type } })).status;
  const copying = { fromTemplate: "base", steps: [{ type: "COPY", args: ["x", "/srv/x"], filesHash: HASH }] };
  const buildWith = async (bytes: Uint8Array | string): Promise<string> => {
    expect(await put((await link()).url, bytes)).toBe(200);
    const build = await plan(ask);
    expect((await begin(ask, build, copying)).status).toBe(202);
    return outcome(ask, build);
  };
  const { url, present } = await link();
  expect(present).toBe(false);
  expect(
    await put(
      url.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      "x",
    ),
    "another ticket",
  ).toBe(401);
  expect(await put(new URL("/template-archives/..%2f..%2fx", url).href, "x")).toBe(401);
  expect(await put(url, "x", "text/html")).toBe(415);
  expect((await fetch(url)).status).toBe(404);
  const whole = tarArchive({ name: "x", content: "whole" });
  expect([await put(url, whole), await put(url, "again")]).toEqual([200, 401]);
  expect((await link()).present).toBe(true);
  expect((await askAs(lab, await lab.makeKey("other"))(`/templates/one/files/${HASH}`)).body).toMatchObject({ present: false });

  await cut((await link()).url);
  expect(await buildWith(whole), "a cut upload changes nothing").toBe("ready");
  expect(await buildWith(gzipSync(whole))).toBe("ready");
  const bad = {
    none: "no tar at all",
    cut: whole.subarray(0, 514),
    "cut gzip": gzipSync(whole).subarray(0, 40),
    "file as folder": tarArchive({ name: "x", content: "1" }, { name: "x/y", content: "2" }),
    "link as folder": tarArchive({ name: "x", type: "link", link: "/etc" }, { name: "x/passwd", content: "2" }),
    "nothing named x": tarArchive({ name: "y", content: "1" }),
  };
  for (const [what, bytes] of Object.entries(bad)) expect(await buildWith(bytes), what).toMatch(/archive|not there/);
  expect(await buildWith(tarArchive({ name: "../../x", content: "inside" })), "a name leads nowhere").toBe("ready");
  const left = execFileSync("find", [join(lab.cli.home, "templates"), "-name", ".new-*"]).toString();
  expect(left).toBe("");
});

/** Sends the beginning of an upload, and goes. Resolves once the server has closed. */
async function cut(url: string): Promise<void> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.end(
    `PUT ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/octet-stream\r\nContent-Length: 100000\r\n\r\nhalf`,
  );
  socket.resume();
  await once(socket, "close");
}

it("secrets are stored, told without their values, changed and forgotten, each owner's apart; a team is its one owner", async () => {
  await using lab = await openE2bLab();
  const { options } = lab;
  const ask = askAs(lab, lab.key);
  const made = await Secret.create("OpenAI-Key", "v1-value", { ...options, metadata: { team: "a" } });
  expect(made).toMatchObject({ name: "openai-key", version: 1, metadata: { team: "a" } });
  await expect(Secret.create("openai-key", "v2", options)).rejects.toMatchObject({ message: expect.stringContaining("409") as string });
  const changed = await Secret.update("openai-key", "v2-value", options);
  expect(changed).toMatchObject({ secretId: made.secretId, version: 2, metadata: { team: "a" }, createdAt: made.createdAt });
  expect(await Secret.getInfo(made.secretId, options)).toEqual(changed);
  for (const name of ["b", "c"]) await Secret.create(name, name, options);
  const pages = Secret.list({ ...options, limit: 2 });
  const listed = [await pages.nextItems(), await pages.nextItems()];
  expect([listed.map((page) => page.map(({ name }) => name)), pages.hasNext]).toEqual([[["b", "c"], ["openai-key"]], false]);
  const all = JSON.stringify([await ask("/secrets"), await ask("/secrets/b"), listed]);
  expect(all).not.toMatch(/v[12]-value/);

  const other = { ...options, apiKey: await lab.makeKey("other") };
  expect([await Secret.exists(made.secretId, other), await Secret.destroy("b", other), await Secret.list(other).nextItems()]).toEqual([
    false,
    false,
    [],
  ]);
  const narrow = askAs(lab, await lab.makeKey("narrow", ["toolset:template"]));
  expect((await narrow("/secrets")).status).toBe(403);
  const post = async (body: unknown) => (await ask("/secrets", { method: "POST", body })).status;
  const bad = [
    {},
    { name: "x" },
    { name: "../x", value: "v" },
    { name: "x", value: "two\nlines" },
    { name: "x", value: "" },
    { name: "x", value: "v", metadata: { a: 1 } },
  ];
  for (const body of bad) expect(await post(body), JSON.stringify(body)).toBe(400);
  expect([await Secret.destroy(made.secretId, options), await Secret.destroy(made.secretId, options)]).toEqual([true, false]);
  expect((await Secret.create("openai-key", "v", options)).secretId, "another one has another id").not.toBe(made.secretId);

  const teams = await ask("/teams");
  expect(teams).toMatchObject({
    status: 200,
    body: [{ name: "agent", isDefault: true, teamID: expect.stringMatching(/^[0-9a-f-]{36}$/) as string }],
  });
  expect(JSON.stringify(teams.body)).not.toContain(lab.key);
  expect((await askAs(lab, "e2b_none")("/teams")).status).toBe(401);
  expect(readdirSync(lab.cli.home)).toContain("secrets");
});
