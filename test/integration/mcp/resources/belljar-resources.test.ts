import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fullSample } from "../../../support/full-sample.ts";
import { templateSchema } from "../../../../src/template/wire/template-schema.ts";
import { openFakeSandboxes } from "../../../support/fake-sandboxes.ts";
import { openMcpHttpServer } from "../../../support/mcp-http-server.ts";
import { createCatalog } from "../../../../src/catalog/catalog.ts";
import { Journal } from "../../../../src/sandbox/journal.ts";
import type { Sandboxes } from "../../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { createBelljarPrompts } from "../../../../src/mcp/prompts/belljar-prompts.ts";
import { createBelljarResources } from "../../../../src/mcp/resources/belljar-resources.ts";
import { fileUri } from "../../../../src/mcp/resources/belljar-uri.ts";

const MADE = [templateSchema.parse({ ...(fullSample(templateSchema) as object), name: "tools", cwd: "/srv" })];
const TEMPLATES = [
  { name: "base", description: "The default" },
  { name: "tools", description: "What an image has" },
];
const ERAS = ["auto", "legacy"] as const;
const signal = new AbortController().signal;

async function open(more: Parameters<typeof openFakeSandboxes>[0] = {}) {
  const place = await openFakeSandboxes(more);
  const { sandboxes } = place;
  const catalog = createCatalog({ sources: [], sandboxes, defaultSandbox: () => ({ name: "default", options: {} }) });
  const resources = createBelljarResources({ sandboxes, catalog, templates: async () => TEMPLATES, madeTemplates: async () => MADE });
  const server = await openMcpHttpServer({ tools: catalog, resources, prompts: createBelljarPrompts() });
  const clients: Client[] = [];
  return {
    sandboxes,
    catalog,
    async connect(mode: (typeof ERAS)[number], principal = LOCAL.id): Promise<Client> {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit: { headers: { "x-principal": principal } } }));
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await server[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

async function readJson(client: Client, uri: string): Promise<unknown> {
  const { contents } = await client.readResource({ uri });
  const [content] = contents;
  return content && "text" in content ? JSON.parse(content.text) : undefined;
}

it("shows the sandboxes of every page, and says when there are more than one answer may hold", async () => {
  await using place = await open({ config: { sandbox: { timeoutMs: 600_000 }, listMax: 2, tombstoneRetentionMs: 600_000 } });
  const client = await place.connect("auto");
  // Each of these characters takes six in JSON.
  const metadata = Object.fromEntries(Array.from({ length: 15 }, (_, key) => [`k${key}`, "\u0001".repeat(4_096)]));
  const ids: string[] = [];
  for (let made = 0; made < 12; made += 1) ids.push((await place.sandboxes.create(LOCAL, { metadata }, signal)).id);
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(expect.arrayContaining(ids.map((id) => `belljar://sandboxes/${id}`)));
  const ref = { type: "ref/resource" as const, uri: "belljar://sandboxes/{id}" };
  const { completion } = await client.complete({ ref, argument: { name: "id", value: "" } });
  expect(completion.values).toEqual(ids.toSorted());
  const { contents } = await client.readResource({ uri: "belljar://sandboxes/" });
  const [shown, note] = contents.map((content) => ("text" in content ? content.text : ""));
  expect(JSON.parse(shown ?? "")).toHaveLength(11);
  expect(note).toBe("[The newest 11 are shown; sandbox_list shows all, page by page]");
});

describe.each(ERAS)("a client with version negotiation %s", (era) => {
  it("lists what there is, and reads each of it", async () => {
    await using place = await open();
    const client = await place.connect(era);
    const sandbox = await place.sandboxes.create(LOCAL, { metadata: { job: "a" } }, signal);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(["belljar://sandboxes/", "belljar://templates/", `belljar://sandboxes/${sandbox.id}`]);
    expect(await readJson(client, "belljar://sandboxes/")).toMatchObject([{ id: sandbox.id, state: "running", metadata: { job: "a" } }]);
    expect(await readJson(client, `belljar://sandboxes/${sandbox.id}`)).toMatchObject({ id: sandbox.id, log: [] });
    expect(await readJson(client, "belljar://templates/")).toEqual(TEMPLATES);
    expect(await readJson(client, "belljar://templates/base")).toEqual(TEMPLATES[0]);
    expect(await readJson(client, "belljar://templates/tools")).toMatchObject({ name: "tools", cwd: "/srv", layers: 7, is_shared: true });
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ name }) => name)).toEqual(["sandbox", "file", "template", "result"]);
  });

  it("reads a file as text or as bytes, whole or in part", async () => {
    await using place = await open();
    const client = await place.connect(era);
    const { id, guest } = await place.sandboxes.create(LOCAL, {}, signal);
    await guest.files.write("/tmp/a b.txt", "grüezi", { signal });
    await guest.files.write("/tmp/raw", Buffer.from([255, 0]), { signal });
    const text = fileUri(id, "tmp/a b.txt");
    expect((await client.readResource({ uri: text })).contents).toEqual([{ uri: text, mimeType: "text/plain", text: "grüezi" }]);
    expect((await client.readResource({ uri: `${text}?offset=4&limit=2` })).contents).toMatchObject([{ text: "ez" }]);
    expect((await client.readResource({ uri: fileUri(id, "tmp/raw") })).contents).toMatchObject([{ blob: "/wA=" }]);
    await guest.files.write("/tmp/big", Buffer.alloc(300_000, "x"), { signal });
    await expect(client.readResource({ uri: fileUri(id, "tmp/big") })).rejects.toThrow(/FILE_TOO_LARGE/);
    await expect(client.readResource({ uri: fileUri(id, "tmp/none") })).rejects.toMatchObject({ code: -32_602 });
  });

  it("reads on where a result was cut", async () => {
    await using place = await open();
    const client = await place.connect(era);
    const uri = place.catalog.results.keep(LOCAL, "first\nsecond\n");
    expect((await client.readResource({ uri: `${uri}?offset=6` })).contents).toMatchObject([{ text: "second\n" }]);
    expect((await client.listResources()).resources.at(-1)).toMatchObject({ uri, mimeType: "text/plain" });
  });

  it("says where to go on in a result that is longer than one answer", async () => {
    await using place = await open();
    const client = await place.connect(era);
    const text = "0123456789".repeat(60_000);
    const uri = place.catalog.results.keep(LOCAL, text);
    const read = async (at: string) => (await client.readResource({ uri: at })).contents as { uri: string; text: string }[];
    let [all, next] = ["", uri as string | undefined];
    while (next !== undefined) {
      const [part, rest] = await read(next);
      all += part?.text;
      next = rest?.uri;
    }
    expect(all).toBe(text);
    expect((await read(uri))[1]).toMatchObject({ text: `[262144 of 600000 bytes so far; read on at ${uri}?offset=262144]` });
    expect(await read(`${uri}?offset=0&limit=10`)).toMatchObject([{ text: "0123456789" }]);
  });

  it("learns nothing of another owner's", async () => {
    await using place = await open();
    const client = await place.connect(era, "stranger");
    const { id } = await place.sandboxes.create(LOCAL, {}, signal);
    const kept = place.catalog.results.keep(LOCAL, "mine");
    const ask = async (uri: string, secret: string) =>
      client.readResource({ uri }).then(
        () => "read",
        (error: unknown) => String(error).replaceAll(secret, "ID"),
      );
    const unknown = "a".repeat(20);
    for (const rest of ["", "/files/etc/hosts"]) {
      expect(await ask(`belljar://sandboxes/${id}${rest}`, id)).toBe(await ask(`belljar://sandboxes/${unknown}${rest}`, unknown));
    }
    expect(await ask(kept, kept)).not.toBe("read");
    expect((await client.listResources()).resources).toHaveLength(2);
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "belljar://sandboxes/{id}" },
      argument: { name: "id", value: "" },
    });
    expect(completion.values).toEqual([]);
  });

  it("completes ids, names and paths", async () => {
    await using place = await open();
    const client = await place.connect(era);
    const { id, guest } = await place.sandboxes.create(LOCAL, {}, signal);
    await guest.files.write("/srv/notes.txt", "", { signal });
    const complete = async (uri: string, name: string, value: string, given?: Record<string, string>) =>
      (
        await client.complete({
          ref: { type: "ref/resource", uri },
          argument: { name, value },
          ...(given && { context: { arguments: given } }),
        })
      ).completion.values;
    expect(await complete("belljar://sandboxes/{id}", "id", id.slice(0, 3))).toEqual([id]);
    expect(await complete("belljar://templates/{name}", "name", "b")).toEqual(["base"]);
    expect(await complete("belljar://templates/{name}", "name", "")).toEqual(["base", "tools"]);
    expect(await complete("belljar://sandboxes/{id}/files/{+path}{?offset,limit}", "path", "srv/n", { id })).toEqual(["srv/notes.txt"]);
    expect(await complete("belljar://nothing/{id}", "id", "")).toEqual([]);
  });

  it("hears of a sandbox that it follows when that ends, and of the list when one is made", async () => {
    await using place = await open();
    const client = await place.connect(era);
    const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
    const uri = `belljar://sandboxes/${sandbox.id}`;
    const updated = new Promise<string>((resolve) =>
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri)),
    );
    const listed = new Promise<void>((resolve) => client.setNotificationHandler("notifications/resources/list_changed", () => resolve()));
    if (era === "auto") await client.listen({ resourceSubscriptions: [uri], resourcesListChanged: true });
    else await client.subscribeResource({ uri });
    await place.sandboxes.create(LOCAL, {}, signal);
    await listed;
    await sandbox.kill();
    expect(await updated).toBe(uri);
  });

  it("hears nothing of another owner's sandbox, whose address it guessed", async () => {
    await using place = await open();
    const [owner, stranger] = [await place.connect(era), await place.connect(era, "stranger")];
    const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
    const uri = `belljar://sandboxes/${sandbox.id}`;
    const heard: unknown[] = [];
    stranger.fallbackNotificationHandler = async (notification) => void heard.push(notification);
    const updated = new Promise<void>((resolve) => owner.setNotificationHandler("notifications/resources/updated", () => resolve()));
    const follow = (client: Client): Promise<unknown> =>
      era === "auto" ? client.listen({ resourceSubscriptions: [uri], resourcesListChanged: true }) : client.subscribeResource({ uri });
    // Where subscribing has an answer, that is the one of a resource that there is not.
    const refused = await follow(stranger).then(
      () => undefined,
      (error: unknown) => (error as { code?: number }).code,
    );
    expect(refused).toBe(era === "auto" ? undefined : -32_602);
    await follow(owner);
    await sandbox.kill();
    await updated;
    await stranger.listResources();
    expect(heard).toEqual([]);
  });

  it("gets a prompt with its arguments, and an error that helps", async () => {
    await using place = await open();
    const client = await place.connect(era);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["start", "fix_tests", "analyse_data"]);
    const { messages } = await client.getPrompt({ name: "start", arguments: { task: "count the files" } });
    expect(messages).toMatchObject([{ role: "user", content: { type: "text", text: expect.stringContaining("count the files") } }]);
    await expect(client.getPrompt({ name: "start", arguments: {} })).rejects.toThrow(/needs task/);
    await expect(client.getPrompt({ name: "nope" })).rejects.toThrow(/there are start, fix_tests/);
  });
});

it("stops telling once a client unsubscribes", async () => {
  await using place = await open();
  const client = await place.connect("legacy");
  const [first, second] = [await place.sandboxes.create(LOCAL, {}, signal), await place.sandboxes.create(LOCAL, {}, signal)];
  const heard: string[] = [];
  const done = new Promise<void>((resolve) =>
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      heard.push(params.uri);
      if (params.uri.endsWith(second.id)) resolve();
    }),
  );
  for (const { id } of [first, second]) await client.subscribeResource({ uri: `belljar://sandboxes/${id}` });
  await client.unsubscribeResource({ uri: `belljar://sandboxes/${first.id}` });
  await first.kill();
  await second.kill();
  await done;
  expect(heard).toEqual([`belljar://sandboxes/${second.id}`]);
});

it("lists many sandboxes in pages", async () => {
  await using place = await open();
  const client = await place.connect("auto");
  for (let index = 0; index < 105; index += 1) place.catalog.results.keep(LOCAL, `${index}`);
  const first = await client.request({ method: "resources/list" }, (await import("zod")).looseObject({}));
  expect(first["resources"]).toHaveLength(100);
  const { resources } = await client.listResources({ cursor: String(first["nextCursor"]) });
  expect(resources).toHaveLength(7);
  await expect(client.listResources({ cursor: "x" })).rejects.toMatchObject({ code: -32_602 });
});

it("lists an owner's sandboxes once after lost events, however many listen, and tells each of all of them", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-resources-"));
  try {
    await using place = await openFakeSandboxes({ home });
    let lists = 0;
    const sandboxes: Sandboxes = Object.assign(Object.create(place.sandboxes) as Sandboxes, {
      events: (...asked: Parameters<Sandboxes["events"]>) => place.sandboxes.events(...asked),
      list: async (...asked: Parameters<Sandboxes["list"]>) => ((lists += 1), place.sandboxes.list(...asked)),
    });
    const catalog = createCatalog({ sources: [], sandboxes, defaultSandbox: () => ({ name: "default", options: {} }) });
    const resources = createBelljarResources({ sandboxes, catalog, templates: async () => [], madeTemplates: async () => [] });
    const { id } = await place.sandboxes.create(LOCAL, {}, signal);
    const journal = new Journal(home, () => undefined);
    const { record } = (await journal.read(id)) ?? {};
    if (!record) throw new TypeError("The sandbox has no record");
    await resources.watch({ principal: LOCAL, signal: AbortSignal.timeout(60_000) }, "belljar://sandboxes/");
    const all = Array.from(
      { length: 20 },
      () =>
        new Promise<void>((resolve) =>
          resources.onUpdate((concerns, uri) => {
            if (concerns(LOCAL) && uri.endsWith(id)) resolve();
          }),
        ),
    );
    for (let count = 0; count < 1_000; count += 1) journal.write({ ...record, id: String(count).padStart(20, "x"), owner: "nobody" });
    await Promise.all(all);
    expect(lists).toBe(1);
  } finally {
    await rm(home, { recursive: true });
  }
});
