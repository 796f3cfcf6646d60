import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { BuildArchives } from "../../src/template/archives/build-archives.ts";
import { openArchiveTree } from "../../src/template/build/archive-tree.ts";
import { MatchWork } from "../../src/template/build/match-work.ts";
import { temporaryFolder } from "../support/image-maker.ts";
import { tarArchive } from "../support/tar-archive.ts";
import { verifies } from "./verifies.ts";

const HASH = "a".repeat(64);
const signal = new AbortController().signal;

/** What the archive has, by its keys. */
async function read(bytes: Buffer, maxBytes = 100_000): Promise<Record<string, string>> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "archive");
  writeFileSync(path, bytes);
  await using tree = await openArchiveTree(path, { scratch: folder.path, maxBytes, line: 1, work: new MatchWork(signal) });
  const found: Record<string, string> = {};
  for (const [key, { type, target }] of await tree.list("")) {
    const content = type === "file" ? await buffer(tree.read(key)) : (target ?? "");
    found[key] = `${type} ${content.toString()}`;
  }
  return found;
}

verifies("e2b-archives-apart", async () => {
  await using home = await temporaryFolder();
  const archives = new BuildArchives(home.path);
  const ticket = await archives.invite("token:ann", HASH);
  expect(await archives.ownerOf(ticket)).toBe("token:ann");
  for (const other of ["", ticket.slice(1), `${ticket}0`, `../${ticket}`, ticket.replace(/.$/, (last) => (last === "0" ? "1" : "0"))])
    expect(await archives.ownerOf(other), other).toBeUndefined();
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from("half");
      throw new Error("cut");
    })(),
  );
  await expect(archives.store(ticket, broken)).rejects.toThrow("cut");
  expect(await archives.find("token:ann", HASH)).toBeUndefined();
  await expect(archives.store(ticket, Readable.from([Buffer.from("again")]))).rejects.toMatchObject({ code: "FORBIDDEN" });

  const next = await archives.invite("token:ann", HASH);
  const both = [1, 2].map((one) => archives.store(next, Readable.from([Buffer.from(String(one))])));
  expect((await Promise.allSettled(both)).map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(await archives.find("token:ann", HASH)).toBeDefined();
  expect([await archives.find("token:bob", HASH), await archives.find("token:ann", "../x")]).toEqual([undefined, undefined]);
  const [folder = ""] = readdirSync(join(home.path, "templates/archives"));
  expect(readdirSync(join(home.path, "templates/archives", folder))).toEqual([HASH]);

  const file = { name: "a", content: "1" };
  expect(await read(tarArchive({ name: "../../out", content: "x" }, { name: "/etc/abs", content: "y" }))).toEqual({
    "": "directory ",
    out: "file x",
    etc: "directory ",
    "etc/abs": "file y",
  });
  expect(existsSync("/etc/abs")).toBe(false);
  const links = tarArchive(file, { name: "b", type: "hard-link", link: "a" }, { name: "c", type: "link", link: "/etc/passwd" });
  expect(await read(gzipSync(links))).toEqual({ "": "directory ", a: "file 1", b: "file 1", c: "link /etc/passwd" });
  const hostile = {
    "below a link": tarArchive({ name: "x", type: "link", link: "/etc" }, { name: "x/passwd", content: "2" }),
    "below a file": tarArchive({ name: "x", content: "1" }, { name: "x/y", content: "2" }),
    "a file for a folder": tarArchive({ name: "x/y", content: "2" }, { name: "x", content: "1" }),
    "a size beyond the end": tarArchive({ name: "x", content: "1", size: 1_000_000 }),
    "no checksum": tarArchive({ name: "x", content: "1", checksum: 1 }),
    "cut gzip": gzipSync(links).subarray(0, 30),
    none: Buffer.alloc(2_000, "x"),
  };
  for (const [what, bytes] of Object.entries(hostile))
    await expect(read(bytes), what).rejects.toMatchObject({ code: "DOCKERFILE_INVALID" });
  const many = Array.from({ length: 20 }, (_, index) => ({ name: `l${index}`, type: "hard-link", link: "a" }) as const);
  const large = { name: "a", content: "x".repeat(1_000) };
  await expect(read(tarArchive(large, ...many), 10_000), "links to one file").rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
  await expect(read(gzipSync(tarArchive({ name: "a", content: "x".repeat(50_000) })), 10_000)).rejects.toMatchObject({
    code: "IMAGE_TOO_LARGE",
  });
});
