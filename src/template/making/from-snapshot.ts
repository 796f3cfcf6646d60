import { BelljarError } from "../../errors.ts";
import type { StateStore } from "../../runtime/contract/state-store.ts";
import type { HeldSnapshot } from "../../sandbox/state/home-snapshots.ts";
import { needStates } from "../../sandbox/state/state-errors.ts";
import { templateUser } from "../../sandbox/template-source.ts";
import type { Making, MakingParts, Wish } from "./making.ts";
import { whileHolding } from "./while-holding.ts";

export async function fromSnapshot(parts: MakingParts, wish: Wish, snapshot: string): Promise<Making> {
  const { principal, signal } = wish;
  const user = templateUser(wish);
  const found = await parts.sandboxes.holdForTemplate(principal, snapshot, user, signal);
  const states = needStates(parts.runtimes.need({ id: found.id, runtime: found.runtime }));
  return whileHolding(states, user, async (held) => {
    held(found.layers);
    const { env, home, cwd } = found.inside;
    const { runtime, base, layers, user, start, tookIn } = found;
    const source = { kind: "snapshot", id: found.id } as const;
    const optional = { ...(user !== undefined && { user }), ...(start && { start }), ...(tookIn !== undefined && { tookIn }) };
    return { source, runtime, base, layers, bytes: await measure(states, found, parts, signal), env, home, cwd, ...optional };
  });
}

/** Throws `IMAGE_TOO_LARGE`. */
async function measure(
  states: StateStore,
  { layers, base }: HeldSnapshot,
  { maxBytes }: Pick<MakingParts, "maxBytes">,
  signal: AbortSignal,
): Promise<number> {
  const bytes = await states.measure(layers, base, { maxBytes, signal });
  if (bytes <= maxBytes) return bytes;
  throw new BelljarError(
    "IMAGE_TOO_LARGE",
    `The layers of the snapshot have more than ${maxBytes} bytes of files, and a template may have no more: raise \`template.maxBytes\``,
  );
}
