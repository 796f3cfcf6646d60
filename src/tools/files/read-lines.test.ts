import { Readable } from "node:stream";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { readLines } from "./read-lines.ts";

const ALL = { startLine: 1, endLine: Number.MAX_SAFE_INTEGER, maxBytes: 1_000, wholeLines: true };

function streamOf(...chunks: string[]): Readable {
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
}

it("counts a last line without a newline", async () => {
  expect(await readLines(streamOf("a\nb"), ALL)).toMatchObject({ lastLine: 2, totalLines: 2, isCut: false });
  expect(await readLines(streamOf("a\nb\n"), ALL)).toMatchObject({ lastLine: 2, totalLines: 2 });
  expect(await readLines(streamOf(), ALL)).toMatchObject({ lastLine: 0, totalLines: 0 });
});

it("takes the same lines however the file is divided into chunks", async () => {
  const text = fc.array(fc.constantFrom("a", "bb", "\n", "\n\n", "é")).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 }), async (chunks, startLine, more) => {
      const endLine = startLine + more;
      const lines = chunks.join("").split(/(?<=\n)/);
      const slice = await readLines(streamOf(...chunks), { ...ALL, startLine, endLine });
      expect(slice.bytes.toString()).toBe(lines.slice(startLine - 1, endLine).join(""));
    }),
  );
});

it("stops reading at the last line that is wanted", async () => {
  let pulled = 0;
  const endless = Readable.from(
    (function* () {
      for (;;) {
        pulled += 1;
        yield Buffer.from("line\n");
      }
    })(),
    { highWaterMark: 1 },
  );
  expect(await readLines(endless, { ...ALL, startLine: 2, endLine: 3 })).toMatchObject({ lastLine: 3 });
  expect(pulled).toBeLessThan(10);
  expect(endless.destroyed).toBe(true);
});

it("cuts after a whole line", async () => {
  const slice = await readLines(streamOf("1234\n5678\n90"), { ...ALL, maxBytes: 7 });
  expect(slice).toMatchObject({ lastLine: 1, isCut: true, endsWithLine: true });
  expect(slice.bytes.toString()).toBe("1234\n");
});

it("cuts in a line that alone is too long", async () => {
  const slice = await readLines(streamOf("123", "45678\n"), { ...ALL, maxBytes: 5 });
  expect(slice).toMatchObject({ lastLine: 1, isCut: true, endsWithLine: false });
  expect(slice.bytes.toString()).toBe("12345");
});
