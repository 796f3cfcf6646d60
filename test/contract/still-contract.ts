import { describe, expect, it } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import type { ExecProcess, Guest } from "../../src/runtime/guest/guest.ts";
import type { SandboxSpec } from "../../src/runtime/contract/sandbox-spec.ts";
import { newMark, processesOf, statusOf } from "../security/support/outside.ts";
import { createSandbox, execOptions, itNeeds, readUntil, run, soon, type ContractFeatures, type OpenRuntime } from "./contract-sandbox.ts";

/** Each thread of each process appends the time to a file of its own, without an end. The clock is the host's. */
const WRITER = `
import os, threading, time
def write(number):
  with open(f"ticks-{os.getpid()}-{number}", "a", buffering=1) as file:
    while True:
      for _ in range(2000): pass
      file.write(f"{time.monotonic_ns()}\\n")
for _ in range(2): os.fork()
for number in range(3): threading.Thread(target=write, args=(number,)).start()
print("writing", flush=True)
`;

/** Its first thread ends before the one that writes. */
const LEADERLESS = `
import ctypes, platform, threading, time
def write():
  with open("ticks-0", "a", buffering=1) as file:
    while True:
      for _ in range(2000): pass
      file.write(f"{time.monotonic_ns()}\\n")
threading.Thread(target=write).start()
print("writing", flush=True)
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
`;

/** Processes that fork as fast as they can, and others that end as soon as they have forked. */
const BOMB = `
import os
hops = os.fork() == 0
print("ready", flush=True)
while True:
  try:
    if os.fork() != 0 and hops: os._exit(0)
  except OSError: pass
`;

const CONTINUER = `
import os, signal
os.fork(); os.fork()
print("ready", flush=True)
while True:
  try: os.kill(-1, signal.SIGCONT)
  except OSError: pass
`;

/** Starts a program for as long as its sandbox lives, and waits for its first line. */
async function start(guest: Guest, program: string, mark = ""): Promise<ExecProcess> {
  const command = await guest.exec({ argv: ["python3", "-c", program, mark], stdin: false, signal: soon() });
  command.exited.catch(() => undefined);
  command.stderr.resume();
  await readUntil(command.stdout, /\n/);
  command.stdout.resume();
  return command;
}

/** So many rounds to the guest, in which a program that runs does much. */
async function giveTime(guest: Guest): Promise<void> {
  for (let round = 0; round < 200; round++) await guest.ping(soon());
}

async function ticks(guest: Guest): Promise<readonly bigint[]> {
  const { stdout, truncated } = await run(guest, "cat ticks-* | grep -E '^[0-9]{9,}$'", { maxOutputBytes: 64_000_000 });
  expect(truncated).toBe(false);
  return stdout.toString().trim().split("\n").map(BigInt);
}

async function statesOf(mark: string): Promise<readonly string[]> {
  const states = await Promise.all((await processesOf(mark)).map(async (pid) => (await statusOf(pid, "State"))[0] ?? ""));
  return states.filter((state) => state !== "" && state !== "Z" && state !== "X");
}

export function stillContract(open: OpenRuntime, features: ContractFeatures): void {
  const create = (options: Partial<SandboxSpec> = {}) => createSandbox(open, options);

  describe.skipIf(features.stands)("everything inside", () => {
    it("goes on where a runtime cannot make it stand still", async () => {
      await using sandbox = await create();
      await expect(sandbox.guest.still(soon())).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    });
  });

  describe.runIf(features.stands)("everything inside", () => {
    it.each([
      { whose: "all threads of all processes", program: WRITER },
      { whose: "a process whose first thread has ended", program: LEADERLESS },
    ])("stands still, and goes on afterwards: $whose", async ({ program }) => {
      await using sandbox = await create();
      const { guest } = sandbox;
      await start(guest, program);
      await expect.poll(async () => (await ticks(guest)).some((tick) => tick > 0), { timeout: 20_000 }).toBe(true);
      const still = await guest.still(soon());
      const from = process.hrtime.bigint();
      await giveTime(guest);
      const to = process.hrtime.bigint();
      expect(await still.end()).toBeGreaterThanOrEqual(Number(to - from) / 1e6);
      await expect.poll(async () => (await ticks(guest)).some((tick) => tick > to), { timeout: 20_000 }).toBe(true);
      const all = await ticks(guest);
      expect(all.filter((tick) => tick > from && tick < to)).toEqual([]);
      expect(all.some((tick) => tick < from)).toBe(true);
    });

    it("stands still whoever's it is", async () => {
      await using sandbox = await create();
      const mark = newMark();
      for (const user of ["user", "root"])
        await sandbox.guest.exec(execOptions(`sleep ${mark} & exec sleep ${mark}`, { user, stdin: false }));
      await expect.poll(() => statesOf(mark)).toEqual(["S", "S", "S", "S"]);
      await using still = await sandbox.guest.still(soon());
      expect(await statesOf(mark)).toEqual(["T", "T", "T", "T"]);
      await still.end();
      await expect.poll(() => statesOf(mark)).toEqual(["S", "S", "S", "S"]);
    });

    it("stands still though it forks without an end, and can be ended afterwards", async () => {
      await using sandbox = await create({ limits: { pids: 64 } });
      const { guest } = sandbox;
      const mark = newMark();
      await start(guest, BOMB, mark);
      const still = await guest.still(soon());
      const first = await processesOf(mark);
      expect(first.length).toBeGreaterThan(1);
      await giveTime(guest);
      expect(await processesOf(mark)).toEqual(first);
      expect(new Set(await statesOf(mark))).toEqual(new Set(["T"]));
      await still.end();
      await run(guest, "kill -KILL -1", { user: "root" });
      await expect.poll(() => processesOf(mark), { timeout: 20_000 }).toEqual([]);
    });

    it("that somebody inside had stopped stays stopped", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const [stopped, running] = [newMark(), newMark()];
      await guest.exec({
        argv: ["bash", "-c", `sleep ${running} & exec bash -c 'kill -STOP $$' ${stopped}`],
        stdin: false,
        signal: soon(),
      });
      await expect.poll(() => statesOf(stopped)).toEqual(["T"]);
      await expect.poll(() => statesOf(running)).toContain("S");
      await using still = await guest.still(soon());
      await still.end();
      await giveTime(guest);
      expect(await statesOf(stopped)).toEqual(["T"]);
      expect(await statesOf(running)).toContain("S");
    });

    itNeeds(features, "terminals")("goes on without a word of a shell about its jobs", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const argv = ["bash", "--norc", "-i"];
      const shell = await guest.exec({ argv, terminal: { rows: 24, cols: 200 }, signal: soon() });
      shell.stdin.write("sleep 600 &\nPS1=; echo begin; cat\n");
      let seen = await readUntil(shell.stdout, /^begin\r\n/m);
      for (let round = 0; round < 20; round++) {
        const still = await guest.still(soon());
        await still.end();
        shell.stdin.write(`round ${round}\n`);
        seen += await readUntil(shell.stdout, new RegExp(`round ${round}\\r\\nround ${round}\\r\\n`));
      }
      shell.stdin.write("\u0004");
      shell.stdin.write("jobs; echo over\n");
      seen += await readUntil(shell.stdout, /^over\r\n/m);
      expect(seen).not.toMatch(/Stopped/);
      expect(seen).toMatch(/Running\s+sleep 600/);
      shell.kill(9);
    });

    it("starts its children though it stands still again and again", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const program =
        "import subprocess\nprint('ready', flush=True)\nfor n in range(150): subprocess.run(['true'], check=True)\nprint('done')";
      const command = await guest.exec({ argv: ["python3", "-c", program], stdin: false, signal: soon() });
      await readUntil(command.stdout, "ready");
      const done = readUntil(command.stdout, "done");
      for (let round = 0; round < 30; round++) await (await guest.still(soon())).end();
      expect(await done).toContain("done");
      expect(await command.exited).toMatchObject({ exitCode: 0 });
    });

    it("keeps what comes meanwhile waiting, and serves it afterwards", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const cat = await guest.exec(execOptions("exec cat"));
      const still = await guest.still(soon());
      const order: string[] = [];
      const note = (label: string) => () => void order.push(label);
      cat.stdin.write("word\n");
      const all = [
        run(guest, "echo after").then(note("run")),
        guest.files.write("file", "text", { signal: soon() }).then(note("write")),
        readUntil(cat.stdout, "word").then(note("cat")),
        guest.listKept(soon()).then(note("list")),
      ];
      await giveTime(guest);
      expect(order).toEqual([]);
      await still.end();
      await Promise.all(all);
      expect(order.toSorted()).toEqual(["cat", "list", "run", "write"]);
    });

    it("keeps nothing of a caller that gave up waiting", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      await using still = await guest.still(soon());
      const impatient = new AbortController();
      const gone = run(guest, "touch made", { signal: impatient.signal });
      await giveTime(guest);
      impatient.abort();
      await expect(gone).rejects.toMatchObject({ code: "CANCELLED" });
      await giveTime(guest);
      await still.end();
      await expect(guest.files.stat("made", { signal: soon() })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    it("goes on when its caller gives up while it stands", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const mark = newMark();
      await guest.exec(execOptions(`exec sleep ${mark}`, { stdin: false }));
      const asked = new AbortController();
      const still = await guest.still(asked.signal);
      asked.abort();
      await expect(still.end()).rejects.toMatchObject({ code: "CANCELLED" });
      expect((await run(guest, "echo on")).stdout.toString()).toBe("on\n");
      await expect.poll(() => statesOf(mark)).toEqual(["S"]);
    });

    it("goes on when its caller gives up before it stands", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const mark = newMark();
      await guest.exec(execOptions(`exec sleep ${mark}`, { stdin: false }));
      for (let turns = 0; turns < 40; turns++) {
        const asked = new AbortController();
        const still = guest.still(asked.signal).catch((error: unknown) => error);
        for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
        asked.abort();
        await still;
      }
      expect((await run(guest, "echo on")).stdout.toString()).toBe("on\n");
      await expect.poll(() => statesOf(mark)).toEqual(["S"]);
    });

    it("stands still for one at a time; the next one waits", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const first = await guest.still(soon());
      let stands = false;
      const second = guest.still(soon()).then((still) => {
        stands = true;
        return still;
      });
      await giveTime(guest);
      expect(stands).toBe(false);
      await first.end();
      await (await second).end();
      expect((await run(guest, "echo on")).stdout.toString()).toBe("on\n");
    });

    it("that continues everybody else delays nobody for long", async () => {
      await using sandbox = await create({ limits: { pids: 64 } });
      const { guest } = sandbox;
      await start(guest, CONTINUER);
      const outcome = await guest.still(soon()).then(
        (still) => still.end().then(() => "stood"),
        (error: unknown) => (error instanceof BelljarError ? error.code : error),
      );
      expect(["stood", "SANDBOX_UNRESPONSIVE"]).toContain(outcome);
      expect((await run(guest, "echo on")).stdout.toString()).toBe("on\n");
    });

    it("ends while it stands still, and says so", async () => {
      await using sandbox = await create();
      const still = await sandbox.guest.still(soon());
      await sandbox.running.kill("killed");
      await expect(still.end()).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
    });

    it("goes on for a shutdown", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const trap = await guest.exec(execOptions("trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.01; done", { stdin: false }));
      await readUntil(trap.stdout, "ready");
      const still = await guest.still(soon());
      const farewell = readUntil(trap.stdout, "bye");
      await guest.shutdown(10_000, soon());
      expect(await farewell).toContain("bye");
      await expect(still.end()).rejects.toMatchObject({ code: expect.stringMatching(/^SANDBOX_(UNRESPONSIVE|ENDED)$/) });
    });

    itNeeds(features, "pause")("is not woken to stand still", async () => {
      await using sandbox = await create();
      await sandbox.running.pause();
      await expect(sandbox.guest.still(soon())).rejects.toMatchObject({ code: "SANDBOX_PAUSED" });
      await sandbox.running.resume();
      await (await sandbox.guest.still(soon())).end();
    });

    itNeeds(features, "keeps")("goes on with its variables", async () => {
      await using sandbox = await create();
      const { guest } = sandbox;
      const argv = ["bash", "-c", "n=0; while read -r line <&3; do n=$((n + 1)); echo $n >&3; done"];
      const kept = await guest.keep("counter", { argv, channels: 1, signal: soon() });
      const [channel] = kept.channels;
      if (!channel) throw new Error("a counter has one channel");
      for (const number of [1, 2]) {
        channel.write("go\n");
        expect((await readUntil(channel, /\n/)).trim()).toBe(String(number));
        await (await guest.still(soon())).end();
      }
      kept.kill(9);
    });
  });
}
