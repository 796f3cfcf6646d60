import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { FileInfo, GuestFiles } from "../../src/runtime/guest/guest.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import { coloursFor } from "../../src/cli/colours.ts";
import { renderDiff, toDiffReport } from "../../src/cli/diff-view/render-diff.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";

const PLAIN = { colours: coloursFor({}, {}) };
const signal = new AbortController().signal;
const texts = createTestTexts();
afterAll(() => texts[Symbol.dispose]());
const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 1000 };
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

let root: string;
let work: string;
let sandboxes: LocalSandboxes;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-workspace-")));
  work = join(root, "work");
  mkdirSync(work);
  sandboxes = createLocalSandboxes({ home: join(root, "home"), runtimes: byName(fakeRuntime()), config });
});
afterEach(async () => {
  spawnSync("chmod", ["-R", "u+rwX", root]);
  for (const { id } of await listed(sandboxes, LOCAL, { state: ["running"] })) await (await sandboxes.get(LOCAL, id)).kill();
  await sandboxes[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

function onHost(path: string, content: string): void {
  mkdirSync(join(work, path, ".."), { recursive: true });
  writeFileSync(join(work, path), content);
}

function openSandbox(mode: "copy" | "ro" | "rw" = "copy"): Promise<Sandbox> {
  return sandboxes.create(LOCAL, { workspace: { path: work, mode } }, signal);
}

async function inside(sandbox: Sandbox, script: string): Promise<void> {
  const { exitCode, stderr } = await sandbox.guest.run({ argv: ["sh", "-ec", script], signal });
  expect(stderr.toString()).toBe("");
  expect(exitCode).toBe(0);
}

/** The same sandbox, with a guest that answers some file calls as it likes. */
function withFiles(sandbox: Sandbox, files: Partial<GuestFiles>): Sandbox {
  const guest = { ...sandbox.guest, files: { ...sandbox.guest.files, ...files } };
  return {
    id: sandbox.id,
    inside: sandbox.inside,
    guest,
    info: () => sandbox.info(),
    usage: () => sandbox.usage(),
    knownOomKills: () => sandbox.knownOomKills(),
    workspaceBase: (keys) => sandbox.workspaceBase(keys),
    workspaceBaseText: (key) => sandbox.workspaceBaseText(key),
    extend: (ms, action) => sandbox.extend(ms, action),
    stop: () => sandbox.stop(),
    start: (abort) => sandbox.start(abort),
    setNetwork: (policy) => sandbox.setNetwork(policy),
    watchRefusals: () => sandbox.watchRefusals(),
    environment: () => sandbox.environment(),
    ports: () => sandbox.ports(),
    portLinks: () => sandbox.portLinks(),
    registerPort: (port, access) => sandbox.registerPort(port, access),
    removePort: (port) => sandbox.removePort(port),
    kill: () => sandbox.kill(),
    connect: (abort) => sandbox.connect(abort),
  };
}

function row(path: string | Buffer, more: Partial<FileInfo> = {}): FileInfo {
  const rawPath = Buffer.from(path);
  return {
    path: rawPath.toString(),
    rawPath,
    type: "file",
    size: 4,
    mode: 0o644,
    uid: 0,
    gid: 0,
    owner: "user",
    group: "user",
    mtimeNs: 1n,
    inode: 1n,
    links: 1,
    ...more,
  };
}

function listing(...rows: readonly FileInfo[]): Pick<GuestFiles, "list"> {
  return { list: () => Readable.from(rows) as AsyncIterable<FileInfo> };
}

/** A guest that lists these rows, and whose every file holds `evil`. */
function lying(sandbox: Sandbox, ...rows: readonly FileInfo[]): Sandbox {
  const content = Buffer.from("evil");
  return withFiles(sandbox, {
    ...listing(...rows),
    read: () => Promise.resolve(content),
    open: (path) => Promise.resolve({ info: row(path), content: Readable.from([content]) }),
  });
}

describe("diffWorkspace", () => {
  it("is empty when nothing changed, whatever the times say", async () => {
    onHost("a/b.txt", "same");
    symlinkSync("a/b.txt", join(work, "link"));
    const sandbox = await openSandbox();
    await inside(sandbox, "touch -d @5 a/b.txt");
    expect(await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).toMatchObject({
      hostPath: work,
      changes: [],
      skipped: [],
    });
  });

  it("tells added, modified, removed, changed type and changed mode apart", async () => {
    for (const name of ["changed", "gone", "retyped", "moded", "kept", "dir/in"]) onHost(name, `${name}\n`);
    const sandbox = await openSandbox();
    await inside(
      sandbox,
      "echo new > added; mkdir folder; echo x >> changed; rm gone; rm retyped; ln -s kept retyped; chmod 755 moded; rm -r dir",
    );
    const { changes } = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "added added",
      "modified changed",
      "removed dir",
      "removed dir/in",
      "added folder",
      "removed gone",
      "mode_changed moded",
      "type_changed retyped",
    ]);
  });

  it("sees a change that keeps the size", async () => {
    onHost("a", "one");
    const sandbox = await openSandbox();
    await inside(sandbox, "printf two > a");
    expect((await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).changes).toMatchObject([
      { kind: "modified", path: "a" },
    ]);
  });

  it("shows text as a unified diff and marks what is binary", async () => {
    onHost("text", "one\ntwo\n");
    const sandbox = await openSandbox();
    await inside(sandbox, "printf 'one\\nthree\\n' > text; printf 'a\\000b' > binary");
    const { changes } = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    expect(changes[0]).toMatchObject({ path: "binary", isBinary: true });
    expect(changes[1]?.patch).toContain("--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
  });

  it("shows changes of many files that have little in common", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    for (const name of names)
      onHost(
        name,
        Array.from({ length: 100_000 }, (_, line) => `${(line * line) % 97}\n`)
          .join("")
          .slice(0, 250_000),
      );
    const sandbox = await openSandbox();
    await inside(sandbox, "for f in f*; do tac $f > new; mv new $f; done");
    const { changes } = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    expect(changes.map(({ kind }) => kind)).toEqual(names.map(() => "modified"));
    const shown = changes.filter(({ patch }) => patch !== undefined);
    expect(shown).toHaveLength(16);
    expect(
      renderDiff(
        { sandboxId: "", hostPath: "", changes, conflicts: [], held: [], settled: [], ignored: 0, commits: 0, skipped: [] },
        PLAIN,
      ),
    ).toContain("M f9 (too large to show: 250000 bytes)\n");
  });

  it("names a large file without showing it", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "yes | head -c 2000000 > large");
    const [change] = (await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).changes;
    expect(change).toMatchObject({ path: "large", kind: "added" });
    expect(change).not.toHaveProperty("patch");
  });

  it("leaves pipes and sockets out and says so", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "mkfifo pipe");
    expect(await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).toMatchObject({
      changes: [],
      skipped: [{ path: "pipe" }],
    });
  });

  it("leaves a link out whose text is not UTF-8, and says so", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, `ln -s "$(printf 'x\\377')" odd; ln -s x plain`);
    expect(await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).toMatchObject({
      changes: [{ path: "plain", kind: "added" }],
      skipped: [{ path: "odd", reason: expect.stringContaining("not UTF-8") as string }],
    });
  });

  it("does not take for removed what the guest only does not list", async () => {
    onHost("folder/file", "x");
    const sandbox = await openSandbox();
    const blind = withFiles(sandbox, listing(row("folder", { type: "directory", mode: 0o755 })));
    expect(await diffWorkspace(blind, { home: join(root, "home"), texts, signal })).toMatchObject({
      changes: [],
      skipped: [{ path: "folder/file" }],
    });
  });

  it.each([
    ["FILE_NOT_FOUND", { changes: [{ kind: "removed", path: "file" }], skipped: [] }],
    ["FILE_NOT_DIRECTORY", { changes: [{ kind: "removed", path: "file" }], skipped: [] }],
    ["FILE_DENIED", { changes: [], skipped: [{ path: "file" }] }],
  ] as const)("asks for each file that the guest does not list, and takes %s for what it is", async (code, diff) => {
    onHost("file", "x");
    const sandbox = await openSandbox();
    const stat = (): Promise<never> => Promise.reject(new BelljarError(code, "as the guest says"));
    expect(await diffWorkspace(withFiles(sandbox, { ...listing(), stat }), { home: join(root, "home"), texts, signal })).toMatchObject(
      diff,
    );
  });

  it("leaves out and names what the sandbox's user may not read", async () => {
    onHost("same", "host");
    const sandbox = await openSandbox();
    const denied = (): Promise<never> => Promise.reject(new BelljarError("FILE_DENIED", "It may not be read"));
    const blind = withFiles(sandbox, { ...listing(row("same"), row("new")), open: denied, read: denied });
    const skipped = ["same", "new"].map((path) => ({ path, reason: "It may not be read" }));
    expect(await diffWorkspace(blind, { home: join(root, "home"), texts, signal })).toMatchObject({ changes: [], skipped });
  });

  it("takes no failure of the guest for an answer", async () => {
    onHost("file", "x");
    const sandbox = await openSandbox();
    const stat = (): Promise<never> => Promise.reject(new BelljarError("GUEST_PROTOCOL", "as the guest says"));
    await expect(diffWorkspace(withFiles(sandbox, { ...listing(), stat }), { home: join(root, "home"), texts, signal })).rejects.toThrow(
      withCode("GUEST_PROTOCOL"),
    );
  });

  it("compares names that are no UTF-8 byte by byte", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "touch \"$(printf 'a\\377')\" \"$(printf 'a\\376')\" \"$(printf 'new\\nline')\"");
    const { changes } = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    expect(changes.map(({ key }) => key)).toEqual(["a\u00fe", "a\u00ff", "new\nline"]);
    await applyWorkspace(sandbox, await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal }), {
      home: join(root, "home"),
      signal,
    });
    expect((await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).changes).toEqual([]);
  });

  it("has nothing to say of a read-only workspace, and refuses one that is written directly", async () => {
    expect((await diffWorkspace(await openSandbox("ro"), { home: join(root, "home"), texts, signal })).changes).toEqual([]);
    await expect(diffWorkspace(await openSandbox("rw"), { home: join(root, "home"), texts, signal })).rejects.toThrow(/there already/);
    await expect(diffWorkspace(await sandboxes.create(LOCAL, {}, signal), { home: join(root, "home"), texts, signal })).rejects.toThrow(
      withCode("WORKSPACE_INVALID"),
    );
  });

  it.each([
    ["a path upwards", [row("../evil")]],
    ["an absolute path", [row("/etc/evil")]],
    ["a dot", [row("./evil")]],
    ["an empty part", [row("a//b")]],
    ["a NUL", [row("a\0b")]],
    ["a path that ends in a slash", [row("a/")]],
    ["a name twice", [row("a"), row("a")]],
    ["a file in a file", [row("a"), row("a/b")]],
    ["a file in a link", [row("a", { type: "link", target: "/etc" }), row("a/passwd")]],
    ["a file in nothing", [row("a/b")]],
  ])("refuses a guest that names %s", async (_, rows) => {
    await expect(diffWorkspace(lying(await openSandbox(), ...rows), { home: join(root, "home"), texts, signal })).rejects.toThrow(
      withCode("PATH_INVALID"),
    );
  });

  it("refuses more names than fit into memory", async () => {
    const folders = Array.from({ length: 14 }, (_, depth) =>
      row(Array.from({ length: depth + 1 }, () => "d".repeat(250)).join("/"), { type: "directory" }),
    );
    const parent = folders.at(-1)?.path ?? "";
    const files = (function* () {
      for (let count = 0; count < 400_000; count++) yield row(`${parent}/${count}`);
    })();
    const list = (): AsyncIterable<FileInfo> =>
      Readable.from(
        (function* () {
          yield* folders;
          yield* files;
        })(),
      ) as AsyncIterable<FileInfo>;
    await expect(diffWorkspace(withFiles(await openSandbox(), { list }), { home: join(root, "home"), texts, signal })).rejects.toThrow(
      withCode("FILE_TOO_LARGE"),
    );
  });

  it("shows names and patches that cannot steer a terminal", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "printf '\\033[2Jtext\\n' > \"$(printf '\\033[31mred')\"");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    expect(renderDiff(diff, PLAIN)).toContain("[2Jtext");
    expect(renderDiff(diff, PLAIN)).not.toContain("\u001b");
    expect(JSON.parse(JSON.stringify(toDiffReport(diff)))).toMatchObject({ changes: [{ kind: "added", type: "file" }] });
  });
});

describe("applyWorkspace", () => {
  async function apply(sandbox: Sandbox) {
    return applyWorkspace(sandbox, await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal }), {
      home: join(root, "home"),
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
    expect(state(work)).toBe(state(join(root, "home/sandboxes", sandbox.id, "root/workspace")));
    expect((await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).changes).toEqual([]);
  });

  it("keeps the modification times, and drops setuid", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "echo x > tool; chmod 4755 tool; touch -d @1000000000 tool");
    await apply(sandbox);
    expect(statSync(join(work, "tool"))).toMatchObject({ mode: 0o100755, mtimeMs: 1_000_000_000_000 });
  });

  it("makes links as links and reports those that lead out", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "mkdir d; ln -s /nonexistent/passwd absolute; ln -s ../../x d/up; ln -s ../y d/in");
    const { outsideLinks } = await apply(sandbox);
    expect(outsideLinks).toEqual([
      { path: "absolute", target: "/nonexistent/passwd" },
      { path: "d/up", target: "../../x" },
    ]);
    expect(readlinkSync(join(work, "absolute"))).toBe("/nonexistent/passwd");
  });

  it("writes nothing when a host file changed since the diff", async () => {
    for (const name of ["a", "b", "c"]) onHost(name, name);
    const sandbox = await openSandbox();
    await inside(sandbox, "for name in a b new; do echo more >> $name; done; rm c");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    onHost("b", "mine");
    onHost("new", "mine too");
    utimesSync(join(work, "c"), 1, 1);
    const failure = applyWorkspace(sandbox, diff, { home: join(root, "home"), signal });
    await expect(failure).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    await expect(failure).rejects.toThrow(/: b, c, new\./);
    expect(["a", "b", "c", "new"].map((name) => readFileSync(join(work, name), "utf8"))).toEqual(["a", "mine", "c", "mine too"]);
    expect(readdirSync(work)).toHaveLength(4);
  });

  it("writes nothing when a host folder is another one since the diff, or has another mode", async () => {
    mkdirSync(join(work, "d"), { mode: 0o755 });
    const sandbox = await openSandbox();
    await inside(sandbox, "chmod 700 d");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    renameSync(join(work, "d"), join(root, "old"));
    mkdirSync(join(work, "d"), { mode: 0o755 });
    await expect(applyWorkspace(sandbox, diff, { home: join(root, "home"), signal })).rejects.toThrow(/: d\./);
    const later = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    chmodSync(join(work, "d"), 0o711);
    await expect(applyWorkspace(sandbox, later, { home: join(root, "home"), signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(statSync(join(work, "d")).mode & 0o777).toBe(0o711);
  });

  it("writes nothing when a host file changes while the content is taken out", async () => {
    onHost("a", "a");
    const sandbox = await openSandbox();
    await inside(sandbox, "echo more >> a; echo more > new");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    const slow = withFiles(sandbox, {
      open: (path, options) => {
        onHost("a", "mine");
        return sandbox.guest.files.open(path, options);
      },
    });
    const failure = applyWorkspace(slow, diff, { home: join(root, "home"), signal });
    await expect(failure).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    await expect(failure).rejects.toThrow(/on the host since the diff: a\./);
    expect(readdirSync(work)).toEqual(["a"]);
    expect(readFileSync(join(work, "a"), "utf8")).toBe("mine");
  });

  it("writes nothing when the sandbox changed since the diff", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "echo one > a; echo one > b");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    await inside(sandbox, "echo two > b");
    await expect(applyWorkspace(sandbox, diff, { home: join(root, "home"), signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(work)).toEqual([]);
  });

  it("writes only the content that the diff showed, though size and time agree", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "printf good > a");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    const liar = lying(sandbox);
    const { mtimeNs } = await sandbox.guest.files.stat("a", { signal });
    const evil = withFiles(liar, {
      open: (path) => Promise.resolve({ info: row(path, { mtimeNs }), content: Readable.from([Buffer.from("evil")]) }),
    });
    await expect(applyWorkspace(evil, diff, { home: join(root, "home"), signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(work)).toEqual([]);
  });

  it.each([
    ["has another time", (path: string | Buffer, mtimeNs: bigint) => ({ info: row(path, { mtimeNs: mtimeNs + 1n }), text: "\0bad" })],
    ["has another size", (path: string | Buffer, mtimeNs: bigint) => ({ info: row(path, { mtimeNs, size: 5 }), text: "\0bad" })],
    ["ends early", (path: string | Buffer, mtimeNs: bigint) => ({ info: row(path, { mtimeNs }), text: "\0b" })],
  ])("writes nothing when a file that was not shown %s", async (_what, changed) => {
    const sandbox = await openSandbox();
    await inside(sandbox, "printf '\\0bin' > a");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    const { mtimeNs } = await sandbox.guest.files.stat("a", { signal });
    const other = withFiles(sandbox, {
      open: async (path) => {
        const { info, text } = changed(path, mtimeNs);
        return { info, content: Readable.from([Buffer.from(text)]) };
      },
    });
    await expect(applyWorkspace(other, diff, { home: join(root, "home"), signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(work)).toEqual([]);
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
    const diff = await diffWorkspace(endless, { home: join(root, "home"), texts, signal });
    await expect(applyWorkspace(endless, diff, { home: join(root, "home"), signal })).rejects.toThrow(withCode("FILE_TOO_LARGE"));
    expect(readdirSync(work)).toEqual([]);
  });

  it("writes through no link that takes a folder's place after the diff", async () => {
    onHost("d/keep", "x");
    const outside = join(root, "outside");
    mkdirSync(outside);
    const sandbox = await openSandbox();
    await inside(sandbox, "echo evil > d/new");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    rmSync(join(work, "d"), { recursive: true });
    symlinkSync(outside, join(work, "d"));
    await expect(applyWorkspace(sandbox, diff, { home: join(root, "home"), signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(outside)).toEqual([]);
    expect(lstatSync(join(work, "d")).isSymbolicLink()).toBe(true);
  });

  it("writes, reads and removes nothing where a link leads that takes the workspace's own place", async () => {
    onHost("a", "mine");
    const outside = join(root, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "a"), "theirs");
    const sandbox = await openSandbox();
    await inside(sandbox, "echo evil > new; rm a");
    const before = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    renameSync(work, `${work}-moved`);
    symlinkSync(outside, work);
    await expect(applyWorkspace(sandbox, before, { home: join(root, "home"), signal })).rejects.toThrow(withCode("PATH_INVALID"));
    await expect(diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).rejects.toThrow(withCode("PATH_INVALID"));
    expect(readdirSync(outside)).toEqual(["a"]);
    rmSync(work);
    mkdirSync(work);
    await expect(applyWorkspace(sandbox, before, { home: join(root, "home"), signal })).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    expect(readdirSync(work)).toEqual([]);
  });

  it("brings nothing of a repository back file by file", async () => {
    const sandbox = await openSandbox();
    await inside(
      sandbox,
      "mkdir -p .git/hooks sub/.GIT; touch .git/hooks/pre-commit .git/config .git/index sub/.GIT/config; echo y > hooks",
    );
    await apply(sandbox);
    expect(readdirSync(work)).toEqual(["hooks", "sub"]);
    expect(readdirSync(join(work, "sub"))).toEqual([]);
  });

  it("keeps a sparse file sparse", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "truncate -s 64M sparse");
    await apply(sandbox);
    expect(statSync(join(work, "sparse"))).toMatchObject({ size: 64 * 1024 * 1024, blocks: 0 });
  });

  it.skipIf(process.getuid?.() !== 0)("gives what root writes to the workspace's owner (skipped without root)", async () => {
    onHost("a", "x");
    for (const path of [work, join(work, "a")]) spawnSync("chown", ["4242:4343", path]);
    const sandbox = await openSandbox();
    await inside(sandbox, "echo y > a; mkdir d; ln -s a d/l");
    await apply(sandbox);
    for (const path of ["a", "d", "d/l"]) expect(lstatSync(join(work, path))).toMatchObject({ uid: 4242, gid: 4343 });
  });

  it("stops when the signal aborts, and leaves nothing behind", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "echo x > a");
    const diff = await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal });
    await expect(applyWorkspace(sandbox, diff, { home: join(root, "home"), signal: AbortSignal.abort() })).rejects.toThrow(
      withCode("CANCELLED"),
    );
    expect(readdirSync(work)).toEqual([]);
  });

  it("does not bring back what a killed apply left on the host", async () => {
    const staging = join(work, `.belljar-${"a".repeat(20)}`);
    const sandbox = await openSandbox();
    mkdirSync(staging);
    expect((await diffWorkspace(sandbox, { home: join(root, "home"), texts, signal })).changes).toEqual([]);
    expect(existsSync(staging)).toBe(true);
  });
});
