import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { BelljarError } from "../errors.ts";
import type { GuestFiles, Sandbox } from "../sandbox/sandbox.ts";

const FOLDER = "/var/tmp/.belljar/output";
const FILES_MAX = 16;

/** Keeps a long output in a file of its sandbox, so that a model can read and search it. Answers its path, and nothing where it cannot lie. */
export async function keepOutput({ guest }: Sandbox, text: string, signal: AbortSignal): Promise<string | undefined> {
  const path = posix.join(FOLDER, `${Date.now()}-${randomBytes(3).toString("hex")}.txt`);
  try {
    await guest.files.write(path, text, { mode: 0o600, signal });
    await removeOldest(guest.files, signal);
    return path;
  } catch (error) {
    if (error instanceof BelljarError && !signal.aborted) return undefined;
    throw error;
  }
}

/** Their names begin with their time. */
async function removeOldest(files: GuestFiles, signal: AbortSignal): Promise<void> {
  const names: string[] = [];
  for await (const { path } of files.list(FOLDER, { depth: 1, signal })) names.push(path);
  for (const name of names.toSorted().slice(0, -FILES_MAX)) await files.remove(posix.join(FOLDER, name), { signal, recursive: true });
}
