import { expect, it } from "vitest";
import { markProcess } from "../../sandbox/workspace/apply/process-mark.ts";
import { type BuildRecord, parseBuild, toBuild, writeBuild } from "./build-record.ts";

const MINUTE = new Date("2026-01-02T03:04:00.000Z");
const error = { code: "COMMAND_FAILED", message: "why" };

async function record(more: Partial<BuildRecord> = {}): Promise<BuildRecord> {
  return { version: 1, id: "a".repeat(20), name: "built", owner: "local", by: (await markProcess()) ?? "", startedAt: MINUTE, ...more };
}

it("a build goes on as long as its process lives", async () => {
  expect(await toBuild(await record())).toMatchObject({ state: "building" });
  for (const by of ["1 1 another boot", ""])
    expect(await toBuild(await record({ by }))).toMatchObject({ state: "failed", error: { code: "INTERNAL" } });
});

it("one that has ended needs no process", async () => {
  const ended = { by: "", endedAt: MINUTE };
  expect(await toBuild(await record(ended))).toMatchObject({ state: "ready" });
  expect(await toBuild(await record({ ...ended, error }))).toMatchObject({ state: "failed", error });
});

it("nobody is told which process builds", async () => {
  expect(Object.keys(await toBuild(await record()))).not.toContain("by");
});

it("a record is read as it was written, and under its own id alone", async () => {
  const written = await record({ endedAt: MINUTE, error });
  expect(parseBuild(written.id, writeBuild(written))).toEqual(written);
  expect(parseBuild("b".repeat(20), writeBuild(written))).toBeUndefined();
  expect(parseBuild(written.id, writeBuild(written).slice(1))).toBeUndefined();
});
