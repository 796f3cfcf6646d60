import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openTestRuntime } from "../../security/support/lab.ts";
import { idMapKinds } from "../../security/support/id-maps.ts";
import { removeFolder } from "../../security/support/outside.ts";
import { byName } from "../../support/by-name.ts";
import { openToolCaller, textOf } from "../../support/tool-caller.ts";

describe.each(idMapKinds())("with the id map %s", (idMap) => {
  let folder: string;
  let tools: Awaited<ReturnType<typeof openToolCaller>>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "bjusers-"));
    const home = join(folder, "home");
    tools = await openToolCaller({ home: { home, runtimes: byName(await openTestRuntime(home, join(folder, "run"), { idMap })) } });
  });
  afterAll(async () => {
    await tools[Symbol.asyncDispose]();
    await removeFolder(folder);
  });
  /** Reads from the start until it is so. */
  const follow = async (processId: unknown, isOver: (seen: Readonly<Record<string, unknown>>) => boolean) => {
    for (let wait = 1; ; wait = 500) {
      const { value } = await tools.call("process_output", { process_id: processId, offset: 0, wait_ms: wait });
      if (isOver(value) || "code" in value) return value;
    }
  };
  /** With one id both names mean the same. */
  const root = idMap === "single" ? "1000" : "0";

  it("runs a command as the user that is named, in the background too", async () => {
    const ids = async (user?: string) => (await tools.call("run_command", { command: "id -u", user })).value["stdout"];
    expect([await ids(), await ids("user"), await ids("root")]).toEqual(["1000\n", "1000\n", `${root}\n`]);
    const { value } = await tools.call("run_command", {
      command: "echo it\\'s $(id -u) $A; exit 7",
      env: ["A=b c"],
      user: "root",
      background: true,
    });
    const seen = await follow(value["process_id"], ({ state }) => state === "exited");
    expect(seen).toMatchObject({ exit_code: 7, output: expect.stringContaining(`it's ${root} b c\n`) as string });
  });

  it("stops a process of root in the background", async () => {
    const { value } = await tools.call("run_background", { command: "echo ready; exec sleep 600.5", user: "root" });
    await follow(value["process_id"], ({ output }) => String(output).includes("ready"));
    await tools.call("process_stop", { process_id: value["process_id"] });
    expect((await tools.call("run_command", { command: "pgrep -fx 'sleep 600.5'" })).value["stdout"]).toBe("");
  });

  it("refuses an unknown user, one with a session, and root where the sandbox has none", async () => {
    const code = async (args: Readonly<Record<string, unknown>>) => textOf(await tools.call("run_command", { command: "id -u", ...args }));
    expect(await code({ user: "nobody-here" })).toMatch(/^USER_UNKNOWN: /);
    expect(await code({ user: "-x" })).toMatch(/^ARGUMENTS_INVALID: /);
    expect(await code({ user: "root", session: "main" })).toMatch(/^ARGUMENTS_INVALID: .*user: has no meaning with session/s);
    const { id } = await tools.sandboxes.create(LOCAL, { root: false }, AbortSignal.timeout(20_000));
    expect(await code({ user: "root", sandbox: id })).toMatch(/^USER_UNKNOWN: no command runs as root in this sandbox/);
    expect(textOf(await tools.call("run_command", { command: "sudo id", sandbox: id }))).toMatch(/this sandbox was made with root off/);
  });
});
