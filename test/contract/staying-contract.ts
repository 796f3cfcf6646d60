import { describe, expect, it } from "vitest";
import type { Guest, KeepOptions, KeptProcess } from "../../src/runtime/guest/guest.ts";
import { readUntil, shareSandbox, soon, type ContractFeatures, type OpenRuntime } from "./contract-sandbox.ts";

let count = 0;

function newName(): string {
  return `stays-${(count += 1)}`;
}

function keep(guest: Guest, name: string, script: string, options: Partial<KeepOptions> = {}): Promise<KeptProcess> {
  return guest.keep(name, { argv: ["bash", "-c", script], stays: true, stdin: true, signal: soon(), ...options });
}

async function exitOf(process: KeptProcess): Promise<unknown> {
  process.stdout.resume();
  process.stderr.resume();
  return process.exited;
}

/** As when this process is killed: the stream closes, and nobody says goodbye. */
async function lose(process: KeptProcess): Promise<void> {
  await process[Symbol.asyncDispose]();
  await expect(process.exited).rejects.toMatchObject({ code: "CANCELLED" });
}

async function untilEnded(guest: Guest, name: string): Promise<void> {
  await expect.poll(async () => (await guest.listKept(soon())).find((row) => row.name === name)).toEqual({ name, pid: undefined });
}

export function stayingContract(open: OpenRuntime, features: ContractFeatures): void {
  describe.runIf(features.keeps)("a kept command that stays", () => {
    const { guest } = shareSandbox(open);

    it("is not interrupted when its stream is lost, and its stdin goes on", async () => {
      const name = newName();
      const first = await keep(guest(), name, "trap 'echo interrupted' INT; while read -r line; do echo \"got $line\"; done; echo end");
      first.stdin.write("one\n");
      expect(await readUntil(first.stdout, /\n/)).toBe("got one\n");
      await lose(first);
      const second = await guest().attach(name, soon());
      expect([second.pid, second.wasCut]).toEqual([first.pid, false]);
      second.stdin.end("two\n");
      expect(await readUntil(second.stdout, /end\n/)).toBe("got two\nend\n");
      expect(await exitOf(second)).toMatchObject({ exitCode: 0 });
    });

    it("gets all that was written to its stdin, whichever stream is lost before it reads", async () => {
      const name = newName();
      const first = await keep(guest(), name, "read -r -u 3 go; wc -c", { channels: 1 });
      await new Promise((resolve) => first.stdin.write("x".repeat(250_000), resolve));
      first.detach();
      const second = await guest().attach(name, soon());
      second.stdin.end("y".repeat(300_000));
      second.channels[0]?.write("go\n");
      expect(await readUntil(second.stdout, /\n/)).toBe("550000\n");
      second.kill(9);
    });

    it("whose stdin was ended has none for a later stream", async () => {
      const name = newName();
      const first = await keep(guest(), name, "cat; echo end; sleep 600");
      first.stdin.end("all\n");
      expect(await readUntil(first.stdout, /end\n/)).toBe("all\nend\n");
      await lose(first);
      const second = await guest().attach(name, soon());
      expect(second.stdin.destroyed).toBe(true);
      second.kill(9);
      expect(await exitOf(second)).toMatchObject({ signal: "SIGKILL" });
    });

    it("is killed when its time is over, with a stream or without", async () => {
      const name = newName();
      (await keep(guest(), name, "sleep 600", { timeoutMs: 50 })).detach();
      await untilEnded(guest(), name);
      expect(await exitOf(await guest().attach(name, soon()))).toMatchObject({ timedOut: true, signal: "SIGKILL" });
    });

    it("has a note, as long as it is kept", async () => {
      const name = newName();
      const note = "é".repeat(4_000);
      const first = await keep(guest(), name, "sleep 600", { note });
      expect(await guest().describeKept(name, soon())).toEqual({ pid: first.pid, note });
      first.detach();
      await guest().signalProcess(first.pid, 9, { signal: soon() });
      await untilEnded(guest(), name);
      expect(await guest().describeKept(name, soon())).toEqual({ pid: first.pid, note });
      await exitOf(await guest().attach(name, soon()));
      await expect(guest().describeKept(name, soon())).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
      await expect(keep(guest(), newName(), "true", { note: "x".repeat(8_193) })).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
    });

    it("may have no note", async () => {
      const name = newName();
      const first = await keep(guest(), name, "sleep 600");
      expect(await guest().describeKept(name, soon())).toEqual({ pid: first.pid, note: "" });
      first.kill(9);
    });
  });

  describe.runIf(features.keeps && features.terminals)("a kept command with a terminal", () => {
    const { guest } = shareSandbox(open);

    it("goes on when its stream is lost, and does not wait for a reader", async () => {
      const name = newName();
      const script = "read -r line; head -c 1000000 /dev/zero | tr '\\0' x; : >written; while read -r line; do stty size; done";
      const first = await keep(guest(), name, script, { terminal: { rows: 10, cols: 20 } });
      await new Promise((resolve) => first.stdin.write("go\n", resolve));
      first.detach();
      await expect.poll(() => guest().files.stat("written", { signal: soon() }), { timeout: 20_000 }).toMatchObject({ type: "file" });
      const second = await guest().attach(name, soon());
      second.stdin.write("size\n");
      expect(await readUntil(second.stdout, /10 20/)).toContain("10 20");
      second.resize(30, 40);
      second.stdin.write("size\n");
      expect(await readUntil(second.stdout, /30 40/)).toContain("30 40");
      await lose(second);
      const third = await guest().attach(name, soon());
      third.stdin.write("\u0004");
      expect(await exitOf(third)).toMatchObject({ exitCode: 0 });
    });
  });
}
