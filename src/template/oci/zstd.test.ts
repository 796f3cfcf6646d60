import { describe, expect, it } from "vitest";
import { collect, ENDLESS_ZSTD, zstdFrame } from "../../../test/support/image-maker.ts";
import { decompressZstd } from "./zstd.ts";

/** Made by `zstd -19 --check`: matches, Huffman codes, a content size and a checksum. */
const COMPRESSED = Buffer.from("KLUv/WRgACUBALhoZWxsbyAsIHpzdGQgYW5kIGFnYWluCgMABVtQhaK8RaJSBHJcfr4=", "base64");
const PLAIN = "hello hello hello hello hello hello hello hello hello, zstd and again hello hello hello\n".repeat(4);
const SKIPPABLE = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

async function* pieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

const decode = (bytes: Uint8Array, length = 65_536): Promise<Buffer> => collect(decompressZstd(pieces(bytes, length)));

describe("a stream of zstd", () => {
  it.each([1, 2, 7, 1_000])("is read in pieces of %d bytes", async (length) => {
    const frames = Buffer.concat([COMPRESSED, SKIPPABLE, zstdFrame(Buffer.from("raw"), { blockBytes: 1 }), COMPRESSED]);
    expect((await decode(frames, length)).toString()).toBe(`${PLAIN}raw${PLAIN}`);
  });

  it("is read past the blocks that are looked at ahead", async () => {
    const long = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    expect((await decode(zstdFrame(long, { blockBytes: 10_000 }))).equals(long)).toBe(true);
  });

  it("may be empty", async () => {
    expect(await decode(Buffer.alloc(0))).toHaveLength(0);
    expect(await decode(Buffer.concat([SKIPPABLE, zstdFrame(Buffer.alloc(0))]))).toHaveLength(0);
  });

  it("is invalid wherever it is cut", async () => {
    for (let length = 1; length < COMPRESSED.length; length += 1)
      await expect(decode(COMPRESSED.subarray(0, length))).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  });

  it.each<readonly [string, Uint8Array, string]>([
    ["a window of 64 MiB", zstdFrame(Buffer.from("a"), { window: 0x80 }), "window"],
    ["a window of terabytes", zstdFrame(Buffer.from("a"), { window: 0xff }), "window"],
    ["a single segment of petabytes", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 8, 0]), "window"],
    ["a dictionary", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 0x38, 9]), "dictionary"],
    ["a reserved block", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, 0x07, 0, 0]), "block"],
    ["a block that is too large", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, 0xfd, 0xff, 0xff]), "block"],
    ["a block of nonsense", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, 0x2d, 0, 0, 9, 9, 9, 9, 9]), "block"],
    ["something else behind it", Buffer.concat([COMPRESSED, Buffer.from("trailing")]), "between"],
  ])("is refused with %s", async (_name, bytes, message) => {
    await expect(decode(bytes)).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining(message) });
  });

  it("is refused if it takes far longer than what it holds", async () => {
    const decoded = collect(decompressZstd(pieces(ENDLESS_ZSTD, 100), { freeMs: 500, bytesPerMs: 1_000 }));
    await expect(decoded).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining("longer") });
  });

  it("may be left in the middle", async () => {
    const frame = zstdFrame(Buffer.alloc(4_000_000), { blockBytes: 131_072 });
    for await (const chunk of decompressZstd(pieces(frame, 100_000))) {
      expect(chunk).toHaveLength(131_072);
      break;
    }
  });
});
