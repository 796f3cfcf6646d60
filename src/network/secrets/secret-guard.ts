import type { SecureContext } from "node:tls";
import type { Transform } from "node:stream";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/**
 * Connects a sandbox's readable traffic with its secrets. It fills in values for the allowed hosts, refuses placeholders for other hosts,
 * and masks values in answers. Each sandbox has its own.
 */
export interface SecretGuard {
  /** Returns true if TLS to this place must be decrypted, because it is a host of a secret. Rules with methods or paths add others. */
  terminates(host: string, port: number): boolean;
  /** Returns a certificate from this sandbox's own authority. */
  certificateFor(host: string): Promise<SecureContext>;
  /**
   * Fills in values in the headers (even inside basic authorization) and the path with its query. Plain HTTP (`isEncrypted` is false) never
   * gets a value. Rejects with `FORBIDDEN` if a placeholder may not be sent to this target.
   */
  fillRequest(target: RequestTarget, head: RequestHead): Promise<FilledRequest>;
  /** Returns true if these bytes hold a placeholder. For traffic that cannot be filled in. */
  hasPlaceholder(bytes: Buffer): boolean;
}

export interface RequestTarget {
  readonly host: string;
  readonly port: number;
  readonly isEncrypted: boolean;
}

export interface RequestHead {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface FilledRequest {
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /** Stream for the body. It breaks with `FORBIDDEN` at a placeholder of another host. Absent if there are no others. */
  readonly requestBody?: () => Transform;
  /** Masks the values of this host in the answer, even values that other requests have sent. Absent if the host has none. */
  readonly mask?: ResponseMask;
}

export interface ResponseMask {
  /** Masks headers or trailers. Removes the length and digests of the body. */
  headers(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** Masks a reason phrase. */
  text(text: string): string;
  /** Returns a stream that masks an uncompressed body. It may change the length. */
  body(): Transform;
  /** Returns a stream that masks a WebSocket server's frames. It keeps their lengths, and breaks at invalid frames. */
  upgraded(): Transform;
}
