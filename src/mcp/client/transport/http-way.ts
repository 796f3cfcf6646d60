import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { FetchLike } from "@modelcontextprotocol/client";
import type { EgressRequests } from "../../../network/egress/egress-requests.ts";

/** How requests to a server leave this machine, where not every request may. */
export type HttpWay = Pick<EgressRequests, "open">;

/** A `fetch` by this way. It follows no redirect, and takes no answer that is packed. Rejects as the way does. */
export function fetchBy(way: HttpWay): FetchLike {
  return async (address, init = {}) => {
    const { method = "GET", signal } = init;
    signal?.throwIfAborted();
    const body = init.body === undefined || init.body === null ? undefined : Buffer.from(await new Response(init.body).arrayBuffer());
    const own = { "accept-encoding": "identity", ...(body && { "content-length": String(body.length) }) };
    const headers = { ...Object.fromEntries(new Headers(init.headers)), ...own };
    const request = way.open(new URL(address), { method, headers, ...(signal && { signal }) });
    // It may fail once more after its answer has begun.
    request.on("error", () => undefined);
    request.end(body);
    try {
      const [answer] = (await once(request, "response")) as [IncomingMessage];
      return toResponse(answer);
    } catch (cause) {
      request.destroy();
      signal?.throwIfAborted();
      throw cause;
    }
  };
}

const WITHOUT_BODY = new Set([204, 205, 304]);

function toResponse(answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = answer;
  if ((answer.headers["content-encoding"] ?? "identity") !== "identity")
    throw new TypeError("The answer is packed, which was not asked for");
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  const isEmpty = WITHOUT_BODY.has(status) || answer.headers["content-length"] === "0";
  const response = new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), { status, statusText, headers });
  // Its connection is free once the end was read.
  if (isEmpty) answer.resume();
  return response;
}
