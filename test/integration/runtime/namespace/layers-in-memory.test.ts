import { tmpdir } from "node:os";
import { mkdtemp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { openNamespaceRuntime } from "../../../../src/runtime/namespace/namespace-runtime.ts";
import { openBox } from "../../../security/support/lab.ts";
import { removeFolder } from "../../../security/support/outside.ts";

const BINARY = resolve(import.meta.dirname, "../../../../native/build/belljar-native");
const MEBIBYTE = 1 << 20;

it.each([
  { limits: {}, size: 1024 },
  { limits: { memoryBytes: 64 * MEBIBYTE }, size: 64 },
  { limits: { memoryBytes: 64 * MEBIBYTE, diskBytes: 32 * MEBIBYTE }, size: 32 },
])("layers in memory have a size, whatever limits a sandbox has: $limits", async ({ limits, size }) => {
  const root = await mkdtemp(join(tmpdir(), "bj-mem-"));
  try {
    const options = { home: join(root, "home"), runtimeDirectory: join(root, "run"), storage: "tmpfs", binary: BINARY } as const;
    await using box = await openBox(await openNamespaceRuntime(options), root, { limits });
    const { out } = await box.run(["df", "-m", "--output=size", "/", "/tmp", "/usr"]);
    expect(out.trim().split(/\s+/).slice(1)).toEqual(Array.from({ length: 3 }, () => String(size)));
  } finally {
    await removeFolder(root);
  }
});
