import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BelljarError } from "../../errors.ts";
import { kindOfAddress } from "../../network/egress/addresses.ts";
import { limitTime } from "../../network/time-limit.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

const TIMEOUT_MS = 10_000;

/**
 * Asks `URL/health` once, follows no redirect and reads no body. Callers other than the user of this machine reach public addresses
 * only: they must not look around in this machine's network through it.
 * Rejects with `NETWORK_DENIED`, or with `NETWORK_FAILED` when it is not well.
 */
export async function probeToolServer(principal: Principal, url: string, signal: AbortSignal): Promise<void> {
  const target = new URL(`${url.replace(/\/+$/, "")}/health`);
  const address = await resolve(target);
  if (principal.id !== LOCAL.id && kindOfAddress(address) !== "public") {
    throw new BelljarError(
      "NETWORK_DENIED",
      `The tool server ${target.host} has an address of this machine's own network: only its user may name such a one`,
    );
  }
  using limited = limitTime(signal, TIMEOUT_MS);
  const status = await askStatus(target, address, limited.signal);
  if (status < 200 || status > 299) throw unwell(target, `it answers HTTP ${status}`);
}

async function resolve({ hostname, host }: URL): Promise<string> {
  try {
    return (await lookup(hostname.replace(/^\[|\]$/g, ""))).address;
  } catch (cause) {
    throw new BelljarError("NETWORK_FAILED", `The tool server ${host} cannot be found: check its name`, { cause });
  }
}

/** The address that was checked is the one that is asked. */
function askStatus(target: URL, address: string, signal: AbortSignal): Promise<number> {
  const open = target.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((done, reject) => {
    const request = open(target, {
      agent: false,
      signal,
      lookup: (_host, options, answer) =>
        options.all ? answer(null, [{ address, family: familyOf(address) }]) : answer(null, address, familyOf(address)),
    });
    request.once("response", (response: IncomingMessage) => {
      response.destroy();
      done(response.statusCode ?? 0);
    });
    request.once("error", (cause) => reject(unwell(target, "it cannot be reached", cause)));
    request.end();
  });
}

function familyOf(address: string): 4 | 6 {
  return address.includes(":") ? 6 : 4;
}

function unwell(target: URL, why: string, cause?: unknown): BelljarError {
  return new BelljarError("NETWORK_FAILED", `The tool server at ${target.origin} is not well: GET ${target.pathname}: ${why}`, { cause });
}
