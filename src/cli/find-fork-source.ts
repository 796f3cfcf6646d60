import { BelljarError } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { ForkSource, Sandboxes } from "../sandbox/sandbox.ts";
import { usage } from "./usage.ts";

/** A sandbox or a snapshot, by the id or the name of one. Rejects with `USAGE` for a word that means one of each. */
export async function findForkSource(sandboxes: Pick<Sandboxes, "info" | "snapshots">, word: string): Promise<ForkSource> {
  const [sandbox, snapshot] = await Promise.all([
    unless("SANDBOX_NOT_FOUND", sandboxes.info(LOCAL, word)),
    unless("SNAPSHOT_NOT_FOUND", sandboxes.snapshots.info(LOCAL, word)),
  ]);
  if (sandbox && snapshot && snapshot.id !== word && sandbox.id !== word)
    throw usage(`"${word}" is a sandbox, ${sandbox.id}, and a snapshot, ${snapshot.id}: give the id of one`, "belljar fork --help");
  if (snapshot && sandbox?.id !== word) return { snapshot: snapshot.id };
  if (sandbox) return { sandbox: sandbox.id };
  throw new BelljarError(
    "SANDBOX_NOT_FOUND",
    `There is no sandbox and no snapshot "${word}": \`belljar sandbox list\` and \`belljar snapshot list\` show them`,
  );
}

async function unless<Found>(code: ErrorCode, found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof BelljarError && error.code === code) return undefined;
    throw error;
  }
}
