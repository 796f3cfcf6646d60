import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openRuntime } from "../../src/runtime/registry.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import { copyIn } from "../../src/sandbox/workspace/copy-in.ts";
import { copyOut } from "../../src/sandbox/workspace/copy-out.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const config = { sandbox: { timeoutMs: 60_000, pids: 64 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;

let root: string;
let open: LocalSandboxes[];
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  open = [];
});
afterEach(async () => {
  const [first] = open;
  for (const { id } of first ? await listed(first, LOCAL, { state: ["running"] }) : []) await (await first?.get(LOCAL, id))?.kill();
  await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
  rmSync(root, { recursive: true });
});

/** One process of Belljar on the home, on the real runtime. */
async function openHome(): Promise<LocalSandboxes> {
  const runtime = await openRuntime("namespace", {
    home: join(root, "home"),
    runtimeDirectory: join(root, "run"),
    storage: "tmpfs",
    binary,
  });
  const sandboxes = createLocalSandboxes({ home: join(root, "home"), runtimes: byName(runtime), config });
  open.push(sandboxes);
  return sandboxes;
}

async function inside(sandbox: Sandbox, script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await sandbox.guest.run({ argv: ["sh", "-ec", script], signal });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString();
}

describe("a home on the namespace runtime", () => {
  it("shares sandboxes between processes, and keeps their ends", async () => {
    const [one, two] = [await openHome(), await openHome()];
    const { id } = await one.create(LOCAL, { env: { A: "b" }, metadata: { job: "1" } }, signal);
    const there = await two.get(LOCAL, id);
    expect(await inside(there, "echo $A; pwd")).toBe("b\n/home/user\n");
    await there.extend(120_000);
    expect((await one.info(LOCAL, id)).deadline?.getTime()).toBeGreaterThan(Date.now() + 100_000);
    await there.kill();
    expect(await one.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
    expect(await listed(two, LOCAL, { metadata: { job: "1" } })).toMatchObject([{ id, state: "ended" }]);
  });

  it("leaves nothing of an ended sandbox but its record and tombstone", async () => {
    const sandboxes = await openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await inside(sandbox, "echo x > file");
    await sandbox.kill();
    await sandboxes[Symbol.asyncDispose]();
    await (await openHome()).sweep();
    const left = readdirSync(join(root, "home/sandboxes", sandbox.id)).filter((name) => name.endsWith(".json"));
    expect(left.toSorted()).toEqual(["sandbox.json", "tombstone.json"]);
    expect(JSON.parse(readFileSync(join(root, "home/sandboxes", sandbox.id, "tombstone.json"), "utf8"))).toMatchObject({
      reason: "killed",
      isCleared: true,
    });
    expect(readdirSync(join(root, "home/sandboxes", sandbox.id))).toHaveLength(3);
    expect(readdirSync(join(root, "home/sandboxes", sandbox.id, "runs/1"))).toEqual(["end.json"]);
  });

  it("makes one default sandbox for two processes that ask at once", async () => {
    const homes = [await openHome(), await openHome()];
    const got = await Promise.all(homes.map((one) => one.default(LOCAL, "work", {}, signal)));
    expect(new Set(got.map(({ sandbox }) => sandbox.id)).size).toBe(1);
    await got[0]?.sandbox.kill();
    const again = await homes[1]?.default(LOCAL, "work", {}, signal);
    expect(again?.created).toBe(true);
  });

  it("shows what a sandbox changed in its workspace and brings it back", async () => {
    const work = join(root, "work");
    mkdirSync(join(work, "src/deep"), { recursive: true });
    for (const name of ["README.md", "src/a.c", "src/deep/b.c"]) writeFileSync(join(work, name), `${name}\n`);
    const sandbox = await (await openHome()).create(LOCAL, { workspace: { path: work, mode: "copy" } }, signal);
    using texts = createTestTexts();
    expect((await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).changes).toEqual([]);
    await inside(
      sandbox,
      "echo more >> README.md; rm -r src/deep; mkdir new; echo x > new/x; chmod 755 new/x; ln -s new/x link; mv src/a.c src/c.c",
    );
    expect(readFileSync(join(work, "README.md"), "utf8")).toBe("README.md\n");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    expect(diff.changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "modified README.md",
      "added link",
      "added new",
      "added new/x",
      "removed src/a.c",
      "added src/c.c",
      "removed src/deep",
      "removed src/deep/b.c",
    ]);
    expect(await applyWorkspace(sandbox, diff, { home: join(root, "home"), signal })).toMatchObject({ written: 5, removed: 3 });
    expect(readFileSync(join(work, "README.md"), "utf8")).toBe("README.md\nmore\n");
    expect([existsSync(join(work, "src/deep")), readFileSync(join(work, "link"), "utf8")]).toEqual([false, "x\n"]);
    expect(readdirSync(work).toSorted()).toEqual(["README.md", "link", "new", "src"]);
  });

  it("copies folders in and out", async () => {
    const from = join(root, "from");
    mkdirSync(join(from, "d"), { recursive: true });
    writeFileSync(join(from, "d/file"), "text");
    const sandbox = await (await openHome()).create(LOCAL, {}, signal);
    await copyIn(sandbox, { from, to: "/home/user/in", signal });
    expect(await inside(sandbox, "cat in/d/file; stat -c %U in/d/file")).toBe("textuser\n");
    await copyOut(sandbox, { from: "in", to: join(root, "out"), signal });
    expect(readFileSync(join(root, "out/d/file"), "utf8")).toBe("text");
  });
});
