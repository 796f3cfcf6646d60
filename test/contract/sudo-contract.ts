import { describe, expect, it } from "vitest";
import { readUntil, execOptions, itNeeds, run, shareSandbox, waitUntilGone } from "./contract-sandbox.ts";
import type { ContractFeatures, OpenRuntime } from "./contract-sandbox.ts";

/** The program `sudo` inside, as docs/guest-protocol.md describes its door. */
export function sudoContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("sudo", () => {
    const { guest } = shareSandbox(open);
    const itAsRoot = itNeeds(features, "twoUsers");
    const print = async (script: string): Promise<string> => (await run(guest(), script)).stdout.toString();

    itAsRoot("runs a command as root, in the same folder and with the same streams", async () => {
      const result = await run(guest(), "cd /tmp && echo in | sudo sh -c 'id -u; pwd; cat; echo out >&2; exit 7'");
      expect([result.stdout.toString(), result.stderr.toString(), result.exitCode]).toEqual(["0\n/tmp\nin\n", "out\n", 7]);
    });

    itAsRoot("keeps the environment, and sets who the user is", async () => {
      const script = "A=1 B=2 sudo -n B=3 sh -c 'echo $A $B $HOME $USER $SUDO_USER $SUDO_UID'; sudo -E sh -c 'echo $HOME $USER'";
      expect(await print(script)).toBe("1 3 /root root user 1000\n/home/user root\n");
    });

    itAsRoot("runs a command as any user", async () => {
      expect(await print("sudo -u www-data id -un; sudo --user=user id -un; sudo -u '#33' id -un; sudo -uuser -- id -un")).toBe(
        "www-data\nuser\nwww-data\nuser\n",
      );
      expect(await run(guest(), "sudo -u nobody-here id")).toMatchObject({ exitCode: 1 });
    });

    itAsRoot("opens a shell, of that user with -i", async () => {
      expect(
        await print("cd /tmp; sudo -i pwd; sudo -s pwd; echo 'id -u; pwd' | sudo -i; echo 'id -u' | sudo -s; sudo -s echo 'a  b;c'"),
      ).toBe("/root\n/tmp\n0\n/root\n0\na  b;c\n");
    });

    itAsRoot("says what it takes where it is asked for something else", async () => {
      const wrong = await run(guest(), "sudo -Z id; sudo --askpass id; sudo; sudo -u");
      expect(wrong.stderr.toString()).toBe(
        "sudo: -Z is not taken here; sudo -h says what is\nsudo: --askpass is not taken here; sudo -h says what is\nsudo: name a command; sudo -h says how\nsudo: -u needs the name of a user\n",
      );
      expect(await print("sudo -h | head -1; sudo -v && sudo -l")).toMatch(/^usage: sudo[^\n]*\n[^\n]*\n +\(ALL\) NOPASSWD: ALL\n$/);
      const missing = await run(guest(), "sudo no-such-command");
      expect([missing.exitCode, missing.stderr.toString()]).toEqual([1, "sudo: run no-such-command: no such command\n"]);
    });

    /** Each takes room in the shell's line, and none in the request's fields. */
    itAsRoot("refuses more arguments than a request has room for, empty ones too", async () => {
      const many = `ulimit -s unlimited; exec perl -e 'exec "sudo", "-s", "--", ("") x 400_000'`;
      const { exitCode, stderr } = await run(guest(), many);
      expect([exitCode, stderr.toString()]).toEqual([1, "sudo: ask the guest: Argument list too long\n"]);
    });

    itAsRoot("ends by the signal that ended the command", async () => {
      expect(await guest().run({ argv: ["sudo", "sh", "-c", "kill -KILL $$"], signal: AbortSignal.timeout(20_000) })).toMatchObject({
        signal: "SIGKILL",
      });
    });

    itAsRoot("passes signals to the command's whole group", async () => {
      await using command = await guest().exec({
        ...execOptions(""),
        argv: ["sudo", "sh", "-c", "trap 'wait; exit 5' TERM; sh -c 'echo ready; exec sleep 600' & wait"],
      });
      await readUntil(command.stdout, "ready");
      command.kill();
      command.stdout.resume();
      expect(await command.exited).toMatchObject({ exitCode: 5 });
    });

    itAsRoot("stops the command while it is stopped itself", async () => {
      await using command = await guest().exec(execOptions("sudo sh -c 'echo $$; exec sleep 600' & echo $!; wait"));
      const [own = 0, inner = 0] = (await readUntil(command.stdout, /^\d+\n\d+\n/))
        .split("\n")
        .map(Number)
        .toSorted((a, b) => a - b)
        .slice(-2);
      const states = (wanted: string) =>
        run(
          guest(),
          `until grep -q '^State:.${wanted}' /proc/${own}/status && grep -q '^State:.${wanted}' /proc/${inner}/status; do sleep 0.01; done`,
          { timeoutMs: 10_000 },
        );
      await run(guest(), `kill -TSTP ${own}`);
      expect(await states("T")).toMatchObject({ exitCode: 0 });
      await run(guest(), `kill -CONT ${own}`);
      expect(await states("S")).toMatchObject({ exitCode: 0 });
    });

    itAsRoot("ends the command when it is killed itself, and when its call runs out of time", async () => {
      const command = await guest().exec(execOptions("sudo sh -c 'echo $$; exec sleep 600' & wait"));
      const pid = Number(await readUntil(command.stdout, "\n"));
      command.kill(9);
      command.stdout.resume();
      await command.exited;
      expect(await waitUntilGone(guest(), pid)).toMatchObject({ exitCode: 0 });
      const late = await run(guest(), "sudo sh -c 'echo $$; exec sleep 600'", { timeoutMs: 500 });
      expect(late.timedOut).toBe(true);
      expect(await waitUntilGone(guest(), Number(late.stdout.toString()))).toMatchObject({ exitCode: 0 });
    });

    describe("on a terminal", () => {
      const terminal = { rows: 30, cols: 100 };
      const shell = () => guest().exec({ ...execOptions("", { terminal }), argv: ["sudo", "bash", "--norc", "-i"], env: { PS1: "> " } });

      itAsRoot("gives the command one of its own, with the size, job control and Ctrl-C", async () => {
        await using command = await shell();
        await readUntil(command.stdout, "> ");
        command.stdin.write("stty size; id -u; cat\n");
        await readUntil(command.stdout, "30 100\r\n0\r\n");
        command.stdin.write("typed\n");
        await readUntil(command.stdout, "typed\r\ntyped");
        command.stdin.write("\u0003");
        await readUntil(command.stdout, "^C\r\n");
        command.stdin.write("sleep 600\n");
        await waitFor("sleep 600");
        command.stdin.write("\u001A");
        await readUntil(command.stdout, "Stopped");
        command.resize(50, 132);
        command.stdin.write("kill %1; until [ \"$(stty size)\" = '50 132' ]; do :; done; echo si''ze; exit 9\n");
        await readUntil(command.stdout, "size\r\n");
        command.stdout.resume();
        expect(await command.exited).toMatchObject({ exitCode: 9 });
      });

      const waitFor = (line: string) => run(guest(), `until pgrep -fx '${line}' >/dev/null; do sleep 0.01; done`, { timeoutMs: 10_000 });

      itAsRoot("leaves the caller's terminal as it was", async () => {
        const script =
          'before=$(stty -g); sudo true; sudo no-such-command; sudo sh -c \'kill -9 $$\'; [ "$before" = "$(stty -g)" ] && echo same';
        await using command = await guest().exec(execOptions(script, { terminal }));
        await readUntil(command.stdout, "same\r\n");
      });
    });

    it.skipIf(features.twoUsers || !features.isolation)("runs the command as it is where there is one id, and says so", async () => {
      const result = await run(guest(), "sudo -n A=b sh -c 'id -u; echo $A; exit 3'");
      expect([result.stdout.toString(), result.exitCode]).toEqual(["1000\nb\n", 3]);
      expect(result.stderr.toString()).toBe("sudo: this sandbox has one id, so it has no root: the command runs as it is\n");
      for (const command of ["apt-get update", "apt install -y jq", "/usr/bin/dpkg -i x.deb"]) {
        const refused = await run(guest(), `sudo ${command}`);
        expect([refused.exitCode, refused.stderr.toString()]).toEqual([
          1,
          expect.stringMatching(/no root, and (apt|apt-get|dpkg) needs one\. Install uidmap on the host/),
        ]);
      }
    });
  });
}
