import type { PortRouter } from "../network/ports/port-router.ts";
import type { RawSurface } from "./surfaces/surface.ts";

/** The ports of sandboxes, served raw: who holds a link is let in, whoever that is. */
export function portsSurface(router: PortRouter): RawSurface {
  return {
    kind: "raw",
    name: "ports",
    reach: { hosts: ["*.localhost"], prefixes: ["/ports"] },
    handle: (request, response) => router.handle(request, response),
    upgrade: ({ request, socket, head }) => router.upgrade(request, socket, head),
    close: () => router.close(),
  };
}
