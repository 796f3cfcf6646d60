import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";
import type { Runtime } from "../../runtime/contract/runtime.ts";
import type { StateStore } from "../../runtime/contract/state-store.ts";
import type { SandboxRecord } from "../sandbox-record.ts";

const SHOWN_CHARACTERS = 70;

/** What freezes the states of this runtime's sandboxes. Throws `NOT_SUPPORTED` if nothing does. */
export function needStates({ name, layers: { states } }: Runtime): StateStore {
  if (states) return states;
  throw new BelljarError(
    "NOT_SUPPORTED",
    `The runtime "${name}" keeps no states of sandboxes: use one that does, as \`belljar doctor\` tells`,
  );
}

/** Somebody else's snapshot and none are the same answer. */
export function noSnapshot(text: string, cause?: unknown): BelljarError {
  return new BelljarError("SNAPSHOT_NOT_FOUND", `No snapshot ${shown(text)}: list yours with \`belljar snapshot list\``, { cause });
}

export function noCheckpoint(text: string, { id }: Pick<SandboxRecord, "id">): BelljarError {
  return new BelljarError(
    "CHECKPOINT_NOT_FOUND",
    `Sandbox ${id} has no checkpoint ${shown(text)}, and no snapshot of it has that id: see \`belljar log ${id}\``,
  );
}

export function snapshotNameTaken(name: string, id: string): BelljarError {
  return new BelljarError(
    "SNAPSHOT_NAME_TAKEN",
    `Snapshot ${id} has the name ${shown(name)}, or is being made with it: choose another one, or remove it with \`belljar snapshot remove ${id}\``,
  );
}

/** Somebody else is freezing it, or putting it back. */
export function busy({ id }: Pick<SandboxRecord, "id">): BelljarError {
  return new BelljarError("RUNTIME_UNAVAILABLE", `Sandbox ${id} is being frozen or put back by another call: try again`);
}

function shown(text: string): string {
  return printable(JSON.stringify(text.slice(0, SHOWN_CHARACTERS)));
}
