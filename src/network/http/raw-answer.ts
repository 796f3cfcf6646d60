import { STATUS_CODES } from "node:http";

/** An answer for a connection that no HTTP server holds. */
export interface RawAnswer {
  readonly status: number;
  /** The usual one, unless another is given. */
  readonly phrase?: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** The head, with the empty line behind it. Names, values and the phrase must be fit for one: nothing is escaped. */
export function formatHead({ status, phrase = STATUS_CODES[status] ?? "Unknown", headers }: RawAnswer): string {
  const lines = [`HTTP/1.1 ${status} ${phrase}`];
  for (let index = 0; index + 1 < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A whole answer, after which the connection ends. */
export function formatAnswer({ headers, ...head }: RawAnswer, body: string): string {
  const framing = ["Connection", "close", "Content-Length", String(Buffer.byteLength(body))];
  return formatHead({ ...head, headers: [...framing, ...headers] }) + body;
}

/** The head that switches a connection to another protocol. */
export function formatSwitch(protocol: string, headers: readonly string[] = []): string {
  return formatHead({ status: 101, headers: [...headers, "Connection", "Upgrade", "Upgrade", protocol] });
}
