import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxRecord } from "../../test/support/sandbox-record.ts";
import { FactsOfFolders } from "./folder-facts.ts";
import { Journal } from "./journal.ts";
import { RunStates, withStop } from "./run-states.ts";

const RECORD = sandboxRecord({ id: "a1b2c3d4e5f6g7h8i9j0" });
const STOP = { reason: "stopped", at: new Date(1) } as const;
const END = { reason: "killed", at: new Date(2), isCleared: false } as const;
/** So much later no change leaves the time that a folder has now. */
const LATER_MS = 60_000;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-facts-"));
  journalOf().write(RECORD);
});
afterEach(() => rmSync(home, { recursive: true }));

const journalOf = (): Journal => new Journal(home, () => undefined);

/** As another process of the home. */
const other = () => {
  const journal = journalOf();
  return { journal, states: new RunStates(journal) };
};

function open(laterMs: number) {
  const journal = journalOf();
  const facts = new FactsOfFolders(journal, new RunStates(journal), () => Date.now() + laterMs);
  return { read: () => facts.read(RECORD) };
}

describe("facts of a folder", () => {
  it("stay the same object until something in the folder changes", async () => {
    const facts = open(LATER_MS);
    const first = facts.read();
    expect(first).toMatchObject({ state: { phase: "running" } });
    expect(facts.read()).toBe(first);
    await other().states.change(RECORD, (state) => withStop(state, STOP));
    const stopped = facts.read();
    expect(stopped).toMatchObject({ state: { phase: "stopped" }, end: { ...STOP, kept: true } });
    expect(facts.read()).toBe(stopped);
  });

  it("tell what another process changed a moment ago", async () => {
    const facts = open(0);
    for (let round = 1; round <= 20; round += 1) {
      await other().states.change(RECORD, (state) => ({ ...state, generation: round }));
      expect(facts.read().state.generation).toBe(round);
    }
    await other().journal.writeEnd(RECORD.id, END);
    expect(facts.read().end).toEqual(END);
    await other().journal.writeEnd(RECORD.id, { ...END, isCleared: true });
    expect(facts.read().end).toEqual({ ...END, isCleared: true });
  });

  it("are those of a fresh sandbox once the folder is gone", () => {
    const facts = open(LATER_MS);
    facts.read();
    rmSync(join(home, "sandboxes", RECORD.id), { recursive: true });
    expect(facts.read()).toMatchObject({ state: { phase: "running", generation: 1 } });
  });

  it("are read again as long as the tombstone is damaged, and when it is mended in its place", () => {
    const facts = open(LATER_MS);
    const path = join(home, "sandboxes", RECORD.id, "tombstone.json");
    writeFileSync(path, "\0\0\0");
    expect(facts.read().end).toBeUndefined();
    writeFileSync(path, JSON.stringify(END));
    expect(facts.read().end).toEqual(END);
  });

  it("are read again as long as the state is damaged", () => {
    const facts = open(LATER_MS);
    const path = join(home, "sandboxes", RECORD.id, "state.1.json");
    writeFileSync(path, "{");
    expect(() => facts.read()).toThrow(expect.objectContaining({ code: "FILE_IO" }));
    rmSync(path);
    expect(facts.read().state.generation).toBe(1);
  });
});
