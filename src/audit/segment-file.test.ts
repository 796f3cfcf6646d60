import { mkdtempSync, rmSync } from "node:fs";
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
