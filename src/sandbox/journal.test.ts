import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sandboxRecord } from "../../test/support/sandbox-record.ts";
import { UNFINISHED } from "../files/replace-file.ts";
import { Journal } from "./journal.ts";
import { createSandboxId } from "./sandbox-id.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-journal-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function openJournal(): Journal {
  return new Journal(home, () => undefined);
}

function writeSandbox(journal: Journal): string {
  const id = createSandboxId();
  journal.write(sandboxRecord({ id }));
  return id;
}

const END = { reason: "keeper_lost", at: new Date(1_000), isCleared: false } as const;

it("replaces a tombstone whole: whoever reads the one before reads on in that", async () => {
  const journal = openJournal();
  const id = writeSandbox(journal);
  await journal.writeEnd(id, END);
  const open = join(home, "before.json");
  linkSync(join(journal.folder(id), "tombstone.json"), open);
  await journal.writeEnd(id, { ...END, isCleared: true });
  expect(JSON.parse(readFileSync(open, "utf8"))).toMatchObject({ isCleared: false });
  expect((await openJournal().read(id))?.end).toEqual({ ...END, isCleared: true });
  expect(readdirSync(journal.folder(id)).toSorted()).toEqual(["sandbox.json", "tombstone.json"]);
});

it("writes no end for a sandbox whose folder has gone", async () => {
  const journal = openJournal();
  const id = writeSandbox(journal);
  await journal.remove(id);
  await journal.writeEnd(id, END);
  expect(await openJournal().read(id)).toBeUndefined();
});

it("reports a change that it cannot announce, and does not fail", () => {
  const problems: string[] = [];
  const journal = new Journal(home, (problem) => problems.push(problem));
  const id = createSandboxId();
  journal.announce(id);
  expect(problems).toEqual([]);
  symlinkSync(id, journal.folder(id));
  journal.announce(id);
  expect(problems).toEqual([expect.stringContaining(id)]);
});

it("reports once what is left of a sandbox and cannot be removed, and does not fail", async () => {
  const problems: string[] = [];
  const journal = new Journal(home, (problem) => problems.push(problem));
  const left = journal.folder(`${UNFINISHED}${createSandboxId()}`);
  symlinkSync(left, left); // nobody can look behind this
  for (let times = 0; times < 2; times += 1) await journal.removeUnfinished(Date.now());
  expect(problems).toEqual([expect.stringContaining(left)]);
});
