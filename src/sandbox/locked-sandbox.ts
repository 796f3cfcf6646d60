import type { BelljarError } from "../errors.ts";
import type { Sandbox } from "./sandbox.ts";
import { refusedTimeLine } from "./state/refused-states.ts";

/** What a sandbox is that its caller may look at and end, and no more: everything else rejects with the refusal. */
export function lockedSandbox(
  refusal: BelljarError,
): Omit<Sandbox, "id" | "owner" | "inside" | "ended" | "info" | "usage" | "knownOomKills" | "kill"> {
  const refuse = (): Promise<never> => Promise.reject(refusal);
  return {
    guest: new Proxy({} as Sandbox["guest"], {
      get() {
        throw refusal;
      },
    }),
    timeLine: refusedTimeLine(refuse),
    connect: refuse,
    setNetwork: refuse,
    watchRefusals: refuse,
    environment: refuse,
    ports: refuse,
    portLinks: refuse,
    registerPort: refuse,
    removePort: refuse,
    workspaceBase: refuse,
    workspaceBaseText: refuse,
    extend: refuse,
    pause: refuse,
    resume: refuse,
    stop: refuse,
    start: refuse,
  };
}
