import { limitTime } from "../../async/limit-time.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { askToolServer, toolServerFailure } from "./tool-server-request.ts";

const HEALTH = { method: "GET", path: "/health" } as const;
const TIMEOUT_MS = 10_000;

/** Asks `URL/health` once, without the credential, and reads no body. Rejects with `NETWORK_DENIED`, or with `NETWORK_FAILED` when it is not well. */
export async function probeToolServer(principal: Principal, url: string, signal: AbortSignal): Promise<void> {
  using time = limitTime(signal, TIMEOUT_MS);
  const response = await askToolServer(principal, url, { ...HEALTH, signal: time.signal });
  const status = response.statusCode ?? 0;
  response.destroy();
  if (status < 200 || status > 299) throw toolServerFailure(url, HEALTH, `it answers HTTP ${status}`);
}
