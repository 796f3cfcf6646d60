import { settleWithin } from "../../../async/settle-within.ts";
import { BelljarError } from "../../../errors.ts";
import type { Following, ServerSession } from "../../client/server-session.ts";

interface Held {
  readonly begun: Promise<Following>;
  readonly over: AbortController;
  users: number;
  /** Settles once the server was told of its end. */
  gone?: Promise<void>;
}

/** The start of a subscription has a limit of its own. */
const LONGEST_MS = 600_000;

/**
 * The subscriptions at the instances of one server: one for each resource of an instance, however many follow it. It ends with the last of them, and
 * whoever goes before takes it from nobody.
 */
export class Subscriptions {
  readonly #held = new WeakMap<ServerSession, Map<string, Held>>();

  /** Follows until it is disposed. Rejects as the server's answer does. */
  async follow(session: ServerSession, uri: string, signal: AbortSignal): Promise<Following> {
    const all = this.#of(session);
    const known = all.get(uri);
    const held = known && !known.gone ? known : begin(session, uri, known?.gone);
    all.set(uri, held);
    held.users += 1;
    const leave = async (): Promise<void> => {
      held.users -= 1;
      if (held.users > 0) return;
      held.gone = end(held);
      await held.gone;
      if (all.get(uri) === held) all.delete(uri);
    };
    try {
      if ((await settleWithin(held.begun, { timeoutMs: LONGEST_MS, signal })) === "late")
        throw new BelljarError("CANCELLED", "Nobody waits for this subscription any more");
      const { ended } = await held.begun;
      return { ended, [Symbol.asyncDispose]: leave };
    } catch (cause) {
      await leave();
      throw cause;
    }
  }

  #of(session: ServerSession): Map<string, Held> {
    const known = this.#held.get(session) ?? new Map<string, Held>();
    this.#held.set(session, known);
    return known;
  }
}

/** After the end of an earlier one, which would end this one too. */
function begin(session: ServerSession, uri: string, earlier: Promise<void> = Promise.resolve()): Held {
  const over = new AbortController();
  const begun = earlier.then(() => session.follow(uri, over.signal));
  // Whoever asked for it first may have gone.
  begun.catch(() => undefined);
  return { begun, over, users: 0 };
}

/** One that has not begun is given up. */
async function end({ begun, over }: Held): Promise<void> {
  over.abort();
  const following = await begun.catch(() => undefined);
  await following?.[Symbol.asyncDispose]();
}
