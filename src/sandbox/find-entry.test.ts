import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxRecord } from "../../test/support/sandbox-record.ts";
import { assertNameFree, findEntry } from "./find-entry.ts";
import type { Records } from "./find-entry.ts";
import { Journal } from "./journal.ts";
import type { Life } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { LOCAL } from "./sandbox.ts";

let home: string;
let journal: Journal;
/** How those are that have no tombstone; default: they live. */
let lives: Map<string, Life | undefined>;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-find-"));
  journal = new Journal(home, () => undefined);
  lives = new Map();
});
afterEach(() => rmSync(home, { recursive: true }));

const LIVING: Life = { silent: "its guest does not answer" };
const ENDED: Life = { reason: "killed", at: new Date(1) };
const STOPPED: Life = { ...ENDED, kept: true };
const idOf = (start: string) => start.padEnd(20, "z");

function make(start: string, more: Partial<SandboxRecord> = {}): SandboxRecord {
  const record = sandboxRecord({ id: idOf(start), ...more });
  journal.write(record);
  return record;
}

const end = ({ id }: SandboxRecord) => journal.writeEnd(id, { reason: "killed", at: new Date(1), isCleared: true });

function records(): Records {
  const findLife = async ({ id }: SandboxRecord) => (lives.has(id) ? lives.get(id) : LIVING);
  return { journal, live: { held: () => undefined, findLife } };
}

const find = async (text: string, principal = LOCAL) => (await findEntry(records(), principal, text)).record.id;
const refused = (code: string, message = /./) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

describe("a sandbox is found", () => {
  it("by its id, and by a beginning of it", async () => {
    make("a1");
    make("b1");
    for (const text of [idOf("a1"), "a1", "a", "a1zzzzzz"]) expect(await find(text)).toBe(idOf("a1"));
  });

  it("by its name, before a beginning of an id", async () => {
    make("a1", { name: "b" });
    make("c1", { name: "My.name" });
    expect([await find("b"), await find("My.name")]).toEqual([idOf("a1"), idOf("c1")]);
    await expect(find("my.name")).rejects.toThrow(refused("SANDBOX_NOT_FOUND"));
  });

  it("by nothing if it is somebody else's, or of another project", async () => {
    make("a1", { name: "one", owner: "other" });
    make("b1", { name: "two", project: "/srv/b" });
    const principal = { ...LOCAL, project: { folder: "/srv/a", sees: "own" } } as const;
    for (const text of [idOf("a1"), "a1", "one", idOf("b1"), "b1", "two", "", "c", "A1"])
      await expect(find(text, principal), text).rejects.toThrow(refused("SANDBOX_NOT_FOUND"));
    expect(await find("two")).toBe(idOf("b1"));
  });
});

describe("of several with one name", () => {
  it("the one that lives is meant, or is stopped, or is in the making", async () => {
    for (const life of [LIVING, STOPPED, undefined]) {
      rmSync(join(home, "sandboxes"), { recursive: true });
      journal = new Journal(home, () => undefined);
      lives = new Map([
        [idOf("b1"), ENDED],
        [idOf("a1"), life],
      ]);
      make("a1", { name: "one" });
      make("b1", { name: "one", createdAt: new Date(9) });
      expect(await find("one")).toBe(idOf("a1"));
    }
  });

  it("the newest is meant if all have ended", async () => {
    for (const [start, at] of [
      ["a1", 1],
      ["b1", 9],
      ["c1", 5],
    ] as const)
      await end(make(start, { name: "one", createdAt: new Date(at) }));
    expect(await find("one")).toBe(idOf("b1"));
  });
});

describe("a text that may mean several", () => {
  it("means the one that lives", async () => {
    make("a1");
    await end(make("a2"));
    expect(await find("a")).toBe(idOf("a1"));
  });

  it("is refused with the first five of them", async () => {
    for (let index = 1; index <= 7; index += 1) make(`a${index}`, index === 1 ? { name: "One" } : {});
    await expect(find("a")).rejects.toThrow(
      refused("ARGUMENTS_INVALID", /^"a" may be any of (a\dz+( \(One\))?, ){4}a\dz+( \(One\))? and 2 more: /),
    );
    await end(make("b1"));
    await end(make("b2"));
    await expect(find("b")).rejects.toThrow(refused("ARGUMENTS_INVALID", /^"b" may be any of b\dz+, b\dz+: use more/));
  });

  it("is refused if it is a name that looks like a short id, and the beginning of another one's id", async () => {
    make("a1", { name: "b1zzzzzz" });
    expect(await find("b1zzzzzz")).toBe(idOf("a1"));
    make("b1");
    await expect(find("b1zzzzzz")).rejects.toThrow(refused("ARGUMENTS_INVALID", /\(b1zzzzzz\)/));
    make("c1", { name: "c1zzzzzz" });
    expect(await find("c1zzzzzz")).toBe(idOf("c1"));
  });
});

describe("a name", () => {
  it("is taken by another sandbox of the owner that lives, is stopped or is in the making", async () => {
    const own = make("a1", { name: "one" });
    await assertNameFree(records(), own);
    make("b1", { name: "one", owner: "other" });
    make("c1", { name: "two" });
    make("d1");
    await end(make("e1", { name: "one" }));
    await assertNameFree(records(), own);
    const other = make("f1", { name: "one" });
    for (const life of [LIVING, STOPPED, undefined]) {
      lives.set(other.id, life);
      await expect(assertNameFree(records(), own)).rejects.toThrow(refused("SANDBOX_NAME_TAKEN", new RegExp(other.id)));
    }
    lives.set(other.id, ENDED);
    await assertNameFree(records(), own);
  });

  it("that nobody gave is never taken", async () => {
    const own = make("a1");
    make("b1");
    await expect(assertNameFree(records(), own)).resolves.toBeUndefined();
  });
});
