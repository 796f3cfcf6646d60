import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { markProcess } from "../../sandbox/workspace/apply/process-mark.ts";
import { OwnerLocks } from "./owner-locks.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "belljar-owners-"));
});
afterEach(() => rm(folder, { recursive: true }));

const hold = (by: string | undefined): Promise<void> =>
  writeFile(join(folder, "ann.1.json"), JSON.stringify({ version: 1, holder: { token: "t", by } }));

it("passes over what a dead process holds, and a file that a power cut left empty", async () => {
  const [pid, ...rest] = (await markProcess())?.split(" ") ?? [];
  await hold([Number(pid) + 4_000_000, ...rest].join(" "));
  expect(await new OwnerLocks(folder).alone("ann", async () => "done")).toBe("done");
  await writeFile(join(folder, "ann.9.json"), "");
  expect(await new OwnerLocks(folder).alone("ann", async () => "done")).toBe("done");
});

it("waits for a live process until it lets go", async () => {
  await hold(await markProcess());
  const waiting = new OwnerLocks(folder).alone("ann", async () => "after");
  await writeFile(join(folder, "ann.2.json"), JSON.stringify({ version: 1 }));
  expect(await waiting).toBe("after");
});
