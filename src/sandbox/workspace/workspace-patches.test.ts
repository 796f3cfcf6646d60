import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createOneSandbox } from "../../../test/support/one-sandbox.ts";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../sandbox.ts";
import { toKey } from "./entry.ts";
import { HostFolder } from "./host-folder.ts";
import { addPatches } from "./workspace-patches.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "belljar-patches-"));
});
afterEach(() => rmSync(root, { recursive: true }));

/** The patches of a removed file, where the diff fails. */
async function patchesOf(failure: Error) {
  writeFileSync(join(root, "a"), "text\n");
  const folder = new HostFolder(root);
  const host = await folder.stat(Buffer.from("a"));
  if (!host) throw new TypeError("The file is there");
  const sandbox = await createOneSandbox(() => Promise.reject(new TypeError("Nobody connects here"))).get(LOCAL, "a1b2c3d4");
  const texts = { prepare: () => undefined, run: () => Promise.reject(failure), [Symbol.dispose]: () => undefined };
  const change = { kind: "removed", path: "a", key: toKey(Buffer.from("a")), host } as const;
  return addPatches({ sandbox, folder, texts, signal: new AbortController().signal }, [change]);
}

it("names a change without its text if that is too large to compare", async () => {
  const [change, ...others] = await patchesOf(new BelljarError("FILE_TOO_LARGE", "Too large"));
  expect([change, others]).toEqual([expect.objectContaining({ path: "a", kind: "removed" }), []]);
  expect(change).not.toHaveProperty("patch");
});

it("passes on any other failure to compare", async () => {
  await expect(patchesOf(new BelljarError("CANCELLED", "Cancelled"))).rejects.toMatchObject({ code: "CANCELLED" });
});
