import { expect, it } from "vitest";
import { etagOf, findRange, isUnchanged, lastModifiedOf } from "./file-range.ts";

const file = { mtimeNs: 1_700_000_000_500_000_000n, size: 10, inode: 7n };

it.each([
  ["bytes=0-0", { start: 0, end: 1 }],
  ["bytes=3-", { start: 3, end: 10 }],
  ["bytes=3-99", { start: 3, end: 10 }],
  ["bytes=-4", { start: 6, end: 10 }],
  ["bytes=-99", { start: 0, end: 10 }],
  ["bytes=10-", "none"],
  ["bytes=-0", "none"],
  ["bytes=5-3", undefined],
  ["bytes=-", undefined],
  ["bytes=0-1,3-4", undefined],
  ["items=0-1", undefined],
  [`bytes=${"9".repeat(400)}-`, undefined],
])("reads the range %s", (range, found) => {
  expect(findRange({ range }, file)).toEqual(found);
});

it("gives a part only of the content that the client has a part of", () => {
  const range = "bytes=1-2";
  for (const condition of [etagOf(file), lastModifiedOf(file)])
    expect(findRange({ range, "if-range": condition }, file)).toEqual({ start: 1, end: 3 });
  for (const condition of ['"other"', `W/${etagOf(file)}`, "Mon, 01 Jan 2001 00:00:00 GMT"])
    expect(findRange({ range, "if-range": condition }, file)).toBeUndefined();
  expect(etagOf({ ...file, mtimeNs: file.mtimeNs + 1n })).not.toBe(etagOf(file));
});

it("knows what the client has already: by its tag, else by the second of the last change", () => {
  const since = lastModifiedOf(file);
  expect(isUnchanged({}, file)).toBe(false);
  expect(isUnchanged({ "if-none-match": `"x", W/${etagOf(file)}` }, file)).toBe(true);
  expect(isUnchanged({ "if-none-match": "*" }, file)).toBe(true);
  expect(isUnchanged({ "if-none-match": '"x"', "if-modified-since": since }, file)).toBe(false);
  expect(isUnchanged({ "if-modified-since": since }, file)).toBe(true);
  expect(isUnchanged({ "if-modified-since": since }, { ...file, mtimeNs: file.mtimeNs + 1_000_000_000n })).toBe(false);
  expect(isUnchanged({ "if-modified-since": "yesterday" }, file)).toBe(false);
});
