import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { findIdMap, type IdMap } from "../../src/runtime/namespace/id-map.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { buildNativeTests } from "../support/native-guest.ts";
import { runtimeContract } from "./runtime-contract.ts";

const isRoot = process.getuid?.() === 0;
const BUILD = join(import.meta.dirname, "../../native/build");

interface Setup {
  readonly idMap: IdMap["kind"];
  readonly storage: "tmpfs" | "home";
  readonly binary: string;
}

/** Every id map that this user can have, each forced: a better one never hides a worse one's faults. Once with sanitizers. */
const SETUPS: readonly Setup[] = isRoot
  ? [
      { idMap: "slot", storage: "tmpfs", binary: "belljar-native" },
      { idMap: "slot", storage: "home", binary: "belljar-native-checked" },
    ]
  : [
      { idMap: "single", storage: "tmpfs", binary: "belljar-native" },
      { idMap: "subids", storage: "home", binary: "belljar-native" },
    ];

beforeAll(buildNativeTests, 120_000);

for (const { idMap, storage, binary } of SETUPS.filter((setup) => findIdMap(setup.idMap).kind === setup.idMap)) {
  let home: string;
  let runtime: Runtime;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "belljar-contract-"));
    runtime = await openNamespaceRuntime({ home, runtimeDirectory: join(home, "run"), storage, binary: join(BUILD, binary), idMap });
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  runtimeContract(async () => runtime, {
    name: `namespace (${idMap}, ${storage}, ${binary})`,
    terminals: true,
    pause: isRoot,
    resourceUsage: true,
    isolation: true,
    twoUsers: idMap !== "single",
  });
}
