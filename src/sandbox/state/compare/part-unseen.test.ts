import { expect, it } from "vitest";
import type { StateChange } from "../../../runtime/contract/state-store.ts";
import { toKey } from "../../workspace/entry.ts";
import { partUnseen } from "./part-unseen.ts";

const FOLDER = { type: "directory", mode: 0o755, uid: 0, gid: 0, size: 0, mtimeNs: 0n } as const;
const unseen = (path: string): readonly [string, StateChange] => [
  toKey(Buffer.from(path)),
  { path: Buffer.from(path), before: FOLDER, isUnseen: true },
];
const write = (path: string, wanted?: object) => ({ key: toKey(Buffer.from(path)), ...(wanted && { wanted }) });

it("leaves a folder that nobody has looked into, and what lies above it and would go", () => {
  const writes = [write("/a"), write("/a/b"), write("/a/b/deep"), write("/a/b/deep", {}), write("/a", {}), write("/a/bx"), write("/a-b")];
  const parted = partUnseen([unseen("/a/b/deep"), unseen("/z")], writes);
  expect(parted.rest).toEqual([write("/a", {}), write("/a/bx"), write("/a-b")]);
  expect(parted.unseen.map(({ path }) => path)).toEqual(["/a/b/deep", "/z"]);
  expect(partUnseen([], writes).rest).toBe(writes);
});

it("parts as many of both as a sandbox may have", () => {
  const [deep, writes] = [60_000, 60_000].map((count) => Array.from({ length: count }, (_, at) => at));
  const parted = partUnseen(deep?.map((at) => unseen(`/d/${at}`)) ?? [], writes?.map((at) => write(`/files/of/${at}`)) ?? []);
  expect(parted.rest).toHaveLength(60_000);
});
