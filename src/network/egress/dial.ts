import type { Socket } from "node:net";
import { limitTime } from "../../async/limit-time.ts";
import { connectToOrigin } from "./origin-socket.ts";
import type { Reason } from "./refusal.ts";

export interface DialResult {
  readonly socket: Socket;
  readonly address: string;
}

const ADDRESSES_MAX = 4;
/** Limit for each address but the last, so that an address without any answer does not use up the whole time. */
const EACH_MS = 3_000;

/** Connects to the first address that answers, or returns the reason why none does. The caller owns the socket. */
export async function dialFirst(addresses: readonly string[], port: number, signal: AbortSignal): Promise<DialResult | Reason> {
  let reason: Reason = "unreachable";
  const tried = addresses.slice(0, ADDRESSES_MAX);
  for (const [index, address] of tried.entries()) {
    const isLast = index === tried.length - 1;
    const result = await (isLast ? dialOne(address, port, signal) : dialBriefly(address, port, signal));
    if (typeof result !== "string") return { socket: result, address };
    reason = result;
    if (signal.aborted) return "timed-out";
  }
  return reason;
}

async function dialBriefly(address: string, port: number, signal: AbortSignal): Promise<Socket | Reason> {
  using limited = limitTime(signal, EACH_MS);
  return await dialOne(address, port, limited.signal);
}

function dialOne(host: string, port: number, signal: AbortSignal): Promise<Socket | Reason> {
  return new Promise((resolve) => {
    const socket = connectToOrigin(host, port);
    const finish = (result: Socket | Reason): void => {
      signal.removeEventListener("abort", abort);
      socket.off("connect", connected).off("error", failed);
      if (typeof result === "string") socket.on("error", () => {}).destroy();
      resolve(result);
    };
    const abort = (): void => finish("timed-out");
    const connected = (): void => finish(socket);
    const failed = (error: NodeJS.ErrnoException): void => finish(toReason(error));
    signal.addEventListener("abort", abort);
    socket.once("connect", connected).once("error", failed);
    if (signal.aborted) abort();
  });
}

const CERTIFICATE_CODES = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH_)/;

export function toReason(error: NodeJS.ErrnoException): Reason {
  const code = error.code ?? "";
  if (code === "ECONNREFUSED") return "connection-refused";
  if (code === "ETIMEDOUT") return "timed-out";
  if (code === "ECONNRESET" || code === "EPIPE") return "reset";
  if (code.startsWith("HPE_")) return "bad-response";
  if (CERTIFICATE_CODES.test(code)) return "bad-certificate";
  return "unreachable";
}
