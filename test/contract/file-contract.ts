import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { FileInfo } from "../../src/runtime/guest/guest.ts";
import { collect, itNeeds, run, shareSandbox, soon, type ContractFeatures, type OpenRuntime } from "./contract-sandbox.ts";

export function fileContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a file", () => {
    const { guest } = shareSandbox(open);
    const files = (): ReturnType<typeof guest>["files"] => guest().files;
    const call = (): { readonly signal: AbortSignal } => ({ signal: soon() });

    it("is read as it was written", async () => {
      expect(await files().write("hello.txt", "hej då\n", call())).toEqual({ size: 8 });
      expect((await files().read("hello.txt", call())).toString()).toBe("hej då\n");
      expect((await files().read("/home/user/hello.txt", call())).toString()).toBe("hej då\n");
    });

    it("is the one that commands see", async () => {
      await files().write("shared.txt", "from the host", call());
      expect((await run(guest(), "cat shared.txt; printf inside > answer.txt")).stdout.toString()).toBe("from the host");
      expect((await files().read("answer.txt", call())).toString()).toBe("inside");
    });

    it("may be empty", async () => {
      await files().write("empty", "", call());
      expect((await files().read("empty", call())).length).toBe(0);
    });

    it("of 20 MB goes in as a stream and comes out as one", async () => {
      const block = Buffer.alloc(1_048_576, "belljar ");
      await files().write("large", Readable.from(Array.from({ length: 20 }, () => block)), call());
      const { info, content } = await files().open("large", call());
      let size = 0;
      for await (const chunk of content as AsyncIterable<Buffer>) size += chunk.length;
      expect([info.size, size]).toEqual([20 * block.length, 20 * block.length]);
    });

    it("past the bound is an error", async () => {
      await files().write("bounded", Buffer.alloc(1_001), call());
      await expect(files().read("bounded", { ...call(), maxBytes: 1_000 })).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
      expect((await files().read("bounded", { ...call(), maxBytes: 1_001 })).length).toBe(1_001);
    });

    it("is read in part", async () => {
      await files().write("digits", "0123456789", call());
      expect((await files().read("digits", { ...call(), offset: 3, limit: 4 })).toString()).toBe("3456");
      expect((await files().read("digits", { ...call(), offset: 8 })).toString()).toBe("89");
      expect((await files().read("digits", { ...call(), offset: 99 })).length).toBe(0);
    });

    it("can be left before its end", async () => {
      await files().write("left", Buffer.alloc(5_000_000), call());
      const { content } = await files().open("left", call());
      for await (const _chunk of content) break;
      expect(content.destroyed).toBe(true);
    });

    it("written with its zeros left out holds the same", async () => {
      const content = Buffer.concat([Buffer.alloc(10_000), Buffer.from("middle"), Buffer.alloc(100_000)]);
      expect(await files().write("sparse", content, { ...call(), sparse: true })).toEqual({ size: content.length });
      expect((await files().read("sparse", call())).equals(content)).toBe(true);
      await files().remove("sparse", call());
    });

    it("of 5 GB with holes is read at its end", async () => {
      await run(guest(), "truncate -s 5G sparse && printf tail >> sparse");
      expect((await files().stat("sparse", call())).size).toBe(5 * 1024 ** 3 + 4);
      expect((await files().read("sparse", { ...call(), offset: 5 * 1024 ** 3 })).toString()).toBe("tail");
      await files().remove("sparse", call());
    });

    it("is written into, appended to, and made anew", async () => {
      await files().write("parts", "0123456789", call());
      await files().write("parts", "ab", { ...call(), offset: 2 });
      await files().write("parts", "!", { ...call(), append: true });
      expect((await files().read("parts", call())).toString()).toBe("01ab456789!");
      await files().write("parts", "short", { ...call(), atomic: false });
      expect((await files().read("parts", call())).toString()).toBe("short");
    });

    it("is replaced at once for those who have it open", async () => {
      await files().write("atomic", "old".repeat(100_000), call());
      const { content } = await files().open("atomic", call());
      await files().write("atomic", "new", call());
      expect((await collect(content)).toString()).toBe("old".repeat(100_000));
      expect((await files().read("atomic", call())).toString()).toBe("new");
    });

    it("is written at the end of a link, which stays one", async () => {
      await files().write("at-the-end", "old", call());
      await files().symlink("leading-there", "at-the-end", call());
      await files().write("leading-there", "new", call());
      expect((await files().read("at-the-end", call())).toString()).toBe("new");
      expect(await files().stat("leading-there", call())).toMatchObject({ type: "link" });
    });

    it("keeps its old content when a write is cut short", async () => {
      await files().write("kept", "old", call());
      const controller = new AbortController();
      const source = new Readable({ read() {} });
      const writing = files().write("kept", source, { signal: controller.signal });
      source.push("half");
      await run(guest(), "true");
      controller.abort();
      await expect(writing).rejects.toMatchObject({ code: "CANCELLED" });
      expect(source.destroyed).toBe(true);
      expect((await files().read("kept", call())).toString()).toBe("old");
    });

    it("is not replaced when it must be new", async () => {
      await files().write("new-only", "first", { ...call(), exclusive: true });
      await expect(files().write("new-only", "second", { ...call(), exclusive: true })).rejects.toMatchObject({ code: "FILE_EXISTS" });
      expect((await files().read("new-only", call())).toString()).toBe("first");
    });

    it("gets the folders above it, unless it must not", async () => {
      await files().write("a/b/c/file", "deep", call());
      expect((await files().read("a/b/c/file", call())).toString()).toBe("deep");
      await expect(files().write("x/y", "no", { ...call(), parents: false })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    it("has the mode that is asked for, and keeps it when it is replaced", async () => {
      await files().write("script", "#!/bin/sh\necho ran", { ...call(), mode: 0o755 });
      await files().write("script", "#!/bin/sh\necho again", call());
      expect((await files().stat("script", call())).mode).toBe(0o755);
      expect((await guest().run({ argv: ["./script"], signal: soon() })).stdout.toString()).toBe("again\n");
    });

    it("is described", async () => {
      await files().write("described", "12345", { ...call(), mode: 0o640 });
      const info = await files().stat("described", call());
      expect(info).toMatchObject({
        path: "described",
        type: "file",
        size: 5,
        mode: 0o640,
        uid: 1_000,
        gid: 1_000,
        owner: "user",
        group: "user",
        links: 1,
      });
      expect(info.inode).toBeGreaterThan(0n);
    });

    it("gets another mode and time", async () => {
      await files().write("changed", "", call());
      await files().setAttributes("changed", { ...call(), mode: 0o600, mtime: new Date("2020-02-02T02:02:02Z") });
      const info = await files().stat("changed", call());
      expect([info.mode, info.mtimeNs]).toEqual([0o600, 1_580_608_922_000_000_000n]);
    });

    it("that is a link tells its text and where it ends", async () => {
      await files().write("target", "text", call());
      await files().symlink("link", "target", call());
      await files().symlink("dangling", "nowhere", call());
      expect(await files().stat("link", call())).toMatchObject({ type: "link", target: "target", resolved: "/home/user/target" });
      expect(await files().stat("link", { ...call(), follow: true })).toMatchObject({ type: "file", size: 4 });
      expect((await files().stat("dangling", call())).resolved).toBeUndefined();
    });

    it("keeps extended attributes", async () => {
      await files().write("attributed", "", call());
      await files().setXattr("attributed", "user.note", Buffer.from([1, 0, 2]), call());
      expect(await files().getXattr("attributed", "user.note", call())).toEqual(Buffer.from([1, 0, 2]));
      expect(await files().listXattrs("attributed", call())).toContain("user.note");
      await files().removeXattr("attributed", "user.note", call());
      expect(await files().listXattrs("attributed", call())).not.toContain("user.note");
      await expect(files().getXattr("attributed", "user.note", call())).rejects.toMatchObject({ code: expect.stringMatching(/^FILE_/) });
    });

    it("is renamed over another, unless it must not", async () => {
      await files().write("one", "1", call());
      await files().write("two", "2", call());
      await expect(files().rename("one", "two", { ...call(), replace: false })).rejects.toMatchObject({ code: "FILE_EXISTS" });
      await files().rename("one", "two", call());
      expect((await files().read("two", call())).toString()).toBe("1");
      await expect(files().stat("one", call())).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    it("is copied, alone or in its folder", async () => {
      await files().write("tree/inner/file", "copied", call());
      await files().copy("tree/inner/file", "copy", call());
      await files().copy("tree", "tree-copy", { ...call(), recursive: true });
      expect((await files().read("copy", call())).toString()).toBe("copied");
      expect((await files().read("tree-copy/inner/file", call())).toString()).toBe("copied");
      await expect(files().copy("tree", "tree-2", call())).rejects.toMatchObject({ code: "FILE_IS_DIRECTORY" });
    });

    it("is removed; a folder only when it is empty, or with all in it", async () => {
      await files().write("gone/inner/file", "", call());
      await expect(files().remove("gone", call())).rejects.toMatchObject({ code: "DIRECTORY_NOT_EMPTY" });
      await files().remove("gone/inner/file", call());
      await files().remove("gone/inner", call());
      await files().write("gone/other/file", "", call());
      await files().remove("gone", { ...call(), recursive: true });
      await expect(files().stat("gone", call())).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    it("is told from a folder", async () => {
      await files().makeDirectory("folder", { ...call(), mode: 0o700 });
      await files().write("plain-file", "", call());
      expect(await files().stat("folder", call())).toMatchObject({ type: "directory", mode: 0o700 });
      await expect(files().makeDirectory("folder", call())).rejects.toMatchObject({ code: "FILE_EXISTS" });
      await files().makeDirectory("folder", { ...call(), parents: true });
      await expect(files().read("folder", call())).rejects.toMatchObject({ code: "FILE_IS_DIRECTORY" });
      await expect(files().write("folder", "x", call())).rejects.toMatchObject({ code: "FILE_IS_DIRECTORY" });
      await expect(all(files().list("plain-file", call()))).rejects.toMatchObject({ code: "FILE_NOT_DIRECTORY" });
      await expect(files().read("plain-file/below", call())).rejects.toMatchObject({ code: "FILE_NOT_DIRECTORY" });
    });

    it("is listed with its folder, as deep as is asked", async () => {
      await files().write("listed/inner/deep/file", "", call());
      await files().symlink("listed/link", "inner", call());
      expect(names(await all(files().list("listed", call())))).toEqual(["inner", "link"]);
      expect(names(await all(files().list("listed", { ...call(), depth: 2 })))).toEqual(["inner", "inner/deep", "link"]);
      expect(names(await all(files().list("listed", { ...call(), depth: 9 })))).toEqual(["inner", "inner/deep", "inner/deep/file", "link"]);
    });

    it("is listed without what lies in folders of some names", async () => {
      await files().write("closing/inner/deep/file", "", call());
      await files().write("closing/deep/file", "", call());
      await files().write("closing/inner/dee", "", call());
      const list = (...closed: string[]) => all(files().list("closing", { ...call(), depth: 9, closed }));
      expect(names(await list("deep", "none"))).toEqual(["deep", "inner", "inner/dee", "inner/deep"]);
      expect(names(await list("inner"))).toEqual(["deep", "deep/file", "inner"]);
      expect(names(await list("closing"))).toHaveLength(6);
    });

    it("is not listed 200 levels below the listed folder, nor below a path of more than 3,700 bytes", async () => {
      const folders = (levels: number, name: string): string => Array.from({ length: levels }, () => name).join("/");
      for (const path of [
        `levels/${folders(200, "d")}/file`,
        `long/${folders(15, "n".repeat(246))}/file`,
        `short/${folders(14, "n".repeat(246))}/file`,
      ])
        await files().write(path, "", call());
      const deepest = async (folder: string): Promise<string> =>
        names(await all(files().list(folder, { ...call(), depth: 4096 }))).at(-1) ?? "";
      expect(await deepest("levels")).toBe(folders(200, "d"));
      expect(await deepest("long")).toBe(folders(15, "n".repeat(246)));
      expect(await deepest("short")).toBe(`${folders(14, "n".repeat(246))}/file`);
    });

    it("is listed among 10,000", async () => {
      await run(guest(), "mkdir many && cd many && seq -f 'file-%05g' 1 10000 | xargs touch");
      expect((await all(files().list("many", call()))).length).toBe(10_000);
      for await (const _row of files().list("many", call())) break;
      await files().remove("many", { ...call(), recursive: true });
    });

    it("may have a name with a line break, or one that is not UTF-8", async () => {
      await files().makeDirectory("names", call());
      const broken = Buffer.from([...Buffer.from("names/"), 0xff, 0xfe, 0x41]);
      await files().write("names/line\nbreak", "line", call());
      await files().write(broken, "bytes", call());
      const rows = await all(files().list("names", call()));
      expect(rows.map((row) => row.rawPath.toString("latin1")).toSorted()).toEqual(["line\nbreak", "\u00ff\u00feA"]);
      expect((await files().read(broken, call())).toString()).toBe("bytes");
      await files().remove("names", { ...call(), recursive: true });
    });

    it("may lie deep, but a path of 4,096 bytes is invalid", async () => {
      const deep = Array.from({ length: 12 }, () => "d".repeat(200)).join("/");
      await files().write(`${deep}/file`, "deep", call());
      expect((await files().read(`${deep}/file`, call())).toString()).toBe("deep");
      await expect(files().stat(`/${"p/".repeat(2_047)}p`, call())).rejects.toMatchObject({ code: "PATH_INVALID" });
      await expect(files().stat("n".repeat(300), call())).rejects.toMatchObject({ code: "PATH_INVALID" });
      await expect(files().stat("nul\0byte", call())).rejects.toMatchObject({ code: "PATH_INVALID" });
    });

    it("that is not there is an error", async () => {
      await expect(files().read("missing", call())).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
      await expect(all(files().list("missing", call()))).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
      await expect(files().remove("missing", call())).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    it("that cannot be written destroys the stream that was to fill it", async () => {
      const source = Readable.from(Array.from({ length: 50 }, () => Buffer.alloc(65_536)));
      await expect(files().write("missing/file", source, { ...call(), parents: false })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
      expect(source.destroyed).toBe(true);
    });

    itNeeds(features, "twoUsers")("of root is not the user's to change", async () => {
      await files().write("/etc/belljar-test", "root's", { ...call(), user: "root" });
      await expect(files().write("/etc/belljar-test", "mine", call())).rejects.toMatchObject({ code: "FILE_DENIED" });
      expect(await files().stat("/etc/belljar-test", call())).toMatchObject({ uid: 0, owner: "root" });
    });
  });
}

async function all(rows: AsyncIterable<FileInfo>): Promise<readonly FileInfo[]> {
  const list: FileInfo[] = [];
  for await (const row of rows) list.push(row);
  return list;
}

function names(rows: readonly FileInfo[]): readonly string[] {
  return rows.map((row) => row.path).toSorted();
}
