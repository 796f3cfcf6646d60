import type { CreateRequest } from "./create-request.ts";
import { CREATOR } from "./creator.ts";
import type { NetworkRecord } from "./network/prepare-network.ts";
import { createSandboxId } from "./sandbox-id.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Principal } from "./sandbox.ts";

type RecordRequest = CreateRequest &
  NetworkRecord &
  Pick<SandboxRecord, "runtime" | "base" | "user" | "start" | "inside" | "lineage" | "tookIn" | "isHidden" | "volumes">;

/** The record of a sandbox that this process is about to make. */
export function newRecord({ id: owner, project }: Principal, request: RecordRequest, defaultName?: string): SandboxRecord {
  const createdAt = new Date();
  return {
    version: 1,
    id: createSandboxId(),
    owner,
    createdAt,
    creator: CREATOR,
    deadline: new Date(createdAt.getTime() + request.timeoutMs),
    ...request,
    // An agent names no project but its own.
    ...(project && { project: project.folder }),
    ...(defaultName !== undefined && { defaultName }),
  };
}
