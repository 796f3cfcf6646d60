import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fingerprintHost } from "./fingerprint.ts";

it("tells templates of other owners, hosts and programs apart, and no more", () => {
  const root = mkdtempSync(join(tmpdir(), "bj-print-"));
  const prints = [
    fingerprintHost(root, { canonicalUid: 1 }),
    fingerprintHost(root, { canonicalUid: 2 }),
    fingerprintHost(`${root}/`, { canonicalUid: 1 }),
    fingerprintHost(root, { canonicalUid: 1, programs: { node: "/none" } }),
    fingerprintHost(root, { canonicalUid: 1, programs: { rg: "/none" } }),
  ];
  expect(new Set(prints).size).toBe(5);
  expect(fingerprintHost(root, { canonicalUid: 1 })).toBe(prints[0]);
  rmSync(root, { recursive: true });
});
