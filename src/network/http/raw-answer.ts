import { STATUS_CODES } from "node:http";

/** An HTTP response for a connection without an HTTP server. */
export interface RawAnswer {
  readonly status: number;
  /** Default: the standard phrase of the status. */
  readonly phrase?: string;
  /** Names and values alternate. */
  readonly headers: readonly string[];
}

/** Formats the head with its empty line. The caller must pass a valid phrase and valid headers, for nothing is escaped. */
export function formatHead({ status, phrase = STATUS_CODES[status] ?? "Unknown", headers }: RawAnswer): string {
  const lines = [`HTTP/1.1 ${status} ${phrase}`];
  for (let index = 0; index + 1 < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Formats a whole response, with `Connection: close`. */
export function formatAnswer({ headers, ...head }: RawAnswer, body: string): string {
  const framing = ["Connection", "close", "Content-Length", String(Buffer.byteLength(body))];
  return formatHead({ ...head, headers: [...framing, ...headers] }) + body;
}

/** Formats the head of a 101 response. */
export function formatSwitch(protocol: string, headers: readonly string[] = []): string {
  return formatHead({ status: 101, headers: [...headers, "Connection", "Upgrade", "Upgrade", protocol] });
}
