import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { SandboxInfo, Sandboxes } from "../../sandbox/sandbox.ts";
import { isShownToWrite } from "./shown-to-write.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-shown-"));
  mkdirSync(join(home, "shown/sub"), { recursive: true });
  mkdirSync(join(home, "other"));
  writeFileSync(join(home, "shown/sub/mcp.json"), "{}");
  symlinkSync(join(home, "shown/sub"), join(home, "other/link"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** One page a sandbox, of one owner. */
function sandboxesOf(owner: string, ...modes: readonly ("copy" | "ro" | "rw")[]): Pick<Sandboxes, "list"> {
  return {
    list: async ({ id }, { cursor = "0" } = {}) => {
      const mode = id === owner ? modes[Number(cursor)] : undefined;
      if (mode === undefined) return { sandboxes: [] };
      return { sandboxes: [{ workspace: { path: join(home, "shown"), mode } } as SandboxInfo], nextCursor: String(Number(cursor) + 1) };
    },
  };
}

const none = sandboxesOf("nobody");

it.each([
  ["a folder of the configuration", () => ({ folders: [join(home, "shown")], sandboxes: none, owners: [] }), true],
  ["a folder beside it", () => ({ folders: [join(home, "sho"), join(home, "other")], sandboxes: none, owners: [] }), false],
  ["a link to the folder", () => ({ folders: [join(home, "other/link")], sandboxes: none, owners: [] }), true],
  ["the local user's sandbox, on the second page", () => ({ folders: [], sandboxes: sandboxesOf("local", "ro", "rw"), owners: [] }), true],
  ["a sandbox that only reads", () => ({ folders: [], sandboxes: sandboxesOf("local", "ro", "copy"), owners: [] }), false],
  ["a token's sandbox", () => ({ folders: [], sandboxes: sandboxesOf("token:ann", "rw"), owners: ["token:ann"] }), true],
])("knows whether %s may have written a file", async (_what, shown, expected) => {
  expect(await isShownToWrite(join(home, "shown/sub/mcp.json"), shown())).toBe(expected);
});

it("follows the links of the file, and takes one that is not there", async () => {
  const shown = { folders: [join(home, "shown")], sandboxes: none, owners: [] };
  expect(await isShownToWrite(join(home, "other/link/mcp.json"), shown)).toBe(true);
  expect(await isShownToWrite(join(home, "shown/absent.json"), shown)).toBe(true);
  expect(await isShownToWrite(join(home, "other/absent.json"), shown)).toBe(false);
});
