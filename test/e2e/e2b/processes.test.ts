import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { CommandHandle } from "e2b";
import { Sandbox } from "e2b";
import { describe, expect, it } from "vitest";
import { encodeMessage } from "../../../src/gateway/e2b/envd/connect/envelope.ts";
import { rawCalls } from "../../support/e2b-calls.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";

const SLOW = { timeout: 60_000 };

/** Resolves with what a stream has shown once that fits. */
function reader(): { readonly take: (data: string | Uint8Array) => void; until(pattern: RegExp): Promise<string> } {
  let text = "";
  let look = (): void => undefined;
  return {
    take: (data) => {
      text += typeof data === "string" ? data : Buffer.from(data).toString();
      look();
    },
    until: (pattern) =>
      new Promise((resolve) => {
        look = () => void (pattern.test(text) && resolve(text));
        look();
      }),
  };
}

async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no failure",
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

describe("processes of E2B's clients", () => {
  it("run as the SDK asks", SLOW, async () => {
    await using lab = await openE2bLab();
    const { commands, pty } = await Sandbox.create({ ...lab.options, envs: { MINE: "made", BOTH: "made" } });
    const script = "echo out; echo err >&2; id -un; pwd; echo $MINE $BOTH $E2B_SANDBOX $HOME; exit 0";
    expect(await commands.run(script, { envs: { BOTH: "asked" } })).toMatchObject({
      exitCode: 0,
      stdout: "out\nuser\n/home/user\nmade asked true /home/user\n",
      stderr: "err\n",
    });
    await expect(commands.run("exit 3")).rejects.toMatchObject({ exitCode: 3, message: "exit status 3" });
    await expect(commands.run("kill -TERM $$")).rejects.toMatchObject({ exitCode: -1, message: "signal: terminated" });
    expect((await commands.run("id -un; echo $HOME", { user: "root" })).stdout).toBe("root\n/root\n");
    for (const user of ["nobody-here", "0", "a/b"])
      expect(await failure(commands.run("true", { user })), user).toMatch(/^AuthenticationError: .*invalid username/);
    expect(await failure(commands.run("true", { cwd: "/not/there" }))).toContain("cwd '/not/there' does not exist");
    expect((await commands.run("mkdir -p below; cd /; pwd", { cwd: "~" })).stdout).toBe("/\n");
    expect((await commands.run("pwd", { cwd: "below" })).stdout).toBe("/home/user/below\n");
    expect(await failure(commands.run("exec 9>held; flock 9; sleep 600; :", { timeoutMs: 300 }))).toMatch(/^TimeoutError/);
    // The lock is free when the last process is gone that inherited it.
    expect((await commands.run("flock held echo gone")).stdout, "its time is its process's").toBe("gone\n");
    const big = await commands.run("head -c 3000000 /dev/zero | tr '\\0' x");
    expect(big.stdout.length, "all of a long output").toBe(3_000_000);

    const cat = await commands.run("cat; echo end", { background: true, stdin: true });
    expect(await commands.list()).toMatchObject([{ pid: cat.pid, cmd: "/bin/bash", args: ["-l", "-c", "cat; echo end"] }]);
    await commands.sendStdin(cat.pid, "one ");
    await commands.sendStdin(cat.pid, "two\n");
    await commands.closeStdin(cat.pid);
    expect((await cat.wait()).stdout).toBe("one two\nend\n");
    const silent = await commands.run("cat", { background: true, stdin: false });
    expect((await silent.wait()).stdout, "an stdin that nobody gave is at its end").toBe("");
    expect(await failure(commands.sendStdin(cat.pid, "late")), "it has ended").toMatch(/not found/);
    expect(await failure(commands.sendStdin(999_999, "x"))).toMatch(/^NotFoundError/);

    const screen = reader();
    const terminal = await pty.create({ cols: 80, rows: 24, onData: screen.take, envs: { PS1: "$ " } });
    await pty.resize(terminal.pid, { cols: 100, rows: 30 });
    await pty.sendInput(terminal.pid, Buffer.from("stty size; echo $TERM\n"));
    await screen.until(/30 100\r\nxterm-256color/);
    expect(await failure(commands.closeStdin(terminal.pid))).toContain("terminal");
    expect(await pty.kill(terminal.pid)).toBe(true);
    await expect(terminal.wait()).rejects.toMatchObject({ exitCode: -1, message: "signal: killed" });
    expect(await commands.run(`kill -0 ${terminal.pid}`).catch(({ exitCode }: { exitCode: number }) => exitCode)).toBe(1);
    expect(await commands.kill(terminal.pid), "once is enough").toBe(false);
    expect(await commands.list()).toEqual([]);
  });

  it("live on when their clients go and when the server is killed", SLOW, async () => {
    await using lab = await openE2bLab();
    const sandbox = await Sandbox.create(lab.options);
    const { commands, pty } = sandbox;
    const first = reader();
    const echo = await commands.run('while read -r line; do echo "got $line"; done; exit 4', {
      background: true,
      stdin: true,
      onStdout: first.take,
      timeoutMs: 0,
    });
    await commands.sendStdin(echo.pid, "a\n");
    await first.until(/got a/);
    const [second, third] = [reader(), reader()];
    const other = await commands.connect(echo.pid, { onStdout: second.take });
    await commands.sendStdin(echo.pid, "b\n");
    expect(await first.until(/got b/)).toBe("got a\ngot b\n");
    expect(await second.until(/got b/), "one that came later hears from then on").toBe("got b\n");
    await echo.disconnect();
    await other.disconnect();
    await commands.sendStdin(echo.pid, "c\n");
    const screen = reader();
    const terminal = await pty.create({ cols: 80, rows: 24, onData: screen.take, timeoutMs: 0 });
    await pty.sendInput(terminal.pid, Buffer.from("VALUE=kept\n"));
    const raw = rawCalls(lab.url, sandbox);
    const started = raw.stream("process.Process/Start", { process: { cmd: "sleep", args: ["600"], envs: { A: "b" } }, tag: "mine" });
    await expect.poll(async () => (await commands.list()).map(({ tag }) => tag)).toContain("mine");
    const before = await commands.list();

    const cut = failure(terminal.wait());
    await lab.restart();
    expect((await started).end, "the stream broke").toBeUndefined();
    expect(await cut).not.toBe("no failure");
    expect(await commands.list()).toEqual(before);
    const again = await commands.connect(echo.pid, { onStdout: third.take, timeoutMs: 0 });
    await commands.sendStdin(echo.pid, "d\n");
    expect(await third.until(/got d/), "what it printed for nobody is gone").toMatch(/^(got c\n)?got d\n$/);
    const after = reader();
    const taken = await pty.connect(terminal.pid, { onData: after.take });
    await pty.sendInput(terminal.pid, Buffer.from("echo still $VALUE\n"));
    await after.until(/still kept/);
    await pty.kill(taken.pid);
    await expect(taken.wait()).rejects.toMatchObject({ message: "signal: killed" });
    const late = await commands.connect(terminal.pid);
    await expect(late.wait(), "one that has just ended tells its end").rejects.toMatchObject({ message: "signal: killed" });
    const tagged = raw.stream("process.Process/Connect", { process: { tag: "mine" } });
    await expect.poll(async () => (await raw.call("process.Process/SendSignal", { process: { tag: "mine" }, signal: 9 })).status).toBe(404);
    expect((await tagged).messages.at(0)).toMatchObject({ event: { start: { pid: expect.any(Number) as number } } });
    await commands.closeStdin(echo.pid);
    await expect(again.wait()).rejects.toMatchObject({ exitCode: 4 });
    expect(await commands.list()).toEqual([]);
  });

  it("end with their sandbox, under each call that waits", SLOW, async () => {
    await using lab = await openE2bLab();
    const sandbox = await Sandbox.create(lab.options);
    const raw = rawCalls(lab.url, sandbox);
    const { pid } = await sandbox.commands.run("sleep 600", { background: true, stdin: true });
    const waiting: Readonly<Record<string, Promise<unknown>>> = {
      run: failure(sandbox.commands.run("sleep 600")),
      connect: failure(sandbox.commands.connect(pid).then((handle) => handle.wait())),
      input: raw.call("process.Process/SendInput", { process: { pid }, input: { stdin: Buffer.alloc(900_000).toString("base64") } }),
    };
    await expect.poll(async () => (await sandbox.commands.list()).length).toBe(2);
    await sandbox.kill();
    expect(await waiting.run).toMatch(/^TimeoutError: .*(killed|end of life|not found)/s);
    expect(await waiting.connect).toMatch(/^TimeoutError/);
    expect(await waiting.input).toMatchObject({ status: 502, body: { code: 502, sandboxId: sandbox.sandboxId } });
    expect(await failure(sandbox.commands.run("true"))).toMatch(/^(SandboxNotFoundError|TimeoutError)/);
    for (const method of ["List", "SendInput", "SendSignal"])
      expect(await raw.call(`process.Process/${method}`, {}), method).toMatchObject({ status: 502 });
    expect(await raw.stream("process.Process/Start", { process: { cmd: "true" } })).toMatchObject({ status: 502, messages: [] });
  });

  it("take nothing that is not their protocol", SLOW, async () => {
    await using lab = await openE2bLab();
    const sandbox = await Sandbox.create(lab.options);
    const raw = rawCalls(lab.url, sandbox);
    const start = { process: { cmd: "/bin/echo", args: ["hi"] } };
    expect(await raw.stream("process.Process/Start", start)).toMatchObject({
      status: 200,
      messages: [
        { event: { start: {} } },
        { event: { data: { stdout: Buffer.from("hi\n").toString("base64") } } },
        { event: { end: { exited: true, status: "exit status 0" } } },
      ],
      end: {},
    });
    const compressed = Buffer.from([1, 0, 0, 0, 2, 0x7b, 0x7d]);
    const hostile: readonly (readonly [string, unknown, RequestInit, string])[] = [
      ["compressed", compressed, {}, "unimplemented"],
      ["cut", encodeMessage(start).subarray(0, 20), {}, "invalid_argument"],
      ["empty", Buffer.alloc(0), {}, "invalid_argument"],
      ["no JSON", Buffer.from([0, 0, 0, 0, 1, 0x7b]), {}, "invalid_argument"],
      ["too long", Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]), {}, "invalid_argument"],
      ["no command", { process: {} }, {}, "invalid_argument"],
      ["a wrong field", { process: { cmd: 5 } }, {}, "invalid_argument"],
      ["a bad variable", { process: { cmd: "true", envs: { "A=B": "c" } } }, {}, "invalid_argument"],
      ["a NUL", { process: { cmd: "true", args: ["a\0b"] } }, {}, "invalid_argument"],
      ["a size beyond any screen", { process: { cmd: "true" }, pty: { size: { rows: 70_000, cols: 1 } } }, {}, "invalid_argument"],
      ["no such program", { process: { cmd: "/no/such" } }, {}, "invalid_argument"],
      ["a bad deadline", start, { headers: { "connect-timeout-ms": "soon" } }, "invalid_argument"],
      ["a stranger", start, { headers: { authorization: `Basic ${Buffer.from("mallory:").toString("base64")}` } }, "unauthenticated"],
      [
        "too many arguments",
        { process: { cmd: "true", args: Array.from({ length: 3_000 }, () => "x".repeat(1_000)) } },
        {},
        "invalid_argument",
      ],
    ];
    for (const [what, body, init, code] of hostile) {
      const answer = await raw.stream("process.Process/Start", body, init);
      expect([answer.status, answer.messages, answer.end?.error?.code], what).toEqual([200, [], code]);
    }
    expect((await raw.stream("process.Process/Connect", { process: { pid: 1 } })).end, "not one of its clients").toMatchObject({
      error: { code: "not_found" },
    });
    expect(await raw.call("process.Process/SendSignal", { process: { pid: 1 }, signal: "SIGNAL_SIGKILL" })).toMatchObject({ status: 404 });
    expect(await raw.call("process.Process/SendSignal", { process: { pid: 1 }, signal: 2 })).toMatchObject({ status: 400 });
    expect(await raw.call("process.Process/SendInput", "{")).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
    for (const token of ["", "e2ba_x_y", accessTokenOfAnother(raw.headers["x-access-token"] ?? "")])
      expect(await raw.call("process.Process/List", {}, { "x-access-token": token }), token).toMatchObject({ status: 401 });
    expect((await raw.stream("process.Process/Start", start, { headers: { "x-access-token": "none" } })).status).toBe(401);
    expect((await raw.stream("process.Process/Start", start, { headers: { "content-type": "application/proto" } })).status).toBe(415);
    expect(await raw.call("init", { accessToken: "mine" }), "nobody sets a sandbox up from outside").toMatchObject({ status: 404 });
    expect(await get(lab.url, "envs", raw.headers)).toMatchObject({ E2B_SANDBOX: "true", E2B_SANDBOX_ID: sandbox.sandboxId });
    expect(await get(lab.url, "metrics", raw.headers)).toMatchObject({ cpu_count: expect.any(Number) as number });

    // A client that vanishes in the middle of a message starts nothing, and one that vanishes behind it leaves the process alone.
    (await raw.half("process.Process/Start", encodeMessage({ process: { cmd: "sleep", args: ["601"] } }).subarray(0, 30))).destroy();
    const socket = await raw.half("process.Process/Start", encodeMessage({ process: { cmd: "sleep", args: ["602"] } }));
    await once(socket, "data");
    socket.destroy();
    await delay(0);
    expect((await sandbox.commands.list()).map(({ args }) => args)).toEqual([["602"]]);
    // One that asks and reads nothing holds its own process alone.
    const deaf = await raw.half("process.Process/Start", encodeMessage({ process: { cmd: "yes" } }));
    deaf.pause();
    expect((await sandbox.commands.run("echo others go on")).stdout).toBe("others go on\n");
    deaf.destroy();
  });

  it("tell a client that waits that they live", SLOW, async () => {
    await using lab = await openE2bLab();
    const sandbox = await Sandbox.create(lab.options);
    const raw = rawCalls(lab.url, sandbox);
    const init = { headers: { "keepalive-ping-interval": "1" } };
    const { messages } = await raw.stream("process.Process/Start", { process: { cmd: "sleep", args: ["2.5"] } }, init);
    expect(messages).toContainEqual({ event: { keepalive: {} } });
    expect(messages.at(-1)).toMatchObject({ event: { end: { status: "exit status 0" } } });
  });

  it("are more than a sandbox keeps, and all of them are found", SLOW, async () => {
    await using lab = await openE2bLab();
    const { commands } = await Sandbox.create(lab.options);
    const handles: CommandHandle[] = await Promise.all(
      Array.from({ length: 70 }, () => commands.run("read -r line; exit 5", { background: true, stdin: true })),
    );
    expect((await commands.list()).length).toBe(70);
    await Promise.all(handles.map(({ pid }) => commands.sendStdin(pid, "go\n")));
    const ends = await Promise.all(handles.map((handle) => handle.wait().catch(({ exitCode }: { exitCode: number }) => exitCode)));
    expect(new Set(ends)).toEqual(new Set([5]));
  });
});

function accessTokenOfAnother(token: string): string {
  return token.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
}

async function get(url: string, path: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  return (await fetch(`${url}/${path}`, { headers })).json();
}
