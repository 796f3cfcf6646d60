import { expect } from "vitest";
import { inEachIdMap } from "./support/id-maps.ts";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["seize", "meddle"]);
const GUEST = "belljar-guest";
const ROUNDS = 200;
const signal = (): AbortSignal => AbortSignal.timeout(50_000);

/** Whoever wins the race holds a process that has the guest's memory and speaks to the host. */
verifies("guest-untouchable", async () => {
  expect((await outside([lab.attack("seize"), GUEST, "own"])).out).toBe(`ready\nseized ${GUEST}\n`);
  await inEachIdMap(lab, async (box, kind) => {
    for (const user of ["root", "user"]) expect({ kind, user, out: await race(box, user) }).toEqual({ kind, user, out: "ready\n" });
  });
});

async function race(box: Box, user: string): Promise<string> {
  const seize = await box.install("seize");
  await using racer = await box.guest.exec({ argv: [seize, GUEST], user, signal: signal() });
  const said: Buffer[] = [];
  const ready = new Promise((resolve) => racer.stdout.on("data", (chunk: Buffer) => resolve(said.push(chunk))));
  racer.stderr.resume();
  await ready;
  let lost = false;
  const over = racer.exited.then(
    () => (lost = true),
    () => undefined,
  );
  // A seized process is stopped, and its call would not return.
  for (let round = 0; round < ROUNDS && !lost; round++) {
    const calls = [box.guest.files.stat("/etc/hosts", { user, signal: signal() }), box.run(["true"], { user, signal: signal() })];
    await Promise.race([Promise.all(calls).catch(() => undefined), over]);
  }
  racer.kill(9);
  await over;
  return Buffer.concat(said).toString();
}

/** The calls by which a process lowers, reads or steers another one of its own user. */
const CALLS = ["seize", "kcmp", "pidfd-getfd", "process-vm-readv", "process-vm-writev", "get-robust-list"];
const LIMITS = [
  "setpriority",
  "sched-setaffinity",
  "sched-setattr",
  "sched-setscheduler",
  "sched-setparam",
  "ioprio-set",
  "prlimit-nofile",
];

verifies("guest-limits-its-own", async () => {
  const reached = (await outside([lab.attack("meddle"), "victim", "own"])).out.split("\n");
  expect(reached).toEqual(expect.arrayContaining([...CALLS, ...LIMITS, "read mem", "read fd", "read environ", "write oom_score_adj"]));
  await inEachIdMap(lab, async (box, kind) => {
    await expectOrdinaryUse(box);
    const stop = new AbortController();
    for (const user of ["root", "user"]) await box.guest.files.watch("/tmp", { user, signal: stop.signal });
    const meddle = await box.install("meddle");
    const before = await guestSettings(box);
    expect(before.length).toBeGreaterThanOrEqual(3);
    for (const user of ["root", "user"]) {
      const { out, err } = await box.run([meddle, GUEST], { user });
      expect({ kind, user, out, found: err }).toEqual({ kind, user, out: "", found: expect.stringMatching(/^[3-9] found\n$/) });
      expect(await guestSettings(box)).toEqual(before);
    }
    stop.abort();
  });
});

const ORDINARY = `
set -e
nice -n 5 taskset -c 0 chrt --batch 0 ionice -c 3 true
sleep 100 & renice -n 7 -p $! > /dev/null; taskset -cp 0 $! > /dev/null; ionice -c 2 -n 5 -p $!; kill $!
prlimit --nofile=99 true; ulimit -n 100
python3 -c "import os, resource; os.sched_setaffinity(0, {0}); resource.prlimit(0, resource.RLIMIT_NOFILE, (50, 60)); print(os.nice(3))"
`;

/** A program does all that with itself and with its own children. */
async function expectOrdinaryUse(box: Box): Promise<void> {
  for (const user of ["root", "user"])
    expect(await box.run(["bash", "-c", ORDINARY], { user })).toEqual({ code: 0, out: expect.stringMatching(/^-?\d+\n$/), err: "" });
}

const SETTINGS = `
for folder in /proc/[0-9]*; do
  [ "$(cat $folder/comm)" = ${GUEST} ] || continue
  echo "$folder $(sed 's/.*) //' $folder/stat | cut -d ' ' -f 17,38,39) $(ionice -p \${folder#/proc/}) $(grep Cpus_allowed_list $folder/status)"
  cat $folder/limits $folder/oom_score_adj $folder/autogroup $folder/coredump_filter
done 2> /dev/null
`;

/** What the kernel keeps for the guest and for its workers: a text of each. */
async function guestSettings(box: Box): Promise<readonly string[]> {
  const { out } = await box.run(["bash", "-c", SETTINGS], { user: "root" });
  return out.split(/^(?=\/proc)/m);
}
