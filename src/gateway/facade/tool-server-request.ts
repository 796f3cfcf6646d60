import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BelljarError } from "../../errors.ts";
import { kindOfAddress } from "../../network/egress/addresses.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

export interface ToolServerRequest {
  readonly method: "GET" | "POST";
  /** Below the server's own URL, as `/health`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Has the caller's time limit too, until the answer is read. */
  readonly signal: AbortSignal;
}

/**
 * Asks a caller's outside tool server once, and follows no redirect. Whoever is given the response reads or destroys it. Callers other than the
 * user of this machine reach public addresses only: they must not look around in this machine's network through it.
 * Rejects with `NETWORK_DENIED` or `NETWORK_FAILED`.
 */
export async function askToolServer(principal: Principal, url: string, request: ToolServerRequest): Promise<IncomingMessage> {
  const target = new URL(`${url.replace(/(?<!\/)\/+$/, "")}${request.path}`);
  const address = await resolve(target);
  if ((principal.id !== LOCAL.id || principal.grants !== undefined) && kindOfAddress(address) !== "public") {
    throw new BelljarError(
      "NETWORK_DENIED",
      `The tool server ${target.host} is in this machine's own network: only the local user may name such a server`,
    );
  }
  return send(target, address, request);
}

/** What is told of a tool server that does not do what it should. */
export function toolServerFailure(
  url: string,
  { method, path }: Pick<ToolServerRequest, "method" | "path">,
  why: string,
  cause?: unknown,
): BelljarError {
  return new BelljarError("NETWORK_FAILED", `The tool server at ${new URL(url).origin} does not work: ${method} ${path}: ${why}`, {
    cause,
  });
}

async function resolve({ hostname, host }: URL): Promise<string> {
  try {
    return (await lookup(hostname.replace(/^\[|\]$/g, ""))).address;
  } catch (cause) {
    throw new BelljarError("NETWORK_FAILED", `The tool server ${host} cannot be found: check its name`, { cause });
  }
}

/** The address that was checked is the one that is asked. */
function send(target: URL, address: string, { body, ...asked }: ToolServerRequest): Promise<IncomingMessage> {
  const open = target.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((done, reject) => {
    const request = open(target, {
      agent: false,
      method: asked.method,
      headers: { ...asked.headers, ...(body !== undefined && { "content-length": Buffer.byteLength(body) }) },
      signal: asked.signal,
      lookup: (_host, options, answer) =>
        options.all ? answer(null, [{ address, family: familyOf(address) }]) : answer(null, address, familyOf(address)),
    });
    request.once("response", done);
    request.once("error", (cause) => reject(toolServerFailure(target.href, asked, "it cannot be reached", cause)));
    request.end(body);
  });
}

function familyOf(address: string): 4 | 6 {
  return address.includes(":") ? 6 : 4;
}
