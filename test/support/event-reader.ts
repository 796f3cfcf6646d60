import type { Principal, SandboxEvent, Sandboxes } from "../../src/sandbox/sandbox.ts";

/** Reads the events of a principal, one at a time. Disposing it ends the reading. */
export interface EventReader extends AsyncDisposable {
  /** The next event; undefined once they have ended. */
  next(): Promise<SandboxEvent | undefined>;
  /** The first event from here on of which this is so. */
  until(isSo: (event: SandboxEvent) => boolean): Promise<SandboxEvent>;
  readonly abort: () => void;
}

/** Resolves after the first event, from which on nothing is missed. */
export async function openEvents(sandboxes: Pick<Sandboxes, "events">, principal: Principal): Promise<EventReader> {
  const controller = new AbortController();
  const events = sandboxes.events(principal, controller.signal)[Symbol.asyncIterator]();
  const next = async (): Promise<SandboxEvent | undefined> => {
    const { value, done } = await events.next();
    return done === true ? undefined : value;
  };
  const first = await next();
  if (first?.type !== "resync") throw new TypeError(`The first event is ${JSON.stringify(first)}`);
  return {
    next,
    async until(isSo) {
      for (let event = await next(); event; event = await next()) if (isSo(event)) return event;
      throw new Error("The events ended");
    },
    abort: () => controller.abort(),
    async [Symbol.asyncDispose]() {
      controller.abort();
      await events.return?.();
    },
  };
}
