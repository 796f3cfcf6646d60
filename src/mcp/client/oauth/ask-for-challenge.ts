import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/client";
import type { HttpTarget } from "../config/resolve-server.ts";
import { toServerError } from "../to-server-error.ts";
import { boundedFetch } from "../transport/bounded-fetch.ts";
import { fetchBy, type HttpWay } from "../transport/http-way.ts";
import type { Challenge } from "./login-place.ts";
import { readChallenge } from "./login-place.ts";

const TIMEOUT_MS = 15_000;

/** Asks a server as somebody who has not logged in, and gives what it says then. Undefined if it serves everybody. */
export async function askForChallenge({ name, url, headers }: HttpTarget, way?: HttpWay): Promise<Challenge | undefined> {
  const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: {}, clientInfo: { name: "belljar", version: "0" } };
  const sent = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
  try {
    const response = await boundedFetch(
      name,
      () => undefined,
      way && fetchBy(way),
    )(url, {
      method: "POST",
      headers: sent,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status === 401 ? readChallenge(response) : undefined;
  } catch (cause) {
    throw toServerError(name, "the login", cause);
  }
}
