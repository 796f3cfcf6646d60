import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { kindFor, memoryHoldsLayers, openStorage, parseKind } from "./storage.ts";

const home = mkdtempSync(join(tmpdir(), "belljar-storage-"));
afterAll(() => rmSync(home, { recursive: true }));

it.each([
  ["6.18.44-fc", true],
  ["6.6.0-rc1", true],
  ["7.0.1", true],
  ["6.1.0-26-amd64", false],
  ["5.15.0-101-generic", false],
])("knows whether memory can hold the layers of Linux %s", (kernel, holds) => {
  expect(memoryHoldsLayers(kernel)).toBe(holds);
});

it.each([
  ["home", "home"],
  ["tmpfs", "tmpfs"],
  ["auto", memoryHoldsLayers() ? "tmpfs" : "home"],
] as const)("keeps what an ordinary user's sandboxes write, with storage %s, in %s", async (storage, kind) => {
  const opened = await openStorage({ storage, home, binary: "/no/binary" }, false);
  expect(opened.kind).toBe(kind);
  for (const diskBytes of [1, 2]) expect(await opened.choose({ memoryBytes: 1, diskBytes })).toBe(kind);
});

it.each([
  [{ memoryBytes: 2, diskBytes: 2 }, {}, "tmpfs"],
  [{ memoryBytes: 2, diskBytes: 3 }, {}, "btrfs"],
  [{ memoryBytes: 2 }, {}, "btrfs"],
  [{ diskBytes: 2 }, {}, "btrfs"],
  [{ memoryBytes: 2, diskBytes: 2 }, { inMemory: false }, "btrfs"],
  [{ memoryBytes: 2, diskBytes: 2 }, { storage: "btrfs" }, "btrfs"],
  [{ memoryBytes: 2, diskBytes: 2 }, { kind: "home" }, "home"],
] as const)("keeps what fits in memory there, beside a pool: %j with %j in %s", (limits, choice, kind) => {
  expect(kindFor(limits, { kind: "btrfs", storage: "auto", inMemory: true, ...choice })).toBe(kind);
});

it("has a pool's layers in the pool, and all others in the sandbox's folder", async () => {
  const storage = await openStorage({ storage: "home", home, binary: "/no/binary" }, true);
  expect(storage.layers("btrfs", "a1", "/folder")).toBe(join(home, "pool/a1"));
  for (const kind of ["home", "tmpfs"] as const) expect(storage.layers(kind, "a1", "/folder")).toBe("/folder/layers");
});

it("reaches what lies in no pool, and says that a pool which never was is gone", async () => {
  const storage = await openStorage({ storage: "home", home, binary: "/no/binary" }, true);
  expect(await storage.reach("home")).toBe(true);
  expect(await storage.reach("tmpfs")).toBe(true);
  expect(await storage.reach("btrfs")).toBe(false);
});

it("knows the kinds by name", () => {
  expect(["home", "tmpfs", "btrfs", "auto", "", undefined].map(parseKind)).toEqual([
    "home",
    "tmpfs",
    "btrfs",
    undefined,
    undefined,
    undefined,
  ]);
});
