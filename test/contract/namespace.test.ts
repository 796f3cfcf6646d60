import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { findIdMap, type IdMap } from "../../src/runtime/namespace/id-map.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import { buildNativeTests } from "../support/native-guest.ts";
import { outside } from "../security/support/outside.ts";
import type { ContractFeatures, OpenRuntime } from "./contract-sandbox.ts";
import { runsContract } from "./runs-contract.ts";
import { runtimeContract } from "./runtime-contract.ts";
import { statesContract } from "./states-contract.ts";

const isRoot = process.getuid?.() === 0;
const BUILD = join(import.meta.dirname, "../../native/build");

interface Setup {
  readonly idMap: IdMap["kind"];
  readonly storage: "tmpfs" | "home" | "btrfs";
  readonly binary: string;
  /** Only what depends on where the layers lie. */
  readonly runsAlone?: true;
}

/** Every id map that this user can have, each forced: a better one never hides a worse one's faults. Once with sanitizers. */
const SETUPS: readonly Setup[] = isRoot
  ? [
      { idMap: "slot", storage: "tmpfs", binary: "belljar-native" },
      { idMap: "slot", storage: "home", binary: "belljar-native-checked" },
      { idMap: "slot", storage: "btrfs", binary: "belljar-native", runsAlone: true },
      { idMap: "slot", storage: "tmpfs", binary: "belljar-native-checked", runsAlone: true },
    ]
  : [
      { idMap: "single", storage: "tmpfs", binary: "belljar-native" },
      { idMap: "subids", storage: "tmpfs", binary: "belljar-native" },
      { idMap: "single", storage: "home", binary: "belljar-native", runsAlone: true },
      { idMap: "subids", storage: "home", binary: "belljar-native" },
      { idMap: "subids", storage: "tmpfs", binary: "belljar-native-checked", runsAlone: true },
    ];

beforeAll(buildNativeTests, 300_000);

for (const { idMap, storage, binary, runsAlone } of SETUPS.filter((setup) => findIdMap(setup.idMap).kind === setup.idMap)) {
  let home: string;
  let runtime: Runtime;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "belljar-contract-"));
    runtime = await openNamespaceRuntime({ home, runtimeDirectory: join(home, "run"), storage, binary: join(BUILD, binary), idMap });
  });
  afterAll(async () => {
    if (storage === "btrfs") await outside(["umount", "--lazy", join(home, "pool")]);
    await rm(home, { recursive: true, force: true });
  });

  const features = {
    name: `namespace (${idMap}, ${storage}, ${binary})`,
    terminals: true,
    keeps: true,
    stands: true,
    pause: isRoot,
    sleep: isRoot,
    stop: true,
    states: true,
    resourceUsage: true,
    isolation: true,
    twoUsers: idMap !== "single",
    ownUser: true,
  };
  const contract = runsAlone ? runsAloneContract : runtimeContract;
  contract(async () => runtime, features);
}

function runsAloneContract(open: OpenRuntime, features: ContractFeatures): void {
  describe(`the ${features.name} runtime`, () => {
    runsContract(open, features);
    statesContract(open, features);
  });
}
