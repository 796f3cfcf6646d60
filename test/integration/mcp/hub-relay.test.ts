import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { openHubGateway } from "../../support/hub-gateway.ts";
import { readHubFile } from "../../../src/mcp/proxy/hub-file.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { type HubLab, openHubLab } from "../../support/hub-lab.ts";
import { textOf as shownText } from "../../support/tools-lab.ts";

/** What a server has, through the hub, between clients and servers of both eras. */

const CODE = readFileSync(join(import.meta.dirname, "../../fixtures/hub-relay-server.mjs"), "utf8");
const ANYTHING = z.looseObject({});
const ERAS = ["legacy", "modern"] as const;
const OTHER: Principal = { id: "other", name: "other" };

const relayServer = (name: string, era: string, more: object = {}): object => {
  return { command: "node", args: ["--input-type=module", "-e", CODE], env: { NAME: name, ERA: era }, ...more };
};

let lab: HubLab;
let gateway: Awaited<ReturnType<typeof openHubGateway>>;
beforeAll(async () => {
  lab = await openHubLab({ legacy: relayServer("legacy", "legacy"), modern: relayServer("modern", "modern") });
  gateway = await openHubGateway(lab);
  await lab.until(() => ["legacy", "modern"].every((name) => lab.names().includes(`mcp_${name}_whole`)));
}, 60_000);
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await lab?.[Symbol.asyncDispose]();
}, 60_000);

interface ClientOptions {
  readonly capabilities?: object;
  readonly open?: Awaited<ReturnType<typeof openHubGateway>>;
}

async function connect(era: (typeof ERAS)[number], { capabilities = ABILITIES, open = gateway }: ClientOptions = {}) {
  const mode = era === "modern" ? { pin: "2026-07-28" } : ("legacy" as const);
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode }, capabilities });
  await client.connect(new StreamableHTTPClientTransport(open.url));
  const ask = async (method: string, params: object, options: object = {}): Promise<Record<string, unknown>> =>
    client.request({ method, params: { ...params } }, ANYTHING, options);
  return {
    client,
    ask,
    call: (name: string, args: object = {}, options: object = {}) => ask("tools/call", { name, arguments: args }, options),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const SCOPE = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map<string, string>(), lookOnHost: () => undefined };
const ABILITIES = { sampling: {}, elicitation: { form: {} }, roots: {} };
const textOf = ({ content }: Record<string, unknown>): string => (content as { text: string }[])[0]?.text ?? "";
const contentsOf = ({ contents }: Record<string, unknown>): { uri: string; text: string }[] => contents as { uri: string; text: string }[];

describe.each(ERAS)("a client of the era %s", (downstream) => {
  describe.each(ERAS)("and a server of the era %s", (upstream) => {
    const tool = (name: string): string => `mcp_${upstream}_${name}`;

    it("gets the answer whole", async () => {
      await using client = await connect(downstream);
      const answer = await client.call(tool("whole"));
      expect(answer).toMatchObject({
        content: [
          { type: "text", text: "see", vendor: 1, annotations: { audience: ["user"] }, _meta: { "example.test/block": 1 } },
          { type: "image", data: "aGk=", mimeType: "image/png", vendor: 2 },
          { type: "audio", data: "aGk=", mimeType: "audio/wav", vendor: 3 },
          { type: "resource_link", uri: `belljar-mcp://${upstream}/shared://doc`, name: "shared", vendor: 4 },
          { type: "resource_link", uri: `linked://${upstream}`, name: "in no list" },
          { type: "resource", resource: { uri: `only://${upstream}`, text: "inside", vendor: 5 } },
        ],
        structuredContent: { n: 1 },
        _meta: { "example.test/answer": 1, ui: { resourceUri: `ui://${upstream}/panel/main` } },
        vendor: 6,
      });
      const linked = await client.ask("resources/read", { uri: `linked://${upstream}` });
      expect(contentsOf(linked)[0]?.text).toBe(`linked://${upstream} of ${upstream}`);
    });

    it("gets a structure that is no object, where the era has such", async () => {
      await using client = await connect(downstream);
      const answer = await client.call(tool("numbers"));
      expect(textOf(answer)).toBe("[1,2]");
      expect(answer["structuredContent"]).toEqual(downstream === "modern" ? [1, 2] : undefined);
    });

    it("is asked for its model, its person and its folders", async () => {
      await using client = await connect(downstream);
      const asked: unknown[] = [];
      client.client.setRequestHandler("sampling/createMessage", ({ params }) => {
        asked.push(params.maxTokens);
        return { model: "m", role: "assistant", content: { type: "text", text: "hello" } };
      });
      client.client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params.message);
        return { action: "accept", content: { which: "this" } };
      });
      client.client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work" }] }));
      expect(JSON.parse(textOf(await client.call(tool("sample"))))).toMatchObject({ model: "m", content: { text: "hello" } });
      expect(JSON.parse(textOf(await client.call(tool("ask"))))).toMatchObject({ action: "accept", content: { which: "this" } });
      expect(JSON.parse(textOf(await client.call(tool("roots"))))).toMatchObject({ roots: [{ uri: "file:///work" }] });
      expect(asked).toEqual([9, `The server "${upstream}" asks: Which?`]);
      const prompt = await client.ask("prompts/get", { name: tool("asking") });
      expect(JSON.stringify(prompt)).toContain("this");
    });

    it("is asked for nothing that it does not answer", async () => {
      await using client = await connect(downstream, { capabilities: {} });
      const said = textOf(await client.call(tool("sample")));
      expect(said).toMatch(/needs an answer of the client's model/);
    });

    it("gets the server's own error", async () => {
      await using client = await connect(downstream);
      const refusal = { code: -32_050, message: "no such thing", data: { why: "because" } };
      await expect(client.call(tool("refuse"))).rejects.toMatchObject(refusal);
      const uri = `belljar-mcp://${upstream}/gone://x`;
      await expect(client.ask("resources/read", { uri })).rejects.toMatchObject({ message: "Nothing there", data: { uri: "gone://x" } });
    });

    it("gets the log of its own call", async () => {
      await using client = await connect(downstream);
      const heard: unknown[] = [];
      const log = new Promise<void>((resolve) =>
        client.client.setNotificationHandler("notifications/message", ({ params }) => (heard.push(params), resolve())),
      );
      const wanted = downstream === "modern" ? { _meta: { "io.modelcontextprotocol/logLevel": "info" } } : {};
      await client.ask("tools/call", { name: tool("log"), arguments: {}, ...wanted });
      await log;
      expect(heard).toEqual([expect.objectContaining({ level: "warning", logger: "relay", data: { at: 1 } })]);
    });

    it("has the server learn which messages of its log it wants", async () => {
      await using client = await connect(downstream);
      const asked = async (level?: string): Promise<string> => {
        if (downstream === "legacy" && level !== undefined) await client.ask("logging/setLevel", { level });
        const wanted = downstream === "modern" && level !== undefined ? { _meta: { "io.modelcontextprotocol/logLevel": level } } : {};
        const answer = await client.ask("tools/call", { name: tool(upstream === "legacy" ? "level" : "meta"), arguments: {}, ...wanted });
        return textOf(answer);
      };
      for (const level of ["warning", "error"]) expect(await asked(level)).toContain(level);
    });

    it("gets progress", async () => {
      await using client = await connect(downstream);
      const controller = new AbortController();
      const told: unknown[] = [];
      const onprogress = (progress: unknown): void => (told.push(progress), controller.abort());
      await client.call(tool("hang"), {}, { signal: controller.signal, onprogress }).catch(() => undefined);
      expect(told).toEqual([{ progress: 1, total: 2, message: "on" }]);
    });

    it("says in `_meta` what it likes, and nothing of the connection", async () => {
      await using client = await connect(downstream);
      const answer = await client.ask("tools/call", { name: tool("meta"), arguments: {}, _meta: { "example.test/trace": "1" } });
      const meta = JSON.parse(textOf(answer)) as Record<string, unknown>;
      expect(meta["example.test/trace"]).toBe("1");
      const { "io.modelcontextprotocol/clientInfo": named, "io.modelcontextprotocol/clientCapabilities": able } = meta;
      // Who asks a server is the hub. What can be asked is what its client answers.
      const told = [(named as { readonly name: string } | undefined)?.name, able];
      expect(told).toEqual(upstream === "modern" ? ["belljar", ABILITIES] : [undefined, undefined]);
    });

    it("reads its resources, templates and prompts, and completes them", async () => {
      await using client = await connect(downstream);
      const own = await client.ask("resources/read", { uri: `only://${upstream}` });
      expect(own).toMatchObject({ contents: [{ uri: `only://${upstream}`, vendor: 8 }], _meta: { "example.test/read": 1 } });
      const thing = await client.ask("resources/read", { uri: `${upstream}://things/7` });
      expect(contentsOf(thing)[0]?.text).toBe(`${upstream}://things/7 of ${upstream}`);
      const prompt = await client.ask("prompts/get", { name: tool("greet"), arguments: { who: "Ann" } });
      expect(prompt).toMatchObject({
        messages: [{ content: { text: `Hello Ann of ${upstream}`, vendor: 1 } }],
        _meta: { "example.test/prompt": 1 },
      });
      const complete = async (ref: object) => {
        const answer = await client.ask("completion/complete", { ref, argument: { name: "id", value: "v" } });
        return answer["completion"] as { values: string[]; total: number; hasMore: boolean };
      };
      const ofPrompt = await complete({ type: "ref/prompt", name: tool("greet") });
      expect([JSON.parse(ofPrompt.values[0] ?? ""), ofPrompt.total, ofPrompt.hasMore]).toEqual([
        { type: "ref/prompt", name: "greet" },
        7,
        true,
      ]);
      const ofTemplate = await complete({ type: "ref/resource", uri: `belljar-mcp://${upstream}/shared://things/{id}` });
      expect(JSON.parse(ofTemplate.values[0] ?? "")).toEqual({ type: "ref/resource", uri: "shared://things/{id}" });
    });

    it("hears of a resource that it follows, under the name that it follows", async () => {
      await using client = await connect(downstream);
      const uri = `belljar-mcp://${upstream}/shared://doc`;
      const told: string[] = [];
      const updated = new Promise<void>((resolve) => {
        client.client.setNotificationHandler("notifications/resources/updated", ({ params }) => (told.push(params.uri), resolve()));
      });
      const follows = lab.audited.filter(({ tool: method }) => method === "resources/subscribe").length;
      if (downstream === "modern") await client.client.listen({ resourceSubscriptions: [uri] });
      else await client.ask("resources/subscribe", { uri });
      // A client of the newer era is told that it listens before the server knows.
      await lab.until(() => lab.audited.filter(({ tool: method }) => method === "resources/subscribe").length > follows);
      expect(textOf(await client.call(tool("touch"), { uri: "shared://doc" }))).toContain("shared://doc");
      await updated;
      expect(told).toEqual([uri]);
    });
  });

  it("sees every resource and template under a name that reads it", async () => {
    await using client = await connect(downstream);
    const { resources } = (await client.ask("resources/list", {})) as { resources: Record<string, unknown>[] };
    // The instances of clients that have gone listed these.
    const uris = resources.map(({ uri }) => String(uri)).filter((uri) => !uri.startsWith("left://"));
    const both = (form: (server: string) => string): string[] => ERAS.map(form);
    expect(uris).toEqual(expect.arrayContaining(both((server) => `only://${server}`)));
    expect(uris).toEqual(expect.arrayContaining(both((server) => `belljar-mcp://${server}/shared://doc`)));
    expect(uris).toEqual(expect.arrayContaining(both((server) => `ui://${server}/panel/main`)));
    expect(uris).toEqual(expect.arrayContaining(both((server) => `belljar-mcp://${server}/belljar://sandboxes/`)));
    expect(resources.find(({ uri }) => uri === "only://legacy")).toMatchObject({ vendor: 1, _meta: { "example.test/kept": true } });
    expect(resources.find(({ uri }) => uri === "belljar-mcp://modern/shared://doc")).toMatchObject({
      _meta: { ui: { resourceUri: "ui://modern/panel/main" } },
    });
    for (const uri of uris) {
      const [read] = contentsOf(await client.ask("resources/read", { uri }));
      const server = /legacy|modern/.exec(uri)?.[0] ?? "";
      expect(read).toMatchObject({ uri, text: expect.stringMatching(new RegExp(` of ${server}$`)) });
    }
    const { resourceTemplates } = (await client.ask("resources/templates/list", {})) as { resourceTemplates: Record<string, unknown>[] };
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(
      ERAS.flatMap((server) => [`${server}://things/{id}`, `belljar-mcp://${server}/shared://things/{id}`]),
    );
    expect(resourceTemplates[0]).toMatchObject({ vendor: 2 });
    const thing = await client.ask("resources/read", { uri: "belljar-mcp://modern/shared://things/1" });
    expect(contentsOf(thing)[0]?.text).toBe("shared://things/1 of modern");
  });

  it("reads nothing under a name that two servers have", async () => {
    await using client = await connect(downstream);
    for (const [uri, form] of [
      ["shared://doc", "belljar-mcp://legacy/shared://doc"],
      ["ui://panel/main", "ui://legacy/panel/main"],
      ["shared://things/1", "belljar-mcp://legacy/shared://things/1"],
    ])
      await expect(client.ask("resources/read", { uri })).rejects.toThrow(
        new RegExp(`RESOURCE_AMBIGUOUS: .*${form} of the server "legacy", or ${form?.replace("legacy", "modern")} of the server "modern"`),
      );
    await expect(client.ask("resources/read", { uri: "belljar://sandboxes/" })).rejects.toThrow(/not found|Resource/i);
  });

  it("is shown tools and prompts whole, and none that needs a task", async () => {
    await using client = await connect(downstream);
    const { tools } = (await client.ask("tools/list", {})) as { tools: Record<string, unknown>[] };
    expect(tools.find(({ name }) => name === "mcp_modern_whole")).toMatchObject({
      icons: [{ src: "data:image/png;base64,aGk=" }],
      vendor: 7,
      annotations: { title: "The whole", readOnlyHint: true, destructiveHint: false, vendor: 9, "example.test/hint": { deep: [1] } },
      _meta: { ui: { resourceUri: "ui://modern/panel/main" }, "example.test/tool": 1 },
    });
    expect(tools.filter(({ name }) => String(name).endsWith("_task"))).toEqual([]);
    expect(tools.filter((one) => "execution" in one)).toEqual([]);
    expect(lab.problems).toContainEqual(expect.stringMatching(/"task" that is left out: it can be called as a task alone/));
    const { prompts } = (await client.ask("prompts/list", {})) as { prompts: Record<string, unknown>[] };
    expect(prompts.find(({ name }) => name === "mcp_legacy_greet")).toMatchObject({
      vendor: 3,
      arguments: [{ name: "who", required: true }],
    });
  });

  it.each(["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"])("is refused %s", async (method) => {
    await using client = await connect(downstream);
    await expect(client.ask(method, { taskId: "1" })).rejects.toThrow(/method not found|not supported/i);
  });

  it("is told that an answer which is a task cannot be used", async () => {
    await using client = await connect(downstream);
    expect(textOf(await client.call("mcp_modern_late"))).toMatch(/^SERVER_INCOMPATIBLE/);
  });
});

/** One more lab, with these servers alone, once they have listed. */
async function openLab(servers: object, options: Parameters<typeof openHubLab>[1] = {}): Promise<HubLab> {
  const open = await openHubLab(servers, options);
  await open.until(() => Object.keys(servers).every((name) => open.names().includes(`mcp_${name}_whole`)));
  return open;
}

const asker = (clientId: string, principal: Principal = LOCAL) => ({ principal, clientId, signal: AbortSignal.timeout(60_000) });

describe.each(ERAS)("a server of the era %s", (era) => {
  it("hears of a cancel", async () => {
    const controller = new AbortController();
    const given = { clientId: "cancelling", signal: controller.signal, progress: () => controller.abort() };
    expect(await lab.call(`mcp_${era}_hang`, {}, given)).toMatchObject({ value: { code: "CANCELLED" } });
    expect(shownText(await lab.call(`mcp_${era}_cancelled`, {}, { clientId: "cancelling" }))).toBe("1");
  });

  it("serves each client by an instance of its own, and follows for it until it is let go", async () => {
    await using own = await openLab({ one: relayServer("one", era) });
    const { resources } = own.doors;
    await own.call("mcp_one_grow", {}, { clientId: "a" });
    expect(await resources.read(asker("a"), "later://one")).toMatchObject({ contents: [{ text: "later://one of one" }] });
    await expect(resources.read(asker("b"), "later://one")).rejects.toMatchObject({ code: "SERVER_REFUSED" });
    const told: string[] = [];
    resources.onUpdate((concerns, uri) => void (concerns(LOCAL) && !concerns(OTHER) && told.push(uri)));
    const watch = await resources.watch(asker("a"), "only://one");
    await own.call("mcp_one_touch", { uri: "only://one" }, { clientId: "b" });
    await own.call("mcp_one_touch", { uri: "only://one" }, { clientId: "a" });
    expect(told).toEqual(["only://one"]);
    watch[Symbol.dispose]();
    await own.until(() => own.hub.upstreamsOf(LOCAL)[0]?.listed.resources.some(({ uri }) => uri === "left://only://one") ?? false);
    await own.call("mcp_one_touch", { uri: "only://one" }, { clientId: "a" });
    expect(told).toEqual(["only://one"]);
  });

  it("is started again for whoever follows, who hears that the resource may be another", async () => {
    await using own = await openLab({ one: relayServer("one", era) });
    const updated = new Promise<void>((resolve) => void own.doors.resources.onUpdate(() => resolve()));
    using _watch = await own.doors.resources.watch(asker("a"), "only://one");
    await own.call("mcp_one_die", {}, { clientId: "a" });
    await updated;
    expect(shownText(await own.call("mcp_one_touch", { uri: "x" }, { clientId: "a" }))).toContain("only://one");
  });

  it("is followed on after its entry has changed, and tells of nothing any more once it is removed", async () => {
    await using own = await openLab({ one: relayServer("one", era) });
    const told: string[] = [];
    const heard = new Set<() => void>();
    own.doors.resources.onUpdate((_concerns, uri) => (told.push(uri), heard.forEach((look) => look())));
    const next = (): Promise<void> => new Promise<void>((resolve) => void heard.add(resolve)).then(() => heard.clear());
    const watch = await own.doors.resources.watch(asker("a"), "only://one");
    const set = async (servers: object): Promise<void> =>
      own.hub.set(LOCAL.id, await readHubFile(JSON.stringify({ mcpServers: servers }), "x.json", SCOPE));
    const gone = next();
    const again = (async () => {
      await gone;
      await next();
    })();
    await set({ one: relayServer("one", era, { list: "all" }) });
    // As the server that is gone tells a last time, and as the new one is followed.
    await again;
    await own.until(() => own.names().includes("mcp_one_touch"));
    const touched = next();
    await own.call("mcp_one_touch", { uri: "only://one" }, { clientId: "a" });
    await touched;
    expect(told).toEqual(Array(3).fill("only://one"));
    const last = next();
    await set({});
    await last;
    watch[Symbol.dispose]();
    expect(told).toHaveLength(4);
  });

  it("tells that its resources have changed", async () => {
    await using own = await openLab({ one: relayServer("one", era) });
    const changed = new Promise<void>((resolve) => void own.doors.resources.onListChange((concerns) => concerns(LOCAL) && resolve()));
    await own.call("mcp_one_grow", {}, { clientId: "a" });
    await changed;
    const { resources } = await own.doors.resources.list(LOCAL);
    expect(resources.map(({ uri }) => uri)).toContain("later://one");
  });
});

it("tells a client that what its person did at an address is done, and nothing that nobody asked it", async () => {
  const clientOf = (notify: (method: string, params: object) => void) => ({
    capabilities: { elicitation: { url: {} } },
    notify,
    ask: () => Promise.reject(new Error("It asks by requests")),
    relay: async (requests: object) => Object.fromEntries(Object.keys(requests).map((key) => [key, { action: "accept" }])),
  });
  const [heard, others]: [unknown[], unknown[]] = [[], []];
  const client = clientOf((method, params) => void heard.push([method, params]));
  const other = { id: "other", ...clientOf((method, params) => void others.push([method, params])) };
  const own = { id: "own", ...client };
  expect(shownText(await lab.call("mcp_legacy_visit", {}, { client: own }))).toContain("accept");
  await lab.call("mcp_legacy_visited", {}, { client: other });
  await lab.call("mcp_legacy_needs", {}, { client: own });
  await lab.call("mcp_legacy_visited", {}, { client: own });
  const done = (elicitationId: string) => ["notifications/elicitation/complete", { elicitationId }];
  expect([heard, others]).toEqual([[done("visit-1"), done("visit-2")], []]);
});

it("tells a client of the older era over HTTP", async () => {
  await using client = await connect("legacy", { capabilities: { elicitation: { url: {} } } });
  client.client.setRequestHandler("elicitation/create", async () => ({ action: "accept" }));
  const told = new Promise<unknown>((resolve) =>
    client.client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => resolve(params)),
  );
  await client.call("mcp_legacy_visit");
  await client.call("mcp_legacy_visited");
  expect(await told).toEqual({ elicitationId: "visit-1" });
});

it("drops a message of the log of which it cannot be told whose it is", async () => {
  const heard: unknown[] = [];
  const log = (_level: unknown, data: unknown): void => void heard.push(data);
  const controller = new AbortController();
  let begun = (): void => undefined;
  const hangs = new Promise<void>((resolve) => (begun = resolve));
  const hanging = lab.call("mcp_legacy_hang", {}, { clientId: "two", signal: controller.signal, progress: () => begun(), log });
  await hangs;
  await lab.call("mcp_legacy_log", {}, { clientId: "two", log });
  controller.abort();
  await hanging;
  expect(heard).toEqual([]);
  await lab.call("mcp_legacy_log", {}, { clientId: "two", log });
  expect(heard).toEqual([{ at: 1 }]);
});

it("shows what servers have to their owner alone, by its scopes and its quota, and records it", async () => {
  const { resources, prompts } = lab.doors;
  const narrow = { ...LOCAL, grants: { toolsets: ["files"] } };
  for (const principal of [OTHER, narrow]) {
    expect(await resources.list(principal)).toEqual({ resources: [] });
    expect([resources.templates(principal), prompts.list(principal)]).toEqual([[], []]);
    await expect(resources.read(asker("a", principal), "only://legacy")).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
    await expect(resources.watch(asker("a", principal), "only://legacy")).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
    await expect(prompts.get(asker("a", principal), "mcp_legacy_greet", {})).rejects.toMatchObject({ code: "PROMPT_NOT_FOUND" });
    const wanted = { name: "id", value: "" };
    expect(await resources.complete(asker("a", principal), "legacy://things/{id}", wanted)).toEqual({ values: [] });
    await expect(prompts.complete(asker("a", principal), "mcp_legacy_greet", wanted)).rejects.toMatchObject({ code: "PROMPT_NOT_FOUND" });
  }
  const poor = { ...LOCAL, grants: { quotas: { callsPerMinute: 1 } } };
  const before = lab.audited.length;
  await prompts.get(asker("a", poor), "mcp_legacy_greet", { who: "Ann" });
  await expect(resources.read(asker("a", poor), "only://legacy")).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(lab.audited.slice(before)).toMatchObject([
    { tool: "prompts/get", principal: LOCAL.id, outcome: "ok", arguments: { name: "mcp_legacy_greet" }, resultBytes: expect.any(Number) },
    { tool: "resources/read", outcome: "QUOTA_EXCEEDED", arguments: { uri: "only://legacy" } },
  ]);
});

it("keeps a URI as the server wrote it until a second server has it, and gives pages of long lists", async () => {
  await using own = await openLab({ one: relayServer("one", "legacy") });
  const list = async (cursor?: string) => own.doors.resources.list(LOCAL, cursor);
  const uris = (await list()).resources.map(({ uri }) => uri);
  expect(uris).toEqual(["only://one", "shared://doc", "ui://panel/main", "belljar-mcp://one/belljar://sandboxes/"]);
  await expect(list("4")).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});
