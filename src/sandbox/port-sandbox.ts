import type { PortSandbox } from "../network/ports/port-router.ts";
import type { Sandboxes } from "./sandbox.ts";

/** Sandboxes as the router of ports wants them. */
export function findPortSandbox(sandboxes: Pick<Sandboxes, "getLinked">): (id: string) => Promise<PortSandbox> {
  return async (id) => {
    const sandbox = await sandboxes.getLinked(id);
    return {
      owner: sandbox.owner,
      dial: (port, signal) => sandbox.guest.dial(port, signal),
      links: () => sandbox.portLinks(),
      resume: () => sandbox.resume(),
    };
  };
}
