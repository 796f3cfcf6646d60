import { describe, expect, it } from "vitest";
import { INSIDE } from "../../src/protocol/inside.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import { DEFAULT_BASE } from "../../src/runtime/contract/sandbox-spec.ts";
import { newMark, processesOf } from "../security/support/outside.ts";
import {
  collect,
  createSandbox,
  execOptions,
  itNeeds,
  readUntil,
  run,
  soon,
  type ContractFeatures,
  type OpenRuntime,
} from "./contract-sandbox.ts";

export function lifecycleContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a sandbox", () => {
    it("ends with the reason it is killed with, and says it once", async () => {
      await using sandbox = await createSandbox(open);
      const end = await sandbox.running.kill("killed");
      expect(end.reason).toBe("killed");
      expect((await sandbox.running.kill("deadline")).reason).toBe("killed");
      expect((await sandbox.running.ended).reason).toBe("killed");
    });

    it("ends every open operation with an error that says why", async () => {
      await using sandbox = await createSandbox(open);
      const { guest } = sandbox;
      const command = await guest.exec(execOptions("echo ready; exec sleep 600", { channels: 1 }));
      await readUntil(command.stdout, "ready");
      const running = run(guest, "sleep 600");
      const watching = collectChanges(await guest.files.watch(".", { signal: soon() }));
      const ends = Promise.allSettled([running, watching, command.exited, collect(command.stdout), collect(command.stderr)]);
      const channelEnd = new Promise((resolve) => command.channels[0]?.once("error", resolve));
      await sandbox.running.kill("deadline");
      for (const end of await ends)
        expect(end).toMatchObject({ status: "rejected", reason: { code: "SANDBOX_ENDED", message: expect.stringContaining("deadline") } });
      expect(await channelEnd).toMatchObject({ code: "SANDBOX_ENDED" });
    });

    it("that has ended refuses every call with its reason", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.running.kill("killed");
      const refused = { code: "SANDBOX_ENDED", message: expect.stringContaining("killed") };
      await expect(run(sandbox.guest, "true")).rejects.toMatchObject(refused);
      await expect(sandbox.guest.files.read("x", { signal: soon() })).rejects.toMatchObject(refused);
      await expect(sandbox.guest.ping(soon())).rejects.toMatchObject(refused);
    });

    it("ends by itself at its deadline", async () => {
      await using sandbox = await createSandbox(open, { deadline: new Date(Date.now() + 300) });
      expect((await sandbox.running.ended).reason).toBe("deadline");
    });

    it("lives on when its deadline moves, and ends at the new one", async () => {
      await using sandbox = await createSandbox(open, { deadline: new Date(Date.now() + 60_000) });
      const later = new Date(Date.now() + 120_000);
      await sandbox.running.extend(later);
      expect((await sandbox.running.usage()).deadline).toEqual(later);
      await sandbox.running.extend(undefined);
      expect((await sandbox.running.usage()).deadline).toBeUndefined();
      await sandbox.running.extend(new Date(Date.now() + 50));
      expect((await sandbox.running.ended).reason).toBe("deadline");
    });

    it("ends when its guest is asked to shut down", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.guest.shutdown(0, soon());
      expect((await sandbox.running.ended).reason).toBe("exited");
    });

    it("gives its processes time to end when it shuts down", async () => {
      await using sandbox = await createSandbox(open);
      await using command = await sandbox.guest.exec(
        execOptions("trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.01; done", { stdin: false }),
      );
      await readUntil(command.stdout, "ready");
      const farewell = readUntil(command.stdout, "bye");
      await sandbox.guest.shutdown(10_000, soon());
      expect(await farewell).toContain("bye");
    });

    it("leaves no process when it ends, daemons included", async () => {
      await using sandbox = await createSandbox(open);
      const mark = newMark();
      const daemon = `sh -c 'echo $$; exec sleep ${mark}'`;
      const script = `setsid -f ${daemon}; (setsid ${daemon} &); echo $$; exec sleep ${mark}`;
      await using command = await sandbox.guest.exec(execOptions(script, { stdin: false }));
      const started = (await readUntil(command.stdout, /^(\d+\n){3}/)).trim().split("\n").map(Number);
      expect((await sandbox.guest.processes(soon())).map((row) => row.pid)).toEqual(expect.arrayContaining(started));
      expect((await processesOf(mark)).length).toBeGreaterThanOrEqual(started.length);
      await sandbox.running.kill("killed");
      expect(await processesOf(mark)).toEqual([]);
      expect(await sandbox.runtime.open(sandbox.spec)).toBeUndefined();
    });

    it("that was released lives on, and is opened again", async () => {
      await using sandbox = await createSandbox(open, { ephemeral: false });
      await sandbox.guest.files.write("kept", "still here", { signal: soon() });
      await sandbox.running.release();
      const reopened = await sandbox.runtime.open(sandbox.spec);
      expect(reopened?.id).toBe(sandbox.spec.id);
      if (!reopened) return;
      const guest = createGuest((signal) => reopened.connect(signal), { ended: reopened.ended });
      expect((await guest.files.read("kept", { signal: soon() })).toString()).toBe("still here");
      await reopened.kill("killed");
      expect((await reopened.ended).reason).toBe("killed");
    });

    it("that lives is not cleared; one that ended tells its reason", async () => {
      await using sandbox = await createSandbox(open);
      const { runtime, spec } = sandbox;
      expect(await runtime.clear(spec)).toBeUndefined();
      await sandbox.running.kill("deadline");
      expect(await runtime.clear(spec)).toMatchObject({ reason: "deadline" });
      expect(await runtime.open(spec)).toBeUndefined();
    });

    it("tells what it uses", async () => {
      await using sandbox = await createSandbox(open);
      await using command = await sandbox.guest.exec(execOptions("echo ready; exec sleep 600", { stdin: false }));
      await readUntil(command.stdout, "ready");
      expect((await sandbox.running.usage()).phase).toBe("running");
      expect((await sandbox.running.usage()).processes).toBeGreaterThan(0);
      const usage = await sandbox.guest.usage(soon());
      expect(usage.processes).toBeGreaterThan(0);
      expect(usage.memoryBytes).toBeGreaterThan(0);
    });

    itNeeds(features, "pause")("that is paused says so, and goes on when it resumes", async () => {
      await using sandbox = await createSandbox(open);
      await using command = await sandbox.guest.exec(execOptions("while read line; do echo got $line; done"));
      await sandbox.running.pause();
      expect((await sandbox.running.usage()).phase).toBe("paused");
      command.stdin.write("word\n");
      await sandbox.running.resume();
      expect(await readUntil(command.stdout, "\n")).toBe("got word\n");
      expect((await sandbox.running.usage()).phase).toBe("running");
      expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
    });

    itNeeds(features, "pause")("that is paused takes no call, and none waits for ever", async () => {
      await using sandbox = await createSandbox(open);
      const { guest, running } = sandbox;
      await running.pause();
      const refused = { code: "SANDBOX_PAUSED", message: expect.stringContaining("resume") };
      await expect(run(guest, "true")).rejects.toMatchObject(refused);
      await expect(guest.files.read("/etc/hosts", { signal: soon() })).rejects.toMatchObject(refused);
      await expect(guest.dial(80, soon())).rejects.toMatchObject(refused);
      await expect(guest.ping(soon())).rejects.toMatchObject(refused);
      await running.pause();
      await running.resume();
      expect((await run(guest, "exit 6")).exitCode).toBe(6);
      await running.resume();
      await guest.ping(soon());
    });

    itNeeds(features, "pause")("that is paused is woken by a call of a guest that may wake it, and by no listener", async () => {
      await using sandbox = await createSandbox(open);
      const { running } = sandbox;
      const guest = createGuest((signal) => running.connect(signal), { ended: running.ended, wake: () => running.resume() });
      await running.pause();
      await expect(guest.listen([{ address: "127.0.0.1", port: 4_711 }], { signal: soon() })).rejects.toMatchObject({
        code: "SANDBOX_PAUSED",
      });
      await expect(guest.ping(soon())).rejects.toMatchObject({ code: "SANDBOX_PAUSED" });
      expect((await running.usage()).phase).toBe("paused");
      expect((await run(guest, "exit 5")).exitCode).toBe(5);
      expect((await running.usage()).phase).toBe("running");
    });

    itNeeds(features, "pause")("that is paused keeps its commands, however long it says nothing", async () => {
      await using sandbox = await createSandbox(open);
      const { running } = sandbox;
      let looks = 0;
      let looked = (): void => {};
      const lookedTwice = new Promise<void>((resolve) => (looked = resolve));
      const isPaused = async (): Promise<boolean> => {
        if (++looks === 2) looked();
        return (await running.usage()).phase === "paused";
      };
      const guest = createGuest((signal) => running.connect(signal), { ended: running.ended, answerMs: 200, isPaused });
      await using command = await guest.exec(execOptions("while read line; do echo got $line; done"));
      await running.pause();
      await lookedTwice;
      await running.resume();
      command.stdin.write("word\n");
      expect(await readUntil(command.stdout, "\n")).toBe("got word\n");
    });

    itNeeds(features, "pause")("that is paused can be killed", async () => {
      await using sandbox = await createSandbox(open);
      await sandbox.guest.exec(execOptions("exec sleep 600"));
      await sandbox.running.pause();
      expect((await sandbox.running.kill("killed")).reason).toBe("killed");
    });

    it("is not made for a caller that has aborted", async () => {
      const runtime = await open();
      await using made = await createSandbox(open);
      const spec = { ...made.spec, id: "aborted0000000000000" };
      await expect(runtime.create(spec, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
      expect(await runtime.open(spec)).toBeUndefined();
    });

    it("is not made from an unknown template", async () => {
      await expect(createSandbox(open, { base: { template: "no-such-template" } })).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
    });

    it("keeps its files apart from those of others", async () => {
      await using one = await createSandbox(open);
      await using two = await createSandbox(open);
      await one.guest.files.write("/tmp/mine", "one", { signal: soon() });
      await expect(two.guest.files.read("/tmp/mine", { signal: soon() })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    itNeeds(features, "isolation")("shows its own processes and host name alone", async () => {
      await using sandbox = await createSandbox(open);
      const result = await run(sandbox.guest, "hostname; cat /proc/1/comm; ls -d /proc/[0-9]* | wc -l");
      const [hostname, , count] = result.stdout.toString().split("\n");
      expect(hostname).toBe("contract");
      expect(Number(count)).toBeLessThan(8);
    });
  });

  describe("the runtime", () => {
    it("tells what it enforces, with a remedy for what it lacks", async () => {
      const runtime = await open();
      const isolation = await runtime.probe();
      expect(isolation).toMatchObject({
        runtime: runtime.name,
        available: true,
        terminals: features.terminals,
        pause: features.pause,
        sleep: features.sleep,
        stop: features.stop,
      });
      for (const check of isolation.checks) expect(check.id).toMatch(/^[a-z0-9-]+$/);
    });

    it("has the default template first, and can describe each that it names", async () => {
      const { layers } = await open();
      const templates = await layers.templates();
      expect(templates[0]?.name).toBe(DEFAULT_BASE.template);
      for (const { name } of templates) expect(await layers.describe({ template: name })).toMatchObject({ home: INSIDE.userHome });
    });

    it("refuses a limit that was named and cannot be enforced", async ({ skip }) => {
      const { limits } = await (await open()).probe();
      const missing = (["memoryBytes", "cpus", "pids", "diskBytes", "openFiles"] as const).find((limit) => !limits.includes(limit));
      if (!missing) return skip("every limit can be enforced here");
      await expect(createSandbox(open, { limits: { [missing]: 100_000_000 }, required: [missing] })).rejects.toMatchObject({
        code: "LIMIT_UNENFORCEABLE",
      });
    });
  });
}

async function collectChanges(changes: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  for await (const change of changes) seen.push(change);
  return seen;
}
