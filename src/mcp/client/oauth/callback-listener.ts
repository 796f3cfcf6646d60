import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BelljarError } from "../../../errors.ts";
import { errnoOf } from "../../../files/file-error.ts";
import { isSameState } from "./login-door.ts";

const PATH = "/callback";
const CONNECTIONS_MAX = 64;
const REQUEST_MS = 10_000;
const DONE = "You can close this window, and go back to Belljar.\n";
const OTHER = "This is not the login that is waited for.\n";
const HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'",
  connection: "close",
};

/** Waits on loopback for the browser to come back. */
export interface CallbackListener extends AsyncDisposable {
  readonly redirectUrl: string;
  /**
   * Resolves with the query of the first redirect that has this state. Any page of the browser can ask this port, so other requests are
   * refused and change nothing. Rejects when the signal aborts.
   */
  back(state: string | null, signal: AbortSignal): Promise<URLSearchParams>;
}

export interface CallbackWish {
  /** Its port is taken if it is free. */
  readonly redirectUrl?: string | undefined;
  /** This port or none. */
  readonly port?: number | undefined;
}

/** Rejects with `PORT_TAKEN` if the port that must be had is not free. */
export async function openCallbackListener({ redirectUrl, port }: CallbackWish = {}): Promise<CallbackListener> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS });
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, port, redirectUrl);
  const own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  let take: ((query: URLSearchParams) => boolean) | undefined;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const query = queryOf(request, own);
    const isTaken = query !== undefined && take?.(query) === true;
    response.writeHead(isTaken ? 200 : 404, HEADERS).end(isTaken ? DONE : OTHER);
  });
  return {
    redirectUrl: `http://${own}${PATH}`,
    back: (state, signal) =>
      new Promise((resolve, reject) => {
        const giveUp = (): void => reject(new BelljarError("CANCELLED", "The login was cancelled"));
        signal.addEventListener("abort", giveUp, { once: true });
        if (signal.aborted) giveUp();
        take = (query) => {
          if (!isSameState(query.get("state"), state)) return false;
          signal.removeEventListener("abort", giveUp);
          resolve(query);
          return true;
        };
      }),
    // The page of the login is sent to its end; what is idle is closed.
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeIdleConnections();
      server.unref();
    },
  };
}

async function listen(server: Server, port: number | undefined, redirectUrl: string | undefined): Promise<void> {
  const wanted = port ?? Number(redirectUrl === undefined ? 0 : new URL(redirectUrl).port);
  try {
    server.listen({ host: "127.0.0.1", port: wanted, exclusive: true });
    await once(server, "listening");
  } catch (cause) {
    if (errnoOf(cause) !== "EADDRINUSE" && errnoOf(cause) !== "EACCES") throw cause;
    if (port !== undefined)
      throw new BelljarError("PORT_TAKEN", `The browser must come back to port ${port}, which is not free: end what has it`, { cause });
    server.listen({ host: "127.0.0.1", port: 0, exclusive: true });
    await once(server, "listening");
  }
}

function queryOf({ method, url = "", headers }: IncomingMessage, own: string): URLSearchParams | undefined {
  if (method !== "GET" || headers.host !== own || !URL.canParse(url, `http://${own}`)) return undefined;
  const { pathname, searchParams, host } = new URL(url, `http://${own}`);
  return pathname === PATH && host === own ? searchParams : undefined;
}
