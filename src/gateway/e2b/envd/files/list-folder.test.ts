import { expect, it } from "vitest";
import type { FileInfo, GuestFiles } from "../../../../runtime/guest/guest.ts";
import { LIST_MAX_BYTES, listFolder } from "./list-folder.ts";

const call = { signal: AbortSignal.timeout(10_000) };

/** A folder of so many files, each with metadata of so many bytes, and how many of them were asked for. */
function openFolder(count: number, bytes: number) {
  const told = { entries: 0 };
  const info = (path: string, type: FileInfo["type"]): FileInfo => ({
    path,
    rawPath: Buffer.from(path),
    type,
    size: 0,
    mode: 0o644,
    uid: 1000,
    gid: 1000,
    owner: "user",
    group: "user",
    mtimeNs: 0n,
    inode: 1n,
    links: 1,
    attributes: new Map([["user.e2b.k", Buffer.alloc(bytes, "x")]]),
  });
  const files = {
    stat: async (path: string) => info(path, "directory"),
    async *list() {
      for (let index = 0; index < count; index += 1) {
        told.entries += 1;
        yield info(`f${index}`, "file");
      }
    },
  } as unknown as GuestFiles;
  return { files, told };
}

it("lists what lies there, and stops at the bytes that somebody inside chose", async () => {
  const { files } = openFolder(10, 3_000);
  expect(await listFolder(files, { path: "/d", depth: 1 }, call)).toHaveLength(10);
  const many = openFolder(40_000, 3_000);
  await expect(listFolder(many.files, { path: "/d", depth: 1 }, call)).rejects.toMatchObject({ code: "RESULT_TOO_LARGE" });
  expect(many.told.entries).toBeLessThan(LIST_MAX_BYTES / 3_000 + 1);
  // A long path of the folder itself is told with each entry.
  const deep = openFolder(5_000, 0);
  await expect(listFolder(deep.files, { path: `/${"d/".repeat(2_000)}d`, depth: 1 }, call)).rejects.toMatchObject({
    code: "RESULT_TOO_LARGE",
  });
});
