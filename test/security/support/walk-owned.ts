import { expect } from "vitest";
import type { ToolDescription } from "../../../src/catalog/tool.ts";
import { createSandboxId } from "../../../src/sandbox/sandbox-id.ts";
import type { Principal } from "../../../src/sandbox/sandbox.ts";
import { ARGUMENTS, sampleOf, type Schema } from "../../support/sample-arguments.ts";
import type { TeamLab } from "../../support/team-lab.ts";
import { textOf } from "../../support/tool-caller.ts";

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** Arguments that name something of an owner. A tool with one that is not here fails the walk. */
const OWNED = ["sandbox", "id", "from_id", "snapshot_id", "checkpoint_id", "context_id", "process_id", "uri", "session"];
/** Nothing of these is in a sandbox, or can be made yet, so no id of one leads anywhere. */
const ELSEWHERE: Readonly<Record<string, RegExp>> = {
  snapshot_id: /^NOT_SUPPORTED|^SNAPSHOT_NOT_FOUND/,
  checkpoint_id: /^NOT_SUPPORTED|^CHECKPOINT_NOT_FOUND/,
  context_id: /^SANDBOX_NOT_FOUND|^CONTEXT_NOT_FOUND/,
  process_id: /^PROCESS_NOT_FOUND/,
  uri: /^(RESULT|RESOURCE)_NOT_FOUND/,
};

/** Tools of several actions: the one that takes the argument. */
const ACTIONS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  sandbox: { snapshot_id: { action: "fork" }, from_id: { action: "merge" } },
  sandbox_snapshots: { snapshot_id: { action: "remove" } },
};

export interface Owned {
  readonly sandbox: string;
  readonly process: string;
  readonly result: string;
}

/** What the owner has: a sandbox with a process and a file, and a result that was cut. */
export async function makeOwned({ catalog, sandboxes }: TeamLab, owner: Principal): Promise<Owned> {
  const sandbox = await sandboxes.create(owner, {}, soon());
  await sandbox.guest.files.write("note", "of the owner", { signal: soon() });
  const started = await catalog.call(owner, "run_background", { command: "sleep 300", sandbox: sandbox.id }, { signal: soon() });
  return {
    sandbox: sandbox.id,
    process: String(started.structured?.["process_id"]),
    result: catalog.results.keep(owner, "of the owner"),
  };
}

export interface Walk {
  readonly owned: Owned;
  readonly owner: Principal;
  /** Who may know of nothing that the owner has. */
  readonly stranger: Principal;
}

function idsFor(owned: Owned): Readonly<Record<string, readonly [of: string, unknown: string]>> {
  const sandbox = [owned.sandbox, createSandboxId()] as const;
  const changed = (id: string): string => id.slice(0, -4) + (id.endsWith("0000") ? "1111" : "0000");
  return {
    sandbox,
    id: sandbox,
    from_id: sandbox,
    snapshot_id: sandbox,
    checkpoint_id: ["abcd2345", "abcd6789"],
    context_id: sandbox,
    process_id: [owned.process, changed(owned.process)],
    uri: [owned.result, changed(owned.result)],
    session: ["main", "other"],
  };
}

/** The answer without what the caller sent, and without the request's own number. */
export function plain(answer: string, ...sent: readonly string[]): string {
  return sent.reduce((text, one) => text.replaceAll(one, "ID"), answer).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "REQUEST");
}

/** What an address names. */
function nameIn(uri: string): string {
  return uri.slice(uri.lastIndexOf("/") + 1);
}

/** Calls the tool with each id of the owner's, and expects the answer that an unknown id has. Resolves with the number of arguments. */
export async function walkTool(lab: TeamLab, tool: ToolDescription, { owned, stranger }: Walk): Promise<number> {
  const schema = tool.inputSchema as Schema;
  const names = Object.keys(schema.properties ?? {}).filter(
    (name) => name === "sandbox" || name === "session" || name === "uri" || /(^|_)id$/.test(name),
  );
  expect(OWNED, tool.name).toEqual(expect.arrayContaining(names));
  const ids = idsFor(owned);
  const call = async (args: object): Promise<string> => textOf(await lab.catalog.call(stranger, tool.name, args, { signal: soon() }));
  for (const name of names.filter((one) => one !== "session")) {
    const [theirs = "", unknown = ""] = ids[name] ?? [];
    const base = { ...(sampleOf(schema) as object), ...ARGUMENTS[tool.name], ...ACTIONS[tool.name]?.[name] };
    const [asked, missed] = [await call({ ...base, [name]: theirs }), await call({ ...base, [name]: unknown })];
    expect.soft(plain(asked, theirs, nameIn(theirs)), `${tool.name} ${name}`).toBe(plain(missed, unknown, nameIn(unknown)));
    expect.soft(asked, `${tool.name} ${name}`).toMatch(ELSEWHERE[name] ?? /^SANDBOX_NOT_FOUND/);
  }
  return names.length;
}

/** The same for resources, with their lists, watches and completions. */
export async function walkResources({ resources }: TeamLab, { owned: { sandbox, result }, owner, stranger }: Walk): Promise<void> {
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
  const asker = (principal: Principal) => ({ principal, signal: soon() });
  for (const [theirs, none] of pairs) {
    expect(await failure(resources.read(asker(owner), theirs)), theirs).toBe("served");
    const [asked, missed] = [await failure(resources.read(asker(stranger), theirs)), await failure(resources.read(asker(stranger), none))];
    const ids = (uri: string): string[] => uri.split("/").slice(3, 4);
    expect(plain(asked, ...ids(theirs))).toBe(plain(missed, ...ids(none)));
    expect(asked).not.toBe("served");
    expect(await failure(resources.watch(asker(stranger), theirs))).toBe(
      plain(await failure(resources.watch(asker(stranger), none)), ...ids(none)).replace("ID", ids(theirs)[0] ?? ""),
    );
  }
  const { resources: shown } = await resources.list(stranger);
  expect(JSON.stringify(shown)).not.toContain(sandbox);
  expect(JSON.stringify(shown)).not.toContain(result);
  for (const { uriTemplate } of resources.templates(stranger)) {
    for (const name of ["id", "path"]) {
      const wanted = { name, value: "", given: { id: sandbox } };
      const { values } = await resources.complete(asker(stranger), uriTemplate, wanted);
      expect(values, uriTemplate).not.toContain(name === "id" ? sandbox : "note");
    }
  }
}
