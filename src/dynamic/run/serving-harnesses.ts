import type { ExecProcess, Sandbox } from "../../sandbox/sandbox.ts";
import { ServingHarness } from "../harness/serving-harness.ts";

export interface ServingStart {
  /** Starts a harness that answers orders. The signal ends it. */
  readonly start: (signal: AbortSignal) => Promise<ExecProcess>;
  /** Of the one order. */
  readonly signal: AbortSignal;
}

/** The harnesses that go on between calls, one in each sandbox that is used again, which they end with. */
export class ServingHarnesses {
  readonly #bySandbox = new Map<string, ServingHarness>();

  /** One order at a time in a sandbox. Rejects as the start does. */
  async begin({ id, ended }: Pick<Sandbox, "id" | "ended">, { start, signal }: ServingStart): Promise<ExecProcess> {
    const known = this.#bySandbox.get(id);
    const harness = known && !known.isOver ? known : new ServingHarness(await startFor(signal, start));
    this.#bySandbox.set(id, harness);
    if (harness !== known) void ended?.then(() => this.#bySandbox.get(id) === harness && this.#bySandbox.delete(id));
    const order = harness.begin();
    const giveUp = (): void => void harness.end();
    signal.addEventListener("abort", giveUp, { once: true });
    void order.exited.catch(() => undefined).finally(() => signal.removeEventListener("abort", giveUp));
    if (signal.aborted) giveUp();
    return order;
  }
}

/** What starts outlives the order, but its start does not. */
async function startFor(signal: AbortSignal, start: ServingStart["start"]): Promise<ExecProcess> {
  const life = new AbortController();
  const giveUp = (): void => life.abort(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await start(life.signal);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
