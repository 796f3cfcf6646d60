import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { isRoot } from "../security/support/outside.ts";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { openProjectFolder } from "../support/project-folder.ts";

interface Cli {
  /** What it prints, without the last line break. It must say nothing else and succeed. */
  (...argv: string[]): Promise<string>;
}

/** A sandbox, and the CLI as a person calls it. */
async function openSandbox(cli: CliHome): Promise<{ readonly id: string; readonly belljar: Cli }> {
  const belljar: Cli = async (...argv) => {
    const { code, stdout, stderr } = await cli.run(argv);
    expect({ code, stderr }, argv.join(" ")).toEqual({ code: 0, stderr: "" });
    return stdout.replace(/\n$/, "");
  };
  return { id: await belljar("sandbox", "create"), belljar };
}

describe("the time line", () => {
  it("puts files back, draws both ways, and removes a checkpoint", async () => {
    await using cli = await openCliHome();
    const { id, belljar } = await openSandbox(cli);
    await belljar("exec", id, "--", "sh", "-c", "echo one > a; echo stays > b");
    const first = await belljar("checkpoint", id, "--label", "before it");
    await belljar("exec", id, "--", "sh", "-c", "echo two > a; rm b; echo new > c");
    const second = await belljar("checkpoint", id);
    expect(await belljar("rollback", id, first)).toBe(`${id} is back at ${first}`);
    expect(await belljar("exec", id, "--", "sh", "-c", "cat a b; ls")).toBe("one\nstays\na\nb");
    const { id: third } = JSON.parse(await belljar("checkpoint", id, "--json")) as { id: string };
    expect((await belljar("log", id)).replaceAll(/  (?:now|\d+ \S+ ago)$/gm, "").split("\n")).toEqual([
      "* now  running",
      `* ${third}`,
      `| * ${second}`,
      "|/",
      `* ${first}  before it`,
    ]);
    expect(await belljar("rollback", id, second)).toContain(second);
    expect(await belljar("exec", id, "--", "cat", "a", "c")).toBe("two\nnew");
    expect(await belljar("checkpoint", id, third, "--remove")).toBe(third);
    expect(JSON.parse(await belljar("log", id, "--json"))).toMatchObject({ head: second, checkpoints: [{ id: first }, { id: second }] });
  });

  it("shows what changed with diffs, and undoes a part of it", async () => {
    await using cli = await openCliHome();
    const { id, belljar } = await openSandbox(cli);
    await belljar("exec", id, "--", "sh", "-c", "echo one > a; echo goes > b");
    const point = await belljar("checkpoint", id);
    await belljar("exec", id, "--", "sh", "-c", "echo two > a; rm b; mkdir d; echo new > d/c");
    expect((await belljar("changes", id)).split("\n").slice(0, 9)).toEqual([
      "changed  /home/user/a",
      "removed  /home/user/b",
      "added    /home/user/d/",
      "added    /home/user/d/c",
      "",
      "--- a/home/user/a",
      "+++ b/home/user/a",
      "@@ -1,1 +1,1 @@",
      "-one",
    ]);
    expect(await belljar("changes", id, point, "--path", "d", "--name-only")).toBe("/home/user/d\n/home/user/d/c");
    expect(await belljar("undo", id, point, "b", "d")).toContain("/home/user/b");
    expect(await belljar("exec", id, "--", "sh", "-c", "cat a b; ls")).toBe("two\ngoes\na\nb");
    expect(JSON.parse(await belljar("changes", id, "--json"))).toMatchObject({
      from: point,
      omitted: 0,
      changes: [{ path: "/home/user/a" }],
    });
  });

  it("says what ended, keeps the id, and starts a stopped sandbox", async () => {
    await using cli = await openCliHome();
    const { id, belljar } = await openSandbox(cli);
    const point = await belljar("checkpoint", id);
    const context = await belljar("context", "create", id, "--lang", "bash");
    const told = await cli.run(["rollback", id, point]);
    expect(told).toMatchObject({ code: 0, stderr: expect.stringContaining(context) });
    await belljar("sandbox", "stop", id);
    expect(JSON.parse(await belljar("rollback", id, point, "--json"))).toMatchObject({ id, checkpoint: point, ended: [] });
    expect(await belljar("exec", id, "--", "echo", "runs")).toBe("runs");
  });

  it("names what there is not", async () => {
    await using cli = await openCliHome();
    const { id } = await openSandbox(cli);
    const refused = async (...argv: string[]) => await cli.run(argv);
    expect(await refused("rollback", id, "nope")).toMatchObject({ code: 1, stderr: expect.stringContaining("CHECKPOINT_NOT_FOUND") });
    expect(await refused("changes", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("has no checkpoint to compare with") });
    expect(await refused("checkpoint", id, "x")).toMatchObject({ code: 2, stderr: expect.stringContaining("--remove") });
    expect(await refused("log", "nope")).toMatchObject({ code: 1, stderr: expect.stringContaining("SANDBOX_NOT_FOUND") });
  });
});

describe("belljar snapshot and fork", () => {
  it("keeps files beyond their sandbox, and forks them", async () => {
    await using cli = await openCliHome();
    const { id, belljar } = await openSandbox(cli);
    await belljar("exec", id, "--", "sh", "-c", "echo kept > a");
    const snapshot = await belljar("snapshot", "create", id, "--name", "ready", "--description", "with tools");
    expect(await cli.run(["snapshot", "create", id, "--name", "ready"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("SNAPSHOT_NAME_TAKEN"),
    });
    expect(await belljar("snapshot", "list", "--quiet", "--sandbox", id)).toBe(snapshot);
    await belljar("sandbox", "kill", id);
    expect(JSON.parse(await belljar("snapshot", "info", "ready", "--json"))).toMatchObject({
      id: snapshot,
      sandbox: id,
      description: "with tools",
    });
    const forks = (await belljar("fork", "ready", "--count", "2", "-m", "try=1")).split("\n");
    expect(new Set(forks).size).toBe(2);
    for (const fork of forks) expect(await belljar("exec", fork, "--", "cat", "a")).toBe("kept");
    expect(await belljar("snapshot", "remove", "ready")).toBe("ready");
    expect(JSON.parse(await belljar("snapshot", "list", "--json"))).toEqual([]);
    expect(await belljar("exec", forks[0] ?? "", "--", "cat", "a")).toBe("kept");
  });

  it("forks a sandbox as it is now, and says so of a word that means nothing", async () => {
    await using cli = await openCliHome();
    const { id, belljar } = await openSandbox(cli);
    await belljar("exec", id, "--", "sh", "-c", "echo here > a");
    const { ids } = JSON.parse(await belljar("fork", id, "--name", "idea", "--json")) as { ids: readonly string[] };
    expect(await belljar("exec", "idea", "--", "cat", "a")).toBe("here");
    expect(ids).toHaveLength(1);
    expect(await cli.run(["fork", "nothing"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no sandbox and no snapshot "nothing"'),
    });
    expect(await cli.run(["snapshot", "remove", "nothing"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("SNAPSHOT_NOT_FOUND"),
    });
  });
});

it("says what of a folder has changed since a snapshot, and takes the folder in", async () => {
  await using cli = await openCliHome();
  await using folder = await openProjectFolder();
  const { belljar } = await openSandbox(cli);
  await writeFile(`${folder.path}/a`, "first\n");
  const id = await belljar("sandbox", "create", "--workspace", folder.path);
  const [snapshot, whole] = [await belljar("snapshot", "create", id), await belljar("snapshot", "create", id, "--whole")];
  expect(await belljar("snapshot", "info", whole)).toMatch(new RegExp(`^took in +${folder.path}$`, "m"));
  await writeFile(`${folder.path}/a`, "second\n");
  const forked = await cli.run(["fork", snapshot]);
  expect(forked).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Not as it was: .* has changed on the host since: .*\n$/) });
  expect(await belljar("exec", forked.stdout.trim(), "--", "cat", `${folder.path}/a`)).toBe("second");
  const created = await cli.run(["sandbox", "create", "--template", snapshot]);
  expect(created.stderr).toBe(forked.stderr);
  expect(JSON.parse(await belljar("sandbox", "create", "--template", snapshot, "--json"))).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{20}$/),
    lost: [expect.stringContaining("has changed on the host since")],
  });
  const own = await belljar("fork", whole);
  expect(await belljar("exec", own, "--", "cat", `${folder.path}/a`)).toBe("first");
  expect(await belljar("sandbox", "info", own)).toMatch(new RegExp(`^took in +${folder.path}$`, "m"));
});

it.skipIf(!isRoot)("says that the host's /usr is not as it was (skipped: only root mounts)", async () => {
  await using cli = await openCliHome();
  const { id, belljar } = await openSandbox(cli);
  const [snapshot, point] = [await belljar("snapshot", "create", id), await belljar("checkpoint", id)];
  const within = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/local/sbin && exec "$@"', "sh"];
  const told = "The host's /usr has changed since: files that the sandbox had not changed are as the host has them now\n";
  for (const argv of [
    ["fork", snapshot],
    ["sandbox", "create", "--template", snapshot],
  ]) {
    expect(await cli.run(argv, { within })).toMatchObject({ code: 0, stderr: `Not as it was: ${told}` });
    await belljar(...argv);
  }
  expect(await cli.run(["rollback", id, point], { within })).toMatchObject({ code: 0, stderr: `Not put back: ${told}` });
  expect(await belljar("rollback", id, point)).toBe(`${id} is back at ${point}`);
});

it("merges a fork's changes, and names conflicts", async () => {
  await using cli = await openCliHome();
  const { id, belljar } = await openSandbox(cli);
  await belljar("exec", id, "--", "sh", "-c", String.raw`printf '1\n2\n3\n4\n5\n' > list; echo base > both`);
  const fork = await belljar("fork", id);
  await belljar("exec", fork, "--", "sh", "-c", "sed -i s/1/one/ list; echo theirs > both");
  await belljar("exec", id, "--", "sh", "-c", "sed -i s/5/five/ list; echo ours > both");
  const merged = await cli.run(["merge", id, fork]);
  expect(merged).toEqual({ code: 1, stdout: "/home/user/list\n", stderr: expect.stringMatching(/^Conflict: \/home\/user\/both, .+\n$/) });
  expect(await belljar("exec", id, "--", "cat", "list", "both")).toBe("one\n2\n3\n4\nfive\nours");
  expect(JSON.parse(await belljar("merge", id, fork, "list", "--json"))).toEqual({ changed: [], conflicts: [] });
});

it("works on a server as on a home", async () => {
  await using cli = await openCliHome();
  await using server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\S+)\/mcp/);
  const remote: Cli = async (...argv) => {
    const { code, stdout, stderr } = await cli.run(argv, { env: { BELLJAR_URL: url } });
    expect({ code, stderr }, argv.join(" ")).toEqual({ code: 0, stderr: "" });
    return stdout.replace(/\n$/, "");
  };
  const id = await remote("sandbox", "create");
  await remote("exec", id, "--", "sh", "-c", "echo one > a");
  const point = await remote("checkpoint", id, "--label", "first");
  await remote("exec", id, "--", "sh", "-c", "echo two > a");
  await remote("rollback", id, point);
  expect(await remote("exec", id, "--", "cat", "a")).toBe("one");
  expect(await remote("log", id)).toContain("first");
  await remote("exec", id, "--", "sh", "-c", "echo three > a; echo new > b");
  expect(await remote("changes", id, "--name-only")).toBe("/home/user/a\n/home/user/b");
  expect(await remote("undo", id, point, "a")).toBe("/home/user/a");
  const snapshot = await remote("snapshot", "create", id);
  const fork = await remote("fork", snapshot);
  expect(await remote("exec", fork, "--", "cat", "a")).toBe("one");
  await remote("exec", fork, "--", "sh", "-c", "echo fork > f");
  expect(await remote("merge", id, fork, "f")).toBe("/home/user/f");
  await remote("snapshot", "remove", snapshot);
  expect(await remote("snapshot", "list", "--quiet")).toBe("");
  const context = await remote("context", "create", id, "--lang", "bash");
  expect(await remote("context", "list", id)).toContain(context);
  expect(await remote("context", "restart", id, context)).toBe(context);
  expect(await remote("context", "remove", id, context)).toBe(context);
  const lost = await cli.run(["rollback", id, "nope"], { env: { BELLJAR_URL: url } });
  expect(lost).toMatchObject({ code: 1, stderr: expect.stringContaining("CHECKPOINT_NOT_FOUND") });
});
