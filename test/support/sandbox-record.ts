import type { SandboxRecord } from "../../src/sandbox/sandbox-record.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { INSIDE } from "./run-of.ts";

/** The record of a sandbox of the local user that was made with nothing in particular, long ago. */
export function sandboxRecord(more: Partial<SandboxRecord> & Pick<SandboxRecord, "id">): SandboxRecord {
  const date = new Date(0);
  return {
    version: 1,
    owner: LOCAL.id,
    runtime: "fake",
    template: "base",
    inside: INSIDE,
    createdAt: date,
    creator: { pid: process.pid, startedMs: 0 },
    deadline: date,
    timeoutMs: 1,
    limits: {},
    network: "none",
    metadata: {},
    env: {},
    ephemeral: false,
    required: [],
    ...more,
  };
}
