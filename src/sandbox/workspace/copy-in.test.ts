import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BelljarError, type ErrorCode } from "../../errors.ts";
import type { FileInfo, Guest, Sandbox } from "../sandbox.ts";
import { copyIn } from "./copy-in.ts";

const { signal } = new AbortController();

let root: string;
beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), "bj-in-")))));
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
  chmodSync(join(root, path), mode);
}

/** A sandbox that notes what is done in it. `folders`: those that are there. `linkFails`: how a link to be made fails, each time. */
function sandboxWith({
  folders = [],
  linkFails = [],
}: { readonly folders?: readonly string[]; readonly linkFails?: readonly ErrorCode[] } = {}) {
  const done: string[] = [];
  const users = new Set<string | undefined>();
  let links = 0;
  const note = (what: string, options: { readonly user?: string }): void => {
    done.push(what);
    users.add(options.user);
  };
  const files = {
    stat: async (path: string) => {
      if (path === "denied") throw new BelljarError("FILE_DENIED", path);
      if (!folders.includes(path) && path !== "file") throw new BelljarError("FILE_NOT_FOUND", path);
      return { type: path === "file" ? "file" : "directory" } as FileInfo;
    },
    makeDirectory: async (path: Buffer, options: { readonly user?: string; readonly parents?: boolean }) =>
      note(`${options.parents ? "folder" : "new folder"} ${String(path)}`, options),
    write: async (path: Buffer, content: Readable, options: { readonly user?: string; readonly mode: number; readonly parents: boolean }) =>
      note(`write ${String(path)} ${options.mode.toString(8)} ${options.parents} ${String(await buffer(content))}`, options),
    symlink: async (path: Buffer, target: Buffer, options: object) => {
      const code = linkFails[links++];
      note(`link ${String(path)} ${String(target)}${code === undefined ? "" : ` ${code}`}`, options);
      if (code !== undefined) throw new BelljarError(code, String(path));
    },
    remove: async (path: Buffer, options: object) => note(`remove ${String(path)}`, options),
    setAttributes: async (path: Buffer, options: { readonly user?: string; readonly mode: number }) =>
      note(`mode ${String(path)} ${options.mode.toString(8)}`, options),
  };
  const guest = { files: files as unknown as Guest["files"] } as Partial<Guest> as Guest;
  return { sandbox: { guest } as Partial<Sandbox> as Sandbox, done, users };
}

it("writes a file with its mode, under the name or into the folder", async () => {
  write("a", "text", 0o750);
  const { sandbox, done, users } = sandboxWith({ folders: ["there"] });
  const from = join(root, "a");
  expect(await copyIn(sandbox, { from, to: "new", signal })).toEqual({ to: "new", files: 1, skipped: [] });
  expect(await copyIn(sandbox, { from, to: "there", user: "root", signal })).toEqual({ to: "there/a", files: 1, skipped: [] });
  expect(await copyIn(sandbox, { from, to: "file", signal })).toMatchObject({ to: "file" });
  expect(done).toEqual(["write new 750 true text", "write there/a 750 true text", "write file 750 true text"]);
  expect([...users]).toEqual([undefined, "root"]);
});

it("follows a link that the person names, and takes links below as links", async () => {
  write("real/d/a", "one", 0o600);
  write("real/b", "two");
  symlinkSync("../b", join(root, "real/d/link"));
  chmodSync(join(root, "real/d"), 0o700);
  symlinkSync("real", join(root, "alias"));
  const { sandbox, done } = sandboxWith();
  expect(await copyIn(sandbox, { from: join(root, "alias"), to: "to", signal })).toEqual({ to: "to", files: 2, skipped: [] });
  expect(done.slice(0, 2)).toEqual(["folder to", "folder to/d"]);
  expect(done.slice(2, 4).toSorted()).toEqual(["write to/b 644 true two", "write to/d/a 600 true one"]);
  expect(done.slice(4)).toEqual(["link to/d/link ../b", "mode to/d 700"]);
});

it("gives folders their modes from the deepest up, so that all below was written", async () => {
  for (const path of ["f/a/b/c", "f/d"]) mkdirSync(join(root, path), { recursive: true });
  for (const path of ["f/a/b/c", "f/a/b", "f/a", "f/d"]) chmodSync(join(root, path), 0o755);
  const { sandbox, done } = sandboxWith();
  await copyIn(sandbox, { from: join(root, "f"), to: "t", signal });
  const folders = ["folder t", "folder t/a", "folder t/a/b", "folder t/a/b/c", "folder t/d"];
  expect(done).toEqual([...folders, "mode t/d 755", "mode t/a/b/c 755", "mode t/a/b 755", "mode t/a 755"]);
});

it("replaces a link that is there, once, and passes other refusals on", async () => {
  mkdirSync(join(root, "f"));
  symlinkSync("new", join(root, "f/link"));
  const copy = async (linkFails: readonly ErrorCode[]) => {
    const { sandbox, done } = sandboxWith({ linkFails });
    const code = await copyIn(sandbox, { from: join(root, "f"), to: "t", signal }).then(
      () => "copied",
      (cause: BelljarError) => cause.code,
    );
    return [code, ...done.slice(1)];
  };
  expect(await copy(["FILE_EXISTS"])).toEqual(["copied", "link t/link new FILE_EXISTS", "remove t/link", "link t/link new"]);
  expect(await copy(["FILE_DENIED"])).toEqual(["FILE_DENIED", "link t/link new FILE_DENIED"]);
  expect(await copy(["FILE_EXISTS", "FILE_EXISTS"])).toMatchObject({ 0: "FILE_EXISTS", length: 4 });
});

it("counts what it carries, and names what it leaves out", async () => {
  write("f/a", "12345");
  const server = createServer().listen(join(root, "f/socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  const counts: number[] = [];
  const { sandbox } = sandboxWith();
  const copied = await copyIn(sandbox, { from: join(root, "f"), to: "t", signal, onBytes: (count) => counts.push(count) });
  expect([copied, counts]).toEqual([{ to: "t", files: 1, skipped: ["socket"] }, [5]]);
  await expect(copyIn(sandbox, { from: join(root, "f/socket"), to: "t", signal })).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  server.close();
});

it("names a source that is not there, and a target that cannot be looked at", async () => {
  write("a", "text");
  const { sandbox, done } = sandboxWith();
  const codeOf = (from: string, to: string) =>
    copyIn(sandbox, { from: join(root, from), to, signal }).catch((cause: BelljarError) => cause.code);
  expect([await codeOf("gone", "t"), await codeOf("a/below", "t"), await codeOf("a", "denied")]).toEqual([
    "FILE_NOT_FOUND",
    "FILE_IO",
    "FILE_DENIED",
  ]);
  expect(done).toEqual([]);
});
