import { copyFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CALL, openAuditHome } from "../../test/support/audit-home.ts";

async function record(home: { open(): { record(call: typeof CALL): void; close(): Promise<void> } }, tool = "a"): Promise<void> {
  const log = home.open();
  log.record({ ...CALL, tool });
  await log.close();
}

it("finds an audit intact, with all its segments in order", async () => {
  await using home = await openAuditHome();
  for (const tool of ["a", "b", "c"]) await record(home, tool);
  const { segments, ...rest } = await home.verify();
  expect(rest).toMatchObject({ indexProblems: [], removed: 0, isIntact: true });
  expect(segments.map(({ file }) => file)).toEqual(await home.files());
});

it("finds no audit intact whose segment was changed", async () => {
  await using home = await openAuditHome();
  for (let count = 0; count < 2; count += 1) await record(home);
  await home.edit((text) => text.replace('"tool":"a"', '"tool":"b"'));
  const { segments, indexProblems, isIntact } = await home.verify();
  expect([segments.map(({ problem }) => problem !== undefined), indexProblems, isIntact]).toEqual([[true, false], [], false]);
});

it("names the first line that was added to a closed segment", async () => {
  await using home = await openAuditHome();
  await record(home);
  let count = 0;
  await home.edit((text) => {
    count = text.trimEnd().split("\n").length;
    return `${text}${text}`;
  });
  const { segments, isIntact } = await home.verify();
  expect(segments).toMatchObject([{ problem: "changed", brokenLine: count + 1 }]);
  expect(isIntact).toBe(false);
});

it("finds no audit intact that has a segment which the index does not know", async () => {
  await using home = await openAuditHome();
  await record(home);
  const [known = ""] = await home.files();
  const added = known.replace(/^\d{4}/, "2001");
  await copyFile(join(home.segments, known), join(home.segments, added));
  const { segments, isIntact } = await home.verify();
  expect(segments.map(({ file, problem }) => [file, problem !== undefined])).toEqual([
    [added, true],
    [known, false],
  ]);
  expect(isIntact).toBe(false);
});

it("finds no audit intact whose index was changed", async () => {
  await using home = await openAuditHome();
  await record(home);
  await symlink("made up", join(home.index, "3"));
  const { segments, indexProblems, isIntact } = await home.verify();
  expect(segments.map(({ problem }) => problem)).toEqual([undefined]);
  expect(indexProblems).toContain("entries 2 to 2 of the index are missing");
  expect(isIntact).toBe(false);
});

it("names an incomplete line that was added to a closed segment", async () => {
  await using home = await openAuditHome();
  await record(home);
  let count = 0;
  await home.edit((text) => {
    count = text.trimEnd().split("\n").length;
    return `${text}{"kind":"call"`;
  });
  const { segments, isIntact } = await home.verify();
  expect(segments).toMatchObject([{ problem: "changed", brokenLine: count + 1, lines: count, isTorn: true }]);
  expect(isIntact).toBe(false);
});
