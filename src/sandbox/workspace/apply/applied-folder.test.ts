import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileEntry, linkEntry } from "../../../../test/support/workspace-entries.ts";
import { openAppliedFolder } from "./applied-folder.ts";
import type { AppliedFolder } from "./applied-folder.ts";
import type { ApplyJournal, Step } from "./apply-journal.ts";
import { formatJournal, parseJournal } from "./apply-journal.ts";
import { markProcess } from "./process-mark.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";

let home: string;
let folder: AppliedFolder;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), "belljar-applied-"));
  folder = openAppliedFolder(home, "/srv/a");
});
afterEach(() => fs.rmSync(home, { recursive: true }));

const steps: Step[] = [
  { kind: "take", key: "a", old: "s/1", before: fileEntry({ mtimeNs: -1n }) },
  { kind: "place", key: "a", staged: "s/2", after: linkEntry("t\u00ff") },
  { kind: "make", key: "b" },
  { kind: "unmake", key: "c", before: fileEntry() },
  { kind: "mode", key: "d", mode: 0o700 },
  { kind: "mode", key: "e", mode: 0o700, before: fileEntry() },
];

async function journalOf(more: Partial<ApplyJournal> = {}): Promise<ApplyJournal> {
  const outcomes = [{ key: "a", before: fileEntry(), isPlain: true }];
  const plain = { version: 1, id: "one", sandboxId: ID, hostPath: "/srv/a", staging: "s", isComplete: false } as const;
  return { ...plain, writer: (await markProcess()) ?? "", steps, outcomes, ...more };
}

const busy = expect.objectContaining({ code: "WORKSPACE_CONFLICT" }) as Error;

it("a journal is read as it was written, and nothing else is one", async () => {
  const journal = await journalOf();
  expect(parseJournal(formatJournal(journal))).toEqual(journal);
  for (const text of [
    "",
    "{}",
    formatJournal(journal).replace('"version":1', '"version":2'),
    formatJournal(journal).replace('"take"', '"eat"'),
  ])
    expect(parseJournal(text)).toBeUndefined();
});

describe("what was applied of a sandbox", () => {
  const entry = { key: "a", guest: fileEntry(), host: linkEntry("t"), text: Buffer.from([0, 255]), isDiverged: true };

  it("is none at first, and is kept by sandbox and folder", async () => {
    expect(await folder.applied(ID)).toEqual(new Map());
    await folder.note(ID, [entry, { key: "b" }]);
    const { uid: _uid, gid: _gid, inode: _inode, ctimeNs: _ctimeNs, ...guest } = entry.guest;
    expect(await folder.applied(ID)).toEqual(
      new Map<string, unknown>([
        ["a", { ...entry, guest }],
        ["b", { key: "b" }],
      ]),
    );
    expect((await folder.applied("b".repeat(20))).size).toBe(0);
    expect((await openAppliedFolder(home, "/srv/b").applied(ID)).size).toBe(0);
  });

  it("is added to, replaced and forgotten by key", async () => {
    await folder.note(ID, [{ key: "a" }, { key: "b" }, { key: "c" }]);
    await folder.note(ID, [{ key: "a", isDiverged: true }, { key: "d" }], ["b"]);
    expect([...(await folder.applied(ID)).values()]).toEqual([{ key: "c" }, { key: "a", isDiverged: true }, { key: "d" }]);
  });

  it("has the latest texts, as many as fit", async () => {
    const text = Buffer.alloc(6 * 1024 * 1024, "x");
    await folder.note(
      ID,
      ["a", "b", "c"].map((key) => ({ key, text })),
    );
    expect([...(await folder.applied(ID)).values()].map(({ key, text: kept }) => [key, kept?.length])).toEqual([
      ["a", undefined],
      ["b", text.length],
      ["c", text.length],
    ]);
  });

  it("is known of the latest eight sandboxes", async () => {
    const ids = Array.from({ length: 9 }, (_, index) => String(index).repeat(20));
    for (const [index, id] of ids.entries()) {
      await folder.note(id, [{ key: "a" }]);
      const path = fs.readdirSync(join(home, "applied"), { recursive: true }).find((name) => String(name).endsWith(`${id}.json`));
      fs.utimesSync(join(home, "applied", String(path)), index, index);
    }
    await folder.note(ID, [{ key: "a" }]);
    const known = await Promise.all([...ids, ID].map(async (id) => (await folder.applied(id)).size));
    expect(known).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it("counts as none if it is damaged", async () => {
    await folder.note(ID, [entry]);
    const path = fs.readdirSync(join(home, "applied"), { recursive: true }).find((name) => String(name).endsWith(`${ID}.json`));
    fs.writeFileSync(join(home, "applied", String(path)), '{"version":1}');
    expect((await folder.applied(ID)).size).toBe(0);
  });
});

describe("the apply that writes to a folder", () => {
  it("is alone, until it is finished", async () => {
    const journal = await journalOf();
    await folder.begin(journal);
    await expect(folder.begin(await journalOf({ id: "two" }))).rejects.toThrow(busy);
    await expect(folder.cutOff()).rejects.toThrow(busy);
    await expect(folder.reopen(journal)).rejects.toThrow(busy);
    await folder.finish({ ...journal, isComplete: true });
    expect([await folder.cutOff(), await folder.last()]).toEqual([undefined, { ...journal, isComplete: true }]);
  });

  it("forgets the one before, with its old files", async () => {
    await folder.begin(await journalOf());
    await folder.finish(await journalOf());
    fs.writeFileSync(join(folder.old, "1"), "");
    await folder.begin(await journalOf({ id: "two" }));
    expect([await folder.last(), fs.readdirSync(folder.old)]).toEqual([undefined, []]);
  });

  it("was cut off if its process lives no more, or let go of it", async () => {
    const dead = await journalOf({ writer: "1 0" });
    await folder.begin(dead);
    expect(await folder.cutOff()).toEqual(dead);
    await folder.letGo(await journalOf());
    expect((await folder.cutOff())?.writer).toBe("1 0");
    await folder.forget(dead);
    const journal = await journalOf();
    await folder.reopen(journal);
    await folder.letGo(await journalOf({ id: "two" }));
    await expect(folder.cutOff()).rejects.toThrow(busy);
    await folder.letGo(journal);
    expect(await folder.cutOff()).toEqual({ ...journal, writer: "" });
  });

  it("is forgotten by its id alone", async () => {
    const journal = await journalOf();
    await folder.begin(journal);
    await folder.finish(journal);
    await folder.forget(await journalOf({ id: "two" }));
    expect(await folder.last()).toEqual(journal);
    await folder.forget(journal);
    expect(await folder.last()).toBeUndefined();
  });

  it("is nobody's guess if its journal is damaged", async () => {
    await folder.begin(await journalOf());
    fs.writeFileSync(join(folder.old, "../writing.json"), "{");
    await expect(folder.cutOff()).rejects.toThrow(expect.objectContaining({ code: "FILE_IO" }));
  });
});
