import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { createSlicedTransform } from "./sliced-transform.ts";

describe("a stream in slices", () => {
  it("passes on every byte in order", async () => {
    const bytes = Buffer.from("0123456789".repeat(10_000));
    const stream = createSlicedTransform({ push: (piece) => piece, end: () => Buffer.from("end") });
    expect((await buffer(Readable.from([bytes]).pipe(stream))).equals(Buffer.concat([bytes, Buffer.from("end")]))).toBe(true);
  });

  it("fails as its work does", async () => {
    const stream = createSlicedTransform({
      push: () => {
        throw new RangeError("as it may");
      },
    });
    const failed = once(stream, "error");
    stream.write(Buffer.from("a"));
    expect(await failed).toEqual([new RangeError("as it may")]);
  });
});
