import { execFileSync, spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { LocalSandboxes } from "../../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { makeGitPatch } from "../../../src/sandbox/workspace/patch/make-git-patch.ts";
import { diffWorkspace } from "../../../src/sandbox/workspace/workspace-diff.ts";
import { byName } from "../../support/by-name.ts";
import { createTestTexts } from "../../support/test-texts.ts";

const signal = new AbortController().signal;
const texts = createTestTexts();
afterAll(() => texts[Symbol.dispose]());
const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 1000 };

const NAMES = `for n in ' lead' 'trail ' 'q"uo\\te' 'ünïcode' '日本' "$(printf 'new\\nline')" "$(printf 'tab\\tin')" "$(printf '\\033[2J')" "$(printf 'bad\\377')" '-dash' 'a b/c d' 'x b'; do`;

let root: string;
let work: string;
let sandboxes: LocalSandboxes;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-patch-")));
  work = join(root, "work");
  mkdirSync(work);
  sandboxes = createLocalSandboxes({ home: join(root, "home"), runtimes: byName(fakeRuntime()), config });
});
afterEach(async () => {
  await sandboxes[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

/** What git knows of a folder: each file's and link's mode and content, by its name's bytes. */
function listTree(folder: string, below = Buffer.alloc(0)): ReadonlyMap<string, string> {
  const tree = new Map<string, string>();
  const path = (name: Buffer): Buffer => Buffer.concat([Buffer.from(`${folder}/`), name]);
  for (const name of readdirSync(path(below), { encoding: "buffer" })) {
    const own = below.length === 0 ? name : Buffer.concat([below, Buffer.from("/"), name]);
    const stats = lstatSync(path(own));
    if (stats.isDirectory()) for (const [key, value] of listTree(folder, own)) tree.set(key, value);
    else if (stats.isSymbolicLink()) tree.set(own.toString("latin1"), `link ${readlinkSync(path(own), { encoding: "latin1" })}`);
    else
      tree.set(own.toString("latin1"), `${(stats.mode & 0o100) === 0 ? "file" : "program"} ${readFileSync(path(own)).toString("latin1")}`);
  }
  return tree;
}

/** Applies the patch of what a script does in the sandbox to a copy of the folder that is a repository. */
async function patchOf(prepare: string, script: string) {
  execFileSync("sh", ["-ec", prepare], { cwd: work });
  const sandbox = await sandboxes.create(LOCAL, { workspace: { path: work, mode: "copy" } }, signal);
  const repository = join(root, "repository");
  execFileSync("cp", ["-a", work, repository]);
  const { exitCode, stderr } = await sandbox.guest.run({ argv: ["sh", "-ec", script], signal });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal, isPathsOnly: true });
  const { patch, skipped } = await makeGitPatch({ sandbox, texts, signal }, diff);
  const { exitCode: copied } = await sandbox.guest.run({ argv: ["cp", "-a", ".", join(root, "inside")], signal });
  expect(copied).toBe(0);
  await sandbox.kill();
  const git = (...argv: string[]) => spawnSync("git", argv, { cwd: repository, input: patch, encoding: "utf8" });
  git("init", "-q");
  return {
    patch,
    skipped,
    before: listTree(work),
    inside: () => listTree(join(root, "inside")),
    apply(...options: string[]) {
      const { status, stderr: said } = git("apply", "--whitespace=nowarn", ...options, "-");
      expect([status, said]).toEqual([0, ""]);
      const tree = new Map(listTree(repository));
      for (const key of tree.keys()) if (key.startsWith(".git/")) tree.delete(key);
      return tree;
    },
  };
}

describe("makeGitPatch", () => {
  it.each([
    ["text", "printf 'one\\ntwo\\n' > a; printf gone > g", "printf 'one\\nthree\\n' > a; rm g; echo new > n"],
    [
      "modes",
      "echo a > a; echo b > b; chmod 755 b; echo c > c",
      "chmod 755 a; chmod 644 b; echo more >> c; chmod 755 c; printf '#!' > p; chmod 755 p",
    ],
    ["empty files", "touch a; echo b > b; touch gone", "echo a > a; : > b; rm gone; touch n; touch x; chmod 755 x"],
    [
      "no newline at the end",
      "printf 'a\\nb' > a; printf 'a\\nb\\n' > b; printf x > c",
      "printf 'a\\nc' > a; printf 'a\\nb' > b; printf 'x\\n' > c; printf n > n",
    ],
    ["carriage returns", "printf 'a\\r\\nb\\r\\nc\\rd\\n' > a", "printf 'a\\r\\nB\\r\\nc\\rD\\n\\r' > a"],
    [
      "links",
      "ln -s one a; ln -s two b; echo c > c; ln -s three d; mkdir e; echo in > e/f",
      "ln -sfn 'other place' a; rm b; rm c; ln -s new c; rm d; echo d > d; ln -s x n; rm -r e; ln -s y e",
    ],
    [
      "files that become folders",
      "echo a > a; mkdir b; echo in > b/c; ln -s z l",
      "rm a; mkdir a; echo in > a/b; rm -r b; echo b > b; rm l; mkdir l; echo in > l/k",
    ],
    [
      "what is no text",
      "printf 'a\\000b' > a; printf gone > g; printf 'g\\000' > h; echo text > t; printf 'x\\000' > b",
      "printf 'a\\000c' > a; printf '\\377\\376' > n; rm g h; printf 't\\000' > t; echo text > b",
    ],
    [
      "a large file, and one with nothing in common",
      "yes old | head -200000 > a; yes 1 | head -3000 > b",
      "yes new | head -200000 > a; yes 2 | head -3000 > b; head -c 300000 /dev/urandom > c",
    ],
    [
      "any names",
      `mkdir 'a b'; ${NAMES} echo old > "./$n"; done`,
      `${NAMES} echo new >> "./$n"; chmod 755 "./$n"; cp "./$n" "./$n of"; ln -s "to it" "./$n to"; : > "./$n no"; done`,
    ],
  ])("makes of %s what the sandbox has, and back", async (_what, prepare, script) => {
    const made = await patchOf(prepare, script);
    expect(made.skipped).toEqual([]);
    const inside = made.inside();
    expect(inside).not.toEqual(made.before);
    expect(made.apply()).toEqual(inside);
    expect(made.apply("-R")).toEqual(made.before);
  });

  it("names no mode that git does not know, and no folder", async () => {
    const { patch } = await patchOf("echo a > a; chmod 644 a", "chmod 600 a; mkdir d");
    expect(patch).toBe("");
  });

  it("cannot be read as more than one file, whatever a name holds", async () => {
    const { patch } = await patchOf(
      "true",
      `echo x > "$(printf 'a\\n+++ b')"; mkdir -p "$(printf 'd\\ndiff --git a')"; echo y > "$(printf 'd\\ndiff --git a/b')"`,
    );
    expect(patch.split("\n").filter((line) => line.startsWith("diff --git "))).toHaveLength(2);
    expect(patch).toMatch(/^[\n -~]*$/);
  });

  it("is refused past its bound", async () => {
    writeFileSync(join(work, "a"), "a");
    const sandbox = await sandboxes.create(LOCAL, { workspace: { path: work, mode: "copy" } }, signal);
    await sandbox.guest.run({ argv: ["sh", "-c", "truncate -s 65M large"], signal });
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal, isPathsOnly: true });
    await expect(makeGitPatch({ sandbox, texts, signal }, diff)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
    await sandbox.kill();
  });
});
