import { BelljarError } from "../../../errors.ts";
import type { StateStore, StateView } from "../../../runtime/runtime.ts";

/** Undefined for a file that a live sandbox has removed or made longer meanwhile. */
export async function readIfThere(
  states: StateStore,
  view: StateView,
  { path, ...bounds }: { readonly path: Buffer; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Buffer | undefined> {
  try {
    return await states.read(view, path, bounds);
  } catch (cause) {
    if (cause instanceof BelljarError && ["FILE_NOT_FOUND", "FILE_TOO_LARGE"].includes(cause.code)) return undefined;
    throw cause;
  }
}
