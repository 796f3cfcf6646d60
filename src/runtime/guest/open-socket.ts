import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect as connectTo, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { BelljarError } from "../../errors.ts";
import { cancelled, unresponsive } from "./guest-errors.ts";
import { ANSWER_MS } from "./patience.ts";

/** The kernel tells nobody when a listener's full queue has room again. */
const TRY_AGAIN_MS = 20;

/** Connecting to a unix socket takes no time: what goes wrong shows on the stream, as any later fault does. */
export function openSocket(path: string, signal: AbortSignal): Socket {
  signal.throwIfAborted();
  return connectTo({ path });
}

export interface ConnectOptions {
  readonly path: string;
  /** The name that the socket has while the sandbox is paused. */
  readonly pausedPath: string;
  readonly signal: AbortSignal;
}

/**
 * Waits in line while as many streams as the kernel lets wait for the listener do. Rejects with `SANDBOX_PAUSED`, with
 * `SANDBOX_UNRESPONSIVE` when the line does not move, and with the kernel's own error.
 */
export async function connectSocket({ path, pausedPath, signal }: ConnectOptions): Promise<Socket> {
  const endsAt = performance.now() + ANSWER_MS;
  while (true) {
    const socket = openSocket(path, signal);
    const failure = await connected(socket);
    if (!failure && !signal.aborted) return socket;
    socket.destroy();
    if (!failure) throw cancelled(signal);
    if (failure.code === "ENOENT" && existsSync(pausedPath)) throw paused();
    if (failure.code !== "EAGAIN") throw failure;
    if (performance.now() > endsAt) throw unresponsive();
    await wait(TRY_AGAIN_MS, undefined, { signal }).catch(() => Promise.reject(cancelled(signal)));
  }
}

/** Undefined once it is connected. */
async function connected(socket: Socket): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await once(socket, "connect");
    return undefined;
  } catch (cause) {
    return cause as NodeJS.ErrnoException;
  }
}

function paused(): BelljarError {
  return new BelljarError("SANDBOX_PAUSED", "The sandbox is paused; resume it first");
}
