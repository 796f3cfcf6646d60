import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { runtimeContract } from "./runtime-contract.ts";

const isRoot = process.getuid?.() === 0;
/** Every map that this user can have, each forced: a better one never hides a worse one's faults. */
const MAPS = isRoot ? (["slot"] as const) : (["single", "subids"] as const).filter((kind) => findIdMap(kind).kind === kind);

for (const idMap of MAPS) {
  let home: string;
  let runtime: Runtime;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "belljar-contract-"));
    runtime = await openNamespaceRuntime({
      home,
      runtimeDirectory: join(home, "run"),
      storage: "auto",
      binary: join(import.meta.dirname, "../../native/build/belljar-native"),
      idMap,
    });
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  runtimeContract(async () => runtime, {
    name: `namespace (${idMap}, ${isRoot ? "root" : "ordinary user"})`,
    terminals: true,
    pause: isRoot,
    resourceUsage: true,
    isolation: true,
    twoUsers: idMap !== "single",
  });
}
