import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { chooseEncoding, unpackBody } from "./file-encoding.ts";

it.each([
  [undefined, "identity"],
  ["", "identity"],
  ["gzip", "gzip"],
  ["GZIP;q=0.5", "gzip"],
  ["gzip, deflate", "identity"],
  ["gzip, deflate, br, zstd", "identity"],
  ["gzip, identity;q=0", "gzip"],
  ["*, identity;q=0", "gzip"],
  ["gzip;q=0", "identity"],
  ["br", "identity"],
  ["identity", "identity"],
])("answers %s with %s", (accepted, encoding) => {
  expect(chooseEncoding(accepted)).toBe(encoding);
});

it.each(["identity;q=0", "br, identity;q=0", "gzip;q=0, *;q=0", "*;q=0"])("has nothing for %s", (accepted) => {
  expect(() => chooseEncoding(accepted)).toThrow(expect.objectContaining({ code: "ENCODING_UNACCEPTABLE", status: 406 }) as Error);
});

it("unpacks gzip in pieces, and leaves other bodies as they are", async () => {
  const text = Buffer.from("text ".repeat(40_000));
  const pieces = Array.from(gzipSync(text), (byte) => Buffer.of(byte));
  expect((await buffer(unpackBody(Readable.from(pieces), "gzip"))).equals(text)).toBe(true);
  const body = Readable.from([text]);
  expect(unpackBody(body, undefined)).toBe(body);
  expect(unpackBody(body, "Identity")).toBe(body);
});

it("refuses what is no whole gzip, another encoding, and what unpacks to more than its bound", async () => {
  const whole = gzipSync(Buffer.alloc(100_000));
  const unpack = (bytes: Buffer, max?: number): Promise<Buffer> => buffer(unpackBody(Readable.from([bytes]), "gzip", max));
  await expect(unpack(whole.subarray(0, -10))).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(unpack(Buffer.from("no gzip at all"))).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(unpack(whole, 99_999)).rejects.toMatchObject({ code: "REQUEST_TOO_LARGE" });
  expect(await unpack(whole, 100_000)).toHaveLength(100_000);
  expect(() => unpackBody(Readable.from([]), "br")).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }) as Error);
});

it("fails with its body", async () => {
  const body = new Readable({ read: () => undefined });
  const unpacked = buffer(unpackBody(body, "gzip"));
  body.destroy(new Error("the client went away"));
  await expect(unpacked).rejects.toThrow("the client went away");
});
