import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import type { ExecProcess } from "../../src/runtime/guest/guest.ts";
import { useLab } from "./support/lab.ts";
import { isRoot, newMark, outside, processesOf } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["call", "watches"]);
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

verifies("sandboxes-apart", async () => {
  await using one = await lab.box();
  await using other = await lab.box();
  const mark = newMark();
  await one.guest.files.write("/tmp/mine", mark, { signal: signal() });
  await one.guest.files.write("/home/user/mine", mark, { signal: signal() });
  await using sleeper = await one.guest.exec({ argv: ["sleep", mark], stdin: false, signal: signal() });
  expect(await processesOf(mark)).not.toEqual([]);
  for (const user of ["root", "user"]) {
    expect((await other.run(["bash", "-c", "cat /proc/*/cmdline"], { user })).out).not.toContain(mark);
    expect((await other.run(["bash", "-c", "cat /tmp/mine /home/user/mine"], { user })).out).toBe("");
    expect((await other.run(["find", "/", "-xdev", "-name", mark], { user })).out).toBe("");
    expect((await other.run(["bash", "-c", "ls -d /proc/[0-9]* | wc -l"], { user })).out.trim()).toMatch(/^[1-6]$/);
  }
  sleeper.kill(9);
  await sleeper.exited;
});

verifies("signals-stay-inside", async () => {
  const victim = spawn("sleep", ["1000"]);
  const ended = once(victim, "exit");
  await using neighbour = await lab.box();
  await using bystander = await neighbour.guest.exec({ argv: ["sleep", "1000"], stdin: false, signal: signal() });
  await using box = await lab.box();
  for (const user of ["user", "root"]) {
    await box.run(["bash", "-c", `kill -9 ${victim.pid} ${process.pid} 1; kill -9 -1`], { user });
    expect((await box.run(["echo", "alive"], { user })).out).toBe("alive\n");
  }
  const stillThere = async (): Promise<boolean> => (await neighbour.guest.processes(signal())).some(({ argv }) => argv[0] === "sleep");
  expect(await stillThere()).toBe(true);
  expect(victim.exitCode ?? victim.signalCode).toBeNull();
  bystander.kill(9);
  await bystander.exited;
  expect((await outside(["kill", "-9", String(victim.pid)])).code).toBe(0);
  await ended;
});

verifies("own-kernel-counts", async () => {
  const greedy = execFile(lab.attack("watches"));
  await once(greedy.stdout ?? greedy, "data");
  const second = await outside(["sh", "-c", '"$0" < /dev/null', lab.attack("watches")]);
  expect(Number(second.out)).toBeLessThan(128);
  greedy.stdin?.end();
  await once(greedy, "exit");

  await using one = await lab.box();
  await using other = await lab.box();
  const path = await one.install("watches");
  await other.install("watches");
  await using eater = await one.guest.exec({ argv: [path], user: "user", signal: signal() });
  expect(Number(await firstLine(eater))).toBeGreaterThan(16);
  const left = Number((await other.run([path], { user: "user", input: "" })).out);
  if (isRoot) expect(left).toBeGreaterThan(64);
  expect((await outside(["sh", "-c", '"$0" < /dev/null', lab.attack("watches")])).code).toBe(0);
  eater.stdin.end();
  await eater.exited;
});

async function firstLine(process: ExecProcess): Promise<string> {
  const [chunk] = (await once(process.stdout, "data")) as [Buffer];
  process.stdout.resume();
  return chunk.toString().trim();
}
