import type { StateStore } from "../../runtime/contract/state-store.ts";
import type { Making } from "./making.ts";

/** Told of each layer that the template's user has. */
export type Held = (layers: readonly string[]) => void;

/** Lets go of all that a making has held and the template does not keep: after a rejection, of everything. */
export async function whileHolding(states: StateStore, user: string, make: (held: Held) => Promise<Making>): Promise<Making> {
  const held = new Set<string>();
  try {
    const making = await make((layers) => layers.forEach((layer) => held.add(layer)));
    for (const layer of [...making.layers, ...(making.parts ?? [])]) held.delete(layer);
    return making;
  } finally {
    await states.letGo([...held], user).catch(() => undefined); // a sweep does
  }
}
