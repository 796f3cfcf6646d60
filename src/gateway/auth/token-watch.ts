import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Authenticate } from "./authenticate.ts";

/** How often the tokens of open connections are looked at. */
const LOOK_MS = 5_000;

/** Ends the connections of tokens that were revoked or have expired: calls and streams may last for hours. */
export interface TokenWatch {
  /** From now on the connection ends some seconds after the token of its last request, if not before. */
  add(request: IncomingMessage): void;
}

/** The timer runs while there are connections. */
export function createTokenWatch(authenticate: Authenticate): TokenWatch {
  const open = new Map<Socket, IncomingMessage>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  const forget = (socket: Socket): void => {
    open.delete(socket);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    for (const [socket, request] of open) {
      const isValid = await isStillValid(authenticate, request);
      // A proxy in front may have sent the request of another caller meanwhile.
      if (!isValid && open.get(socket) === request) socket.destroy();
    }
    isLooking = false;
  };
  return {
    add(request) {
      const { socket } = request;
      if (socket.destroyed) return;
      if (!open.has(socket)) socket.once("close", () => forget(socket));
      open.set(socket, request);
      timer ??= setInterval(() => void look(), LOOK_MS).unref();
    },
  };
}

/** As for a new request: a token that cannot be checked lets nobody in. */
function isStillValid(authenticate: Authenticate, { headers }: IncomingMessage): Promise<boolean> {
  return authenticate(headers).then(
    () => true,
    () => false,
  );
}
