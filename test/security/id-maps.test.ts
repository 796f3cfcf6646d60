import { once } from "node:events";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { IdMap } from "../../src/runtime/namespace/id-map.ts";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import type { Box } from "./support/lab.ts";
import { openBox, openTestRuntime } from "./support/lab.ts";
import { isRoot, newMark, processesOf, removeFolder } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

verifies("no-host-root", async () => {
  if (isRoot) return expectNoMapOfRoot();
  for (const kind of ["single", findIdMap().kind] as const) {
    await withRuntime(kind, async (box) => {
      const rows = await idMapOf(box);
      expect(rows.map(([, host]) => host)).not.toContain(0);
      expect(rows.map(([, host]) => host)).toContain(kind === "single" ? process.getuid?.() : rows[0]?.[1]);
      for (const user of ["root", "user"])
        expect((await box.run(["sh", "-c", "echo alive > ~/file && cat ~/file"], { user })).out).toBe("alive\n");
    });
  }
});

/** A map of one id would map the host's root, were it made for it. */
async function expectNoMapOfRoot(): Promise<void> {
  await expect(withRuntime("single", async () => {})).rejects.toMatchObject({ name: "BelljarError" });
  await withRuntime("slot", async (box) => {
    const rows = await idMapOf(box);
    expect(rows).toEqual([[0, expect.any(Number), 65_536]]);
    expect(rows[0]?.[1]).toBeGreaterThanOrEqual(2_000_000_000);
  });
}

/** To the host's ids, and so read outside: inside, a map leads to the ids of the namespace above. */
async function idMapOf(box: Box): Promise<readonly (readonly number[])[]> {
  const mark = newMark();
  const signal = AbortSignal.timeout(30_000);
  await using sleeper = await box.guest.exec({ argv: ["sh", "-c", 'echo up; exec sleep "$0"', mark], stdin: false, signal });
  await once(sleeper.stdout, "data");
  const pids = await processesOf(mark);
  const out = await readFile(`/proc/${pids[0]}/uid_map`, "utf8");
  sleeper.kill(9);
  await sleeper.exited;
  return out
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/).map(Number));
}

async function withRuntime(kind: IdMap["kind"], use: (box: Box) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "belljar-maps-"));
  try {
    const runtime = await openTestRuntime(join(folder, "home"), join(folder, "run"), { idMap: kind });
    await using box = await openBox(runtime, folder);
    await use(box);
  } finally {
    await removeFolder(folder);
  }
}
