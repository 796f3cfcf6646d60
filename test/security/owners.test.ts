import { expect } from "vitest";
import type { ToolDescription } from "../../src/catalog/tool.ts";
import { openGuestStream } from "../../src/remote/server-connection.ts";
import { createSandboxId } from "../../src/sandbox/sandbox-id.ts";
import { ARGUMENTS, sampleOf, type Schema } from "../support/sample-arguments.ts";
import { textOf } from "../support/tool-caller.ts";
import type { Member, TeamLab } from "../support/team-lab.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { verifies } from "./verifies.ts";
import { listed } from "../support/listed.ts";

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** Arguments that name something of an owner. A tool with one that is not here fails the walk. */
const OWNED = ["sandbox", "id", "snapshot_id", "context_id", "process_id", "uri", "session"];
/** Nothing of these is in a sandbox, or can be made yet, so no id of one leads anywhere. */
const ELSEWHERE: Readonly<Record<string, RegExp>> = {
  snapshot_id: /^NOT_SUPPORTED/,
  context_id: /^SANDBOX_NOT_FOUND|^NOT_SUPPORTED/,
  process_id: /^PROCESS_NOT_FOUND/,
  uri: /^(RESULT|RESOURCE)_NOT_FOUND/,
};

interface Owned {
  readonly sandbox: string;
  readonly process: string;
  readonly result: string;
}

/** What Alice has: a sandbox with a process and a file, and a result that was cut. */
async function makeOwned({ catalog, alice, sandboxes }: TeamLab): Promise<Owned> {
  const sandbox = await sandboxes.create(alice.principal, {}, soon());
  await sandbox.guest.files.write("note", "of Alice", { signal: soon() });
  const started = await catalog.call(alice.principal, "run_background", { command: "sleep 300", sandbox: sandbox.id }, { signal: soon() });
  return {
    sandbox: sandbox.id,
    process: String(started.structured?.["process_id"]),
    result: catalog.results.keep(alice.principal, "of Alice"),
  };
}

function idsFor(owned: Owned): Readonly<Record<string, readonly [of: string, unknown: string]>> {
  const sandbox = [owned.sandbox, createSandboxId()] as const;
  const changed = (id: string): string => id.slice(0, -4) + (id.endsWith("0000") ? "1111" : "0000");
  return {
    sandbox,
    id: sandbox,
    snapshot_id: sandbox,
    context_id: sandbox,
    process_id: [owned.process, changed(owned.process)],
    uri: [owned.result, changed(owned.result)],
    session: ["main", "other"],
  };
}

/** The answer without what the caller sent, and without the request's own number. */
function plain(answer: string, ...sent: readonly string[]): string {
  return sent.reduce((text, one) => text.replaceAll(one, "ID"), answer).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "REQUEST");
}

/** What an address names. */
function nameIn(uri: string): string {
  return uri.slice(uri.lastIndexOf("/") + 1);
}

async function walkTool(lab: TeamLab, tool: ToolDescription, owned: Owned): Promise<number> {
  const schema = tool.inputSchema as Schema;
  const names = Object.keys(schema.properties ?? {}).filter(
    (name) => name === "sandbox" || name === "session" || name === "uri" || /(^|_)id$/.test(name),
  );
  expect(OWNED, tool.name).toEqual(expect.arrayContaining(names));
  const ids = idsFor(owned);
  const call = async (args: object): Promise<string> =>
    textOf(await lab.catalog.call(lab.bob.principal, tool.name, args, { signal: soon() }));
  for (const name of names.filter((one) => one !== "session")) {
    const [theirs = "", unknown = ""] = ids[name] ?? [];
    const base = { ...(sampleOf(schema) as object), ...ARGUMENTS[tool.name] };
    const [asked, missed] = [await call({ ...base, [name]: theirs }), await call({ ...base, [name]: unknown })];
    expect.soft(plain(asked, theirs, nameIn(theirs)), `${tool.name} ${name}`).toBe(plain(missed, unknown, nameIn(unknown)));
    expect.soft(asked, `${tool.name} ${name}`).toMatch(ELSEWHERE[name] ?? /^SANDBOX_NOT_FOUND/);
  }
  return names.length;
}

verifies("owners-apart", async () => {
  await using lab = await openTeamLab();
  const owned = await makeOwned(lab);
  const tools = lab.catalog.listAll(lab.bob.principal);
  const own = await lab.catalog.call(lab.alice.principal, "read_file", { path: "note", sandbox: owned.sandbox }, { signal: soon() });
  expect(textOf(own)).toBe("of Alice");
  let walked = 0;
  for (const tool of tools) walked += await walkTool(lab, tool, owned);
  expect(walked).toBeGreaterThan(45);
  await walkRoutes(lab, owned);
  await walkResources(lab, owned);
  expect((await lab.sandboxes.info(lab.alice.principal, owned.sandbox)).state).toBe("running");
  expect(await listed(lab.sandboxes, lab.alice.principal)).toHaveLength(1);
});

/** What each route with an id is sent; a route with one that is not here fails the walk. */
const BODIES: Readonly<Record<string, object | undefined>> = {
  "GET /v1/sandboxes/:id": undefined,
  "GET /v1/sandboxes/:id/environment": undefined,
  "GET /v1/sandboxes/:id/network": undefined,
  "GET /v1/sandboxes/:id/ports": undefined,
  "GET /v1/sandboxes/:id/usage": undefined,
  "POST /v1/sandboxes/:id/extend": { timeoutMs: 1_000_000 },
  "POST /v1/sandboxes/:id/stop": {},
  "POST /v1/sandboxes/:id/start": {},
  "POST /v1/sandboxes/:id/ports": { port: 8080 },
  "PUT /v1/sandboxes/:id/network": { policy: "none" },
  "DELETE /v1/sandboxes/:id": undefined,
};

async function walkRoutes(lab: TeamLab, { sandbox }: Owned): Promise<void> {
  expect(Object.keys(BODIES).toSorted()).toEqual(lab.routes.filter((route) => route.includes(":id")).toSorted());
  const unknown = createSandboxId();
  for (const [route, body] of Object.entries(BODIES)) {
    for (const [theirs, none] of [
      [sandbox, unknown],
      [sandbox.slice(0, 8), unknown.slice(0, 8)],
    ] as const) {
      const asked = await lab.ask(lab.bob, route.replace(":id", theirs), body);
      const missed = await lab.ask(lab.bob, route.replace(":id", none), body);
      expect({ ...asked, text: plain(asked.text, theirs) }, route).toEqual({ ...missed, text: plain(missed.text, none) });
      expect(asked.text, route).toContain("SANDBOX_NOT_FOUND");
    }
    if (route.startsWith("GET") && !route.endsWith("/ports"))
      expect((await lab.ask(lab.alice, route.replace(":id", sandbox))).status).toBe(200);
  }
  const stream = (member: Member, id: string) => openGuestStream({ url: lab.url, token: member.token }, id, soon());
  (await stream(lab.alice, sandbox)).destroy();
  await expect(stream(lab.bob, sandbox)).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
  expect((await lab.ask(lab.bob, "GET /v1/sandboxes")).text).not.toContain(sandbox);
}

async function walkResources({ resources, alice, bob }: TeamLab, { sandbox, result }: Owned): Promise<void> {
  const unknown = createSandboxId();
  const pairs = [
    [`belljar://sandboxes/${sandbox}`, `belljar://sandboxes/${unknown}`],
    [`belljar://sandboxes/${sandbox}/files/home/user/note`, `belljar://sandboxes/${unknown}/files/home/user/note`],
    [result, result.replace(/.{4}$/, "0000")],
  ] as const;
  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "served",
      (error: unknown) => String(error),
    );
  for (const [theirs, none] of pairs) {
    expect(await failure(resources.read(alice.principal, theirs, soon())), theirs).toBe("served");
    const [asked, missed] = [
      await failure(resources.read(bob.principal, theirs, soon())),
      await failure(resources.read(bob.principal, none, soon())),
    ];
    const ids = (uri: string): string[] => uri.split("/").slice(3, 4);
    expect(plain(asked, ...ids(theirs))).toBe(plain(missed, ...ids(none)));
    expect(asked).not.toBe("served");
    expect(await failure(resources.watch(bob.principal, theirs))).toBe(
      plain(await failure(resources.watch(bob.principal, none)), ...ids(none)).replace("ID", ids(theirs)[0] ?? ""),
    );
  }
  const { resources: shown } = await resources.list(bob.principal);
  expect(JSON.stringify(shown)).not.toContain(sandbox);
  expect(JSON.stringify(shown)).not.toContain(result);
  for (const { uriTemplate } of resources.templates(bob.principal)) {
    for (const name of ["id", "path"]) {
      const wanted = { name, value: "", given: { id: sandbox } };
      expect(await resources.complete(bob.principal, uriTemplate, wanted), uriTemplate).not.toContain(name === "id" ? sandbox : "note");
    }
  }
}
