import { join } from "node:path";
import { findIdMap } from "../../../src/runtime/namespace/id-map.ts";
import type { IdMap } from "../../../src/runtime/namespace/id-map.ts";
import type { Box, BoxOptions, Lab } from "./lab.ts";
import { openBox, openTestRuntime } from "./lab.ts";

/** The id maps that this user's sandboxes can have: an ordinary user's also the one of hosts without newuidmap. */
export function idMapKinds(): readonly IdMap["kind"][] {
  const { kind } = findIdMap();
  return kind === "slot" ? ["slot"] : [...new Set(["single", kind] as const)];
}

/** A box with each of them, one after the other. */
export async function inEachIdMap(
  lab: Lab,
  use: (box: Box, kind: IdMap["kind"]) => Promise<void>,
  options: BoxOptions = {},
): Promise<void> {
  const folder = join(lab.home, "..");
  for (const kind of idMapKinds()) {
    const runtime = await openTestRuntime(lab.home, join(folder, "run"), { idMap: kind });
    await using box = await openBox(runtime, folder, options);
    await use(box, kind);
  }
}
