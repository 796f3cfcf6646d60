import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { SandboxRecord } from "../sandbox-record.ts";
import { markProcess } from "../workspace/apply/process-mark.ts";
import { WorkLock } from "./work-lock.ts";

const record = { id: "a1b2c3d4e5f6g7h8i9j0" } as SandboxRecord;
const asked = { kind: "freeze", user: "snapshot-x" } as const;
const signal = new AbortController().signal;
let folder = "";
const open = (): WorkLock =>
  new WorkLock(
    () => folder,
    (problem) => expect.unreachable(problem),
  );

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "belljar-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

it("gives turns to the calls of one process, and refuses those of another one after a moment", async () => {
  const [mine, other] = [open(), open()];
  const order: string[] = [];
  let finish = (): void => undefined;
  const first = mine.run(record, asked, () => new Promise<void>((resolve) => (finish = resolve)), signal).then(() => order.push("first"));
  const second = mine.run(record, asked, async () => order.push("second"), signal);
  await expect.poll(() => mine.find(record.id)).toMatchObject(asked);
  await expect(other.run(record, asked, async () => order.push("other"), signal)).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
  finish();
  await Promise.all([first, second]);
  expect(order).toEqual(["first", "second"]);
  await other.run(record, asked, async () => order.push("other"), signal);
  expect([order.at(-1), await mine.find(record.id)]).toEqual(["other", undefined]);
});

it("is waited for by calls of another process, which have it as soon as it is given back", async () => {
  const [mine, other] = [open(), open()];
  let finish = (): void => undefined;
  const first = mine.run(record, asked, () => new Promise<void>((resolve) => (finish = resolve)), signal);
  await expect.poll(() => mine.find(record.id)).toMatchObject(asked);
  const second = other.run(record, { ...asked, user: "snapshot-y" }, async () => (await other.find(record.id))?.user, signal);
  const gone = AbortSignal.timeout(50);
  await expect(open().run(record, asked, async () => undefined, gone)).rejects.toMatchObject({ name: "TimeoutError" });
  finish();
  await first;
  expect(await second).toBe("snapshot-y");
});

it("is given back by work that fails", async () => {
  const lock = open();
  await expect(lock.run(record, asked, () => Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  expect(await lock.find(record.id)).toBeUndefined();
});

it("counts the work of a live process, and none of a dead one or of a file that a power cut left empty", async () => {
  const child = spawn("sleep", ["600"]);
  const gone = new Promise((resolve) => child.once("close", resolve));
  const by = await markProcess(child.pid);
  await writeFile(join(folder, "work.1.json"), JSON.stringify({ version: 1, work: { ...asked, token: "t", by } }));
  await expect(open().run(record, asked, async () => 1, signal)).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
  child.kill("SIGKILL");
  await gone;
  expect(await open().find(record.id)).toBeUndefined();
  expect(await open().run(record, asked, async () => 1, signal)).toBe(1);
  await writeFile(join(folder, "work.99.json"), "");
  expect(await open().run(record, asked, async () => 2, signal)).toBe(2);
});
