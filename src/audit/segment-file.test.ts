import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SegmentFile } from "./segment-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "belljar-segment-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("is there until somebody removes its file", () => {
  const segment = new SegmentFile(join(folder, "one.jsonl"), () => "mac");
  segment.append(["{}"]);
  expect(segment.isThere).toBe(true);
  rmSync(segment.path);
  expect(segment.isThere).toBe(false);
  segment.close();
});

const sign = (previous: string, text: string | Uint8Array) => `${previous.slice(0, 1)}<${String(text)}>`;

it("counts its lines, and chains each to the one before", () => {
  const segment = new SegmentFile(join(folder, "one.jsonl"), sign);
  expect([segment.sequence, segment.size, segment.mac]).toEqual([0, 0, "0".repeat(64)]);
  segment.follow("9");
  segment.append(['{"a":1}', '{"b":2}']);
  segment.append(['{"c":3}']);
  const text = readFileSync(segment.path, "utf8");
  expect(text.trimEnd().split("\n")).toEqual([
    '{"sequence":1,"a":1,"mac":"9<{"sequence":1,"a":1>"}',
    '{"sequence":2,"b":2,"mac":"9<{"sequence":2,"b":2>"}',
    '{"sequence":3,"c":3,"mac":"9<{"sequence":3,"c":3>"}',
  ]);
  expect([segment.sequence, segment.size, segment.mac]).toEqual([3, text.length, '9<{"sequence":3,"c":3>']);
  segment.close();
});

it("is a new file for this user alone, and no link", () => {
  const [path, link] = [join(folder, "one.jsonl"), join(folder, "link.jsonl")];
  const segment = new SegmentFile(path, sign);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => new SegmentFile(path, sign)).toThrow(expect.objectContaining({ code: "EEXIST" }));
  symlinkSync(join(folder, "elsewhere"), link);
  expect(() => new SegmentFile(link, sign)).toThrow(expect.objectContaining({ code: "EEXIST" }));
  segment.discard();
  expect(existsSync(path)).toBe(false);
  expect(() => segment.append(["{}"])).toThrow(expect.objectContaining({ code: "EBADF" }));
  writeFileSync(path, "");
});
