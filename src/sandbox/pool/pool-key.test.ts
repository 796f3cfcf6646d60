import { expect, it } from "vitest";
import type { SandboxRecord } from "../sandbox-record.ts";
import { poolKey, poolKeyOfSnapshot } from "./pool-key.ts";

const RECORD = {
  runtime: "fake",
  template: "base",
  limits: {},
  required: [],
  ephemeral: true,
  inside: { env: {}, home: "/", workspace: "/", cwd: "/" },
} as unknown as SandboxRecord;

it("has none for a sandbox with volumes, which are mounted when it is made", () => {
  expect([poolKey(RECORD, "1"), poolKeyOfSnapshot(RECORD, "s", "1")]).toEqual([expect.any(String), expect.any(String)]);
  const record = { ...RECORD, volumes: [{ id: "v", name: "v", path: "/mnt" }] };
  expect([poolKey(record, "1"), poolKeyOfSnapshot(record, "s", "1")]).toEqual([undefined, undefined]);
});
