import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { GUEST_CREDIT_BYTES } from "../../src/protocol/wire.ts";
import {
  collect,
  execOptions,
  itNeeds,
  readUntil,
  run,
  shareSandbox,
  waitUntilGone,
  type ContractFeatures,
  type OpenRuntime,
} from "./contract-sandbox.ts";

const MEGABYTE = 1_048_576;
/** What a pipe holds. */
const PIPE_BYTES = 65_536;
const HUNDRED = 100 * MEGABYTE;

export function streamContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a stream", () => {
    const { guest } = shareSandbox(open);

    it("arrives in order", async () => {
      await using command = await guest().exec(execOptions("seq 1 200000", { stdin: false }));
      const lines = (await collect(command.stdout)).toString().trimEnd().split("\n");
      expect([lines.length, lines.every((line, index) => line === String(index + 1))]).toEqual([200_000, true]);
    });

    it("is not mixed with the other one", async () => {
      await using command = await guest().exec(execOptions("seq 1 50000 & seq 1 50000 | tr 0-9 a-j >&2; wait", { stdin: false }));
      const [stdout, stderr] = await Promise.all([collect(command.stdout), collect(command.stderr)]);
      expect(stdout.toString()).toMatch(/^[0-9\n]+$/);
      expect(stderr.toString()).toMatch(/^[a-j\n]+$/);
    });

    it("of 100 MB does not grow the host's memory", async () => {
      await using command = await guest().exec(execOptions(`head -c ${HUNDRED} /dev/zero`, { stdin: false }));
      const before = process.memoryUsage().rss;
      let peak = before;
      let size = 0;
      for await (const chunk of command.stdout as AsyncIterable<Buffer>) {
        size += chunk.length;
        peak = Math.max(peak, process.memoryUsage.rss());
      }
      expect(size).toBe(HUNDRED);
      // Some of what was read waits for the collector, and more of it in newer versions of Node; all that was read would be 95 MiB.
      expect(peak - before).toBeLessThan(80 * MEGABYTE);
    });

    it("past the bound is cut, and said to be", async () => {
      const result = await run(guest(), `head -c ${5 * MEGABYTE} /dev/zero; echo end >&2`, { maxOutputBytes: 1_000 });
      expect([result.stdout.length, result.truncated, result.stderr.toString(), result.exitCode]).toEqual([1_000, true, "end\n", 0]);
    });

    it("is shown as it comes", async () => {
      const seen: string[] = [];
      await run(guest(), "echo one; echo two >&2", { onOutput: (stream, chunk) => seen.push(`${stream}:${chunk.toString()}`) });
      expect(seen.toSorted()).toEqual(["stderr:two\n", "stdout:one\n"]);
    });

    it("gives text whole, as a stream that is told its encoding", async () => {
      const text = "aé€😀".repeat(40_000);
      await using command = await guest().exec(execOptions("cat"));
      const sent = pipeline(Readable.from([Buffer.from(text)]), command.stdin);
      let read = "";
      for await (const piece of command.stdout.setEncoding("utf8")) {
        expect(piece).not.toContain("\ufffd");
        read += piece;
      }
      await sent;
      expect(read === text).toBe(true);
    });

    it("that nobody reads stops its program, and gives all to a late reader", async () => {
      await using command = await guest().exec(execOptions(`head -c ${3 * MEGABYTE} /dev/zero; echo done >&2`, { stdin: false }));
      await run(guest(), "true");
      expect(command.stderr.readableLength).toBe(0);
      const [stdout, stderr] = await Promise.all([collect(command.stdout), collect(command.stderr)]);
      expect([stdout.length, stderr.toString()]).toEqual([3 * MEGABYTE, "done\n"]);
    });

    it("of a program that has ended is still given whole to a slow reader", async () => {
      const size = GUEST_CREDIT_BYTES + PIPE_BYTES;
      await using command = await guest().exec(execOptions(`exec head -c ${size} /dev/zero`, { stdin: false }));
      await waitUntilGone(guest(), command.pid);
      expect((await collect(command.stdout)).length).toBe(size);
      expect(await command.exited).toMatchObject({ exitCode: 0 });
    });

    it("goes in and out at the same time", async () => {
      await using command = await guest().exec(execOptions("while read line; do echo got $line; done"));
      command.stdin.write("one\n");
      expect(await readUntil(command.stdout, "\n")).toBe("got one\n");
      command.stdin.write("two\n");
      expect(await readUntil(command.stdout, "\n")).toBe("got two\n");
      command.stdin.end();
      command.stdout.resume();
      expect(await command.exited).toMatchObject({ exitCode: 0 });
    });

    it("on an extra channel carries 100 MB both ways beside a full stdout", async () => {
      await using command = await guest().exec(
        execOptions(`cat <&3 >&3 & exec 3>&-; head -c ${MEGABYTE} /dev/zero; wait`, {
          channels: 1,
          stdin: false,
          signal: AbortSignal.timeout(38_000),
        }),
      );
      const [channel] = command.channels;
      const sent = createHash("sha1");
      const received = createHash("sha1");
      const writing = pipeline(Readable.from(blocks(sent)), channel as NodeJS.WritableStream);
      for await (const chunk of channel as AsyncIterable<Buffer>) received.update(chunk);
      await writing;
      expect(received.digest("hex")).toBe(sent.digest("hex"));
      expect((await collect(command.stdout)).length).toBe(MEGABYTE);
      expect(await command.exited).toMatchObject({ exitCode: 0 });
    });

    it("of several channels reaches the right ones", async () => {
      await using command = await guest().exec(
        execOptions("echo three >&3; echo four >&4; read word <&5; echo $word", { channels: 3, stdin: false }),
      );
      command.channels[2]?.write("five\n");
      const [three, four, stdout] = await Promise.all([
        readUntil(command.channels[0] as NodeJS.ReadableStream, "\n"),
        readUntil(command.channels[1] as NodeJS.ReadableStream, "\n"),
        collect(command.stdout),
      ]);
      expect([three, four, stdout.toString()]).toEqual(["three\n", "four\n", "five\n"]);
    });

    it("takes a small piece again and again without growing", async () => {
      await using command = await guest().exec(execOptions("for i in $(seq 1 3000); do printf x; done", { stdin: false }));
      expect((await collect(command.stdout)).length).toBe(3_000);
    });
  });

  describe("a terminal", () => {
    const { guest } = shareSandbox(open);
    const itOnTerminal = itNeeds(features, "terminals");
    const terminal = { rows: 30, cols: 100 };

    itOnTerminal("is one to the program, with its size", async () => {
      await using command = await guest().exec(execOptions("tty >/dev/null && stty size", { terminal }));
      expect((await collect(command.stdout)).toString()).toBe("30 100\r\n");
    });

    itOnTerminal("echoes what is typed, and turns ^C into a signal", async () => {
      await using command = await guest().exec(
        // A shell that waits in `read` itself may miss a signal that comes just before the wait.
        execOptions("trap 'echo interrupted; exit 4' INT; echo ready; cat", { terminal }),
      );
      await readUntil(command.stdout, "ready");
      command.stdin.write("typed\n");
      // The terminal's echo, and then what the program wrote.
      await readUntil(command.stdout, "typed\r\ntyped");
      command.stdin.write("\u0003");
      await readUntil(command.stdout, "interrupted");
      command.stdout.resume();
      expect(await command.exited).toMatchObject({ exitCode: 4 });
    });

    itOnTerminal("is resized while the program runs", async () => {
      await using command = await guest().exec(
        execOptions("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done", { terminal }),
      );
      await readUntil(command.stdout, "ready");
      command.resize(50, 132);
      expect(await readUntil(command.stdout, "132")).toContain("50 132");
    });

    itOnTerminal("leaves stderr empty, and ends", async () => {
      await using command = await guest().exec(execOptions("echo shown >&2", { terminal }));
      const [stdout, stderr] = await Promise.all([collect(command.stdout), collect(command.stderr)]);
      expect([stdout.toString(), stderr.length]).toEqual(["shown\r\n", 0]);
    });

    itOnTerminal("hangs up on the program when its caller goes", async () => {
      const command = await guest().exec(execOptions("echo $$; exec sleep 600", { terminal }));
      const pid = Number.parseInt(await readUntil(command.stdout, "\n"), 10);
      await command[Symbol.asyncDispose]();
      expect(await waitUntilGone(guest(), pid)).toMatchObject({ exitCode: 0 });
    });
  });
}

function* blocks(hash: ReturnType<typeof createHash>): Generator<Buffer> {
  for (let index = 0; index < HUNDRED / 65_536; index++) {
    const block = Buffer.alloc(65_536, index & 0xff);
    hash.update(block);
    yield block;
  }
}
