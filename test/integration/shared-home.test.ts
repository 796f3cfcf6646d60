import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRemoteSandboxes } from "../../src/remote/remote-sandboxes.ts";
import type { Sandboxes } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import type { TestHome, TestServer } from "../support/served-home.ts";
import { CLI, openTestHome, openTestServer } from "../support/served-home.ts";
import { listed } from "../support/listed.ts";
import { shownText } from "../support/shown-result.ts";

const signal = new AbortController().signal;

describe("two servers, a stdio server and the command line on one home", () => {
  let home: TestHome;
  let servers: readonly TestServer[];
  let one: Sandboxes;
  let two: Sandboxes;
  let client: Client;

  beforeAll(async () => {
    home = await openTestHome();
    servers = await Promise.all([openTestServer(home), openTestServer(home)]);
    [one, two] = servers.map(({ url }) => createRemoteSandboxes({ url })) as [Sandboxes, Sandboxes];
    client = new Client({ name: "test", version: "1" });
    const args = [CLI, "mcp", "--sandbox", "shared", "--all-sandboxes"];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...home.env }, stderr: "inherit" }));
  });
  afterAll(async () => {
    await client?.close();
    await Promise.all((servers ?? []).map((server) => server[Symbol.asyncDispose]()));
    await home?.[Symbol.asyncDispose]();
  });

  async function listedEverywhere(): Promise<readonly (readonly string[])[]> {
    const seen = await Promise.all([listed(one, LOCAL), listed(two, LOCAL), home.belljar("sandbox", "list", "--json").then(toIds)]);
    return seen.map((list) => list.map(({ id }) => id).toSorted((a, b) => a.localeCompare(b)));
  }
  const mcpRun = (command: string, more = {}) => client.callTool({ name: "run_command", arguments: { command, ...more } }).then(shownText);

  it("see the same sandboxes", async () => {
    const made = [
      await one.create(LOCAL, {}, signal),
      await two.create(LOCAL, {}, signal),
      ...toIds(await home.belljar("sandbox", "create", "--json")),
    ];
    const [first = [], ...others] = await listedEverywhere();
    expect(first).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
    expect(others).toEqual([first, first]);
  });

  it("use a sandbox that another one made", async () => {
    const { id, guest } = await one.create(LOCAL, {}, signal);
    await guest.files.write("note", "from one", { signal });
    expect(String(await (await two.get(LOCAL, id)).guest.files.read("note", { signal }))).toBe("from one");
    expect(await home.belljar("exec", id, "--", "cat", "note")).toBe("from one");
    expect(await mcpRun("cat note", { sandbox: id })).toMatch(/^from one\n\[exit_code: 0, /);
  });

  it("end their streams with the reason when another one kills the sandbox", async () => {
    const { id, guest } = await one.create(LOCAL, {}, signal);
    const there = await two.get(LOCAL, id);
    await using mine = await guest.exec({ argv: ["sleep", "600"], stdin: false, signal });
    await using others = await there.guest.exec({ argv: ["sleep", "600"], stdin: false, signal });
    await home.belljar("sandbox", "kill", id);
    const ended = { code: "SANDBOX_ENDED", message: expect.stringContaining("killed") };
    await expect(mine.exited).rejects.toMatchObject(ended);
    await expect(others.exited).rejects.toMatchObject(ended);
    await expect(one.get(LOCAL, id)).rejects.toMatchObject(ended);
  });

  it("have one default sandbox of a name, whoever asks first", async () => {
    const asked = await Promise.all([one, two, one, two].map((sandboxes) => sandboxes.default(LOCAL, "shared", {}, signal)));
    const ids = new Set(asked.map(({ sandbox }) => sandbox.id));
    expect(ids.size).toBe(1);
    expect(await mcpRun("hostname")).toContain(`${[...ids][0]}\n[exit_code: 0, `);
  });

  it("make sandboxes at the same time and each its own", async () => {
    const made = await Promise.all([one, two, one, two, one, two].map((sandboxes) => sandboxes.create(LOCAL, {}, signal)));
    const names = await Promise.all(made.map(({ guest }) => guest.run({ argv: ["hostname"], signal })));
    expect(names.map(({ stdout }) => stdout.toString())).toEqual(made.map(({ id }) => `${id}\n`));
    expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
  });

  it("start a stopped sandbox once in each round, whatever the others do meanwhile", async () => {
    const { id, guest } = await one.create(LOCAL, {}, signal);
    await guest.files.write("note", "kept", { signal });
    for (const round of [2, 3, 4]) {
      await (await two.get(LOCAL, id)).stop();
      const starts = [one, two, one, two].map(async (sandboxes) => (await sandboxes.get(LOCAL, id)).start(signal));
      const looks = Promise.allSettled([one.info(LOCAL, id), two.info(LOCAL, id), listed(one, LOCAL), home.belljar("sandbox", "info", id)]);
      const started = await Promise.allSettled(starts);
      await looks;
      // Whoever comes while the first one still starts it may be told to try again.
      const refusals = started.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
      expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: "RUNTIME_UNAVAILABLE" })));
      expect(refusals.length).toBeLessThan(starts.length);
      const runs = (await readdir(join(home.path, ".belljar/sandboxes", id, "runs"))).filter((name) => Number(name) > 0);
      expect(runs).toHaveLength(round);
      for (const sandboxes of [one, two])
        expect(String(await (await sandboxes.get(LOCAL, id)).guest.files.read("note", { signal }))).toBe("kept");
    }
  });

  it("go on when one of them is killed with -9, and find what it made", async () => {
    const third = await openTestServer(home);
    const { id, guest } = await createRemoteSandboxes({ url: third.url }).create(LOCAL, {}, signal);
    await guest.files.write("note", "from the dead", { signal });
    const gone = once(third.process, "exit");
    third.process.kill("SIGKILL");
    await gone;
    expect(String(await (await two.get(LOCAL, id)).guest.files.read("note", { signal }))).toBe("from the dead");
    expect(await mcpRun("echo on")).toMatch(/^on\n/);
    await using fourth = await openTestServer(home);
    await (await createRemoteSandboxes({ url: fourth.url }).get(LOCAL, id)).kill();
    expect(await one.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
  });
});

function toIds(json: string): readonly { readonly id: string }[] {
  return [JSON.parse(json) as { id: string } | { id: string }[]].flat();
}
