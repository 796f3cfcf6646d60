import type { Duplex } from "node:stream";

const LINGER_MS = 2_000;

/** Writes the last bytes and closes the stream, at the latest after `LINGER_MS`, even if the client neither reads nor closes its side. */
export function endSoon(stream: Duplex, bytes?: string | Uint8Array): void {
  if (stream.destroyed) return;
  const timer = setTimeout(() => stream.destroy(), LINGER_MS);
  stream.once("close", () => clearTimeout(timer));
  stream.once("end", () => stream.destroy());
  stream.on("error", () => {});
  if (bytes === undefined) stream.end();
  else stream.end(bytes);
  // Bytes that are left unread would have the system reset the connection before the client has the answer.
  stream.resume();
}
