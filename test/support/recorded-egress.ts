import { EventEmitter, once } from "node:events";
import type { Egress, EgressSandbox, EgressState } from "../../src/network/egress.ts";

/** What an egress was told of one sandbox: `serve`, `update` or `stop`. */
export interface EgressEvent {
  readonly kind: "serve" | "update" | "stop";
  readonly id: string;
  readonly owner: string;
  readonly state: EgressState;
}

/** An egress that serves nobody and remembers what it was told. */
export interface RecordedEgress extends Egress {
  readonly events: readonly EgressEvent[];
  /** The state of a sandbox that is served now. */
  serves(id: string): EgressState | undefined;
  /** Resolves with the first event, past or to come, of which this is so. */
  told(isSo: (event: EgressEvent) => boolean): Promise<EgressEvent>;
}

export function createRecordedEgress(ready: (id: string) => Promise<void> = async () => {}): RecordedEgress {
  const events: EgressEvent[] = [];
  const served = new Map<string, EgressState>();
  const bell = new EventEmitter();
  const tell = (kind: EgressEvent["kind"], { id, owner }: EgressSandbox, state: EgressState): void => {
    events.push({ kind, id, owner, state });
    if (kind === "stop") served.delete(id);
    else served.set(id, state);
    bell.emit("told");
  };
  return {
    events,
    serves: (id) => served.get(id),
    async told(isSo) {
      for (;;) {
        const found = events.find(isSo);
        if (found) return found;
        await once(bell, "told");
      }
    },
    serve(sandbox, first) {
      let state = first;
      tell("serve", sandbox, state);
      return {
        ready: ready(sandbox.id),
        update(next) {
          state = next;
          tell("update", sandbox, state);
        },
        async [Symbol.asyncDispose]() {
          tell("stop", sandbox, state);
        },
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}
