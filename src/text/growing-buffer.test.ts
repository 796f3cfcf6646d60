import * as fc from "fast-check";
import { expect, it } from "vitest";
import { GrowingBuffer } from "./growing-buffer.ts";

it("holds all bytes, however they were divided, and is empty after `take`", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 2_000 }), { maxLength: 8 }), (pieces) => {
      const growing = new GrowingBuffer();
      for (const piece of pieces) growing.push(piece);
      const whole = Buffer.concat(pieces);
      expect([growing.length, growing.view().equals(whole), growing.take().equals(whole), growing.length]).toEqual([
        whole.length,
        true,
        true,
        0,
      ]);
    }),
  );
});
