import * as fc from "fast-check";
import { expect, it } from "vitest";
import { ByteQueue } from "./byte-queue.ts";

it("returns bytes in order, however they are appended and taken", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 5_000 }), fc.boolean()), { maxLength: 40 }), (steps) => {
      const queue = new ByteQueue();
      const sent: Buffer[] = [];
      const taken: Buffer[] = [];
      for (const [index, [size, takes]] of steps.entries()) {
        sent.push(Buffer.alloc(size, index));
        queue.append(Buffer.alloc(size, index));
        if (takes) taken.push(queue.shift() ?? Buffer.alloc(0));
      }
      taken.push(queue.takeAll());
      expect(Buffer.concat(taken).equals(Buffer.concat(sent))).toBe(true);
      expect(queue.byteLength).toBe(0);
    }),
  );
});

it("holds many small pieces in few buffers", () => {
  const queue = new ByteQueue();
  for (let count = 0; count < 100_000; count++) queue.append(Buffer.from("x"));
  let pieces = 0;
  while (queue.shift()) pieces++;
  expect(pieces).toBeLessThan(60);
});
