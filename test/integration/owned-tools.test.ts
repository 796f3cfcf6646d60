import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/catalog/tool.ts";
import { defineTool } from "../../src/catalog/tool.ts";
import { textResult } from "../../src/catalog/tool-result.ts";
import type { OwnedTools } from "../support/owned-tools.ts";
import { createOwnedTools } from "../support/owned-tools.ts";
import type { Member, TeamLab } from "../support/team-lab.ts";
import { openTeamLab } from "../support/team-lab.ts";

/** Two owners' tools over MCP, each with a token: nothing of one shows to the other. */

const ERAS = ["auto", "legacy"] as const;

function say(name: string, text: string): Tool {
  return defineTool({
    name,
    title: name,
    description: `Says ${text}`,
    toolset: "own",
    origin: "dynamic",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    run: async () => textResult(text),
  });
}

interface Lab extends AsyncDisposable {
  readonly lab: TeamLab;
  readonly own: OwnedTools;
  connect(member: Member): Promise<Client>;
}

async function openLab(mode: (typeof ERAS)[number]): Promise<Lab> {
  const own = createOwnedTools();
  const other = createOwnedTools();
  const lab = await openTeamLab({ sources: [own, other] });
  own.set([say("weather_now", "sun for Alice"), say("alice_secret", "Alice's plan")], lab.alice.principal.id);
  other.set([say("weather_now", "rain for Bob"), say("read_file", "Bob's own")], lab.bob.principal.id);
  const clients: Client[] = [];
  return {
    lab,
    own,
    async connect({ token }) {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      const stream = watchStream();
      await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", lab.url), { requestInit, fetch: stream.fetch }));
      clients.push(client);
      if (mode === "legacy") await stream.opened;
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await lab[Symbol.asyncDispose]();
    },
  };
}

/** A client of the older revisions opens its stream of notices after it is connected. */
function watchStream(): { readonly fetch: typeof fetch; readonly opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const watched: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === "GET" && response.ok) open();
    return response;
  };
  return { fetch: watched, opened };
}

const names = async (client: Client): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);

async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  return JSON.stringify((await client.callTool({ name, arguments: args })).content);
}

interface Watched {
  /** How often it was told that its tools changed. */
  toolNotices: number;
  /** Resolves when it is told that its tools changed. */
  readonly toolsChanged: Promise<void>;
  readonly resourcesChanged: Promise<void>;
}

async function watch(client: Client, mode: (typeof ERAS)[number]): Promise<Watched> {
  const on = (method: "notifications/tools/list_changed" | "notifications/resources/list_changed", told: () => void): Promise<void> =>
    new Promise((resolve) => client.setNotificationHandler(method, () => (told(), resolve())));
  const watched = {
    toolNotices: 0,
    toolsChanged: on("notifications/tools/list_changed", () => void (watched.toolNotices += 1)),
    resourcesChanged: on("notifications/resources/list_changed", () => undefined),
  };
  // Whoever has listed nothing is told of no change of the list.
  await (mode === "auto" ? client.listen({ toolsListChanged: true, resourcesListChanged: true }) : client.listResources());
  return watched;
}

describe.each(ERAS)("with version negotiation %s", (mode) => {
  it("gives two owners' tools of one name to each its own", async () => {
    await using place = await openLab(mode);
    const [alice, bob] = [await place.connect(place.lab.alice), await place.connect(place.lab.bob)];
    expect(await textOf(alice, "weather_now")).toContain("sun for Alice");
    expect(await textOf(bob, "weather_now")).toContain("rain for Bob");
    const [hers, his] = [await names(alice), await names(bob)];
    expect(hers.filter((name) => !his.includes(name))).toEqual(["alice_secret"]);
    expect(his.filter((name) => !hers.includes(name))).toEqual([]);
  });

  it("answers another owner's tool exactly as one that there is not", async () => {
    await using place = await openLab(mode);
    const bob = await place.connect(place.lab.bob);
    const refusal = async (name: string): Promise<string> =>
      JSON.stringify(await bob.callTool({ name, arguments: {} }).catch(String)).replaceAll(name, "NAME");
    expect(await refusal("alice_secret")).toBe(await refusal("no_such_tool"));
    for (const name of ["alice_secret", "no_such_tool"]) {
      expect(await textOf(bob, "describe_tool", { name })).toContain(`TOOL_NOT_FOUND: No tool \\"${name}\\"`);
    }
    expect(await textOf(bob, "search_tools", { query: "alice secret plan" })).not.toContain("alice_secret");
    expect(await textOf(await place.connect(place.lab.alice), "search_tools", { query: "alice secret plan" })).toContain("alice_secret");
  });

  it("keeps a built-in tool, whatever an owner names", async () => {
    await using place = await openLab(mode);
    const bob = await place.connect(place.lab.bob);
    expect(await textOf(bob, "read_file", { path: "/none" })).not.toContain("Bob's own");
    expect((await names(bob)).filter((name) => name === "read_file")).toHaveLength(1);
  });

  it("tells of a change to the owner alone", async () => {
    await using place = await openLab(mode);
    const [alice, bob] = [await place.connect(place.lab.alice), await place.connect(place.lab.bob)];
    const [hers, his] = [await watch(alice, mode), await watch(bob, mode)];
    place.own.set([say("alice_new", "new")], place.lab.alice.principal.id);
    await hers.toolsChanged;
    expect(await names(alice)).toContain("alice_new");
    // On one stream what comes later has overtaken nothing.
    await bob.callTool({ name: "sandbox_create", arguments: {} });
    await his.resourcesChanged;
    expect(his.toolNotices).toBe(0);
    place.own.set([say("bob_new", "new")], place.lab.bob.principal.id);
    await his.toolsChanged;
    expect(await names(bob)).toContain("bob_new");
  });
});

it("serves an owner's pages to no other, and the common ones to all", async () => {
  const own = createOwnedTools();
  await using lab = await openTeamLab({ sources: [own] });
  const page = ({ principal }: Member): Buffer => lab.catalog.listPage(principal).bytes;
  expect(page(lab.alice)).toBe(page(lab.bob));
  own.set([say("alice_new", "new")], lab.alice.principal.id);
  const [hers, his] = [page(lab.alice), page(lab.bob)];
  expect([hers.includes("alice_new"), his.includes("alice_new")]).toEqual([true, false]);
  expect([page(lab.alice), page(lab.bob)]).toEqual([hers, his]);
});
