import { BelljarError } from "../../src/errors.ts";
import { refusedSnapshots } from "../../src/sandbox/state/refused-states.ts";
import type { Sandboxes } from "../../src/sandbox/sandbox.ts";

/** A home without sandboxes, in which none can be made. */
export function createNoSandboxes(): Sandboxes {
  const refuse = async (): Promise<never> => {
    throw new BelljarError("SANDBOX_NOT_FOUND", "There are no sandboxes here");
  };
  async function* none(): AsyncGenerator<never> {}
  return {
    snapshots: refusedSnapshots(refuse),
    events: none,
    create: refuse,
    get: refuse,
    getStarted: refuse,
    getLinked: refuse,
    labelsOf: async () => undefined,
    linkedIds: async () => [],
    info: refuse,
    default: refuse,
    list: async () => ({ sandboxes: [] }),
  };
}
