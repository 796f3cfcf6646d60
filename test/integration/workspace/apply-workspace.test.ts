import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { createTestTexts } from "../../support/test-texts.ts";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../../src/sandbox/workspace/apply-workspace.ts";
import { diffWorkspace } from "../../../src/sandbox/workspace/workspace-diff.ts";
import { lying, row, withFiles } from "../../support/lying-guest.ts";
import { useWorkspaceHome } from "../../support/workspace-home.ts";

const signal = new AbortController().signal;
const texts = createTestTexts();
afterAll(() => texts[Symbol.dispose]());
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });
const at = useWorkspaceHome();
const { onHost, openSandbox, inside } = at;

describe("applyWorkspace", () => {
  async function apply(sandbox: Sandbox) {
    return applyWorkspace(sandbox, await diffWorkspace(sandbox, { home: at.home, texts, signal }), {
      home: at.home,
      signal,
    });
  }

  it("makes the host's folder what the sandbox has", async () => {
    for (const name of ["changed", "gone", "file-to-folder", "folder-to-file/a/b", "folder-to-link/x", "deep/er/gone", "moded"])
      onHost(name, name);
    const sandbox = await openSandbox();
    await inside(
      sandbox,
      `printf new > changed; rm gone; rm file-to-folder; mkdir -p file-to-folder/in; echo a > file-to-folder/in/a; rm -r folder-to-file; echo b > folder-to-file
       rm -r folder-to-link; ln -s changed folder-to-link; rm -r deep; mkdir -m 555 closed; chmod 700 moded; mkdir n; echo c > n/c; chmod 500 n`,
    );
    const result = await apply(sandbox);
    expect(result).toMatchObject({ removed: 7, outsideLinks: [] });
    const state = (path: string) =>
      spawnSync("sh", ["-c", "find . -printf '%P %y %m %l\\n' | LC_ALL=C sort; cat changed folder-to-file n/c file-to-folder/in/a"], {
        cwd: path,
        encoding: "utf8",
      }).stdout;
    expect(state(at.work)).toBe(state(join(at.root, "home/sandboxes", sandbox.id, "root/workspace")));
    expect((await diffWorkspace(sandbox, { home: at.home, texts, signal })).changes).toEqual([]);
  });

  it("keeps the modification times, and drops setuid", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "echo x > tool; chmod 4755 tool; touch -d @1000000000 tool");
    await apply(sandbox);
    expect(statSync(join(at.work, "tool"))).toMatchObject({ mode: 0o100755, mtimeMs: 1_000_000_000_000 });
  });

  it("makes links as links and reports those that lead out", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "mkdir d; ln -s /nonexistent/passwd absolute; ln -s ../../x d/up; ln -s ../y d/in");
    const { outsideLinks } = await apply(sandbox);
    expect(outsideLinks).toEqual([
      { path: "absolute", target: "/nonexistent/passwd" },
      { path: "d/up", target: "../../x" },
    ]);
    expect(readlinkSync(join(at.work, "absolute"))).toBe("/nonexistent/passwd");
  });

  it("writes nothing when a host file changed since the diff", async () => {
    for (const name of ["a", "b", "c"]) onHost(name, name);
    const sandbox = await openSandbox();
    await inside(sandbox, "for name in a b new; do echo more >> $name; done; rm c");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    onHost("b", "mine");
    onHost("new", "mine too");
    utimesSync(join(at.work, "c"), 1, 1);
    const failure = applyWorkspace(sandbox, diff, { home: at.home, signal });
    await expect(failure).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    await expect(failure).rejects.toThrow(/: b, c, new\./);
    expect(["a", "b", "c", "new"].map((name) => readFileSync(join(at.work, name), "utf8"))).toEqual(["a", "mine", "c", "mine too"]);
    expect(readdirSync(at.work)).toHaveLength(4);
  });

  it("writes nothing when a host folder is another one since the diff, or has another mode", async () => {
    mkdirSync(join(at.work, "d"), { mode: 0o755 });
    const sandbox = await openSandbox();
    await inside(sandbox, "chmod 700 d");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    renameSync(join(at.work, "d"), join(at.root, "old"));
    mkdirSync(join(at.work, "d"), { mode: 0o755 });
    await expect(applyWorkspace(sandbox, diff, { home: at.home, signal })).rejects.toThrow(/: d\./);
    const later = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    chmodSync(join(at.work, "d"), 0o711);
    await expect(applyWorkspace(sandbox, later, { home: at.home, signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(statSync(join(at.work, "d")).mode & 0o777).toBe(0o711);
  });

  it("writes nothing when a host file changes while the content is taken out", async () => {
    onHost("a", "a");
    const sandbox = await openSandbox();
    await inside(sandbox, "echo more >> a; echo more > new");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    const slow = withFiles(sandbox, {
      open: (path, options) => {
        onHost("a", "mine");
        return sandbox.guest.files.open(path, options);
      },
    });
    const failure = applyWorkspace(slow, diff, { home: at.home, signal });
    await expect(failure).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    await expect(failure).rejects.toThrow(/on the host since the diff: a\./);
    expect(readdirSync(at.work)).toEqual(["a"]);
    expect(readFileSync(join(at.work, "a"), "utf8")).toBe("mine");
  });

  it("writes nothing when the sandbox changed since the diff", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "echo one > a; echo one > b");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    await inside(sandbox, "echo two > b");
    await expect(applyWorkspace(sandbox, diff, { home: at.home, signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(at.work)).toEqual([]);
  });

  it("writes only the content that the diff showed, though size and time agree", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "printf good > a");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    const liar = lying(sandbox);
    const { mtimeNs } = await sandbox.guest.files.stat("a", { signal });
    const evil = withFiles(liar, {
      open: (path) => Promise.resolve({ info: row(path, { mtimeNs }), content: Readable.from([Buffer.from("evil")]) }),
    });
    await expect(applyWorkspace(evil, diff, { home: at.home, signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(at.work)).toEqual([]);
  });

  it.each([
    ["has another time", (path: string | Buffer, mtimeNs: bigint) => ({ info: row(path, { mtimeNs: mtimeNs + 1n }), text: "\0bad" })],
    ["has another size", (path: string | Buffer, mtimeNs: bigint) => ({ info: row(path, { mtimeNs, size: 5 }), text: "\0bad" })],
    ["ends early", (path: string | Buffer, mtimeNs: bigint) => ({ info: row(path, { mtimeNs }), text: "\0b" })],
  ])("writes nothing when a file that was not shown %s", async (_what, changed) => {
    const sandbox = await openSandbox();
    await inside(sandbox, "printf '\\0bin' > a");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    const { mtimeNs } = await sandbox.guest.files.stat("a", { signal });
    const other = withFiles(sandbox, {
      open: async (path) => {
        const { info, text } = changed(path, mtimeNs);
        return { info, content: Readable.from([Buffer.from(text)]) };
      },
    });
    await expect(applyWorkspace(other, diff, { home: at.home, signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(at.work)).toEqual([]);
  });

  it("stops a guest that sends more than it announced", async () => {
    const sandbox = await openSandbox();
    const endless = withFiles(lying(sandbox, row("a", { size: 4_000_000 })), {
      open: (path) =>
        Promise.resolve({
          info: row(path, { size: 4_000_000 }),
          content: Readable.from(
            (function* () {
              for (;;) yield Buffer.alloc(65_536, 1);
            })(),
          ),
        }),
    });
    const diff = await diffWorkspace(endless, { home: at.home, texts, signal });
    await expect(applyWorkspace(endless, diff, { home: at.home, signal })).rejects.toThrow(withCode("FILE_TOO_LARGE"));
    expect(readdirSync(at.work)).toEqual([]);
  });

  it("writes through no link that takes a folder's place after the diff", async () => {
    onHost("d/keep", "x");
    const outside = join(at.root, "outside");
    mkdirSync(outside);
    const sandbox = await openSandbox();
    await inside(sandbox, "echo evil > d/new");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    rmSync(join(at.work, "d"), { recursive: true });
    symlinkSync(outside, join(at.work, "d"));
    await expect(applyWorkspace(sandbox, diff, { home: at.home, signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(outside)).toEqual([]);
    expect(lstatSync(join(at.work, "d")).isSymbolicLink()).toBe(true);
  });

  it("writes, reads and removes nothing where a link leads that takes the workspace's own place", async () => {
    onHost("a", "mine");
    const outside = join(at.root, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "a"), "theirs");
    const sandbox = await openSandbox();
    await inside(sandbox, "echo evil > new; rm a");
    const before = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    renameSync(at.work, `${at.work}-moved`);
    symlinkSync(outside, at.work);
    await expect(applyWorkspace(sandbox, before, { home: at.home, signal })).rejects.toThrow(withCode("PATH_INVALID"));
    await expect(diffWorkspace(sandbox, { home: at.home, texts, signal })).rejects.toThrow(withCode("PATH_INVALID"));
    expect(readdirSync(outside)).toEqual(["a"]);
    rmSync(at.work);
    mkdirSync(at.work);
    await expect(applyWorkspace(sandbox, before, { home: at.home, signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(at.work)).toEqual([]);
  });

  it("brings nothing of a repository back file by file", async () => {
    const sandbox = await openSandbox();
    await inside(
      sandbox,
      "mkdir -p .git/hooks sub/.GIT; touch .git/hooks/pre-commit .git/config .git/index sub/.GIT/config; echo y > hooks",
    );
    await apply(sandbox);
    expect(readdirSync(at.work)).toEqual(["hooks", "sub"]);
    expect(readdirSync(join(at.work, "sub"))).toEqual([]);
  });

  it("keeps a sparse file sparse", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "truncate -s 64M sparse");
    await apply(sandbox);
    expect(statSync(join(at.work, "sparse"))).toMatchObject({ size: 64 * 1024 * 1024, blocks: 0 });
  });

  it.skipIf(process.getuid?.() !== 0)("gives what root writes to the workspace's owner (skipped without root)", async () => {
    onHost("a", "x");
    for (const path of [at.work, join(at.work, "a")]) spawnSync("chown", ["4242:4343", path]);
    const sandbox = await openSandbox();
    await inside(sandbox, "echo y > a; mkdir d; ln -s a d/l");
    await apply(sandbox);
    for (const path of ["a", "d", "d/l"]) expect(lstatSync(join(at.work, path))).toMatchObject({ uid: 4242, gid: 4343 });
  });

  it("stops when the signal aborts, and leaves nothing behind", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "echo x > a");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    await expect(applyWorkspace(sandbox, diff, { home: at.home, signal: AbortSignal.abort() })).rejects.toThrow(withCode("CANCELLED"));
    expect(readdirSync(at.work)).toEqual([]);
  });

  it("does not bring back what a killed apply left on the host", async () => {
    const staging = join(at.work, `.belljar-${"a".repeat(20)}`);
    const sandbox = await openSandbox();
    mkdirSync(staging);
    expect((await diffWorkspace(sandbox, { home: at.home, texts, signal })).changes).toEqual([]);
    expect(existsSync(staging)).toBe(true);
  });
});
