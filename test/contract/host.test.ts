import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openHostRuntime } from "../../src/runtime/host/host-runtime.ts";
import type { ContractFeatures } from "./contract-sandbox.ts";
import { execContract } from "./exec-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "bjh-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const binary = join(import.meta.dirname, "../../native/build/belljar-native");
const open = async () =>
  openHostRuntime({ binary, runtimeDirectory: folder, workspace: folder, env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" } });

const FEATURES: ContractFeatures = {
  name: "host",
  terminals: true,
  keeps: true,
  stands: false,
  pause: false,
  sleep: false,
  stop: false,
  states: false,
  resourceUsage: true,
  isolation: false,
  twoUsers: false,
  ownUser: false,
};

// Kept commands, in other contracts, are found and killed by name, which would be this machine's here.
execContract(open, FEATURES);
