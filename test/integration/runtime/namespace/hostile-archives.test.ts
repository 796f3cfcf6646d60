import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unpackArchive } from "../../../../src/runtime/namespace/states/unpack-archive.ts";
import type { UnpackRequest } from "../../../../src/runtime/contract/state-store.ts";
import { encodeEntry, paxRecords, piecesOf, type TarEntry, tarArchive } from "../../../support/tar-archive.ts";
import { openUnpackLab, tellTree, type UnpackLab } from "../../../support/unpack-lab.ts";

let lab: UnpackLab;
beforeAll(async () => {
  lab = await openUnpackLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

const file = (name: string, more: Partial<TarEntry> = {}): TarEntry => ({ name, content: "x", ...more });
const folder = (name: string): TarEntry => ({ name, type: "folder", mode: 0o755 });
const link = (name: string, to: string): TarEntry => ({ name, type: "link", link: to });
const hardLink = (name: string, to: string): TarEntry => ({ name, type: "hard-link", link: to });
const pax = (records: Readonly<Record<string, string | Buffer>>, more: Partial<TarEntry> = {}): Buffer => tarArchive({ ...file("file"), ...more, pax: records }); // prettier-ignore
const sizeOf = (bytes: readonly number[]): TarEntry => file("file", { change: (header) => Buffer.from(bytes).copy(header, 124) });

interface Hostile {
  readonly archive: Buffer | readonly TarEntry[];
  readonly message: RegExp;
  readonly limits?: Partial<UnpackRequest>;
}

const deep = (levels: number): string => Array.from({ length: levels }, () => "a").join("/");
const million = "a".repeat(1 << 20);

const MALFORMED: Readonly<Record<string, Hostile>> = {
  "a name that leads upwards": { archive: [file("a/../../b")], message: /leads upwards: a\/\.\.\/\.\.\/b/ },
  "a name that is `..`": { archive: [folder("..")], message: /leads upwards/ },
  "a file in place of the root": { archive: [file("./")], message: /root is no folder/ },
  "a link in place of the root": { archive: [link("", "/etc")], message: /root is no folder/ },
  "an empty name of a file": { archive: [file("")], message: /root is no folder/ },
  "a name of more than 255 bytes": { archive: pax({ path: "n".repeat(256) }), message: /longer than 255 bytes/ },
  "a path of more than the kernel takes": { archive: pax({ path: `${"n".repeat(250)}/`.repeat(17) }), message: /too long/ },
  "a path of more than 1000 folders": { archive: pax({ path: deep(1001) }), message: /more than 1000/ },
  "a link that leads to more than 1000 folders": {
    archive: [{ ...folder(""), pax: { path: deep(990) } }, { ...link("l", ""), pax: { linkpath: deep(990) } }, { ...file(""), pax: { path: `l/${deep(12)}` } }], // prettier-ignore
    message: /too deep/,
  },
  "a name with a NUL": { archive: pax({ path: "a\0b" }), message: /NUL/ },
  "a key with a NUL": { archive: pax({ "pa\0th": "b" }), message: /malformed/ },
  "links that lead in a circle": { archive: [link("a", "b"), link("b", "a"), file("a/c")], message: /in a circle/ },
  "a link that grows": { archive: [link("a", "a/a/b"), file("a/c")], message: /in a circle|too long/ },
  "an entry in a file": { archive: [file("a"), file("a/b")], message: /no folder: a/ },
  "an empty link": { archive: [link("a", "")], message: /text of a link/ },
  "a link of 4096 bytes": { archive: pax({ linkpath: "l".repeat(4096) }, { type: "link" }), message: /text of a link/ },
  "a hard link to a file of another layer": { archive: [hardLink("a", "etc/passwd")], message: /does not have: a/ },
  "a hard link to a folder": { archive: [folder("a"), hardLink("b", "a")], message: /does not have/ },
  "a hard link upwards": { archive: [hardLink("a", "../../../layer.json")], message: /leads upwards/ },
  "a hard link through a link out of the layer": {
    archive: [link("l", "../../.."), hardLink("a", "l/layer.json")],
    message: /does not have/,
  },
  "a hard link to what a whiteout hides": { archive: [file(".wh.a"), hardLink("b", "a")], message: /does not have/ },
  "a hard link in place of the folder of its file": { archive: [file("a/b"), hardLink("a", "a/b")], message: /folder of its file/ },
  "a whiteout of nothing": { archive: [file("a/.wh.")], message: /names nothing/ },
  "a whiteout of the folder itself": { archive: [file("a/.wh..")], message: /names nothing/ },
  "a whiteout of the folder above": { archive: [file("a/.wh...")], message: /names nothing/ },
  "a folder named as a whiteout": { archive: [file(".wh.a/b")], message: /name of a whiteout/ },
  "a whiteout of all": { archive: [file(".wh..wh..opq")], message: /not supported/ },
  "a wrong checksum": { archive: [file("a", { checksum: 1 })], message: /checksum/ },
  "no archive": { archive: Buffer.alloc(4096, "no archive "), message: /checksum/ },
  "a gzipped archive": { archive: Buffer.from("1f8b0800000000000003", "hex"), message: /middle of a header/ },
  "a negative size": { archive: [sizeOf(Array.from({ length: 12 }, () => 0xff))], message: /negative/ },
  "a size beyond 63 bits": { archive: [sizeOf([0x80, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])], message: /too large/ },
  "a size that is no number": { archive: [file("a", { change: (header) => void header.write("12x", 124) })], message: /is none/ },
  "a size in pax that is no number": { archive: pax({ size: "-1" }), message: /no number/ },
  "a size in pax of 40 digits": { archive: pax({ size: "9".repeat(40) }), message: /too large/ },
  "a time that is none": { archive: pax({ mtime: "1.2.3" }), message: /a time/ },
  "a sparse file": { archive: [{ ...file("a"), type: "sparse" }], message: /sparse/ },
  "a sparse file of pax": { archive: pax({ "GNU.sparse.major": "1" }), message: /sparse/ },
  "an unknown type": { archive: [file("a", { change: (header) => void header.write("Z", 156) })], message: /unknown type/ },
  "a pax record longer than its header": { archive: [{ name: "p", type: "pax", content: "99 path=a\n" }], message: /malformed/ },
  "a pax record without a length": { archive: [{ name: "p", type: "pax", content: "path=a\n" }], message: /malformed/ },
  "a pax record of length 0": { archive: [{ name: "p", type: "pax", content: "0 path=a\n" }], message: /malformed/ },
  "a pax record without a value": { archive: [{ name: "p", type: "pax", content: "7 path\n" }], message: /malformed/ },
  "a pax record without an end": { archive: [{ name: "p", type: "pax", content: "11 path=abc" }], message: /malformed/ },
  "pax headers of more than 1 MiB": { archive: pax({ comment: million }), message: /1 MiB/ },
  "global headers without end": { archive: Array.from({ length: 5000 }, () => ({ name: "g", type: "global", content: paxRecords({ comment: "x".repeat(400) }) }) as const), message: /1 MiB/ }, // prettier-ignore
  "a global header that names a path": { archive: [{ name: "g", type: "global", content: paxRecords({ path: "a" }) }], message: /global/ },
  "a pax header of nothing": { archive: [{ name: "p", type: "pax", content: paxRecords({ path: "a" }) }], message: /belongs to another/ },
  "too many attributes": { archive: pax(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`SCHILY.xattr.user.${i}`, "v"]))), message: /too many extended/ }, // prettier-ignore
  "an attribute larger than the kernel takes": { archive: pax({ "SCHILY.xattr.user.large": "v".repeat(70_000) }), message: /too large for this/ }, // prettier-ignore
  "an end in the middle of a header": { archive: encodeEntry(file("a")).subarray(0, 300), message: /middle of a header/ },
  "an end in the middle of a file": {
    archive: encodeEntry(file("a", { content: "x".repeat(3000) })).subarray(0, 2000),
    message: /middle of a file/,
  },
  "an end in the middle of the padding": { archive: encodeEntry(file("a")).subarray(0, 600), message: /middle of a file/ },
  "an end in the middle of a pax header": { archive: pax({ comment: "c".repeat(2000) }).subarray(0, 1000), message: /middle of a header/ },
  "something between two blocks of zeros": { archive: Buffer.concat([encodeEntry(file("a")), Buffer.alloc(512), encodeEntry(file("b"))]), message: /follows a block of zeros/ }, // prettier-ignore
};

const TOO_LARGE: Readonly<Record<string, Hostile>> = {
  "a file that says it is larger": { archive: [file("a", { size: 1001 })], limits: { maxBytes: 1000 }, message: /too many bytes: a/ },
  "a size of almost 63 bits": { archive: pax({ size: "999999999999999999" }), message: /too many bytes/ },
  "many files": { archive: [file("a"), file("b"), file("c")], limits: { maxBytes: 2 }, message: /too many bytes: c/ },
  attributes: { archive: pax({ "SCHILY.xattr.user.a": "v".repeat(100) }), limits: { maxBytes: 100 }, message: /too many bytes/ },
  "texts of links": { archive: [link("a", "t".repeat(90))], limits: { maxBytes: 80 }, message: /too many bytes/ },
  "the content of whiteouts": {
    archive: [file(".wh.a", { content: "x".repeat(90) })],
    limits: { maxBytes: 80 },
    message: /too many bytes/,
  },
  "what follows the end": {
    archive: Buffer.concat([tarArchive(), Buffer.alloc(5000)]),
    limits: { maxBytes: 4000 },
    message: /too many bytes/,
  },
  "more entries": { archive: [file("a"), file("b"), file("c")], limits: { maxEntries: 2 }, message: /too many entries: c/ },
  "one entry again and again": { archive: [folder("a"), folder("a"), folder("a")], limits: { maxEntries: 2 }, message: /too many entries/ },
  "folders that no entry tells of": { archive: [file("a/b/c/d")], limits: { maxEntries: 3 }, message: /too many entries/ },
  "devices": { archive: [{ name: "a", type: "blocks" }, { name: "b", type: "blocks" }], limits: { maxEntries: 1 }, message: /too many entries/ }, // prettier-ignore
};

function refuses(cases: Readonly<Record<string, Hostile>>, code: string): void {
  for (const [what, { archive, message, limits }] of Object.entries(cases))
    it(`refuses ${what}, and leaves nothing`, async () => {
      const bytes = Buffer.isBuffer(archive) ? archive : tarArchive(...archive);
      const before = lab.layers();
      await expect(lab.unpack(bytes, limits)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
      expect(lab.layers()).toEqual(before);
    });
}

describe("the unpacking of an archive", () => {
  refuses(MALFORMED, "IMAGE_INVALID");
});

describe("the unpacking of an archive that is too large", () => {
  refuses(TOO_LARGE, "IMAGE_TOO_LARGE");
});

it("a leading slash is the root of the layer, and odd names are names", async () => {
  const names = ["/etc/absolute", "./dotted//twice", "new\nline", "-rf", " ", "tab\there", "~", "$(id)"];
  const lines = await lab.tell(...names.map((name) => file(name)), file("Case", { content: "one" }), file("case", { content: "two" }));
  expect(lines.map((line) => line.split(/ (?:file|folder) /)[0])).toEqual([" ", "$(id)", "-rf", "Case", "case", "dotted", "dotted/twice", "etc", "etc/absolute", "new\nline", "tab\there", "~"]); // prettier-ignore
});

it("1000 folders one in the other have their times", async () => {
  const { layer } = await lab.unpack(tarArchive({ ...folder(""), pax: { path: deep(1000) } }));
  expect(tellTree(lab.root(layer), { times: true }).at(-1)).toMatch(/^(?:a\/){999}a folder 755 (?:0:0 )?1000000000000$/);
});

it("what the archive's source fails with is told, and nothing is left", async () => {
  const before = lab.layers();
  const whole = tarArchive(file("a"));
  async function* cut(): AsyncGenerator<Uint8Array> {
    yield* piecesOf(whole);
    throw new Error("the digest differs");
  }
  await expect(lab.unpack(cut())).rejects.toThrow("the digest differs");
  expect(lab.layers()).toEqual(before);
});

it("a caller that cancels ends it at once, and nothing is left", async () => {
  const before = lab.layers();
  const controller = new AbortController();
  async function* stopped(): AsyncGenerator<Uint8Array> {
    yield encodeEntry(file("a"));
    controller.abort();
    await new Promise(() => undefined);
  }
  await expect(lab.unpack(stopped(), {}, controller.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  await expect(lab.unpack(tarArchive(), {}, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
  expect(lab.layers()).toEqual(before);
});

it("an archive is read no faster than it is taken, and silence ends it", async () => {
  const deaf = join(lab.home.path, "deaf");
  writeFileSync(deaf, "#!/bin/sh\nexec sleep 1000\n", { mode: 0o755 });
  let asked = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; ; asked += 1) yield Buffer.alloc(1 << 20);
  }
  const unpacked = unpackArchive(deaf, { tar: endless(), spec: Buffer.alloc(0) }, new AbortController().signal, 500);
  await expect(unpacked).rejects.toMatchObject({ code: "RUNTIME_FAILED", message: expect.stringContaining("0.5 s") });
  expect(asked).toBeLessThan(10);
});
