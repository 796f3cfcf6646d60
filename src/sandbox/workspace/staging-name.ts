import { createSandboxId } from "../sandbox-id.ts";

/** A new name for a folder of files on their way; one that a killed process left is no part of a workspace. */
export function createStagingName(): string {
  return `.belljar-${createSandboxId()}`;
}

export function isStagingName(name: string): boolean {
  return /^\.belljar-[a-z0-9]{20}$/.test(name);
}
