import { describe } from "vitest";
import type { ContractFeatures, OpenRuntime } from "./contract-sandbox.ts";
import { execContract } from "./exec-contract.ts";
import { fileContract } from "./file-contract.ts";
import { insideContract } from "./inside-contract.ts";
import { keptContract } from "./kept-contract.ts";
import { stayingContract } from "./staying-contract.ts";
import { lifecycleContract } from "./lifecycle-contract.ts";
import { mountsContract } from "./mounts-contract.ts";
import { namesContract } from "./names-contract.ts";
import { runsContract } from "./runs-contract.ts";
import { statesContract } from "./states-contract.ts";
import { sleepContract } from "./sleep-contract.ts";
import { socketContract } from "./socket-contract.ts";
import { listenContract } from "./listen-contract.ts";
import { stillContract } from "./still-contract.ts";
import { streamContract } from "./stream-contract.ts";
import { sudoContract } from "./sudo-contract.ts";
import { watchContract } from "./watch-contract.ts";

/** What every runtime does, seen through the two contracts of design.md alone. */
export function runtimeContract(open: OpenRuntime, features: ContractFeatures): void {
  describe(`the ${features.name} runtime`, () => {
    execContract(open, features);
    keptContract(open, features);
    stayingContract(open, features);
    stillContract(open, features);
    streamContract(open, features);
    fileContract(open, features);
    watchContract(open);
    socketContract(open);
    listenContract(open);
    namesContract(open, features);
    lifecycleContract(open, features);
    sleepContract(open, features);
    insideContract(open, features);
    mountsContract(open, features);
    sudoContract(open, features);
    runsContract(open, features);
    statesContract(open, features);
  });
}
