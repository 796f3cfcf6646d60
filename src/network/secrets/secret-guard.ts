import type { SecureContext } from "node:tls";
import type { Transform } from "node:stream";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/**
 * What stands between a sandbox's readable traffic and its secrets: puts values in where they belong,
 * refuses placeholders where they do not, and masks values that come back. One for a sandbox.
 */
export interface SecretGuard {
  /** Whether TLS to this host and port is to be read: a secret's host. Rules with methods or paths add theirs. */
  terminates(host: string, port: number): boolean;
  /** A certificate of this sandbox's own authority. */
  certificateFor(host: string): Promise<SecureContext>;
  /**
   * The request with values in its headers (also inside basic authorization) and its query. `isEncrypted` is false over plain
   * HTTP, where no value ever goes. Throws `FORBIDDEN` when a placeholder is meant for another host.
   */
  fillRequest(target: RequestTarget, head: RequestHead): Promise<FilledRequest>;
  /** Whether these bytes hold a placeholder; for traffic to hosts that have no secret. */
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
  /** Breaks with `FORBIDDEN` when the body holds a placeholder that is not for this host; absent when there is nothing to look for. */
  readonly requestBody?: () => Transform;
  /** Takes the values that are for this host out of what comes back, whichever request gave them; absent when none is for it. */
  readonly mask?: ResponseMask;
}

export interface ResponseMask {
  /** For trailers too. Leaves out what tells the length or a digest of the body. */
  headers(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** For a reason phrase. */
  text(text: string): string;
  /** One for a body that is not compressed. It changes the length. */
  body(): Transform;
  /** One for what a WebSocket server says after a 101. It keeps the length of every frame, and breaks at what is none. */
  upgraded(): Transform;
}
