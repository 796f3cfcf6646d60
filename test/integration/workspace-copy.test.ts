import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { FileInfo, GuestFiles } from "../../src/runtime/guest/guest.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { copyIn } from "../../src/sandbox/workspace/copy-in.ts";
import { copyOut } from "../../src/sandbox/workspace/copy-out.ts";
import { byName } from "../support/by-name.ts";

const signal = new AbortController().signal;
const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 1000 };
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });
/** Names, types, modes and link texts below a folder. */
const tree = (path: string) =>
  spawnSync("sh", ["-c", "find . -printf '%P %y %m %l\\n' | LC_ALL=C sort"], { cwd: path, encoding: "utf8" }).stdout;

/** Undefined for a descriptor that was closed since it was listed. */
function readlinkIfPresent(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

let root: string;
let sandboxes: LocalSandboxes;
let sandbox: Sandbox;
let home: string;
beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-copy-")));
  sandboxes = createLocalSandboxes({ home: join(root, "home"), runtimes: byName(fakeRuntime()), config });
  sandbox = await sandboxes.create(LOCAL, {}, signal);
  home = join(root, "home/sandboxes", sandbox.id, "root/home/user");
});
afterEach(async () => {
  await sandbox.kill();
  await sandboxes[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

function makeTree(path: string): void {
  spawnSync(
    "sh",
    [
      "-c",
      "mkdir -p d/e; echo one > a; chmod 755 a; echo two > d/e/b; ln -s ../a d/link; ln -s /etc out; mkdir -m 700 empty; touch \"$(printf 'x\\377')\"",
    ],
    { cwd: path },
  );
}

describe("copyIn", () => {
  it("copies a file under a new name, with its mode", async () => {
    writeFileSync(join(root, "a"), "text", { mode: 0o750 });
    expect(await copyIn(sandbox, { from: join(root, "a"), to: "b", signal })).toEqual({ to: "b", files: 1, skipped: [] });
    expect([readFileSync(join(home, "b"), "utf8"), statSync(join(home, "b")).mode & 0o777]).toEqual(["text", 0o750]);
  });

  it.each(["/home/user", "/home/user/", ".", ""])("copies a file into the folder %j", async (to) => {
    writeFileSync(join(root, "a"), "text");
    await copyIn(sandbox, { from: join(root, "a"), to, signal });
    expect(readFileSync(join(home, "a"), "utf8")).toBe("text");
  });

  it("copies a folder with links as links, twice over itself", async () => {
    const from = join(root, "from");
    mkdirSync(from);
    makeTree(from);
    for (const to of ["to", "."]) await copyIn(sandbox, { from, to, signal });
    await copyIn(sandbox, { from, to: ".", signal });
    expect(tree(join(home, "to"))).toBe(tree(from));
    expect(tree(join(home, "from"))).toBe(tree(from));
  });

  it.skipIf(process.platform !== "linux")("leaves no file of the host open", async () => {
    const open = (): readonly string[] =>
      readdirSync("/proc/self/fd").flatMap((fd) => {
        const target = readlinkIfPresent(join("/proc/self/fd", fd));
        return target?.startsWith(join(root, "from")) ? [target] : [];
      });
    mkdirSync(join(root, "from"));
    writeFileSync(join(root, "from/a"), "text");
    await copyIn(sandbox, { from: join(root, "from"), to: "to", signal });
    await copyIn(sandbox, { from: join(root, "from/a"), to: "b", signal });
    expect(open()).toEqual([]);
  });

  it("names a source that is not there", async () => {
    await expect(copyIn(sandbox, { from: join(root, "none"), to: ".", signal })).rejects.toThrow(withCode("FILE_NOT_FOUND"));
  });

  it("names a source that cannot be looked at", async () => {
    writeFileSync(join(root, "file"), "x");
    await expect(copyIn(sandbox, { from: join(root, "file/below"), to: ".", signal })).rejects.toThrow(withCode("FILE_IO"));
  });

  it("leaves out and names a pipe", async () => {
    mkdirSync(join(root, "from"));
    spawnSync("sh", ["-c", "mkfifo from/pipe"], { cwd: root });
    expect(await copyIn(sandbox, { from: join(root, "from"), to: "to", signal })).toMatchObject({ files: 0, skipped: ["pipe"] });
  });

  it("refuses what is neither a file nor a folder", async () => {
    await expect(copyIn(sandbox, { from: "/dev/null", to: "to", signal })).rejects.toThrow(withCode("NOT_SUPPORTED"));
    expect(readdirSync(home)).toEqual([]);
  });
});

describe("copyOut", () => {
  it("copies a file out, to a name or into a folder", async () => {
    writeFileSync(join(home, "a"), "text", { mode: 0o700 });
    mkdirSync(join(root, "into"));
    expect(await copyOut(sandbox, { from: "a", to: join(root, "b"), signal })).toEqual({ to: join(root, "b"), files: 1, skipped: [] });
    await copyOut(sandbox, { from: "/home/user/a", to: join(root, "into"), signal });
    expect(["b", "into/a"].map((path) => readFileSync(join(root, path), "utf8"))).toEqual(["text", "text"]);
    expect(readdirSync(root).toSorted()).toEqual(["b", "home", "into"]);
  });

  it("copies a folder out, twice over itself", async () => {
    makeTree(home);
    const to = join(root, "to");
    await copyOut(sandbox, { from: "/home/user", to, signal });
    expect(tree(to)).toBe(tree(home));
    await copyOut(sandbox, { from: "/home/user", to, signal });
    expect(tree(join(to, "user"))).toBe(tree(home));
  });

  it("replaces a link at the target and writes not through it", async () => {
    writeFileSync(join(home, "a"), "new");
    writeFileSync(join(root, "victim"), "old");
    symlinkSync("victim", join(root, "a"));
    await copyOut(sandbox, { from: "a", to: join(root, "a"), signal });
    expect(readFileSync(join(root, "victim"), "utf8")).toBe("old");
    expect(lstatSync(join(root, "a")).isFile()).toBe(true);
  });

  it("drops setuid", async () => {
    writeFileSync(join(home, "a"), "x");
    spawnSync("chmod", ["6755", join(home, "a")]);
    await copyOut(sandbox, { from: "a", to: join(root, "a"), signal });
    expect(statSync(join(root, "a")).mode & 0o7777).toBe(0o755);
  });

  it("names a target folder that is not there, and a source that is not", async () => {
    writeFileSync(join(home, "a"), "x");
    await expect(copyOut(sandbox, { from: "a", to: join(root, "none/b"), signal })).rejects.toThrow(withCode("FILE_NOT_FOUND"));
    await expect(copyOut(sandbox, { from: "none", to: root, signal })).rejects.toThrow(withCode("FILE_NOT_FOUND"));
  });

  it("looks at a folder, and reads its files, as the user that is named", async () => {
    makeTree(home);
    const users = new Set<string | undefined>();
    const { files: real } = sandbox.guest;
    const as = <Options extends { readonly user?: string }>(options: Options): Options => {
      users.add(options.user);
      return options;
    };
    const files: GuestFiles = {
      ...real,
      stat: (path, options) => real.stat(path, as(options)),
      list: (path, options) => real.list(path, as(options)),
      open: (path, options) => real.open(path, as(options)),
    };
    const watched: Sandbox = { ...sandbox, id: sandbox.id, guest: { ...sandbox.guest, files } };
    expect(await copyOut(watched, { from: ".", to: join(root, "to"), user: "user", signal })).toMatchObject({ files: 3 });
    expect([...users]).toEqual(["user"]);
  });

  describe("from a guest that lies", () => {
    const row = (path: string, more: Partial<FileInfo> = {}): FileInfo => {
      const rawPath = Buffer.from(path);
      return {
        path,
        rawPath,
        type: "file",
        size: 4,
        mode: 0o644,
        uid: 0,
        gid: 0,
        owner: "",
        group: "",
        mtimeNs: 1n,
        inode: 1n,
        links: 1,
        ...more,
      };
    };
    const link = (path: string, target: string) => row(path, { type: "link", target });

    function lying(rows: readonly FileInfo[], content: () => Readable = () => Readable.from([Buffer.from("evil")])): Sandbox {
      const files: GuestFiles = {
        ...sandbox.guest.files,
        stat: (path) => Promise.resolve(row(path.toString(), { type: "directory" })),
        list: () => Readable.from(rows) as AsyncIterable<FileInfo>,
        open: (path) => Promise.resolve({ info: row(path.toString()), content: content() }),
      };
      return { ...sandbox, id: sandbox.id, guest: { ...sandbox.guest, files } };
    }

    it.each([
      ["climbs", [row("../evil")]],
      ["climbs within", [row("a", { type: "directory" }), row("a/../../evil")]],
      ["names the root", [row("/evil")]],
      ["puts a file below a link", [link("a", ".."), row("a/evil")]],
      ["names a link and a folder alike", [link("a", ".."), row("a", { type: "directory" }), row("a/evil")]],
    ])("refuses one that %s", async (_, rows) => {
      await expect(copyOut(lying(rows), { from: "x", to: join(root, "to"), signal })).rejects.toThrow(withCode("PATH_INVALID"));
      expect(existsSync(join(root, "evil"))).toBe(false);
    });

    it("writes through no link that lies in the target", async () => {
      mkdirSync(join(root, "to/x"), { recursive: true });
      symlinkSync("../..", join(root, "to/x/a"));
      const rows = [row("a", { type: "directory" }), row("a/evil")];
      await expect(copyOut(lying(rows), { from: "x", to: join(root, "to"), signal })).rejects.toThrow(withCode("FILE_EXISTS"));
      expect(existsSync(join(root, "evil"))).toBe(false);
    });

    it("stops one that never ends", async () => {
      const endless = () =>
        Readable.from(
          (function* () {
            for (;;) yield Buffer.alloc(1_000_000, 1);
          })(),
        );
      await expect(copyOut(lying([row("a")], endless), { from: "x", to: join(root, "to"), signal })).rejects.toThrow(
        withCode("FILE_TOO_LARGE"),
      );
      expect(readdirSync(join(root, "to"))).toEqual([]);
    });
  });
});
