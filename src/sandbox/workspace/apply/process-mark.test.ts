import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { isProcessAlive, markProcess } from "./process-mark.ts";

it("marks a process for good, and each another way", async () => {
  const mark = await markProcess();
  expect(mark).toMatch(new RegExp(`^${process.pid} \\d+ [0-9a-f-]{36}$`));
  expect(await markProcess(process.pid)).toBe(mark);
  expect(await markProcess(process.ppid)).not.toBe(mark);
  expect(await markProcess(spawnSync("true").pid)).toBeUndefined();
});

it("knows a process by its number and since when it has it, and a host by its start", async () => {
  const mark = (await markProcess()) ?? "";
  const [pid = "", since = "", boot = ""] = mark.split(" ");
  expect(await isProcessAlive(mark)).toBe(true);
  for (const other of [`${pid} ${Number(since) + 1} ${boot}`, `${pid} ${since} ${boot.replace(/^./, "z")}`, pid, "", "nobody"])
    expect(await isProcessAlive(other), other).toBe(false);
  expect(await isProcessAlive(`${spawnSync("true").pid} ${since} ${boot}`)).toBe(false);
});
