import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseJson } from "../../files/parse-json.ts";
import { ClaimedFiles } from "./claimed-files.ts";

const ID = "a".repeat(20);

interface Note {
  readonly id: string;
  readonly owner: string;
  readonly text: string;
}

function openNotes(directory: string): ClaimedFiles<Note> {
  return new ClaimedFiles({ directory, what: "note", parse: (_id, text) => parseJson(text) as Note, report: () => undefined });
}

async function write(notes: ClaimedFiles<Note>, text: string): Promise<void> {
  await notes.begin({ id: ID, owner: "local" });
  await notes.commit({ id: ID, owner: "local", text });
}

it("a record that another process wrote anew under the same id is read anew", async () => {
  const directory = mkdtempSync(join(tmpdir(), "belljar-claimed-"));
  try {
    const [mine, others] = [openNotes(directory), openNotes(directory)];
    await write(mine, "first");
    expect(await mine.read(ID)).toMatchObject({ text: "first" });
    expect(await mine.read(ID)).toBe(await mine.read(ID));
    await others.retract(ID);
    await others.forget(ID);
    await write(others, "second");
    expect(await mine.read(ID)).toMatchObject({ text: "second" });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
