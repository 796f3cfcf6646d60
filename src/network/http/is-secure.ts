import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";

/** Whether it came by TLS, which this process ended. */
export function isSecure({ socket }: Pick<IncomingMessage, "socket">): boolean {
  return socket instanceof TLSSocket;
}
