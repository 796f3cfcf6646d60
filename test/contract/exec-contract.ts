import { describe, expect, it } from "vitest";
import {
  collect,
  execOptions,
  itNeeds,
  readUntil,
  run,
  shareSandbox,
  soon,
  waitUntilGone,
  type ContractFeatures,
  type OpenRuntime,
} from "./contract-sandbox.ts";

export function execContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a command", () => {
    const { guest } = shareSandbox(open);

    it("ends with exit code 0", async () => {
      expect(await guest().run({ argv: ["true"], signal: soon() })).toMatchObject({
        exitCode: 0,
        signal: undefined,
        timedOut: false,
        truncated: false,
      });
    });

    it("ends with its own exit code, which is a result and no error", async () => {
      expect(await run(guest(), "exit 7")).toMatchObject({ exitCode: 7, signal: undefined });
    });

    it("writes stdout and stderr apart", async () => {
      const result = await run(guest(), "echo out; echo err >&2");
      expect([result.stdout.toString(), result.stderr.toString()]).toEqual(["out\n", "err\n"]);
    });

    it("gets its arguments as they are, without a shell", async () => {
      const result = await guest().run({ argv: ["printf", "%s|", "a b", "$HOME", "", "ü*"], signal: soon() });
      expect(result.stdout.toString()).toBe("a b|$HOME||ü*|");
    });

    it("reads its input to the end", async () => {
      const input = "line\n".repeat(50_000);
      const result = await guest().run({ argv: ["cat"], input, signal: soon() });
      expect(result.stdout.equals(Buffer.from(input))).toBe(true);
    });

    it("has no input when none is given", async () => {
      expect((await guest().run({ argv: ["cat"], signal: soon() })).stdout.length).toBe(0);
    });

    it("may end before it has read its input", async () => {
      const result = await guest().run({ argv: ["true"], input: Buffer.alloc(1_000_000), signal: soon() });
      expect(result.exitCode).toBe(0);
    });

    itNeeds(features, "ownUser")("starts in the user's home", async () => {
      const result = await run(guest(), '[ "$PWD" = "$HOME" ] && pwd');
      expect(result.stdout.toString().trim()).toMatch(/\/home\/user$/);
    });

    itNeeds(features, "ownUser")("starts in the folder that is named, from the home on", async () => {
      await guest().files.makeDirectory("work/deep", { parents: true, signal: soon() });
      expect((await run(guest(), "pwd", { cwd: "work/deep" })).stdout.toString()).toMatch(/\/home\/user\/work\/deep\n$/);
      expect((await run(guest(), "pwd", { cwd: "/home/user/work" })).stdout.toString()).toMatch(/\/home\/user\/work\n$/);
    });

    it("is refused in a folder that is not there", async () => {
      await expect(run(guest(), "true", { cwd: "nowhere" })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    itNeeds(features, "ownUser")("sees the environment that is given, over the defaults", async () => {
      const result = await run(guest(), 'echo "$GREETING|$USER|$LANG"', { env: { GREETING: "hej då", LANG: "C.UTF-8" } });
      expect(result.stdout.toString()).toBe("hej då|user|C.UTF-8\n");
    });

    it("is refused for an unknown user", async () => {
      await expect(run(guest(), "true", { user: "nobody-here" })).rejects.toMatchObject({ code: "USER_UNKNOWN" });
    });

    itNeeds(features, "twoUsers")("runs as the user that is named", async () => {
      expect((await run(guest(), "id -u")).stdout.toString()).toBe("1000\n");
      expect((await run(guest(), "id -u", { user: "root" })).stdout.toString()).toBe("0\n");
    });

    it("is refused when there is no such program", async () => {
      await expect(guest().run({ argv: ["no-such-program"], signal: soon() })).rejects.toMatchObject({ code: "COMMAND_NOT_FOUND" });
    });

    it("is refused when the file is not executable", async () => {
      await guest().files.write("plain", "echo", { mode: 0o644, signal: soon() });
      await expect(guest().run({ argv: ["./plain"], signal: soon() })).rejects.toMatchObject({ code: "COMMAND_NOT_EXECUTABLE" });
    });

    it("is refused without a program, or with a NUL byte", async () => {
      await expect(guest().run({ argv: [], signal: soon() })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
      await expect(guest().run({ argv: ["echo", "a\0b"], signal: soon() })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    });

    it("says which signal ended it", async () => {
      expect(await run(guest(), "kill -KILL $$")).toMatchObject({ exitCode: undefined, signal: "SIGKILL", timedOut: false });
    });

    it("that exits with 137 is told from one that was killed", async () => {
      expect(await run(guest(), "exit 137")).toMatchObject({ exitCode: 137, signal: undefined, timedOut: false });
    });

    it("is killed by its timeout, which is told from a kill", async () => {
      expect(await run(guest(), "sleep 60 & sleep 60", { timeoutMs: 50 })).toMatchObject({
        exitCode: undefined,
        signal: "SIGKILL",
        timedOut: true,
      });
    });

    it("keeps what it wrote before the timeout", async () => {
      const result = await run(guest(), "echo before; sleep 60", { timeoutMs: 500 });
      expect([result.stdout.toString(), result.timedOut]).toEqual(["before\n", true]);
    });

    it("gets signals that are sent to it", async () => {
      await using command = await guest().exec(execOptions("trap 'echo caught; exit 3' TERM; echo ready; while :; do read line; done"));
      await readUntil(command.stdout, "ready");
      command.kill();
      command.stdout.resume();
      expect(await command.exited).toMatchObject({ exitCode: 3 });
    });

    it("passes signals to its whole group", async () => {
      await using command = await guest().exec(execOptions("sleep 600 & echo $!; wait", { stdin: false }));
      const child = Number(await readUntil(command.stdout, "\n"));
      command.kill(9);
      command.stdout.resume();
      expect(await command.exited).toMatchObject({ signal: "SIGKILL" });
      await expectGone(child);
    });

    it("is killed when its caller aborts", async () => {
      const controller = new AbortController();
      await using witness = await guest().exec(execOptions("cat <&3", { channels: 1, stdin: false }));
      const command = await guest().exec(execOptions("echo $$; exec sleep 600", { signal: controller.signal }));
      const pid = Number(await readUntil(command.stdout, "\n"));
      controller.abort();
      await expect(command.exited).rejects.toMatchObject({ code: "CANCELLED" });
      await expectGone(pid);
      witness.channels[0]?.end("still here");
      expect((await collect(witness.stdout)).toString()).toBe("still here");
    });

    it("is killed when its caller disposes it", async () => {
      const command = await guest().exec(execOptions("echo $$; exec sleep 600"));
      const pid = Number(await readUntil(command.stdout, "\n"));
      await command[Symbol.asyncDispose]();
      await expect(command.exited).rejects.toMatchObject({ code: "CANCELLED" });
      await expectGone(pid);
    });

    it("is not started for a caller that has aborted", async () => {
      await expect(run(guest(), "true", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CANCELLED" });
    });

    it("ends with its process although a background child holds its output", async () => {
      const result = await run(guest(), "echo before; sleep 600 & echo $!");
      const [before, pid] = result.stdout.toString().trim().split("\n");
      expect([before, result.exitCode]).toEqual(["before", 0]);
      await guest().signalProcess(Number(pid), 9, { signal: soon() });
    });

    it("leaves processes behind that are listed and can be killed", async () => {
      const { stdout } = await run(guest(), "sleep 601 >/dev/null 2>&1 & echo $!");
      const pid = Number(stdout.toString());
      // Until its program runs, it is a copy of the shell.
      await expect.poll(async () => (await guest().processes(soon())).find((row) => row.pid === pid)?.argv).toEqual(["sleep", "601"]);
      await guest().signalProcess(pid, 9, { signal: soon() });
      await expectGone(pid);
      await expect(guest().signalProcess(pid, 9, { signal: soon() })).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
    });

    it("runs beside others", async () => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, index) => run(guest(), `echo ${index}; exit ${index}`)));
      expect(results.map((result) => result.exitCode)).toEqual(Array.from({ length: 20 }, (_, index) => index));
    });

    itNeeds(features, "resourceUsage")("tells what it used", async () => {
      const result = await guest().run({ argv: ["python3", "-c", "x = bytearray(64 << 20)\nfor _ in range(10**6): pass"], signal: soon() });
      expect(result.memoryPeakBytes).toBeGreaterThan(64 << 20);
      expect(result.cpuMs).toBeGreaterThan(5);
    });

    async function expectGone(pid: number): Promise<void> {
      const waited = await waitUntilGone(guest(), pid);
      expect(waited).toMatchObject({ exitCode: 0, timedOut: false });
    }
  });
}
