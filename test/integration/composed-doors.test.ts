import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.ts";
import type { ChangeListener } from "../../src/catalog/caller.ts";
import { BelljarError } from "../../src/errors.ts";
import { composePrompts, composeResources } from "../../src/mcp/server/compose-doors.ts";
import type { PromptDoor } from "../../src/mcp/server/prompt-door.ts";
import type { Concerns, ResourceDoor } from "../../src/mcp/server/resource-door.ts";
import { openMcpHttpServer } from "../support/mcp-http-server.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";

/** Resources and prompts of several sources, each of them an owner's own, over MCP with the official client. */

const ERAS = ["auto", "legacy"] as const;

/** What one owner has; to others there is nothing. */
function createOwned(owner: string) {
  const listeners: { resources: ((concerns: Concerns) => void)[]; prompts: ChangeListener[] } = { resources: [], prompts: [] };
  const uris = [1, 2, 3].map((number) => `own://${owner}/${number}`);
  const stop = (): void => undefined;
  const resources: ResourceDoor = {
    async list({ id }, cursor = "0") {
      if (id !== owner) return { resources: [] };
      const at = Number(cursor);
      return { resources: [{ uri: uris[at] ?? "", name: `${owner} ${at}` }], ...(at < 2 && { nextCursor: String(at + 1) }) };
    },
    templates: ({ id }) => (id === owner ? [{ uriTemplate: `own://${owner}/{n}`, name: owner }] : []),
    async read({ principal: { id } }, uri) {
      if (id === owner && uris.includes(uri)) return { contents: [{ uri, text: `of ${owner}` }] };
      throw new BelljarError("RESOURCE_NOT_FOUND", "none");
    },
    complete: async ({ principal: { id } }) => ({ values: id === owner ? [owner] : [] }),
    watch: async () => ({ [Symbol.dispose]: stop }),
    onUpdate: () => stop,
    onListChange: (listener) => (listeners.resources.push(listener), stop),
  };
  const prompts: PromptDoor = {
    list: ({ id }) => (id === owner ? [{ name: "start", description: `Of ${owner}` }] : []),
    async get({ principal: { id } }) {
      if (id === owner) return { messages: [{ role: "user", content: { type: "text", text: `of ${owner}` } }] };
      throw new BelljarError("PROMPT_NOT_FOUND", "none");
    },
    complete: async () => ({ values: [owner] }),
    onChange: (listener) => (listeners.prompts.push(listener), stop),
  };
  const changed = (): void => {
    for (const listener of listeners.resources) listener(({ id }) => id === owner);
    for (const listener of listeners.prompts) listener(owner);
  };
  return { resources, prompts, changed };
}

async function open(mode: (typeof ERAS)[number]) {
  const [alice, bob] = [createOwned("alice"), createOwned("bob")];
  const catalog = createCatalog({
    sources: [],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const server = await openMcpHttpServer({
    tools: catalog,
    resources: composeResources([alice.resources, bob.resources]),
    prompts: composePrompts([alice.prompts, bob.prompts]),
  });
  const clients: Client[] = [];
  return {
    alice,
    bob,
    async connect(principal: string): Promise<Client> {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      let opened = (): void => undefined;
      const stream = new Promise<void>((resolve) => (opened = resolve));
      const watched: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        if (init?.method === "GET" && response.ok) opened();
        return response;
      };
      const requestInit = { headers: { "x-principal": principal } };
      await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit, fetch: watched }));
      clients.push(client);
      if (mode === "legacy") await stream;
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await server[Symbol.asyncDispose]();
    },
  };
}

async function listAll(client: Client): Promise<readonly string[]> {
  const uris: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.request({ method: "resources/list", params: cursor === undefined ? {} : { cursor } });
    uris.push(...page.resources.map(({ uri }) => uri));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return uris;
}

describe.each(ERAS)("with version negotiation %s", (mode) => {
  it.each(["alice", "bob"])("gives %s the pages, templates and prompts of every source that has some", async (name) => {
    await using place = await open(mode);
    const client = await place.connect(name);
    expect(await listAll(client)).toEqual([1, 2, 3].map((number) => `own://${name}/${number}`));
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([{ name }]);
    expect((await client.readResource({ uri: `own://${name}/2` })).contents).toMatchObject([{ text: `of ${name}` }]);
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: "start", description: `Of ${name}` }]);
    expect(JSON.stringify(await client.getPrompt({ name: "start" }))).toContain(`of ${name}`);
    const completed = await client.complete({ ref: { type: "ref/prompt", name: "start" }, argument: { name: "x", value: "" } });
    expect(completed.completion.values).toEqual([name]);
  });

  it("answers another owner's resource as one that there is not, and an unknown cursor as the caller's error", async () => {
    await using place = await open(mode);
    const bob = await place.connect("bob");
    const refusal = async (uri: string): Promise<string> =>
      bob.readResource({ uri }).then(JSON.stringify, (error: Error) => error.message.replaceAll(uri, "URI"));
    expect(await refusal("own://alice/1")).toBe(await refusal("own://nobody/1"));
    for (const cursor of ["nope", "2", "-1", "0x"]) {
      await expect(bob.request({ method: "resources/list", params: { cursor } })).rejects.toMatchObject({ code: -32602 });
    }
  });

  it("tells of a change to the owner alone", async () => {
    await using place = await open(mode);
    const told: string[] = [];
    const heard = async (name: string): Promise<Promise<void>[]> => {
      const client = await place.connect(name);
      const methods = ["notifications/resources/list_changed", "notifications/prompts/list_changed"] as const;
      const all = methods.map(
        (method) => new Promise<void>((resolve) => client.setNotificationHandler(method, () => (told.push(name), resolve()))),
      );
      if (mode === "auto") await client.listen({ resourcesListChanged: true, promptsListChanged: true });
      return all;
    };
    const [hers, his] = [await heard("alice"), await heard("bob")];
    place.alice.changed();
    await Promise.all(hers);
    expect(told).toEqual(["alice", "alice"]);
    place.bob.changed();
    await Promise.all(his);
    expect(told).toEqual(["alice", "alice", "bob", "bob"]);
  });
});
