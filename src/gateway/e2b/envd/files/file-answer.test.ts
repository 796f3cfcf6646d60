import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { FileInfo, Guest } from "../../../../runtime/guest/guest.ts";
import { answerFile } from "./file-answer.ts";
import { createZipShares } from "./zip-shares.ts";

const BYTES = Buffer.alloc(200_000, "text ");

/** Asks for a file of these bytes, packed, with one place for packing. */
function open() {
  const shares = createZipShares({ ofOwner: 1, all: 1 });
  const info = { type: "file", size: BYTES.length, inode: 1n, mtimeNs: 0n } as unknown as FileInfo;
  const files = { stat: async () => info, open: async () => ({ content: Readable.from([BYTES]) }) };
  const user = { name: undefined, home: "/", folder: "/" };
  const ask = () =>
    answerFile({
      guest: { files } as unknown as Guest,
      user,
      path: "/a",
      headers: { "accept-encoding": "gzip" },
      isHead: false,
      signal: new AbortController().signal,
      takeZip: () => shares.take("ann"),
    });
  return { ask, shares };
}

it("packs while there is a place, sends the bytes as they are without one, and gives the place back at the end", async () => {
  const { ask } = open();
  const first = await ask();
  const second = await ask();
  expect([first.headers["content-encoding"], second.headers["content-encoding"]]).toEqual(["gzip", undefined]);
  expect([second.headers["content-length"], (await buffer(second.content ?? Readable.from([]))).equals(BYTES)]).toEqual(["200000", true]);
  const closed = once(first.content ?? Readable.from([]), "close");
  expect(gunzipSync(await buffer(first.content ?? Readable.from([]))).equals(BYTES)).toBe(true);
  await closed;
  expect((await ask()).headers["content-encoding"], "it was read to its end").toBe("gzip");
});

it("gives the place back when its client goes", async () => {
  const { ask, shares } = open();
  const { content = Readable.from([]) } = await ask();
  expect(shares.take("ann")).toBeUndefined();
  const closed = once(content, "close");
  content.destroy();
  await closed;
  expect(shares.take("ann")).toBeDefined();
});
