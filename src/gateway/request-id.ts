import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

export const REQUEST_ID_HEADER = "x-request-id";
/** No more than a log line, a header and an audit line take without care. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** The client's own, where it sent a proper one; it then stands in the logs, the answer and the audit. */
export function requestIdOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const sent = headers[REQUEST_ID_HEADER];
  return typeof sent === "string" && REQUEST_ID.test(sent) ? sent : randomUUID();
}
