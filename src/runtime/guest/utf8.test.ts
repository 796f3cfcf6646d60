import * as fc from "fast-check";
import { expect, it } from "vitest";
import { readUtf8, trimCutCharacter } from "./utf8.ts";

it("never splits a character between pieces", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 7 }), async (text, size) => {
      const bytes = Buffer.from(text);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
      let read = "";
      for await (const piece of readUtf8(asStream(chunks))) read += piece;
      expect(read).toBe(bytes.toString());
    }),
  );
});

it("leaves out a character that the end cuts, and nothing else", () => {
  const bytes = Buffer.from("aé€😀");
  const whole = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10];
  for (let end = 0; end <= bytes.length; end++) expect(trimCutCharacter(bytes.subarray(0, end)).length).toBe(whole[end]);
  expect(trimCutCharacter(Buffer.from([0x80, 0x80, 0x80, 0x80])).length).toBe(4);
});

async function* asStream(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
