import { BelljarError } from "../../../errors.ts";
import type { StateReading, StateStore, StateView } from "../../../runtime/contract/state-store.ts";

/** Undefined for a file that a live sandbox has removed or made longer meanwhile. */
export async function readIfThere(
  states: StateStore,
  view: StateView,
  { path, ...reading }: StateReading & { readonly path: Buffer },
): Promise<Buffer | undefined> {
  try {
    const pieces: Buffer[] = [];
    for await (const piece of states.read(view, path, reading)) pieces.push(piece);
    return Buffer.concat(pieces);
  } catch (cause) {
    if (cause instanceof BelljarError && ["FILE_NOT_FOUND", "FILE_TOO_LARGE"].includes(cause.code)) return undefined;
    throw cause;
  }
}
