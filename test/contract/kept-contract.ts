import type { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Guest, KeptProcess } from "../../src/runtime/guest/guest.ts";
import { readUntil, run, shareSandbox, soon, type ContractFeatures, type OpenRuntime } from "./contract-sandbox.ts";

/** Answers each line with its number. `flood` first writes 10 MB to stdout, and then the file `flooded`; `end` ends it. */
const COUNTER = `
trap 'n=$((n + 100))' INT
n=0
while :; do
  read -r line <&3 || { [ $? -gt 128 ] && continue; break; }
  n=$((n + 1))
  case $line in
    flood) head -c 10000000 /dev/zero; : >flooded;;
    end) exit 9;;
  esac
  echo "$n $(printf %s "$line" | wc -c)" >&3
done
`;

let count = 0;

/** A name that no other test uses. */
function newName(): string {
  return `counter-${(count += 1)}`;
}

function start(guest: Guest, name: string, signal = soon()): Promise<KeptProcess> {
  return guest.keep(name, { argv: ["bash", "-c", COUNTER], channels: 1, signal });
}

function channelOf({ channels: [channel] }: KeptProcess): Duplex {
  if (!channel) throw new Error("a counter has one channel");
  return channel;
}

async function ask(counter: KeptProcess, line: string): Promise<string> {
  const channel = channelOf(counter);
  channel.write(`${line}\n`);
  return (await readUntil(channel, /\n/)).trim();
}

export function keptContract(open: OpenRuntime, features: ContractFeatures): void {
  describe.skipIf(features.keeps)("a kept command", () => {
    const { guest } = shareSandbox(open);

    it("is refused where a runtime keeps none", async () => {
      await expect(start(guest(), newName())).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    });
  });

  describe.runIf(features.keeps)("a kept command", () => {
    const { guest } = shareSandbox(open);

    it("lives on when its stream is left, and the next stream has it as it was", async () => {
      const name = newName();
      const first = await start(guest(), name);
      expect(await ask(first, "a")).toBe("1 1");
      first.detach();
      await expect(first.exited).rejects.toMatchObject({ code: "CANCELLED" });
      const second = await guest().attach(name, soon());
      expect(second.pid).toBe(first.pid);
      expect(await ask(second, "ab")).toBe("2 2");
      second.kill(9);
    });

    it("is interrupted when its stream is lost, and lives on", async () => {
      const name = newName();
      const lost = new AbortController();
      const first = await start(guest(), name, lost.signal);
      expect(await ask(first, "a")).toBe("1 1");
      lost.abort();
      await expect(first.exited).rejects.toMatchObject({ code: "CANCELLED" });
      const second = await guest().attach(name, soon());
      expect([first.wasCut, second.wasCut]).toEqual([false, true]);
      expect(await ask(second, "a")).toBe("102 1");
      second.detach();
      const third = await guest().attach(name, soon());
      expect(third.wasCut).toBe(false);
      third.kill(9);
    });

    it("has one stream at a time; others wait in line", async () => {
      const name = newName();
      const first = await start(guest(), name);
      const order: string[] = [];
      const waiters = ["second", "third"].map(async (label) => {
        const mine = await guest().attach(name, soon());
        order.push(label, await ask(mine, label));
        mine.detach();
      });
      order.push("first", await ask(first, "first"));
      first.detach();
      await Promise.all(waiters);
      expect(order.slice(0, 2)).toEqual(["first", "1 5"]);
      expect(order.filter((entry) => /^[23] /.test(entry)).map((entry) => entry[0])).toEqual(["2", "3"]);
      (await guest().attach(name, soon())).kill(9);
    });

    it("whose waiter gave up goes to the next one", async () => {
      const name = newName();
      const first = await start(guest(), name);
      const impatient = new AbortController();
      const gone = guest().attach(name, impatient.signal);
      const next = guest().attach(name, soon());
      impatient.abort();
      await expect(gone).rejects.toMatchObject({ code: "CANCELLED" });
      first.detach();
      expect(await ask(await next, "a")).toBe("1 1");
      (await next).kill(9);
    });

    it("is not stopped by what it prints without a stream, which is dropped", async () => {
      const name = newName();
      const first = await start(guest(), name);
      channelOf(first).write("flood\n");
      first.detach();
      await expect.poll(() => guest().files.stat("flooded", { signal: soon() }), { timeout: 20_000 }).toMatchObject({ type: "file" });
      const second = await guest().attach(name, soon());
      expect((await readUntil(channelOf(second), /\n/)).trim()).toBe("1 5");
      expect(await ask(second, "a")).toBe("2 1");
      second.kill(9);
    });

    it("reads on what an earlier stream had written", async () => {
      const name = newName();
      const first = await start(guest(), name);
      // An answer before the stream is left would be the first one's.
      channelOf(first).write("x".repeat(20_000));
      first.detach();
      const second = await guest().attach(name, soon());
      expect(await ask(second, "")).toBe("1 20000");
      second.kill(9);
    });

    it("takes a whole window of a new stream, though it has not read what the last one wrote", async () => {
      const name = newName();
      const argv = ["bash", "-c", "read -r -u 4 go; cat <&3 | tail -c 3 >&3"];
      const first = await guest().keep(name, { argv, channels: 2, signal: soon() });
      channelOf(first).write("x".repeat(262_144));
      first.detach();
      const second = await guest().attach(name, soon());
      channelOf(second).end(`${"y".repeat(262_140)}end`);
      second.channels[1]?.write("go\n");
      expect(await readUntil(channelOf(second), /end/)).toBe("end");
      second.kill(9);
    });

    it("that has ended without a stream gives its exit to the next one, and its name is free", async () => {
      const name = newName();
      const first = await start(guest(), name);
      first.detach();
      await expect(first.exited).rejects.toMatchObject({ code: "CANCELLED" });
      await guest().signalProcess(first.pid, 9, { signal: soon() });
      await untilEnded(guest(), name);
      const second = await guest().attach(name, soon());
      second.stdout.resume();
      second.stderr.resume();
      expect(await second.exited).toMatchObject({ exitCode: undefined, signal: "SIGKILL" });
      await expect(guest().attach(name, soon())).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
    });

    it("that ends lets those in line go", async () => {
      const name = newName();
      const first = await start(guest(), name);
      first.stdout.resume();
      first.stderr.resume();
      const refused = expect(guest().attach(name, soon())).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
      channelOf(first).write("end\n");
      expect(await first.exited).toMatchObject({ exitCode: 9 });
      await refused;
    });

    it("is listed with its pid as long as it lives", async () => {
      const name = newName();
      const first = await start(guest(), name);
      expect(await guest().listKept(soon())).toContainEqual({ name, pid: first.pid });
      first.detach();
      expect(await guest().listKept(soon())).toContainEqual({ name, pid: first.pid });
      (await guest().attach(name, soon())).kill(9);
      await expect.poll(async () => (await guest().listKept(soon())).some((row) => row.name === name)).toBe(false);
    });

    it("has a name of its own", async () => {
      const name = newName();
      const first = await start(guest(), name);
      await expect(start(guest(), name)).rejects.toMatchObject({ code: "FILE_EXISTS" });
      await expect(start(guest(), "No Name")).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
      await expect(start(guest(), "x".repeat(33))).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
      await expect(guest().attach("nobody", soon())).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
      first.kill(9);
    });

    it("that cannot start is not kept", async () => {
      const name = newName();
      await expect(guest().keep(name, { argv: ["no-such-program"], signal: soon() })).rejects.toMatchObject({ code: "COMMAND_NOT_FOUND" });
      expect((await guest().listKept(soon())).some((row) => row.name === name)).toBe(false);
    });
  });

  describe.runIf(features.keeps)("64 kept commands", () => {
    const { guest } = shareSandbox(open);

    it("are the most, and one that has ended makes room", async () => {
      for (let number = 0; number < 64; number++) {
        (await guest().keep(`many-${number}`, { argv: ["sleep", "600"], signal: soon() })).detach();
      }
      await expect(guest().keep("one-more", { argv: ["true"], signal: soon() })).rejects.toMatchObject({ code: "PROCESS_LIMIT" });
      await run(guest(), "pkill -o sleep");
      await untilEnded(guest(), "many-0");
      const one = await guest().keep("one-more", { argv: ["true"], signal: soon() });
      one.stdout.resume();
      one.stderr.resume();
      expect(await one.exited).toMatchObject({ exitCode: 0 });
      expect((await guest().listKept(soon())).map(({ name }) => name)).not.toContain("many-0");
    });
  });
}

async function untilEnded(guest: Guest, name: string): Promise<void> {
  await expect.poll(async () => (await guest.listKept(soon())).find((row) => row.name === name)).toEqual({ name, pid: undefined });
}
